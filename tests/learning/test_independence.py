"""G statistics against scipy, the threshold rule, and connected components against reachability."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from support.learning import random_table, summary
from xspn.learning.independence import (
    components,
    dependent_pairs,
    g_statistics,
    groups_exclude_each_other,
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
