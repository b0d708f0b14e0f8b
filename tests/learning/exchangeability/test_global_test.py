"""The global test: its statistics by the textbook, their invariance, their level and their power."""

from itertools import combinations, permutations, product

import numpy as np
import pytest
from scipy.stats import chi2, kstest

from support.learning import exchangeable_table, random_table, summary
from xspn.core.errors import ParameterError
from xspn.learning.exchangeability import global_test, pairwise_test


def cochrans_q(table, weights):
    """Cochran's Q as textbooks write it: (k − 1)(k Σ C² − T²) / (k T − Σ R²)."""
    n = table.shape[1]
    columns = weights @ table
    rows = table.sum(axis=1)
    total = columns.sum()
    below = n * total - weights @ rows**2
    return (n - 1) * (n * (columns**2).sum() - total**2) / below if below > 1e-9 else 0.0


def item_rest(table, weights):
    """B by the definition: regress the ones of a variable, weighted by the ones of their rows, on the ones as such."""
    n = table.shape[1]
    rows = table.sum(axis=1)
    spread = weights * rows * (n - rows) / (n * (n - 1))
    features = np.array([np.ones(len(rows)), rows])
    covariance = (features * spread) @ features.T
    sums = (features * weights) @ table
    sums = sums - sums.mean(axis=1, keepdims=True)
    if covariance[0, 0] * covariance[1, 1] - covariance[0, 1] ** 2 < 1e-9:
        return 0.0
    both = np.einsum("ai,ab,bi", sums, np.linalg.inv(covariance), sums)
    return both - (sums[0] ** 2).sum() / covariance[0, 0]


def second_order(table, weights):
    """S by the definition, with loops."""
    n = table.shape[1]
    mean, variance = 0.0, 0.0
    for row, weight in zip(table.tolist(), weights, strict=True):
        k = sum(row)
        p2 = k * (k - 1) / (n * (n - 1))
        p3 = p2 * (k - 2) / (n - 2)
        p4 = p3 * (k - 3) / (n - 3)
        mean += weight * p2
        variance += weight * (p2 - 2 * p3 + p4)
    both = {(i, j): (weights * table[:, i] * table[:, j]).sum() for i in range(n) for j in range(n) if i != j}
    own = [(sum(both[i, j] for j in range(n) if j != i) - (n - 1) * mean) / (n - 2) for i in range(n)]
    squares = sum((both[i, j] - mean - own[i] - own[j]) ** 2 for i, j in combinations(range(n), 2))
    return squares / variance if variance > 1e-9 else 0.0


def two_blocks(rng, rows, size):
    """Two independent exchangeable blocks with equal means and strong correlation inside."""
    return np.hstack([rng.random((rows, size)) < rng.choice([0.1, 0.9], size=(rows, 1)) for _ in range(2)])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [4, 5, 9])
def test_the_statistics_are_those_of_the_definitions(rng, n, weighted):
    for _ in range(8):
        table = random_table(rng, 40, n).astype(int)
        weights = rng.random(40) * 3 if weighted else np.ones(40)
        found = global_test(summary(table, weights))
        assert found.parts["Q"] == pytest.approx(cochrans_q(table, weights), rel=1e-6, abs=1e-7)
        assert found.parts["S"] == pytest.approx(second_order(table, weights), rel=1e-6, abs=1e-7)
        assert found.parts["B"] == pytest.approx(item_rest(table, weights), rel=1e-6, abs=1e-7)
        decided_by = found.parts["decided_by"]
        if decided_by is not None:
            of_part = found.parts[decided_by] ** (2 if decided_by.startswith("max_") else 1)
            assert found.statistic == pytest.approx(of_part)


def test_degrees_of_freedom_and_p_values_are_those_of_chi_square(rng):
    found = global_test(summary(exchangeable_table(rng, 300, 7)))
    assert [found.parts[f"dof_{name}"] for name in "QBS"] == [6, 6, 14]
    assert found.parts["p_Q"] == pytest.approx(chi2.sf(found.parts["Q"], 6))
    assert found.parts["p_B"] == pytest.approx(chi2.sf(found.parts["B"], 6))
    assert found.parts["p_S"] == pytest.approx(chi2.sf(found.parts["S"], 14))
    assert found.parts["calibration"] == "chi2"


@pytest.mark.parametrize("n", [3, 5, 7, 12, 30])
def test_the_p_value_is_that_of_the_least_among_the_parts(rng, n):
    """Three independent parts (two without pairs); in each the sum and the largest deviation, where that is tested."""
    found = global_test(summary(exchangeable_table(rng, 300, n)))
    of_parts = []
    for name in "QBS":
        own = [found.parts[key] for key in (f"p_{name}", f"p_max_{name}") if key in found.parts]
        if found.parts[f"dof_{name}"] > 0:
            of_parts.append(
                own[0] if len(own) == 1 else 0.5 - np.arctan(np.mean(1 / np.tan(np.pi * np.array(own)))) / np.pi
            )
        assert (len(own) == 2) == (found.parts[f"dof_{name}"] > 10)
    assert len(of_parts) == (2 if n == 3 else 3)
    assert found.p_value == pytest.approx(1 - (1 - min(of_parts)) ** len(of_parts))


def test_the_order_of_rows_and_columns_does_not_matter(rng):
    table = random_table(rng, 60, 6)
    first = global_test(summary(table))
    for _ in range(5):
        other = global_test(summary(table[rng.permutation(60)][:, rng.permutation(6)]))
        assert [other.parts[name] for name in "QBS"] == pytest.approx([first.parts[name] for name in "QBS"])
        assert other.p_value == pytest.approx(first.p_value)


def test_zeros_and_ones_can_change_places(rng):
    table = random_table(rng, 60, 6)
    first, other = global_test(summary(table)), global_test(summary(1 - table))
    assert [other.parts[name] for name in "QBS"] == pytest.approx([first.parts[name] for name in "QBS"])


def test_rows_of_one_value_only_say_nothing(rng):
    table = random_table(rng, 60, 6)
    more = np.vstack([table, np.zeros((30, 6)), np.ones((20, 6))])
    first, other = global_test(summary(table)), global_test(summary(more))
    assert [other.parts[name] for name in "QBS"] == pytest.approx([first.parts[name] for name in "QBS"])


def test_the_mean_over_all_arrangements_is_the_number_of_degrees_of_freedom():
    """If the covariance of a vector v is C, the mean of vᵀC⁺v is the rank of C: so every moment is checked at once."""
    rows = ([1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0])
    tables = product(*(sorted(set(permutations(row))) for row in rows))
    found = [global_test(summary(np.array(table))).parts for table in tables]
    for name in "QBS":
        assert np.mean([parts[name] for parts in found]) == pytest.approx(found[0][f"dof_{name}"])


def test_rows_of_one_count_have_no_item_rest_association(rng):
    table = np.array([rng.permutation([1, 1, 0, 0, 0]) for _ in range(50)])
    found = global_test(summary(table))
    assert (found.parts["B"], found.parts["dof_B"]) == (0.0, 0.0)


@pytest.mark.parametrize("n", [3, 4, 6, 10])
def test_an_item_that_asks_the_reverse_is_seen(rng, n):
    table = rng.random((1000, n)) < rng.choice([0.1, 0.9], size=(1000, 1))
    assert not global_test(summary(table)).rejects(0.001)
    table[:, 0] = ~table[:, 0]
    found = global_test(summary(table))
    assert found.parts["p_B"] < 1e-20
    assert found.rejects(1e-20)


@pytest.mark.parametrize("table", [np.zeros((9, 5)), np.ones((9, 5)), np.vstack([np.zeros((4, 5)), np.ones((4, 5))])])
def test_without_variation_within_rows_nothing_is_rejected(table):
    for options in ({}, {"p_value": "shuffle", "n_shuffles": 9}):
        found = global_test(summary(table), **options)
        assert (found.statistic, found.p_value) == (0.0, 1.0)


@pytest.mark.parametrize(("n", "degrees"), [(1, (0, 0, 0)), (2, (1, 0, 0)), (3, (2, 2, 0)), (4, (3, 3, 2))])
def test_few_variables(rng, n, degrees):
    table = (rng.random((80, n)) < np.linspace(0.3, 0.5, n)).astype(int)
    found = global_test(summary(table))
    assert tuple(found.parts[f"dof_{name}"] for name in "QBS") == degrees
    tested = sum(own > 0 for own in degrees)
    least = min(found.parts[f"p_{name}"] for name in "QBS")
    assert found.p_value == pytest.approx(1 - (1 - least) ** tested if tested else 1.0)
    if tested:
        assert least == pytest.approx(chi2.sf(found.statistic, found.dof))
        assert found.dof == found.parts[f"dof_{found.parts['decided_by']}"]
    if n == 2:
        assert found.parts["Q"] == pytest.approx(pairwise_test(summary(table)).statistic)
    if n < 4:
        assert (found.parts["S"], found.parts["p_S"]) == (0.0, 1.0)
    else:
        assert found.parts["S"] == pytest.approx(second_order(table, np.ones(80)))


@pytest.mark.parametrize("seed", range(3))
def test_p_values_by_shuffling_agree_with_chi_square_where_that_is_easy(seed):
    own = summary(exchangeable_table(np.random.default_rng(seed), 400, 6))
    exact, asymptotic = global_test(own, p_value="shuffle", n_shuffles=499), global_test(own)
    assert exact.statistic == asymptotic.statistic
    assert exact.dof == asymptotic.dof
    assert exact.parts["calibration"] == "shuffle"
    for found, expected in (
        (exact.p_value, asymptotic.p_value),
        (exact.parts["p_Q"], asymptotic.parts["p_Q"]),
        (exact.parts["p_B"], asymptotic.parts["p_B"]),
        (exact.parts["p_S"], asymptotic.parts["p_S"]),
    ):
        assert found == pytest.approx(expected, abs=0.08)


def test_shuffling_takes_merged_rows_as_often_as_they_occur(rng):
    table = exchangeable_table(rng, 40, 4)
    rows, counts = np.unique(table, axis=0, return_counts=True)
    merged = global_test(summary(rows, counts), p_value="shuffle", n_shuffles=99)
    assert merged.p_value == global_test(summary(table), p_value="shuffle", n_shuffles=99).p_value


def test_shuffling_is_reproducible_and_its_smallest_p_value_is_known(rng):
    table = np.tile([1, 1, 1, 0, 0, 0], (50, 1))
    found = global_test(summary(table), p_value="shuffle", n_shuffles=99)
    assert found.p_value == pytest.approx(0.01)
    own = summary(exchangeable_table(rng, 30, 4))
    again = [global_test(own, p_value="shuffle", n_shuffles=50, random_state=3).p_value for _ in range(2)]
    assert again[0] == again[1]


@pytest.mark.parametrize(("rows", "calibration"), [(6, "shuffle"), (100, "chi2")])
def test_auto_shuffles_where_counts_are_small(rng, rows, calibration):
    found = global_test(summary(exchangeable_table(rng, rows, 5, spread=9.0)), p_value="auto", n_shuffles=19)
    assert found.parts["calibration"] == calibration


def test_auto_shuffles_for_few_zeros_as_for_few_ones(rng):
    table = (rng.random((100, 5)) < 0.02).astype(int)
    for own in (table, 1 - table):
        assert global_test(summary(own), p_value="auto", n_shuffles=19).parts["calibration"] == "shuffle"


@pytest.mark.parametrize(("n", "rows", "spread"), [(5, 200, 1.0), (20, 200, 0.5), (20, 1000, 5.0)])
def test_the_level_holds(n, rows, spread):
    rng = np.random.default_rng(n + rows)
    p = np.array([global_test(summary(exchangeable_table(rng, rows, n, spread))).p_value for _ in range(250)])
    assert 0.02 <= (p < 0.05).mean() <= 0.08
    assert kstest(p, "uniform").pvalue > 0.001


def test_two_blocks_are_rejected_though_all_pairs_have_equal_means():
    rng = np.random.default_rng(5)
    tables = [summary(two_blocks(rng, 500, 10)) for _ in range(40)]
    authors = {"pairs": "first", "dof": 3, "empty_cells": "reject"}
    assert np.mean([global_test(own).rejects(0.05) for own in tables]) >= 0.95
    assert np.mean([pairwise_test(own, **authors).rejects(0.05) for own in tables]) < 0.2


def one_column(rng):
    """One column has ones more often."""
    table = rng.random((500, 200)) < 0.3
    table[:, 7] = rng.random(500) < 0.5
    return table


def rare_column(rng):
    """One column has fewer of the few ones."""
    table = rng.random((500, 200)) < 0.1
    table[:, 7] = rng.random(500) < 0.01
    return table


def reversed_column(rng):
    """One column goes against the others, as often one as they are."""
    table = rng.random((500, 200)) < rng.choice([0.4, 0.6], size=(500, 1))
    table[:, 7] = ~table[:, 7]
    return table


def one_pair(rng):
    """Two columns go together."""
    table = rng.random((500, 200)) < 0.3
    table[:, 7] = np.where(rng.random(500) < 0.4, table[:, 3], table[:, 7])
    return table


@pytest.mark.parametrize(
    ("draw", "part", "member"),
    [
        (one_column, "Q", (7,)),
        (rare_column, "Q", (7,)),
        (reversed_column, "B", (7,)),
        (one_pair, "S", (3, 7)),
    ],
)
def test_a_single_column_or_pair_among_two_hundred_is_found_and_named(draw, part, member):
    """The sum over all columns and pairs has 20,098 degrees of freedom, in which each of these drowns."""
    rng = np.random.default_rng(8)
    tables = [global_test(summary(draw(rng))) for _ in range(20)]
    assert np.mean([found.rejects(0.01) for found in tables]) >= 0.95
    named = [tuple(sorted(found.parts[f"member_{part}"])) for found in tables if found.rejects(0.01)]
    assert np.mean([own == member for own in named]) >= 0.95
    in_sum = [chi2.sf(sum(own.parts[k] for k in "QBS"), sum(own.parts[f"dof_{k}"] for k in "QBS")) for own in tables]
    assert np.mean(np.array(in_sum) < 0.01) < 0.5  # not so easy that anything would do


def one_hot(rng, rows, chances):
    return np.eye(len(chances), dtype=np.uint8)[rng.choice(len(chances), size=rows, p=chances / chances.sum())]


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("options", [{}, {"p_value": "shuffle", "n_shuffles": 99}])
def test_parts_that_cannot_vary_have_no_degrees_of_freedom(rng, options, turned):
    """One-hot rows have neither pairs nor counts that differ, and rows with a single zero have none either."""
    for chances, rejected in ((np.ones(40), False), (np.repeat([1.0, 2.0], 20), True)):
        table = one_hot(rng, 1500, chances)
        found = global_test(summary(1 - table if turned else table), **options)
        assert [found.parts[f"dof_{name}"] for name in "QBS"] == [39, 0, 0]
        assert [found.parts[f"p_{name}"] for name in "BS"] == [1, 1]
        assert found.rejects(0.02) == rejected


def test_a_column_that_never_varies_within_its_row_says_nothing():
    found = global_test(summary(np.repeat([[0], [1]], 40, axis=0) * np.ones((1, 30))))
    assert (found.statistic, found.dof, found.p_value) == (0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    "counts",
    [
        lambda rng: rng.binomial(100, 0.01, 200),
        lambda rng: np.full(200, 2),
        lambda rng: rng.choice([1, 50], 200, p=[0.95, 0.05]),
        lambda rng: np.minimum(rng.pareto(1.0, 200) + 1, 100).astype(int),
        lambda rng: 100 - rng.binomial(100, 0.02, 200),
    ],
    ids=["sparse", "two ones", "two kinds of rows", "heavy tail", "few zeros"],
)
def test_the_level_holds_where_counts_are_small(counts):
    """Few of a hundred columns are one: pair counts are Poisson at best, and the largest of 4,950 has a long tail."""
    rng = np.random.default_rng(4)
    rejected = []
    for _ in range(300):
        own = counts(rng)
        rows = rng.random((200, 100)).argsort(axis=1).argsort(axis=1) < own[:, None]
        rejected.append(global_test(summary(rows)).p_value)
    assert np.mean(np.array(rejected) < 0.05) <= 0.08
    assert np.mean(np.array(rejected) < 0.01) <= 0.03


def test_shuffling_calibrates_the_combined_p_value():
    rng = np.random.default_rng(3)
    table = rng.random((60, 100)) < 0.2
    table[:, 4] = rng.random(60) < 0.6
    found = global_test(summary(table), p_value="shuffle", n_shuffles=199)
    assert (found.parts["decided_by"], found.parts["member_Q"]) == ("max_Q", (4,))
    assert found.p_value == found.parts["p_max_Q"] == pytest.approx(1 / 200)
    plain = [global_test(summary(rng.random((40, 20)) < 0.1), p_value="shuffle", n_shuffles=39) for _ in range(150)]
    assert 0.01 <= np.mean([own.p_value <= 0.05 for own in plain]) <= 0.1


@pytest.mark.parametrize("options", [{"p_value": "exact"}, {"n_shuffles": 0}, {"n_shuffles": 2.5}])
def test_bad_options_are_refused_by_name(options):
    (name, value), *_ = options.items()
    with pytest.raises(ParameterError, match=f"{name}.*{value!r}"):
        global_test(summary([[0, 1], [1, 0]]), **options)
