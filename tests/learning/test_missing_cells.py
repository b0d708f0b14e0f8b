"""Learning from tables with missing cells: every count over what was seen."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from xspn import XSPN, XSPNClassifier, exchangeability_test, exchangeable_groups
from xspn.learning.data import MISSING, BinaryData
from xspn.learning.exchangeability.global_test import global_test
from xspn.learning.independence import g_statistics
from xspn.learning.leaf_learners import LeafData, LeafOptions, exchangeable_leaf, factorized_leaf
from xspn.learning.partial_rows import PartialMoments, chances_given_total, likely_totals
from xspn.learning.summary import BinarySummary

SEEDS = range(6)


def with_missing(X, fraction, rng):
    table = X.astype(float)
    table[rng.random(table.shape) < fraction] = np.nan
    return table


def exchangeable_rows(n, rows, rng):
    counts = rng.binomial(n, rng.beta(0.7, 0.7, rows))
    return (rng.random((rows, n)).argsort(axis=1).argsort(axis=1) < counts[:, None]).astype(np.float32)


def summary_of(table, weights=None):
    return BinarySummary.of(np.asarray(table, dtype=np.float32), np.ones(len(table)) if weights is None else weights)


@pytest.mark.parametrize("seed", SEEDS)
def test_pairs_are_counted_over_the_rows_that_have_both(seed):
    rng = np.random.default_rng(seed)
    X = with_missing(rng.integers(0, 2, size=(60, 4)), 0.3, rng)
    weights = rng.integers(1, 4, size=60).astype(float)
    n11, n10, n01, n00 = summary_of(X, weights).pair_table()
    for i in range(4):
        for j in range(4):
            for cell, a, b in ((n11, 1, 1), (n10, 1, 0), (n01, 0, 1), (n00, 0, 0)):
                assert cell[i, j] == weights[(X[:, i] == a) & (X[:, j] == b)].sum()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_g_test_has_rows_of_its_own_for_each_pair(seed):
    rng = np.random.default_rng(seed)
    X = with_missing(rng.integers(0, 2, size=(200, 3)), 0.3, rng)
    found = g_statistics(summary_of(X))
    for i, j in ((0, 1), (0, 2), (1, 2)):
        both = ~np.isnan(X[:, [i, j]]).any(axis=1)
        table = np.array([[((X[both, i] == a) & (X[both, j] == b)).sum() for b in (0, 1)] for a in (0, 1)])
        expected = chi2_contingency(table, correction=False, lambda_="log-likelihood").statistic
        assert found[i, j] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_without_missing_values_the_statistics_are_the_closed_form(seed):
    rng = np.random.default_rng(seed)
    X = exchangeable_rows(7, 150, rng)
    whole = global_test(summary_of(X))
    found = PartialMoments.of(X, np.ones(len(X))).statistics()
    for name in "QBS":
        expected = (whole.parts[name], whole.parts[f"dof_{name}"])
        assert (found[name].value, found[name].dof) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_without_missing_values_the_largest_deviations_are_those_of_whole_rows(seed):
    rng = np.random.default_rng(seed)
    X = exchangeable_rows(20, 150, rng)
    whole = global_test(summary_of(X))
    found = PartialMoments.of(X, np.ones(len(X))).statistics()
    for name in "QBS":
        expected = (whole.parts[f"max_{name}"], whole.parts[f"p_max_{name}"])
        assert (found[name].largest.deviation, found[name].largest.p_value) == pytest.approx(expected, rel=1e-6)
        assert sorted(found[name].largest.member) == sorted(whole.parts[f"member_{name}"])


def test_a_column_that_differs_is_named_though_others_were_never_seen():
    rng = np.random.default_rng(7)
    X = rng.random((400, 30)) < 0.3
    X[:, 9] = rng.random(400) < 0.6
    table = with_missing(X, 0.2, rng)
    table[:, 4] = np.nan
    found = global_test(summary_of(table))
    assert found.rejects(1e-6)
    assert (found.parts["decided_by"], found.parts["member_Q"]) == ("max_Q", (9,))


@pytest.mark.parametrize("turned", [False, True])
def test_parts_that_cannot_vary_have_no_degrees_of_freedom_with_missing_values(turned):
    """Whatever is hidden of a one-hot row, there is at most a single one to be seen."""
    rng = np.random.default_rng(11)
    X = np.eye(40)[rng.choice(40, size=3000, p=np.repeat([1, 2], 20) / 60)]
    found = global_test(summary_of(with_missing(1 - X if turned else X, 0.1, rng)))
    assert (found.parts["S"], found.parts["dof_S"]) == (0.0, 0.0)
    assert found.rejects(0.01)


def test_the_level_holds_where_pairs_are_seldom_seen():
    """A pair that was seen in few rows must not count as much as the others for a single one that they share."""
    rng = np.random.default_rng(2)
    p = np.array(
        [global_test(summary_of(with_missing(rng.random((100, 40)) < 0.05, 0.5, rng))).p_value for _ in range(300)]
    )
    assert (p < 0.05).mean() <= 0.08
    assert (p < 0.01).mean() <= 0.03


@pytest.mark.parametrize("n", [3, 5, 12])
def test_the_test_keeps_its_level_with_missing_values(n):
    rng = np.random.default_rng(n)
    rejected = [
        global_test(summary_of(with_missing(exchangeable_rows(n, 300, rng), 0.3, rng))).p_value < 0.05
        for _ in range(200)
    ]
    assert 0.01 <= np.mean(rejected) <= 0.1


@pytest.mark.parametrize("n", [3, 6])
def test_an_item_that_asks_the_reverse_is_seen_with_missing_values(n):
    rng = np.random.default_rng(n)
    X = (rng.random((1000, n)) < rng.choice([0.1, 0.9], size=(1000, 1))).astype(float)
    assert not global_test(summary_of(with_missing(X, 0.2, rng))).rejects(0.001)
    X[:, 0] = 1 - X[:, 0]
    assert global_test(summary_of(with_missing(X, 0.2, rng))).parts["p_B"] < 1e-20


def test_the_test_still_sees_blocks_with_missing_values():
    rng = np.random.default_rng(0)
    X = np.hstack([exchangeable_rows(8, 400, rng), exchangeable_rows(8, 400, rng)])
    assert exchangeability_test(with_missing(X, 0.2, rng)).p_value < 1e-6
    groups = exchangeable_groups(with_missing(X, 0.2, rng))
    assert sorted(group.variables for group in groups[:2]) == [tuple(range(8)), tuple(range(8, 16))]


def test_chances_are_a_distribution_over_what_can_be_seen():
    keys = np.array([[3, k] for k in range(4)])
    np.testing.assert_allclose(chances_given_total(keys, 7).sum(axis=0), 1.0)


def test_totals_are_recovered_from_partial_rows():
    rng = np.random.default_rng(1)
    X = exchangeable_rows(6, 20_000, rng)
    truth = np.bincount(X.sum(axis=1).astype(int), minlength=7) / len(X)
    found = likely_totals(with_missing(X, 0.3, rng).astype(np.float32), np.ones(len(X))) / len(X)
    np.testing.assert_allclose(found, truth, atol=0.02)
    whole = likely_totals(X, np.ones(len(X))) / len(X)
    np.testing.assert_allclose(whole, truth, atol=1e-12)


@pytest.mark.parametrize("make", [factorized_leaf, exchangeable_leaf])
def test_scores_of_partial_rows_are_probabilities(make):
    """Over all values that the seen cells of a row could have, leave-one-out probabilities sum to about 1."""
    rng = np.random.default_rng(2)
    X = with_missing(exchangeable_rows(4, 400, rng), 0.3, rng)
    found = make(LeafData.alone(summary_of(X)), np.arange(4), LeafOptions())
    direct = found.node.children if make is factorized_leaf else (found.node,)
    fitted = sum(leaf.log_prob(X[:, list(leaf.variables)]) for leaf in direct)
    np.testing.assert_allclose(found.leave_one_out, fitted, atol=0.05)  # one row of 400 makes little difference


def test_bytes_of_missing_cells_are_never_taken_for_bits():
    X = np.array([[0, 1], [MISSING, 1], [MISSING, 1]], dtype=np.uint8)
    data = BinaryData.of(X)
    assert data.weights.tolist() == [1.0, 2.0]
    np.testing.assert_array_equal(data.slice(np.arange(2), np.arange(2)), [[0, 1], [np.nan, 1]])


@given(
    seed=st.integers(0, 10**6),
    fraction=st.sampled_from([0.1, 0.5, 0.9]),
    leaf_learner=st.sampled_from(["auto", "blocks"]),
)
def test_any_table_with_missing_values_gives_a_distribution(seed, fraction, leaf_learner):
    rng = np.random.default_rng(seed)
    X = with_missing(rng.integers(0, 2, size=(int(rng.integers(1, 40)), int(rng.integers(1, 6)))), fraction, rng)
    model = XSPN(min_instances=8, leaf_learner=leaf_learner, random_state=0).fit(X)
    assert model.circuit_.oracle.probabilities.sum() == pytest.approx(1, abs=1e-9)
    assert np.isfinite(model.score_samples(X)).all()


@pytest.mark.parametrize("clustering", ["auto", "bernoulli", "variable"])
@pytest.mark.parametrize("what", ["half of the cells", "most of a column", "half of the rows"])
def test_marginals_are_what_was_seen(clustering, what):
    """Rows that do not tell their cluster must not be counted where most rows are."""
    rng = np.random.default_rng(6)
    kind = rng.random((4000, 1)) < 0.3
    p = np.where(kind, [0.99, 0.8, 0.3, 0.7, 0.6, 0.9], [0.01, 0.2, 0.6, 0.3, 0.5, 0.2])
    X = (rng.random((4000, 6)) < p).astype(float)
    if what == "half of the cells":
        X = with_missing(X, 0.5, rng)
    elif what == "most of a column":
        X[rng.random(4000) < 0.6, 0] = np.nan
    else:
        X[rng.random(4000) < 0.5] = np.nan
    circuit = XSPN(min_instances=200, clustering=clustering, random_state=0).fit(X).circuit_
    np.testing.assert_allclose(circuit.marginals()[0, :, 1], np.nanmean(X, axis=0), atol=0.025)


def test_a_column_and_rows_without_any_value():
    X = np.array([[0, np.nan, 1], [1, np.nan, 0], [np.nan, np.nan, np.nan]] * 10)
    model = XSPN(random_state=0).fit(X)
    assert model.predict_marginals([[np.nan] * 3])[0, 1] == pytest.approx(0.5)


def test_learning_with_missing_values_beats_filling_them():
    rng = np.random.default_rng(3)
    X = np.hstack([exchangeable_rows(8, 1000, rng), exchangeable_rows(8, 1000, rng)])
    test = np.hstack([exchangeable_rows(8, 1000, rng), exchangeable_rows(8, 1000, rng)])
    table = with_missing(X, 0.2, rng)
    filled = np.where(np.isnan(table), np.nanmean(table, axis=0) > 0.5, table)
    learned, imputed = (XSPN(random_state=0).fit(own).score(test) for own in (table, filled))
    assert learned > imputed + 0.2
    assert learned > XSPN(random_state=0).fit(X).score(test) - 0.1


def test_a_classifier_learns_with_missing_values():
    rng = np.random.default_rng(4)
    X = rng.integers(0, 2, size=(3000, 10))
    y = X.sum(axis=1) > 5
    model = XSPNClassifier(random_state=0).fit(with_missing(X, 0.1, rng), y)
    assert model.score(X, y) > 0.95


@pytest.mark.parametrize("clustering", ["gmm", "kmeans"])
def test_clusterings_that_need_whole_rows_say_so(clustering):
    rng = np.random.default_rng(5)
    X = np.repeat(rng.integers(0, 2, size=(200, 1)), 4, axis=1)
    X = with_missing(np.abs(X - (rng.random(X.shape) < 0.1)), 0.1, rng)
    with pytest.raises(ValueError, match="cannot take missing values"):
        XSPN(clustering=clustering, exchangeability=None, random_state=0).fit(X)


def assert_same_parts(found, expected):
    assert found.keys() == expected.keys()
    for name, part in expected.items():
        assert (found[name].value, found[name].dof) == pytest.approx((part.value, part.dof))
        assert (found[name].largest is None) == (part.largest is None)
        if part.largest is not None:
            mine, own = found[name].largest, part.largest
            assert (mine.deviation, mine.p_value) == pytest.approx((own.deviation, own.p_value))
            assert mine.member == own.member


@pytest.mark.parametrize("n", [3, 6, 14])
def test_moments_of_two_tables_add_up(n, rng):
    X = with_missing(exchangeable_rows(n, 80, rng), 0.3, rng).astype(np.float32)
    weights = rng.integers(1, 4, size=80).astype(float)
    whole = PartialMoments.of(X, weights)
    both = PartialMoments.of(X[:30], weights[:30]) + PartialMoments.of(X[30:], weights[30:])
    assert_same_parts(both.statistics(), whole.statistics())


@pytest.mark.parametrize("n", [2, 5, 14])
def test_variables_that_nobody_saw_change_no_moment(rng, n):
    X = with_missing(exchangeable_rows(n, 60, rng), 0.2, rng).astype(np.float32)
    padded = np.insert(X, 2, np.nan, axis=1)
    kept = PartialMoments.of(padded, np.ones(60)).without_unseen(np.delete(np.arange(n + 1), 2))
    expected = PartialMoments.of(X, np.ones(60)).statistics()
    assert_same_parts(kept.statistics(), expected)
