"""`XSPN(exchangeability="evidence")`, from a table to a circuit: enumeration, weights, orders, workers, odd tables."""

import warnings

import numpy as np
import pytest

from support.learning import all_assignments, exchangeable_table, random_table, two_clusters
from xspn import XSPN
from xspn.core.errors import ParameterError, RegistryError
from xspn.io import to_json
from xspn.learning.policy import Operation
from xspn.paper.datasets.planted import planted


def fitted(table, sample_weight=None, **settings):
    return XSPN(exchangeability="evidence", random_state=0, **settings).fit(table, sample_weight=sample_weight)


def total_probability(model, n):
    return np.exp(model.score_samples(all_assignments(n))).sum()


@pytest.mark.parametrize("family", ["blocks", "contexts", "laws", "nested", "chain", "observed"])
def test_probabilities_of_all_assignments_sum_to_one(family):
    for seed in range(2):
        table = planted(family, 12, random_state=seed).sample(150, random_state=seed)
        model = fitted(table)
        assert total_probability(model, 12) == pytest.approx(1, abs=1e-9)
        assert model.score(table) > np.log(0.5) * 12  # it has learned something


@pytest.mark.parametrize("settings", [{}, {"smoothing": 0.0}, {"min_instances": 1}, {"shrinkage": 0.0}])
def test_random_tables_become_distributions(rng, settings):
    for _ in range(10):
        n = int(rng.integers(1, 9))
        table = random_table(rng, int(rng.integers(1, 120)), n)
        model = fitted(table, **settings)
        assert total_probability(model, n) == pytest.approx(1, abs=1e-9)
        assert np.isfinite(model.score_samples(table)).all()


def odd_tables():
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 2, size=(60, 3))
    return {
        "constant columns": np.hstack([np.ones((60, 1)), bits, np.zeros((60, 2))]),
        "only constant columns": np.tile([1, 0, 1], (30, 1)),
        "duplicated columns": np.repeat(bits, 3, axis=1),
        "opposite columns": np.hstack([bits, 1 - bits]),
        "one column": bits[:, :1],
        "one row": np.array([[1, 0, 1, 1]]),
        "one cell": np.array([[1]]),
        "two rows": np.array([[1, 0, 1, 1], [0, 0, 1, 0]]),
        "two opposite rows": np.array([[1, 0, 1, 1], [0, 1, 0, 0]]),
        "all rows equal": np.tile([0, 1, 1, 0, 1], (40, 1)),
        "each row once": all_assignments(5),
        "one-hot rows": np.eye(7)[rng.integers(0, 7, size=300)],
        "each one-hot row once": np.eye(9),
        "parity": np.hstack([bits, bits.sum(axis=1, keepdims=True) % 2]),
        "more columns than rows": rng.integers(0, 2, size=(6, 40)),
        "far more columns than rows": rng.random((8, 300)) < 0.1,
    }


@pytest.mark.parametrize("name", odd_tables())
@pytest.mark.parametrize("smoothing", [0.1, 0.0])
def test_odd_tables_are_learned_without_a_warning(name, smoothing):
    table = odd_tables()[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for least in (1, 20):
            model = fitted(table, smoothing=smoothing, min_instances=least)
            assert np.isfinite(model.score_samples(table)).all()
            if table.shape[1] <= 12:
                assert total_probability(model, table.shape[1]) == pytest.approx(1, abs=1e-9)


def test_what_is_certain_is_learned(rng):
    """One-hot rows and parity take one leaf; copies nearly no more bits than their originals."""
    hot = fitted(np.eye(8)[rng.integers(0, 8, size=1000)])
    assert hot.score(np.eye(8)) == pytest.approx(np.log(1 / 8), abs=0.02)
    bits = rng.integers(0, 2, size=(1000, 5))
    even = fitted(np.hstack([bits, bits.sum(axis=1, keepdims=True) % 2]))
    assert even.score(np.hstack([bits, bits.sum(axis=1, keepdims=True) % 2])) == pytest.approx(
        5 * np.log(0.5), abs=0.03
    )
    copies = fitted(np.repeat(bits, 4, axis=1))
    assert copies.score(np.repeat(bits, 4, axis=1)) == pytest.approx(5 * np.log(0.5), abs=0.05)


@pytest.mark.parametrize("family", ["contexts", "chain"])
def test_any_number_of_workers_learns_the_same_circuit(family):
    table = planted(family, 12, random_state=1).sample(400, random_state=1)
    alone, together = fitted(table, n_jobs=1), fitted(table, n_jobs=2)
    assert len(alone.circuit_.root.children) > 1
    assert to_json(alone.circuit_) == to_json(together.circuit_)


@pytest.mark.parametrize("family", ["blocks", "contexts", "chain"])
def test_weights_repeat_rows(rng, family):
    for seed in range(3):
        table = planted(family, 12, random_state=seed).sample(200, random_state=seed)
        weights = rng.integers(0, 4, size=200)
        weighted, repeated = fitted(table, sample_weight=weights), fitted(np.repeat(table, weights, axis=0))
        np.testing.assert_allclose(weighted.score_samples(table), repeated.score_samples(table), atol=1e-9)


def differences(family, reorder, seeds=range(6)):
    """How much the score of new rows changes if the table is reordered, in nats a row."""
    found = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        truth = planted(family, 12, random_state=seed)
        table, new = truth.sample(400, random_state=seed), truth.sample(1000, random_state=seed + 100)
        rows, columns = reorder(rng)
        other = fitted(table[rows][:, columns])
        found.append(abs(other.score(new[:, columns]) - fitted(table).score(new)))
    return np.array(found)


def other_rows(rng):
    return rng.permutation(400), np.arange(12)


def other_columns(rng):
    return np.arange(400), rng.permutation(12)


@pytest.mark.parametrize("family", ["blocks", "contexts"])
@pytest.mark.parametrize("reorder", [other_rows, other_columns])
def test_the_order_of_the_table_does_not_matter(reorder, family):
    assert differences(family, reorder).max() < 1e-9


def test_contexts_are_learned_as_a_sum_and_predict_better_than_tests_do():
    """In the mean of six circuits with contexts."""
    gains, sums = [], []
    for seed in range(6):
        truth = planted("contexts", 16, random_state=seed)
        table, new = truth.sample(1000, random_state=seed), truth.sample(1000, random_state=seed + 100)
        model = fitted(table)
        gains.append(model.score(new) - XSPN(exchangeability="global", random_state=0).fit(table).score(new))
        sums.append(model.trace_.entries[0].operation is Operation.CLUSTER)
    assert np.mean(gains) > 0
    assert sum(sums) >= 5


def test_auto_takes_evidence_for_one_circuit(rng):
    bits = planted("contexts", 12, random_state=0).sample(300, random_state=0)
    holes = with_holes(bits, 0.1, 0)
    for table in (bits, holes, np.column_stack([bits, rng.integers(0, 3, 300)])):
        assert to_json(XSPN(random_state=0).fit(table).circuit_) == to_json(fitted(table).circuit_)
    empty = np.column_stack([bits, np.full(300, np.nan)])
    by_tests = [
        (bits, {"independence_threshold": 6.0}),
        (bits, {"significance": 0.05}),
        (bits, {"clustering": "variable"}),
        (bits, {"leaf_learner": "factorized"}),
        (bits, {"n_estimators": 2}),
        (empty, {}),
        (rng.integers(0, 17, (100, 3)), {}),  # mostly long scales
    ]
    for table, settings in by_tests:
        found = XSPN(random_state=0, **settings).fit(table).circuit_
        tested = XSPN(exchangeability="global", random_state=0, **settings).fit(table).circuit_
        assert to_json(found) == to_json(tested)


def test_several_contexts_may_have_more_evidence_than_one_block(rng):
    """Six guests follow a topic, and a room overflows where there are many: of all eight a block would be false."""
    hot = rng.random(300) < 0.4
    guests = rng.random((300, 6)) < np.where(hot, 0.8, 0.3)[:, None]
    table = np.column_stack([hot, guests, guests.sum(axis=1) > 4]).astype(int)
    model = fitted(table)
    assert model.trace_.entries[0].operation is Operation.CLUSTER
    found = model.predict_marginals(np.full((1, 8), np.nan))[0]
    np.testing.assert_allclose(found, table.mean(axis=0), atol=0.05)


def test_one_block_is_one_leaf(rng):
    model = fitted(exchangeable_table(rng, 300, 9))
    assert [entry.operation for entry in model.trace_.entries] == [Operation.EXCHANGEABLE]
    assert model.circuit_.root.children == ()


def with_holes(table, fraction, seed):
    holes = np.random.default_rng(seed).random(table.shape) < fraction
    return np.where(holes, np.nan, table)


def test_missing_cells_hide_little_of_what_is_there():
    """In the mean of six circuits with contexts: most of what tests lose is found."""
    by_evidence, by_tests = [], []
    for seed in range(6):
        truth = planted("contexts", 16, random_state=seed)
        table = with_holes(truth.sample(1500, random_state=seed), 0.2, seed)
        new = truth.sample(2000, random_state=seed + 100)
        limit = truth.log_likelihood(new).mean()
        by_evidence.append(limit - fitted(table).score(new))
        by_tests.append(limit - XSPN(exchangeability="global", random_state=0).fit(table).score(new))
    assert np.mean(by_evidence) < 0.4 * np.mean(by_tests)


def test_missing_cells_any_seed_any_number_of_threads_any_weights(rng):
    table = with_holes(planted("contexts", 12, random_state=1).sample(300, random_state=1), 0.2, 1)
    alone = fitted(table, n_jobs=1)
    assert to_json(alone.circuit_) == to_json(fitted(table, n_jobs=2).circuit_)
    assert len({entry.node for entry in alone.trace_}) <= len(alone.circuit_.graph.nodes)
    exchangeable = [entry for entry in alone.trace_ if entry.operation is Operation.EXCHANGEABLE]
    assert exchangeable
    for entry in exchangeable:  # EM has left the nodes where they were
        node = alone.circuit_.graph.nodes[entry.node]
        assert set(entry.variables) <= set(node.scope)
    weighted = fitted(table, sample_weight=rng.integers(1, 40, size=300))
    assert np.isfinite(weighted.score_samples(table)).all()


def test_mostly_missing_cells():
    table = with_holes(planted("blocks", 12, random_state=1).sample(100, random_state=1), 0.9, 1)
    assert np.isfinite(fitted(table).score_samples(table)).all()


def test_parts_of_the_learner_by_evidence_are_for_complete_rows(rng):
    table = two_clusters(rng)[0].astype(float)
    table[5, 2] = np.nan
    for settings in ({"leaf_learner": "evidence", "min_instances": 1000}, {"clustering": "contexts"}):
        with pytest.raises(ParameterError, match="cannot take missing values; use one of 'auto', '"):
            XSPN(**settings).fit(table)


def test_a_misspelt_name_is_refused_with_the_known_ones():
    with pytest.raises(RegistryError, match="did you mean 'evidence'"):
        XSPN(exchangeability="evidense").fit([[0, 1], [1, 0]])


def test_rows_with_missing_cells_can_be_asked_about(rng):
    table = two_clusters(rng)[0]
    model = fitted(table)
    partial = np.where(rng.random((20, 8)) < 0.4, np.nan, table[:20])
    np.testing.assert_allclose(model.score_samples(partial), model.circuit_.oracle.log_likelihood(partial), atol=1e-9)
