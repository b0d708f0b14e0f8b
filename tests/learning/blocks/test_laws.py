"""Laws of counts: evidence against integrals and urns, probabilities against the sum over all assignments."""

from math import comb, factorial, lgamma

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln

from support.blocks import (
    beta_binomial_of,
    evidence_of_beta_binomial,
    evidence_of_binomial,
    evidence_of_block,
    evidence_of_histogram,
)
from xspn.learning.blocks.laws import (
    BETA_BINOMIAL,
    BINOMIAL,
    HISTOGRAM,
    evidence_of_bit,
    evidence_of_counts,
    evidence_of_pair,
    log_factorials_to,
    log_probabilities,
    moments_of_counts,
)

LAWS = {HISTOGRAM: evidence_of_histogram, BETA_BINOMIAL: evidence_of_beta_binomial, BINOMIAL: evidence_of_binomial}


def found(counts):
    n = len(counts) - 1
    return evidence_of_counts(np.asarray(counts, dtype=float), n, log_factorials_to(n))


def probabilities(counts, law):
    """P of a single assignment with t ones."""
    n = len(counts) - 1
    logs = np.full(n + 1, np.nan)
    log_probabilities(np.asarray(counts, dtype=float), n, log_factorials_to(n), law, logs)
    return np.exp(logs)


def ways(n):
    return np.array([comb(n, t) for t in range(n + 1)], dtype=float)


def cases(rng):
    """Counts of all shapes: of independent variables, of alike rows, with gaps, of fractional weights, extreme ones."""
    for n in (2, 3, 5, 9):
        for total in (1, 7, 300):
            yield rng.multinomial(total, rng.dirichlet(np.full(n + 1, 0.3))).astype(float)
            yield rng.multinomial(total, ways(n) / 2**n).astype(float)
            p = np.outer(rng.beta(1.5, 1.5, total), np.ones(n))
            yield np.bincount((rng.random((total, n)) < p).sum(axis=1), minlength=n + 1).astype(float)
            yield rng.random(n + 1) * total
            yield np.eye(n + 1)[0] * total
            yield np.eye(n + 1)[n] * total


def test_log_factorials_are_those_of_whole_numbers():
    np.testing.assert_allclose(np.exp(log_factorials_to(12)), [factorial(t) for t in range(13)], rtol=1e-12)


def test_the_evidence_of_a_bit_is_the_integral_over_its_probability():
    for ones, zeros in [(0, 0), (1, 0), (0, 5), (3, 4), (2.5, 0.75)]:
        # p = sin²(a) has the density Beta(½, ½) if a is uniform on 0..π/2
        integral, _ = quad(lambda a, k=ones, j=zeros: np.sin(a) ** (2 * k) * np.cos(a) ** (2 * j), 0, np.pi / 2)
        assert evidence_of_bit(ones, zeros) == pytest.approx(np.log(integral * 2 / np.pi), abs=1e-9)


def test_the_evidence_of_a_histogram_is_a_product_of_predictions(rng):
    for n in (1, 2, 4):
        counts = np.zeros(n + 1)
        expected = 0.0
        for t in rng.integers(0, 2, size=12) * rng.integers(0, n + 1, size=12):
            expected += np.log((counts[t] + 1 / (n + 1)) / (counts.sum() + 1) / comb(n, t))
            counts[t] += 1
        assert evidence_of_histogram(counts) == pytest.approx(expected, abs=1e-9)  # the oracle of the tests below
        if n == 1:
            assert found(counts) == (pytest.approx(expected, abs=1e-9), HISTOGRAM)


def test_the_evidence_of_a_histogram_of_two_is_an_integral():
    """Dirichlet(1/3, 1/3, 1/3), of which two parts are drawn one after the other."""
    counts = np.array([1.5, 9.0, 0.0])
    log_norm = gammaln(1.0) - 3 * gammaln(1 / 3)

    def inner(p):
        return quad(
            lambda u: (p * u) ** (counts[1] - 2 / 3) * (p * (1 - u)) ** (counts[2] - 2 / 3) * p, 0, 1, epsabs=1e-14
        )[0] * (1 - p) ** (counts[0] - 2 / 3)

    integral = np.exp(log_norm) * quad(inner, 0, 1, epsabs=1e-14)[0] * 2.0 ** -counts[1]
    assert found(counts) == (pytest.approx(np.log(integral / 3), abs=1e-5), HISTOGRAM)


def test_the_evidence_of_a_binomial_law_is_that_of_an_urn_of_all_cells(rng):
    bits = (rng.random((40, 6)) < 0.3).astype(int)
    seen, expected = np.array([0.5, 0.5]), 0.0
    for bit in bits.ravel():
        expected += np.log(seen[bit] / seen.sum())
        seen[bit] += 1
    counts = np.bincount(bits.sum(axis=1), minlength=7)
    assert found(counts) == (pytest.approx(expected - np.log(3), abs=1e-9), BINOMIAL)


def test_the_best_of_three_laws_is_taken(rng):
    taken = []
    for counts in cases(rng):
        if counts.sum() == 0:
            continue
        evidence, law = found(counts)
        taken.append(law)
        assert evidence == pytest.approx(evidence_of_block(counts), rel=1e-9, abs=1e-7), counts
        assert evidence == pytest.approx(LAWS[law](counts) - np.log(3), rel=1e-9, abs=1e-7), counts
    assert min(taken.count(law) for law in LAWS) >= 5  # each is best for some


def test_moments_are_those_of_the_beta_binomial_law(rng):
    for counts in cases(rng):
        if counts.sum() > 0:
            mean, dispersion = moments_of_counts(counts, len(counts) - 1)
            expected, correlation = beta_binomial_of(counts)
            assert mean == pytest.approx(expected, rel=1e-12)
            assert dispersion / (1 + dispersion) == pytest.approx(correlation, rel=1e-7)


@pytest.mark.parametrize("law", list(LAWS))
def test_probabilities_of_all_assignments_sum_to_one(rng, law):
    for counts in cases(rng):
        if counts.sum() > 0:
            own = probabilities(counts, law)
            assert (own > 0).all()
            assert ways(len(counts) - 1) @ own == pytest.approx(1, abs=1e-10), counts


def test_probabilities_predict_the_next_row(rng):
    """The evidence with one more row, less the evidence without it."""
    for counts in cases(rng):
        n = len(counts) - 1
        own = np.log(probabilities(counts, HISTOGRAM))
        for t in range(n + 1):
            more = counts + np.eye(n + 1)[t]
            assert own[t] == pytest.approx(evidence_of_histogram(more) - evidence_of_histogram(counts), abs=1e-7)


def test_probabilities_of_a_binomial_law_are_those_of_independent_bits():
    counts = np.array([3.0, 1.5, 0.25, 2.0])
    p = (1.5 + 0.5 + 6.0 + 0.5) / (6.75 * 3 + 1)
    np.testing.assert_allclose(
        probabilities(counts, BINOMIAL), [p**t * (1 - p) ** (3 - t) for t in range(4)], rtol=1e-12
    )


def test_no_rows_are_no_evidence():
    assert found(np.zeros(4)) == (0.0, HISTOGRAM)
    np.testing.assert_allclose(probabilities(np.zeros(4), HISTOGRAM) * ways(3), 0.25)


def test_fractional_weights_lie_between_whole_ones():
    """Evidence of the same rows falls with their weight, without a jump."""
    shape = np.array([1.0, 0.0, 2.0, 1.0])
    weights = np.linspace(0.01, 5, 400)
    evidence = np.array([found(shape * w)[0] for w in weights])
    assert (np.diff(evidence) < 0).all()
    assert np.abs(np.diff(evidence, 2)).max() < 0.05


@pytest.mark.parametrize("total", [0.0, 0.3, 1.0, 40.0, 3000.0])
def test_the_evidence_of_a_pair_is_that_of_its_counts(rng, total):
    for evenness in (0.05, 0.5, 5.0) * 10:
        counts = total * rng.dirichlet(np.full(3, evenness))
        counts[rng.random(3) < 0.2] = 0.0
        weight = counts.sum()
        own = evidence_of_pair(*counts, lgamma(weight + 1), lgamma(1 / 3), lgamma(2 * weight + 1))
        assert own == pytest.approx(evidence_of_counts(counts, 2, log_factorials_to(2))[0], rel=1e-12, abs=1e-9)
