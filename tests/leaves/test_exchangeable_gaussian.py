"""Compound symmetry against the general normal distribution, which knows nothing of it."""

import numpy as np
import pytest
from scipy.stats import kstest, multivariate_normal

from xspn import Circuit, ExchangeableGaussian, Gaussian, XSPNError
from xspn.graph import Scope

SEEDS = range(8)


def covariance(leaf):
    n = len(leaf.variables)
    return leaf.std**2 * ((1 - leaf.correlation) * np.eye(n) + leaf.correlation)


def partial_rows(leaf, rng, rows=40):
    x = leaf.mean + rng.normal(size=(rows, len(leaf.variables)))
    return np.where(rng.random(x.shape) < 0.4, np.nan, x)


def conditional(leaf, row):
    """Return mean and covariance of the missing values by the textbook formula."""
    seen, hidden = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
    c = covariance(leaf)
    gain = c[np.ix_(hidden, seen)] @ np.linalg.inv(c[np.ix_(seen, seen)])
    return leaf.mean + gain @ (row[seen] - leaf.mean), c[np.ix_(hidden, hidden)] - gain @ c[np.ix_(seen, hidden)]


@pytest.mark.parametrize("seed", SEEDS)
def test_densities_of_any_pattern(seed):
    rng = np.random.default_rng(seed)
    leaf = ExchangeableGaussian.example(rng)
    x = partial_rows(leaf, rng)
    for row, found in zip(x, leaf.log_prob(x), strict=True):
        seen = np.flatnonzero(~np.isnan(row))
        if len(seen):
            expected = multivariate_normal(np.full(len(seen), leaf.mean), covariance(leaf)[np.ix_(seen, seen)])
            assert found == pytest.approx(expected.logpdf(row[seen]), abs=1e-10)
        else:
            assert found == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_conditionals_and_modes(seed):
    rng = np.random.default_rng(seed)
    leaf = ExchangeableGaussian.example(rng)
    for row in partial_rows(leaf, rng):
        left, log_evidence = leaf.condition(row)
        assert log_evidence == pytest.approx(leaf.log_prob(row[None, :])[0], abs=1e-12)
        if not np.isnan(row).any():
            assert left is None
            continue
        if np.isnan(row).all():
            continue
        mean, spread = conditional(leaf, row)
        np.testing.assert_allclose(leaf.mode(row[None, :])[0][0][np.isnan(row)], mean, atol=1e-10)
        own_mean, covariance = left.moments()
        np.testing.assert_allclose(own_mean, mean, atol=1e-10)
        np.testing.assert_allclose(covariance, spread, atol=1e-10)


@pytest.mark.parametrize("seed", SEEDS)
def test_samples_have_the_conditional_distribution(seed):
    rng = np.random.default_rng(seed)
    leaf = ExchangeableGaussian.example(rng)
    row = np.full(len(leaf.variables), np.nan)
    row[0] = leaf.mean + 1.3
    mean, spread = conditional(leaf, row)
    drawn = leaf.sample(np.tile(row, (4000, 1)), rng)
    assert (drawn[:, 0] == row[0]).all()
    white = np.linalg.solve(np.linalg.cholesky(spread), (drawn[:, 1:] - mean).T)
    for direction in white:
        assert kstest(direction, "norm").pvalue > 1e-4
    np.testing.assert_allclose(np.cov(white), np.eye(len(white)), atol=0.12)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_fit_maximises_the_likelihood(seed):
    rng = np.random.default_rng(seed)
    truth = ExchangeableGaussian.example(rng)
    x = truth.sample(np.full((300, len(truth.variables)), np.nan), rng)
    weights = rng.random(300)
    fitted = truth.from_statistics(truth.statistics(x, weights))
    best = weights @ fitted.log_prob(x)
    lowest = -1 / (len(truth.variables) - 1)
    for change in (0.97, 1.03):
        for mean, std, correlation in (
            (fitted.mean * change + 0.01, fitted.std, fitted.correlation),
            (fitted.mean, fitted.std * change, fitted.correlation),
            (fitted.mean, fitted.std, min(max(fitted.correlation + (change - 1), lowest + 1e-6), 1 - 1e-6)),
        ):
            assert weights @ ExchangeableGaussian(truth.variables, mean, std, correlation).log_prob(x) <= best + 1e-9


@pytest.mark.parametrize("seed", SEEDS)
def test_em_with_missing_values_never_lowers_the_likelihood(seed):
    rng = np.random.default_rng(seed)
    truth = ExchangeableGaussian.example(rng)
    x = truth.sample(np.full((200, len(truth.variables)), np.nan), rng)
    x[rng.random(x.shape) < 0.4] = np.nan
    leaf = ExchangeableGaussian(truth.variables, 0.5, 2.0, 0.1)
    before = leaf.log_prob(x).sum()
    for _ in range(15):
        leaf = leaf.from_statistics(leaf.statistics(x, np.ones(len(x))))
        after = leaf.log_prob(x).sum()
        assert after >= before - 1e-9
        before = after


def test_statistics_are_additive():
    rng = np.random.default_rng(0)
    leaf = ExchangeableGaussian.example(rng)
    x, weights = partial_rows(leaf, rng), rng.random(40)
    parts = leaf.statistics(x[:15], weights[:15]) + leaf.statistics(x[15:], weights[15:])
    np.testing.assert_allclose(leaf.statistics(x, weights), parts)


def test_marginals_are_of_the_same_family():
    leaf = ExchangeableGaussian([3, 5, 8], mean=1, std=2, correlation=-0.3)
    assert isinstance(leaf.marginalize(Scope.of([5])), Gaussian)
    pair = leaf.marginalize(Scope.of([3, 8]))
    assert (pair.variables, pair.mean) == ((3, 8), 1.0)
    assert pair.correlation == pytest.approx(-0.3)
    assert leaf.marginalize(Scope.of([0])) is None


def test_in_a_circuit():
    circuit = Circuit(ExchangeableGaussian(range(20), mean=0, std=1, correlation=0.5))
    x = np.full((1, 20), np.nan)
    x[0, :10] = 1.0
    assert circuit.mpe(x).values[0, 15] == pytest.approx(10 * 0.5 / (0.5 + 10 * 0.5))
    assert circuit.moments().correlation[3, 7] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (([0], 0, 1, 0.5), "at least two variables"),
        (([0, 1], 0, 0, 0.5), "above 0"),
        (([0, 1, 2], 0, 1, -0.5), "correlation above -0.5"),
        (([0, 1], 0, 1, 1.0), "below 1"),
        (([0, 1], np.nan, 1, 0.5), "finite mean"),
        (([0, 1], "x", 1, 0.5), "finite mean"),
    ],
)
def test_bad_parameters(arguments, said):
    with pytest.raises(XSPNError, match=said):
        ExchangeableGaussian(*arguments)


def test_constant_values_need_smoothing():
    leaf = ExchangeableGaussian([0, 1], 0, 1, 0.0)
    constant = leaf.statistics(np.ones((5, 2)), np.ones(5))
    with pytest.raises(XSPNError, match="smoothing"):
        leaf.from_statistics(constant)
    assert leaf.from_statistics(constant, 0.1).mean == pytest.approx(1)
