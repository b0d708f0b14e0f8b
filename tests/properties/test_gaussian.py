"""Circuits with real variables, against the textbook formulas of Gaussian mixtures."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest, norm

from xspn import Bernoulli, Categorical, Circuit, Exchangeable, Gaussian, Product, Sum
from xspn.core.errors import QueryError

NAN = np.nan


class Mixture:
    """k components over (colour of 3, real, two exchangeable bits, real): the parameters as plain arrays."""

    def __init__(self, rng, k):
        self.weights = rng.dirichlet(np.ones(k))
        self.colour = rng.dirichlet(np.ones(3), size=k)
        self.bits = rng.dirichlet(np.ones(3), size=k)  # P(0, 1, 2 ones)
        self.mean, self.std = 2 * rng.normal(size=(k, 2)), 0.3 + rng.random((k, 2))
        self.circuit = Circuit(Sum(self.weights, [self.component(j) for j in range(k)]))

    def component(self, j):
        bits = Exchangeable.from_class_probabilities([2, 3], self.bits[j])
        reals = [Gaussian(column, self.mean[j, i], self.std[j, i]) for i, column in enumerate((1, 4))]
        return Product([Categorical(0, self.colour[j]), bits, *reals])

    def densities(self, rows):
        """The density of each row under each component: (rows, k)."""
        out = np.ones((len(rows), len(self.weights)))
        for r, (colour, x, a, b, y) in enumerate(rows):
            if not np.isnan(colour):
                out[r] *= self.colour[:, int(colour)]
            for i, value in enumerate((x, y)):
                if not np.isnan(value):
                    out[r] *= norm.pdf(value, self.mean[:, i], self.std[:, i])
            out[r] *= self.bits_chance(a, b)
        return out

    def bits_chance(self, a, b):
        each = self.bits / np.array([1, 2, 1])
        options = [(u, v) for u in (0, 1) for v in (0, 1)]
        fitting = [(u, v) for u, v in options if (np.isnan(a) or u == a) and (np.isnan(b) or v == b)]
        return sum(each[:, u + v] for u, v in fitting)


@st.composite
def mixtures(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return Mixture(rng, draw(st.integers(1, 4))), rng


def rows_of(rng, count):
    rows = np.column_stack(
        [
            rng.integers(3, size=count),
            2 * rng.normal(size=count),
            *rng.integers(2, size=(2, count)),
            rng.normal(size=count),
        ]
    )
    rows[rng.random(rows.shape) < rng.choice([0.0, 0.4, 0.8], size=(count, 1))] = NAN
    return rows


@settings(max_examples=60)
@given(mixtures())
def test_log_likelihood(case):
    mixture, rng = case
    rows = rows_of(rng, 20)
    expected = np.log(mixture.densities(rows) @ mixture.weights)
    np.testing.assert_allclose(mixture.circuit.log_likelihood(rows), expected, rtol=1e-10, atol=1e-10)


@settings(max_examples=60)
@given(mixtures())
def test_marginals_given_reals(case):
    mixture, rng = case
    rows = rows_of(rng, 10)
    posterior = mixture.densities(rows) * mixture.weights
    posterior /= posterior.sum(axis=1, keepdims=True)
    found = mixture.circuit.marginals(rows)
    for r, row in enumerate(rows):
        colour = posterior[r] @ mixture.colour if np.isnan(row[0]) else np.eye(3)[int(row[0])]
        np.testing.assert_allclose(found[r, 0], colour, atol=1e-10)
        np.testing.assert_allclose(found[r, 2, 1], bit_given(mixture, posterior[r], row), atol=1e-10)
    assert np.isnan(found[:, [1, 4]]).all()
    assert np.isnan(found[:, 2, 2]).all()


def bit_given(mixture, posterior, row):
    if not np.isnan(row[2]):
        return row[2]
    both = mixture.bits_chance(1.0, row[3]) / mixture.bits_chance(NAN, row[3])
    return posterior @ both


@settings(max_examples=40)
@given(mixtures())
def test_moments(case):
    mixture, _ = case
    found = mixture.circuit.moments()
    mean = mixture.weights @ mixture.mean
    second = mixture.weights @ (mixture.mean**2 + mixture.std**2)
    np.testing.assert_allclose(found.mean[[1, 4]], mean, atol=1e-10)
    np.testing.assert_allclose(found.variance[[1, 4]], second - mean**2, atol=1e-10)
    cross = mixture.weights @ (mixture.mean[:, 0] * mixture.mean[:, 1]) - mean[0] * mean[1]
    assert found.covariance[1, 4] == pytest.approx(cross, abs=1e-10)


@settings(max_examples=40)
@given(mixtures())
def test_conditioning_on_a_real_value(case):
    mixture, rng = case
    rest = mixture.circuit.condition({1: 0.3, 2: 1})
    rows = rows_of(rng, 10)
    both = rows.copy()
    both[:, 1], both[:, 2] = 0.3, 1
    known = np.full((1, 5), NAN)
    known[0, 1], known[0, 2] = 0.3, 1
    expected = np.log(mixture.densities(both) @ mixture.weights) - np.log(mixture.densities(known) @ mixture.weights)
    np.testing.assert_allclose(rest.log_likelihood(rows), expected, rtol=1e-10, atol=1e-10)


@settings(max_examples=40)
@given(mixtures())
def test_max_product_completes_reals(case):
    mixture, rng = case
    rows = rows_of(rng, 8)
    found = mixture.circuit.mpe(rows)
    assert not np.isnan(found.values).any()
    assert ((found.values == rows) | np.isnan(rows)).all()
    expected = np.log(mixture.densities(found.values) @ mixture.weights)
    np.testing.assert_allclose(found.log_prob, expected, rtol=1e-10, atol=1e-10)
    if np.isnan(rows[:, [1, 4]]).any() and mixture.circuit.why_not_selective():
        with pytest.raises(QueryError, match=r"variable [14] is real"):
            mixture.circuit.mpe(rows, exact=True)


def test_exact_mpe_of_discrete_variables_beside_known_reals():
    mixture = Mixture(np.random.default_rng(0), 3)
    known = [[NAN, 0.5, NAN, NAN, -0.5]]
    found = mixture.circuit.mpe(known, exact=True)
    all_assignments = np.array([[c, 0.5, a, b, -0.5] for c in range(3) for a in (0, 1) for b in (0, 1)])
    assert found.log_prob[0] == pytest.approx(
        np.log(mixture.densities(all_assignments) @ mixture.weights).max(), abs=1e-10
    )


def test_samples_of_a_mixture():
    mixture = Mixture(np.random.default_rng(1), 3)
    drawn = mixture.circuit.sample(4000, random_state=0)[:, 1]
    by_component = [norm(mean, std) for mean, std in zip(mixture.mean[:, 0], mixture.std[:, 0], strict=True)]

    def cumulative(x):
        return sum(w * part.cdf(x) for w, part in zip(mixture.weights, by_component, strict=True))

    assert kstest(drawn, cumulative).pvalue > 1e-4


def test_samples_given_a_real_value():
    """Observing the real variable decides between two components, and the bit follows."""
    parts = [Product([Gaussian(0, mean, 1.0), Bernoulli(1, p=p)]) for mean, p in ((-2, 0.1), (2, 0.8))]
    circuit = Circuit(Sum([0.5, 0.5], parts))
    odds = np.exp(norm.logpdf(0.5, 2) - norm.logpdf(0.5, -2))
    expected = (0.1 + odds * 0.8) / (1 + odds)
    drawn = circuit.sample(5000, given=[[0.5, NAN]], random_state=0)
    assert (drawn[:, 0] == 0.5).all()
    assert drawn[:, 1].mean() == pytest.approx(expected, abs=0.03)
    assert circuit.marginals([[0.5, NAN]])[0, 1, 1] == pytest.approx(expected, rel=1e-12)


def test_far_away_values_stay_finite():
    circuit = Circuit(Sum([0.5, 0.5], [Gaussian(0, -1, 1), Gaussian(0, 1, 1)]))
    found = circuit.log_likelihood([[1e4], [-1e8]])
    assert np.isfinite(found).all()
    assert found[0] == pytest.approx(norm.logpdf(1e4, 1, 1) + np.log(0.5), rel=1e-12)
    assert circuit.log_likelihood([[1e200], [-1e308]]).tolist() == [-np.inf, -np.inf]  # and no warning
