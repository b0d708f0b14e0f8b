"""Jointly normal variables against scipy and the textbook formulas."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from xspn import Circuit, Gaussian, MultivariateGaussian, XSPNError, load, save
from xspn.graph import Scope

SEEDS = range(8)


def partial_rows(leaf, rng, rows=30):
    x = leaf.mean + rng.normal(size=(rows, len(leaf.variables)))
    return np.where(rng.random(x.shape) < 0.4, np.nan, x)


def conditional(leaf, row):
    seen, hidden = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
    c = leaf.covariance
    gain = c[np.ix_(hidden, seen)] @ np.linalg.inv(c[np.ix_(seen, seen)])
    mean = leaf.mean[hidden] + gain @ (row[seen] - leaf.mean[seen])
    return mean, c[np.ix_(hidden, hidden)] - gain @ c[np.ix_(seen, hidden)]


@pytest.fixture(params=SEEDS)
def case(request):
    rng = np.random.default_rng(request.param)
    leaf = MultivariateGaussian.example(rng)
    return leaf, partial_rows(leaf, rng), rng


def test_densities_of_any_pattern(case):
    leaf, x, _ = case
    for row, found in zip(x, leaf.log_prob(x), strict=True):
        seen = np.flatnonzero(~np.isnan(row))
        if len(seen):
            expected = multivariate_normal(leaf.mean[seen], leaf.covariance[np.ix_(seen, seen)]).logpdf(row[seen])
            assert found == pytest.approx(expected, abs=1e-9)
        else:
            assert found == 0


def test_conditionals_and_modes(case):
    leaf, x, _ = case
    for row in x:
        left, log_evidence = leaf.condition(row)
        assert log_evidence == pytest.approx(leaf.log_prob(row[None, :])[0], abs=1e-12)
        if not np.isnan(row).any():
            assert left is None
            continue
        if np.isnan(row).all():
            assert left is leaf
            continue
        mean, spread = conditional(leaf, row)
        filled, log_prob = leaf.mode(row[None, :])
        np.testing.assert_allclose(filled[0][np.isnan(row)], mean, atol=1e-9)
        assert log_prob[0] == leaf.log_prob(filled)[0]
        own_mean, covariance = left.moments()
        np.testing.assert_allclose(own_mean, mean, atol=1e-9)
        np.testing.assert_allclose(covariance, spread, atol=1e-9)


def test_marginals(case):
    leaf, _, _ = case
    first = leaf.marginalize(Scope.of(leaf.variables[:1]))
    assert isinstance(first, Gaussian)
    assert (first.mean, first.std**2) == pytest.approx((leaf.mean[0], leaf.covariance[0, 0]))
    assert leaf.marginalize(leaf.scope) is leaf
    assert leaf.marginalize(Scope.of([99])) is None


def test_samples_follow_the_conditional(case):
    leaf, x, rng = case
    row = next(row for row in x if 0 < np.isnan(row).sum() < len(row))
    drawn = leaf.sample(np.tile(row, (20_000, 1)), rng)
    mean, spread = conditional(leaf, row)
    hidden = np.isnan(row)
    np.testing.assert_array_equal(drawn[:, ~hidden], np.tile(row[~hidden], (20_000, 1)))
    np.testing.assert_allclose(drawn[:, hidden].mean(axis=0), mean, atol=0.1)
    np.testing.assert_allclose(np.atleast_2d(np.cov(drawn[:, hidden].T)), spread, atol=0.2 * spread.max())


def test_fit_is_the_maximum_and_statistics_add_up(case):
    leaf, _, rng = case
    x = leaf.sample(np.full((200, len(leaf.variables)), np.nan), rng)
    weights = rng.random(200)
    fitted = leaf.from_statistics(leaf.statistics(x, weights))
    np.testing.assert_allclose(fitted.mean, np.average(x, axis=0, weights=weights))
    np.testing.assert_allclose(fitted.covariance, np.cov(x.T, aweights=weights, ddof=0))
    halves = leaf.statistics(x[:90], weights[:90]) + leaf.statistics(x[90:], weights[90:])
    np.testing.assert_allclose(leaf.statistics(x, weights), halves)
    np.testing.assert_allclose(
        fitted.restate(leaf.statistics(x, weights), leaf), fitted.statistics(x, weights), atol=1e-8
    )
    assert leaf.from_statistics(np.zeros(len(halves))) is leaf


def test_em_on_partial_rows_never_loses(case):
    leaf, x, _ = case
    weights = np.ones(len(x))
    for _ in range(5):
        following = leaf.from_statistics(leaf.statistics(x, weights), 1e-6)
        assert following.log_prob(x).sum() >= leaf.log_prob(x).sum() - 1e-3
        leaf = following


def test_files_and_circuits(case, tmp_path):
    leaf, x, _ = case
    circuit = Circuit(leaf)
    save(circuit, tmp_path / "model.json")
    np.testing.assert_array_equal(load(tmp_path / "model.json").log_likelihood(x), circuit.log_likelihood(x))
    again = MultivariateGaussian.from_params(leaf.variables, leaf.to_params())
    assert again.fingerprint() == leaf.fingerprint()
    assert leaf.n_parameters == len(leaf.mean) + len(leaf.mean) * (len(leaf.mean) + 1) // 2


@pytest.mark.parametrize(
    ("variables", "mean", "covariance", "said"),
    [
        ([0], [0.0], [[1.0]], "at least two"),
        ([0, 1], [0.0], np.eye(2), "2 means"),
        ([0, 1], [0.0, np.inf], np.eye(2), "finite"),
        ([0, 1], [0.0, 0.0], [[1.0, 0.5], [0.2, 1.0]], "symmetric"),
        ([0, 1], [0.0, 0.0], [[1.0, 1.0], [1.0, 1.0]], "positive definite"),
    ],
)
def test_refusals(variables, mean, covariance, said):
    with pytest.raises(XSPNError, match=said):
        MultivariateGaussian(variables, mean, covariance)


def test_values_without_variance_need_smoothing():
    leaf = MultivariateGaussian([0, 1], [0, 0], np.eye(2))
    counted = leaf.statistics(np.ones((5, 2)), np.ones(5))
    with pytest.raises(XSPNError, match="no variance"):
        leaf.from_statistics(counted)
    assert np.linalg.det(leaf.from_statistics(counted, 0.1).covariance) > 0


@pytest.mark.parametrize("seed", range(4))
def test_rows_with_many_patterns_at_once_are_as_one_by_one(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(6, 8))
    leaf = MultivariateGaussian(range(6), rng.normal(size=6), root @ root.T / 8 + 0.05 * np.eye(6))
    x, weights = partial_rows(leaf, rng, rows=200), rng.random(200)
    x[0] = np.nan
    monkeypatch.setattr("xspn.leaves.multivariate_gaussian.MANY", 2**62)
    one_by_one = leaf.log_prob(x), leaf.mode(x)[0], leaf.means(x), leaf.variances(x), leaf.statistics(x, weights)
    monkeypatch.setattr("xspn.leaves.multivariate_gaussian.MANY", 2)
    assert leaf._at_once(x) is not None
    at_once = leaf.log_prob(x), leaf.mode(x)[0], leaf.means(x), leaf.variances(x), leaf.statistics(x, weights)
    for found, expected in zip(at_once, one_by_one, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_draws_of_many_patterns_have_the_moments_of_what_is_missing():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(5, 7))
    leaf = MultivariateGaussian(range(5), rng.normal(size=5), root @ root.T / 7 + 0.1 * np.eye(5))
    x = np.where(rng.random((30, 5)) < 0.5, np.nan, leaf.mean + rng.normal(size=(30, 5)))
    drawn = leaf.sample(np.repeat(x, 4000, axis=0), rng).reshape(30, 4000, 5)
    for row, own in zip(x, drawn, strict=True):
        hidden = np.isnan(row)
        assert (own[:, ~hidden] == row[~hidden]).all()
        if hidden.any():
            mean, covariance = conditional(leaf, row)
            error = np.sqrt(np.diag(covariance) / 4000)
            assert (np.abs(own[:, hidden].mean(axis=0) - mean) < 5 * error).all()
            spread = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
            assert (np.abs(np.cov(own[:, hidden].T).reshape(covariance.shape) - covariance) < 0.12 * spread).all()


def test_a_covariance_near_singularity_is_evaluated_one_by_one():
    leaf = MultivariateGaussian(range(2), [0, 0], [[1, 1 - 1e-8], [1 - 1e-8, 1]])
    assert leaf._at_once(np.array([[0.0, np.nan]] * 100)) is None
