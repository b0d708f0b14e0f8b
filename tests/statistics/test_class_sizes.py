"""Class sizes of many variables against exact integers."""

from fractions import Fraction
from math import comb, factorial, log

import numpy as np
import pytest

from xspn.statistics import Blocks, Count, Total, ValueCounts

FULL = [0, 1, 2, 3, 10, 60]
LARGE = [500, 2000, 5000]


def places(n):
    """All places of a small table, some of a large one."""
    return range(n + 1) if n <= 60 else sorted({0, 1, 2, n // 7, n // 3, n // 2, n - n // 5, n - 1, n})


@pytest.mark.parametrize("statistic", [Count(), Total(2), ValueCounts(2)], ids=repr)
@pytest.mark.parametrize("n", FULL[1:] + LARGE)
def test_two_values(statistic, n):
    found = statistic.log_class_size(n)
    assert found.shape == (n + 1,)
    assert np.isfinite(found).all()
    expected = [log(comb(n, k)) for k in places(n)]
    np.testing.assert_allclose(found[list(places(n))], expected, rtol=1e-14, atol=1e-12)


def sum_counts(n, k):
    """The coefficients of (1 + x + … + x^(k−1))^n by repeated multiplication."""
    row = [1]
    for _ in range(n):
        row = [sum(row[max(0, s - k + 1) : s + 1]) for s in range(len(row) + k - 1)]
    return row


@pytest.mark.parametrize("k", [3, 4, 7])
@pytest.mark.parametrize("n", [1, 2, 5, 30])
def test_totals(n, k):
    expected = [log(c) for c in sum_counts(n, k)]
    np.testing.assert_allclose(Total(k).log_class_size(n), expected, rtol=1e-14, atol=1e-12)


def test_totals_of_5000_ratings():
    """The sizes of all classes add up to 3^5000, and the two halves are each other's mirror image."""
    found = Total(3).log_class_size(5000)
    assert found.shape == (10_001,)
    np.testing.assert_array_equal(found, found[::-1])
    assert abs(np.logaddexp.reduce(found) - 5000 * log(3)) < 1e-9


@pytest.mark.parametrize(("n", "k"), [(4, 3), (12, 3), (30, 4)])
def test_value_counts(n, k):
    statistic = ValueCounts(k)
    expected = []
    for counts in statistic.values(n).tolist():
        size = Fraction(factorial(n))
        for c in counts:
            size /= factorial(c)
        expected.append(log(int(size)))
    np.testing.assert_allclose(statistic.log_class_size(n), expected, rtol=1e-14, atol=1e-12)


@pytest.mark.parametrize("n", LARGE)
@pytest.mark.parametrize("statistic", [Count(), Total(2), ValueCounts(2)], ids=repr)
def test_completions(statistic, n):
    row = np.full((1, n), np.nan)
    row[0, :100] = 1
    row[0, 100:150] = 0
    found = statistic.log_completions(row)[0]
    if isinstance(statistic, ValueCounts):
        found = found[::-1]  # its values are (zeros, ones): the first has the most ones
    assert np.isneginf(found[:100]).all()
    assert np.isneginf(found[n - 49 :]).all()
    for t in (100, 101, n // 2, n - 50):
        assert found[t] == pytest.approx(log(comb(n - 150, t - 100)), rel=1e-14, abs=1e-12)


def test_value_counts_refuse_a_table_that_is_too_large():
    with pytest.raises(ValueError, match="value counts of 1000 variables with 9 values"):
        ValueCounts(9).size(1000)


def test_blocks_refuse_a_table_that_is_too_large():
    with pytest.raises(ValueError, match="blocks"):
        Blocks([[i] for i in range(64)]).size(64)


def test_blocks_of_large_blocks():
    statistic = Blocks([range(400), range(400, 1000)])
    sizes = statistic.log_class_size(1000)
    assert sizes.shape == (401 * 601,)
    t = 123 * 601 + 456
    assert sizes[t] == pytest.approx(log(comb(400, 123)) + log(comb(600, 456)), rel=1e-14)
