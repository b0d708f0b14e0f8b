"""The beta-binomial leaf against scipy's, and its fit against a search that knows no derivatives."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import betabinom

from xspn import BetaBinomial, Circuit, Exchangeable, Smoothing
from xspn.core.errors import ParameterError
from xspn.leaves.beta_binomial import log_weights_of
from xspn.statistics import ValueCounts


@pytest.mark.parametrize(("n", "a", "b"), [(1, 2.0, 3.0), (7, 0.3, 5.0), (60, 8.0, 1.0), (500, 0.05, 0.05)])
def test_counts_are_distributed_as_they_should_be(n, a, b):
    leaf = BetaBinomial(range(n), mean=a / (a + b), dispersion=1 / (a + b))
    np.testing.assert_allclose(leaf.class_probabilities, betabinom(n, a, b).pmf(np.arange(n + 1)), rtol=1e-9)


@pytest.mark.parametrize(("mean", "dispersion"), [(0.0, 0.5), (1.0, 0.0), (0.3, 1e9)])
def test_the_limits_are_distributions_too(mean, dispersion):
    leaf = BetaBinomial(range(5), mean, dispersion)
    assert leaf.class_probabilities.sum() == pytest.approx(1.0)
    assert leaf.class_probabilities[-1] == pytest.approx(mean, abs=1e-8)


@pytest.mark.parametrize(("n", "mean", "dispersion", "rows"), [(6, 0.3, 0.5, 40), (30, 0.9, 0.05, 15), (12, 0.5, 3, 9)])
def test_no_other_parameters_are_more_likely(rng, n, mean, dispersion, rows):
    drawn = rng.binomial(n, rng.beta(mean / dispersion, (1 - mean) / dispersion, size=rows))
    counts = np.bincount(drawn, minlength=n + 1) + 0.01

    def loss(parameters):
        mean, dispersion = 1 / (1 + np.exp(-parameters[0])), np.exp(parameters[1])
        return -float(counts @ log_weights_of(n, mean, dispersion))

    searched = minimize(loss, [0.0, -1.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    leaf = BetaBinomial.from_class_counts(range(n), counts)
    assert float(counts @ leaf.log_weights) >= -searched.fun - 1e-8


def test_rows_that_vary_too_little_are_independent():
    leaf = BetaBinomial.from_class_counts(range(4), np.array([0.0, 0, 10, 0, 0]))
    assert (leaf.mean, leaf.dispersion) == (0.5, 0.0)


def test_all_or_nothing_is_a_large_dispersion():
    leaf = BetaBinomial.from_class_counts(range(6), np.array([7.0, 0, 0, 0, 0, 0, 3]))
    assert leaf.mean == pytest.approx(0.3, abs=1e-3)
    np.testing.assert_allclose(leaf.class_probabilities[[0, -1]], [0.7, 0.3], atol=1e-3)


@pytest.mark.parametrize(("n", "a", "b"), [(2, 2.0, 3.0), (7, 0.3, 5.0), (60, 8.0, 1.0)])
def test_moments_give_back_the_leaf_that_they_are_of(n, a, b):
    mean, variance = betabinom(n, a, b).stats("mv")
    leaf = BetaBinomial.from_moments(range(n), float(mean), float(variance))
    assert (leaf.mean, leaf.dispersion) == (pytest.approx(a / (a + b)), pytest.approx(1 / (a + b)))


@pytest.mark.parametrize(("mean", "variance", "fraction", "dispersion"), [(0, 0, 0, 0), (4, 0, 1, 0), (2, 0.5, 0.5, 0)])
def test_counts_that_vary_too_little_are_those_of_independent_bits(mean, variance, fraction, dispersion):
    leaf = BetaBinomial.from_moments(range(4), mean, variance)
    assert (leaf.mean, leaf.dispersion) == (fraction, dispersion)


def test_counts_that_vary_as_much_as_they_can_are_all_or_nothing():
    leaf = BetaBinomial.from_moments(range(4), 1.0, 3.0)
    np.testing.assert_allclose(leaf.class_probabilities, [0.75, 0, 0, 0, 0.25], atol=1e-8)


@pytest.mark.parametrize(("mean", "variance"), [(5.0, 0.0), (-1.0, 0.0), (2.0, -1.0), (2.0, np.nan)])
def test_impossible_moments_are_refused(mean, variance):
    with pytest.raises(ParameterError, match="BetaBinomial"):
        BetaBinomial.from_moments(range(4), mean, variance)


@pytest.mark.parametrize("spread", ["assignments", "values"])
def test_pseudo_rows_count_like_those_of_a_free_leaf(spread):
    counts = np.array([3.0, 0, 0, 0])
    smoothing = Smoothing(0.4, spread)
    by_hand = Exchangeable.from_class_counts(range(3), counts, smoothing).class_probabilities * 3.4
    found = BetaBinomial.from_class_counts(range(3), counts, smoothing)
    expected = BetaBinomial.from_class_counts(range(3), by_hand)
    np.testing.assert_allclose(found.log_weights, expected.log_weights)


def test_em_fits_it(rng):
    truth = BetaBinomial(range(8), mean=0.3, dispersion=0.4)
    rows = Circuit(truth).sample(4000, random_state=0)
    rows[rng.random(rows.shape) < 0.2] = np.nan
    fitted = Circuit(BetaBinomial.uniform(range(8))).fit_parameters(rows, n_iter=50).root
    assert isinstance(fitted, BetaBinomial)
    assert fitted.mean == pytest.approx(0.3, abs=0.02)
    assert fitted.dispersion == pytest.approx(0.4, abs=0.05)


def test_what_it_refuses():
    with pytest.raises(ParameterError, match=r"mean: expected a number from 0 to 1, found 1\.5"):
        BetaBinomial([0], 1.5, 0.1)
    with pytest.raises(ParameterError, match="dispersion"):
        BetaBinomial([0], 0.5, -0.1)
    with pytest.raises(ParameterError, match="expected 3 counts, found 2"):
        BetaBinomial.from_class_counts([0, 1], np.ones(2))
    with pytest.raises(ParameterError, match="nothing to fit to"):
        BetaBinomial.from_class_counts([0, 1], np.zeros(3))
    with pytest.raises(ParameterError, match=r"expected the number of ones, Count\(\), found"):
        BetaBinomial.uniform([0, 1], ValueCounts(3))


@pytest.mark.parametrize(
    ("mean", "dispersion", "known"),
    [
        (0.8531139108655484, 1e6, [1]),
        (1 - 1e-9, 3.0, [1, 1]),
        (1 - 2**-53, 1e-6, [1, 1, 1]),
        (1 - 1e-9, 1e-7, [0, 1]),
        (0.3, 1e9, [1, 1]),
    ],
)
def test_conditioning_keeps_the_digits_of_what_is_all_but_impossible(mean, dispersion, known):
    n = 6
    leaf = BetaBinomial(range(n), mean, dispersion)
    rest, _ = leaf.condition(np.array([*known, *[np.nan] * (n - len(known))], dtype=float))
    for t in range(n - len(known) + 1):
        bits = [1] * t + [0] * (n - len(known) - t)
        exact = urn(mean, dispersion, known + bits) / urn(mean, dispersion, known)
        found = rest.log_prob(np.array([bits], dtype=float))[0]
        assert found == pytest.approx(log_of(exact), rel=1e-14, abs=1e-14)


def urn(mean, dispersion, bits):
    """The probability of drawing these bits, as a fraction."""
    p, growth, chance, ones = Fraction(mean), Fraction(dispersion), Fraction(1), 0
    for drawn, bit in enumerate(bits):
        favored = p + growth * ones if bit else 1 - p + growth * (drawn - ones)
        chance *= favored / (1 + growth * drawn)
        ones += bit
    return chance


def log_of(fraction):
    """The logarithm of a fraction, to all digits also near 1."""
    return math.log1p(float(fraction - 1)) if fraction > 0.5 else math.log(float(fraction))


def test_conditioned_independent_bits_are_what_they_were():
    rest, _ = BetaBinomial(range(3), 1 - 1e-9, 0.0).condition(np.array([1.0, np.nan, np.nan]))
    assert isinstance(rest, BetaBinomial)
    assert (rest.mean, rest.dispersion) == (1 - 1e-9, 0.0)
