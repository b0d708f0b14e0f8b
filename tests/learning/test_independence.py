"""G statistics against scipy, the threshold rule, and connected components against reachability."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, chi2_contingency

from support.blocks import blocks_of
from support.learning import exchangeable_table, random_table, summary
from xspn.learning.independence import (
    components,
    dependent_counts,
    dependent_pairs,
    g_statistics,
    groups_exclude_each_other,
    groups_of_blocks,
    independent_groups,
)


def g_by_scipy(first, second, weights):
    """G of one pair; 0 where a variable has one value only."""
    cells = np.array([[weights[(first == a) & (second == b)].sum() for b in (0, 1)] for a in (0, 1)])
    cells = cells[cells.sum(axis=1) > 0][:, cells.sum(axis=0) > 0]
    if min(cells.shape) < 2:
        return 0.0
    return chi2_contingency(cells, correction=False, lambda_="log-likelihood").statistic


@pytest.mark.parametrize("weighted", [False, True])
def test_the_statistic_of_every_pair_is_scipys(rng, weighted):
    for _ in range(10):
        table = random_table(rng, int(rng.integers(2, 60)), 5)
        weights = rng.random(len(table)) * 3 if weighted else np.ones(len(table))
        found = g_statistics(summary(table, weights))
        for i in range(5):
            for j in range(5):
                if i != j:
                    expected = g_by_scipy(table[:, i], table[:, j], weights)
                    assert found[i, j] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_constant_columns_depend_on_nothing_at_any_threshold(rng):
    for _ in range(20):
        table = random_table(rng, 40, 5)
        table[:, 2] = 1
        table[:, 3] = 0
        found = dependent_pairs(summary(table, rng.random(40)), threshold=0.0)
        assert not found[2:4].any()
        assert not found[:, 2:4].any()


@pytest.mark.parametrize("threshold", [0.0, 0.5, 5.0, 15.0])
def test_a_pair_depends_if_its_statistic_reaches_twice_the_threshold_and_a_thousandth(rng, threshold):
    for _ in range(5):
        own = summary(random_table(rng, 200, 6))
        expected = g_statistics(own) >= 2 * threshold + 0.001
        np.fill_diagonal(expected, False)
        np.testing.assert_array_equal(dependent_pairs(own, threshold), expected)


def test_the_threshold_itself_counts_as_dependent(rng):
    own = summary(random_table(np.random.default_rng(4), 200, 2))
    statistic = g_statistics(own)[0, 1]
    assert statistic > 1
    at = (statistic - 0.001) / 2
    assert dependent_pairs(own, at * (1 - 1e-12))[0, 1]
    assert not dependent_pairs(own, at * (1 + 1e-12))[0, 1]


@st.composite
def graphs(draw):
    n = draw(st.integers(1, 12))
    edges = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=14))
    adjacent = np.zeros((n, n), dtype=bool)
    for i, j in edges:
        adjacent[i, j] = adjacent[j, i] = i != j
    return adjacent


@given(graphs())
def test_components_are_the_classes_of_reachability(adjacent):
    n = len(adjacent)
    reach = np.linalg.matrix_power((adjacent | np.eye(n, dtype=bool)).astype(object), n) > 0
    expected = sorted({tuple(np.flatnonzero(row).tolist()) for row in reach})
    assert [tuple(group.tolist()) for group in components(adjacent)] == expected


def test_independent_blocks_are_separated(rng):
    hidden = rng.random((2000, 2)) < 0.5
    noise = rng.random((2000, 4)) < 0.1
    table = hidden[:, [0, 1, 0, 1]] ^ noise
    assert [group.tolist() for group in independent_groups(summary(table), 5.0)] == [[0, 2], [1, 3]]


def test_missing_values_do_not_make_variables_look_independent(rng):
    """The limit of a pair shrinks with the fraction of rows that have both, as its statistic does."""
    X = (rng.random((4000, 2)) < 0.5).astype(float)
    X[:, 1] = np.where(rng.random(4000) < 0.08, X[:, 0], X[:, 1])
    partial = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    whole, partial = summary(X), summary(partial[~np.isnan(partial).all(axis=1)])
    fraction = float(partial.seen_pairs[0, 1]) / partial.total
    at = g_statistics(partial)[0, 1] / (2 * fraction)
    assert dependent_pairs(partial, at - 0.01)[0, 1]
    assert not dependent_pairs(partial, at + 0.01)[0, 1]
    assert fraction < 0.6
    assert dependent_pairs(whole, 5.0)[0, 1]


def groups_of(table):
    own = summary(table)
    return groups_exclude_each_other(own, independent_groups(own, 5.0), 5.0)


def test_variables_that_exclude_each_other_are_not_independent(rng):
    """Each of many categories seems independent of each other one, for each is rare."""
    hot = np.eye(60)[rng.integers(0, 60, size=3000)]
    assert groups_of(hot)
    assert groups_of(1 - hot)
    assert groups_of(np.hstack([hot, rng.random((3000, 2)) < 0.02]))
    assert groups_of(np.where(rng.random(hot.shape) < 0.2, np.nan, hot))
    assert not groups_of(hot[:15])  # too few rows to say so


@pytest.mark.parametrize("rows", [20, 200, 2000])
def test_independent_variables_do_not_exclude_each_other(rng, rows):
    for _ in range(20):
        table = rng.random((rows, 30)) < rng.uniform(0.02, 0.4, size=30)
        assert not groups_of(table)
        assert not groups_of(np.where(rng.random(table.shape) < 0.3, np.nan, table))
        assert not groups_of(np.repeat(rng.random((rows, 3)) < 0.5, 3, axis=1))


def p_of_counts(first, second, weights):
    """The p-value of the G-test of two columns of whole numbers; 1 where one of them has one value only."""
    cells = [[weights[(first == a) & (second == b)].sum() for b in np.unique(second)] for a in np.unique(first)]
    if min(np.shape(cells)) < 2:
        return 1.0
    return chi2_contingency(np.array(cells), correction=False, lambda_="log-likelihood").pvalue


@pytest.mark.parametrize("threshold", [0.0, 1.0, 5.0])
def test_counts_of_small_blocks_depend_by_scipys_g_test(rng, threshold):
    """Up to four counts are not binned. The threshold of a pair stands for a level."""
    seen = []
    for _ in range(20):
        table, weights = random_table(rng, 60, 8), rng.random(60) * 2 + 0.1
        label = np.array([0, 1, 2, 0, 1, 2, 0, 3])
        counts = np.stack([table[:, label == b].sum(axis=1) for b in range(4)], axis=1)
        found = dependent_counts(summary(table, weights), label, threshold)
        for a in range(4):
            for b in range(a):
                p = p_of_counts(counts[:, a], counts[:, b], weights)
                assert found[a, b] == found[b, a] == (p < chi2.sf(2 * threshold, 1))
                seen.append(found[a, b])
    assert 0 < sum(seen) < len(seen)


def test_counts_of_large_blocks_are_binned_by_quarters_of_the_rows(rng):
    for _ in range(10):
        table = np.hstack([exchangeable_table(rng, 300, 12), exchangeable_table(rng, 300, 15)])
        table[:100, 12:20] = table[:100, :8]
        label = np.repeat([0, 1], [12, 15])
        binned = []
        for own in (table[:, :12].sum(axis=1), table[:, 12:].sum(axis=1)):
            middle = [((own < count).mean() + (own <= count).mean()) / 2 for count in own]
            binned.append(np.floor(4 * np.array(middle)))
        p = p_of_counts(*binned, np.ones(300))
        for level, expected in ((p * 1.01, True), (p * 0.99, False)):
            found = dependent_counts(summary(table), label, chi2.isf(level, 1) / 2)
            assert found[0, 1] == found[1, 0] == expected


def test_counts_connect_what_no_pair_does(rng):
    """The third variable is one if the count of the first two is: no two of the three depend on each other."""
    table = rng.integers(0, 2, size=(500, 4))
    table[:, 2] = table[:, 0] ^ table[:, 1]
    own = summary(table)
    assert [group.tolist() for group in independent_groups(own, 5.0)] == [[0], [1], [2], [3]]
    assert [group.tolist() for group in groups_of_blocks(own, blocks_of(np.array([0, 0, 1, 2])))] == [[0, 1, 2], [3]]
    assert [group.tolist() for group in groups_of_blocks(own, blocks_of(np.array([0, 1, 2, 3])))] == [
        [0],
        [1],
        [2],
        [3],
    ]


def test_the_variables_of_a_block_stay_together_and_pairs_connect_as_before(rng):
    for _ in range(20):
        own = summary(random_table(rng, 100, 7))
        label = rng.permutation([0, 0, 1, 1, 2, 3, 4])
        groups = groups_of_blocks(own, blocks_of(label))
        assert sorted(np.concatenate(groups).tolist()) == list(range(7))
        group_of = np.empty(7, dtype=int)
        for k, group in enumerate(groups):
            group_of[group] = k
        together = group_of[:, None] == group_of
        assert together[label[:, None] == label].all()
        assert together[dependent_pairs(own, 5.0)].all()
    independent = summary(rng.random((2000, 6)) < 0.4)
    assert [group.tolist() for group in groups_of_blocks(independent, blocks_of(np.array([0, 1, 0, 1, 1, 2])))] == [
        [0, 2],
        [1, 3, 4],
        [5],
    ]
