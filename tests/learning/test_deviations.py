"""Tails far out, and p-values put together: against exact laws and against simulation."""

import numpy as np
import pytest
from scipy.stats import binom, chi2, kstest, norm, poisson

from xspn.learning.deviations import either, largest, sidak, sum_of_squares, upper_tail


@pytest.mark.parametrize("rate", [0.01, 0.3, 2.0, 40.0])
def test_the_tail_of_a_poisson_law_is_exact(rate):
    for above in range(1, 12):
        at = np.floor(rate) + above
        found = upper_tail((at - rate) / np.sqrt(rate), rate**-0.5, 1 / rate)
        assert found == pytest.approx(poisson.sf(at - 1, rate), rel=1e-9)


def test_without_skewness_the_tail_is_normal():
    assert upper_tail(4.5, 0.0, 0.0) == pytest.approx(norm.sf(4.5))
    assert upper_tail(4.5, -0.3, -0.1) == pytest.approx(norm.sf(4.5))
    assert upper_tail(4.5, 0.0031, 0.0) == pytest.approx(norm.sf(4.5), rel=0.06)


@pytest.mark.parametrize("kurtosis", [0.002, 0.05, 1.0])
@pytest.mark.parametrize("score", [30.0, 100.0, 1e4])
def test_tails_without_end_are_numbers(score, kurtosis):
    for skewness in (0.0, 0.5 * kurtosis**0.5, kurtosis**0.5):
        assert 0.0 <= upper_tail(score, skewness, kurtosis) < 1e-11


def test_the_tail_of_symmetric_heavy_tails(rng):
    """Products of two normal numbers, 100 at a time."""
    sums = sum(rng.normal(size=200_000) * rng.normal(size=200_000) for _ in range(100)) / 10
    for score in (2.0, 3.0, 3.5):
        assert 0.9 < upper_tail(score, 0.0, 6 / 100) / (sums > score).mean() < 1.6


@pytest.mark.parametrize(("n", "p"), [(500, 0.001), (500, 0.02), (200, 0.1), (100, 0.3), (60, 0.5)])
def test_tails_of_counts_are_not_too_light(n, p):
    """A p-value may be too large where counts are discrete, never much too small: by the normal law it is, 10⁶-fold."""
    variance = n * p * (1 - p)
    skewness, kurtosis = (1 - 2 * p) / np.sqrt(variance), (1 - 6 * p * (1 - p)) / variance
    for count in range(int(n * p) + 1, n):
        exact = binom.sf(count - 1, n, p)
        if exact < 1e-9:
            break
        assert upper_tail((count - n * p) / np.sqrt(variance), skewness, kurtosis) > 0.5 * exact


def test_the_largest_deviation_is_found_on_either_side(rng):
    values = rng.normal(size=(5, 6))
    for place, value in (((3, 2), 5.0), ((0, 4), -6.0)):
        own = values.copy()
        own[place] = value
        found = largest(own, 1.0, 30, lambda _: (1.0, 0.0, 0.0))
        assert found.member == place
        assert found.deviation == value
        assert found.p_value == pytest.approx(1 - norm.cdf(abs(value)) ** 60)


def test_a_member_that_cannot_deviate_is_never_the_largest(rng):
    values, variances = np.array([9.0, 1.0, -2.0]), np.array([0.0, 1.0, 1.0])
    found = largest(values, variances, 2, lambda _: (1.0, 0.0, 0.0))
    assert (found.member, found.deviation) == ((2,), -2.0)
    assert largest(np.zeros(4), np.zeros(4), 0, lambda _: (0.0, 0.0, 0.0)).p_value == 1.0


def test_on_the_side_to_which_counts_are_skewed_more_is_needed():
    def cumulants(_):
        return 1.0, 1.0, 1.0

    values = np.zeros(50)
    values[7], values[9] = 4.0, -3.9
    found = largest(values, 1.0, 50, cumulants)
    assert found.member == (9,)
    assert largest(-values, 1.0, 50, lambda _: (1.0, -1.0, 1.0)).member == (9,)
    values[9] = 0.0
    assert largest(values, 1.0, 50, cumulants).p_value > 2 * found.p_value


def test_the_least_of_independent_p_values_is_uniform(rng):
    least = rng.random((2000, 5)).min(axis=1)
    assert kstest([sidak(p, 5) for p in least], "uniform").pvalue > 0.001
    assert sidak(1e-200, 10) == pytest.approx(1e-199)
    assert (sidak(0.0, 3), sidak(1.0, 3)) == (0.0, 1.0)


@pytest.mark.parametrize("n", [11, 30, 200])
def test_the_sum_and_the_largest_together_keep_the_level(n):
    rng = np.random.default_rng(n)
    z = rng.normal(size=(4000, n))
    of_sum, of_largest = chi2.sf((z**2).sum(axis=1), n), 1 - norm.cdf(np.abs(z).max(axis=1)) ** (2 * n)
    found = np.array([either(p, q) for p, q in zip(of_sum, of_largest, strict=True)])
    assert np.abs(np.quantile(found, [0.2, 0.4, 0.6, 0.8]) - [0.2, 0.4, 0.6, 0.8]).max() < 0.05
    assert 0.04 < (found < 0.05).mean() < 0.065
    assert 0.006 < (found < 0.01).mean() < 0.016


def test_either_of_two_p_values_can_reject_alone():
    assert either(0.0, 0.5) == either(1.0, 0.0) == 0.0
    assert either(1e-9, 1.0) == either(1.0, 1e-9) == pytest.approx(2e-9, rel=1e-3)
    assert either(1.0, 1.0) == pytest.approx(0.99)


def test_sums_of_unequal_squares_have_the_first_two_moments_of_chi_square(rng):
    variances = rng.gamma(2.0, size=50)
    squares = (rng.normal(size=(20_000, 50)) ** 2 * variances).sum(axis=1)
    found = np.array([sum_of_squares(own, variances, 1.0) for own in squares])
    dof = found[0, 1]
    assert dof < 50
    assert found[:, 0].mean() == pytest.approx(dof, rel=0.01)
    assert found[:, 0].var() == pytest.approx(2 * dof, rel=0.06)
    assert sum_of_squares(3.0, np.full(7, 1.0), 1.0) == pytest.approx((3.0, 7.0))
    assert sum_of_squares(0.0, np.zeros(7), 1.0) == (0.0, 0.0)
