"""Exchangeable leaves over many variables: no overflow, no NaN, and the digits of exact arithmetic."""

from fractions import Fraction
from itertools import pairwise
from math import comb, log

import numpy as np
import pytest

from xspn import Bernoulli, Circuit, Exchangeable, Product, Smoothing, Sum
from xspn.statistics import Blocks, Count, Total, ValueCounts

N = 2000


def log_fraction(value):
    """The logarithm of a fraction of any size: numerator and denominator may exceed the floats."""
    return log(value.numerator) - log(value.denominator)


def polya(n, a, b):
    """P(k ones) of Pólya's urn, as exact fractions: a distribution with no weight near the limits of floats."""
    rows = []
    for k in range(n + 1):
        top = comb(n, k) * rising(a, k) * rising(b, n - k)
        rows.append(Fraction(top, rising(a + b, n)))
    assert sum(rows) == 1
    return rows


def rising(start, steps):
    result = 1
    for i in range(steps):
        result *= start + i
    return result


def statistics_of_ones(n):
    return [Count(), Total(2), ValueCounts(2), Blocks([range(n)])]


def by_ones(statistic, n, values):
    """Reorder something given for 0..n ones into the order of the statistic's values."""
    return [values[int(ones)] for ones in statistic.ones(n)]


# -- n ≤ 60: exact fractions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 7, 33, 60])
@pytest.mark.parametrize("which", range(4))
def test_small_leaves_agree_with_fractions(n, which):
    statistic = statistics_of_ones(n)[which]
    classes = polya(n, 2, 3)
    each = [p / comb(n, k) for k, p in enumerate(classes)]
    leaf = Exchangeable(range(n), by_ones(statistic, n, [log_fraction(w) for w in each]), statistic)
    rng = np.random.default_rng(n)
    for _ in range(30):
        row = (rng.random(n) < rng.random()).astype(float)
        row[rng.random(n) < rng.random()] = np.nan
        seen, ones = int((~np.isnan(row)).sum()), int(np.nansum(row))
        exact = sum(comb(n - seen, k - ones) * each[k] for k in range(ones, n - seen + ones + 1))
        assert leaf.log_prob(row[None, :])[0] == pytest.approx(log_fraction(exact), rel=1e-12, abs=1e-12)
        assert Circuit(leaf).log_likelihood(row[None, :])[0] == pytest.approx(log_fraction(exact), rel=1e-12, abs=1e-12)
        if seen < n:
            more = sum(comb(n - seen - 1, k - ones - 1) * each[k] for k in range(ones + 1, n - seen + ones + 1))
            first = int(np.flatnonzero(np.isnan(row))[0])
            assert Circuit(leaf).marginals(row[None, :])[0, first, 1] == pytest.approx(float(more / exact), rel=1e-12)


def test_the_sum_table_agrees_with_fractions_everywhere():
    """Every (observed, ones) of one leaf over 60 variables: the whole triangle."""
    n = 60
    each = [p / comb(n, k) for k, p in enumerate(polya(n, 1, 4))]
    circuit = Circuit(Exchangeable(range(n), [log_fraction(w) for w in each]))
    rows, expected = [], []
    exact = each
    for seen in range(n, -1, -1):
        for ones in range(seen + 1):
            row = np.full(n, np.nan)
            row[:seen] = 0
            row[:ones] = 1
            rows.append(row)
            expected.append(log_fraction(exact[ones]))
        exact = [a + b for a, b in pairwise(exact)]
    np.testing.assert_allclose(circuit.log_likelihood(np.array(rows)), expected, rtol=1e-12, atol=1e-12)


# -- n = 2000 ----------------------------------------------------------------------------------------------------------


def large_leaf(statistic, n=N):
    """A leaf with a wide distribution of the number of ones; some numbers are impossible."""
    k = np.arange(n + 1)
    chances = np.exp(-(((k - 0.3 * n) / (0.1 * n)) ** 2)) + 0.2 * (k == n) + 1e-30 * (k % 2)
    chances[5:9] = 0.0
    chances /= chances.sum()
    return Exchangeable.from_class_probabilities(range(n), by_ones(statistic, n, chances), statistic)


@pytest.fixture(scope="module", params=range(3), ids=["count", "total", "value_counts"])
def large(request):
    return large_leaf(statistics_of_ones(N)[request.param])


def partial_table(rng, rows, n=N):
    table = (rng.random((rows, n)) < 0.3).astype(float)
    table[rng.random((rows, n)) < rng.choice([0.05, 0.5, 0.95, 1.0], size=(rows, 1))] = np.nan
    table[0] = np.nan
    return table


def test_total_mass(large):
    n_classes = large.statistic.log_class_size(N) + large.log_weights
    assert abs(np.exp(n_classes).sum() - 1) < 1e-9
    assert abs(large.class_probabilities.sum() - 1) < 1e-9
    nothing = np.full((1, N), np.nan)
    assert abs(np.exp(large.log_prob(nothing)[0]) - 1) < 1e-9
    assert abs(np.exp(Circuit(large).log_likelihood(nothing)[0]) - 1) < 1e-9
    assert abs(large.count_distribution().sum() - 1) < 1e-9
    assert abs(Circuit(large).count_distribution(range(N)).sum() - 1) < 1e-9


def test_partial_rows_split_their_mass(large):
    """P(row) = P(row, X_i = 0) + P(row, X_i = 1) for a missing X_i."""
    rows = partial_table(np.random.default_rng(0), 8)
    circuit = Circuit(large)
    at = np.array([int(np.flatnonzero(np.isnan(row))[0]) for row in rows])
    parts = []
    for value in (0.0, 1.0):
        filled = rows.copy()
        filled[np.arange(8), at] = value
        parts.append(circuit.log_likelihood(filled))
    whole = circuit.log_likelihood(rows)
    assert np.isfinite(whole).all()
    np.testing.assert_allclose(np.logaddexp(*parts), whole, rtol=0, atol=1e-9)
    np.testing.assert_allclose(circuit.marginals(rows)[np.arange(8), at, 1], np.exp(parts[1] - whole), rtol=1e-9)


def test_leaf_and_engine_agree(large):
    rows = partial_table(np.random.default_rng(1), 8)
    np.testing.assert_allclose(Circuit(large).log_likelihood(rows), large.log_prob(rows), rtol=0, atol=1e-9)


def test_every_query_gives_numbers(large):
    circuit = Circuit(Product([large, Bernoulli(N, p=0.25)]))
    rows = np.column_stack([partial_table(np.random.default_rng(2), 4), [0, 1, np.nan, np.nan]])
    table = circuit.marginals(rows)
    assert ((table >= 0) & (table <= 1)).all()
    best = circuit.mpe(rows)
    assert best.exact
    assert np.isfinite(best.log_prob).all()
    assert not np.isnan(best.values).any()
    assert (best.log_prob <= circuit.log_likelihood(rows) + 1e-9).all()
    drawn = circuit.sample(given=rows[:2], random_state=0)
    assert np.isfinite(circuit.log_likelihood(drawn)).all()
    moments = circuit.moments()
    assert moments.mean[0] == pytest.approx(large.count_distribution() @ np.arange(N + 1) / N, rel=1e-9)
    assert np.isfinite(moments.covariance).all()


def test_conditioning_and_marginalising(large):
    circuit = Circuit(large)
    known = partial_table(np.random.default_rng(3), 2)[1]
    known[: N // 2] = np.nan
    rest = circuit.condition(known)
    rows = partial_table(np.random.default_rng(4), 4)
    both = np.where(np.isnan(known), rows, known)
    expected = circuit.log_likelihood(both) - circuit.log_likelihood(known[None, :])
    np.testing.assert_allclose(rest.log_likelihood(rows), expected, rtol=0, atol=1e-9)
    kept = circuit.marginalize(range(N // 2))
    hidden = rows.copy()
    hidden[:, N // 2 :] = np.nan
    np.testing.assert_allclose(kept.log_likelihood(rows), circuit.log_likelihood(hidden), rtol=0, atol=1e-9)


def test_a_mixture_of_large_leaves():
    leaves = [Exchangeable.uniform(range(N)), large_leaf(Count())]
    circuit = Circuit(Sum([0.5, 0.5], leaves))
    rows = partial_table(np.random.default_rng(5), 5)
    assert circuit.log_likelihood(rows[:1])[0] == pytest.approx(0.0, abs=1e-9)
    whole = np.nan_to_num(rows)
    expected = np.logaddexp(*(leaf.log_prob(whole) for leaf in leaves)) - log(2)
    np.testing.assert_allclose(circuit.log_likelihood(whole), expected, rtol=0, atol=1e-9)
    table = circuit.marginals(rows)
    assert ((table >= 0) & (table <= 1)).all()


@pytest.mark.parametrize("spread", ["assignments", "values"])
def test_fitting_a_large_leaf(spread):
    rng = np.random.default_rng(6)
    rows = (rng.random((50, N)) < 0.3).astype(float)
    start = Exchangeable.uniform(range(N))
    leaf = start.from_statistics(start.statistics(rows, np.ones(50)), Smoothing(0.1, spread))
    assert np.isfinite(leaf.log_weights).all()
    assert abs(leaf.class_probabilities.sum() - 1) < 1e-9
    assert (leaf.log_prob(rows) > start.log_prob(rows)).all()


@pytest.mark.parametrize("statistic", [Count(), ValueCounts(3), Total(3), Blocks([[0, 1], [2]])], ids=repr)
def test_conditioning_on_what_is_hardly_possible(statistic):
    n = 3
    zeros = int(statistic.of(np.zeros((1, n)))[0])
    log_weights = -1e9 - np.arange(statistic.size(n)) / 4  # all exact, and so are their differences
    log_weights[zeros] = 0.0
    leaf = Exchangeable(range(n), log_weights, statistic)
    row = np.array([1.0, np.nan, np.nan])
    rest, log_evidence = leaf.condition(row)
    whole = np.column_stack([np.ones((4, 1)), [[0, 0], [0, 1], [1, 0], [1, 1]]])
    found, expected = rest.log_prob(whole[:, 1:]), leaf.log_prob(whole)
    np.testing.assert_allclose(np.diff(found), np.diff(expected), rtol=0, atol=1e-14)
    assert abs(rest.class_probabilities.sum() - 1) < 1e-14
    assert log_evidence == leaf.log_prob(row[None])[0]
