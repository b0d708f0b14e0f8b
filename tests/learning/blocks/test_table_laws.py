"""The evidence of blocks of categories and of reals: against predictions one row at a time, integrals and urns."""

from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import dirichlet_multinomial, invgamma, multivariate_normal, multivariate_t, norm

from xspn.learning.blocks.laws import evidence_of_counts, log_factorials_to
from xspn.learning.blocks.table_laws import (
    DRAWS,
    HISTOGRAM,
    MEAN_ROWS,
    POINTS,
    POLYA,
    TOTALS,
    VARIANCE_ROWS,
    RowMoments,
    classes_of,
    evidence_of_classes,
    evidence_of_laws,
    evidence_of_normal_block,
    evidence_of_normals,
    log_probabilities,
)
from xspn.statistics import Total, ValueCounts

MANY = 1e9
CASES = [(1, 2), (1, 5), (2, 2), (2, 3), (3, 3), (4, 2), (3, 4)]  # columns, values


def codes_of(rng, rows, n, k):
    """Rows whose columns are draws from one of two distributions."""
    p = rng.dirichlet(np.ones(k), size=2)[rng.integers(0, 2, size=rows)]
    return np.array([[rng.choice(k, p=own) for own in p] for _ in range(n)])


def chain(statistic, codes, prior):
    """The log-probability of rows, each predicted from those before it: class frequencies with a prior mass of one."""
    n = len(codes)
    classes, sizes = statistic.of(codes.T), statistic.log_class_size(n)
    counts, found = np.full(len(sizes), prior / len(sizes)), 0.0
    for c in classes:
        found += np.log(counts[c] / counts.sum()) - sizes[c]
        counts[c] += 1
    return found


@pytest.mark.parametrize(("n", "k"), CASES)
def test_histograms_and_draws_are_products_of_predictions(rng, n, k):
    codes = codes_of(rng, 25, n, k)
    found = evidence_of_laws(classes_of(codes, k, True, MANY), np.ones(25))
    n_laws = 1 if n == 1 else (3 if k == 2 else 4)
    assert found[HISTOGRAM] == pytest.approx(chain(ValueCounts(k), codes, 1.0) - np.log(n_laws), abs=1e-9)
    if n > 1:
        assert found[DRAWS] == pytest.approx(
            chain(ValueCounts(k), codes.reshape(1, -1), 1.0) - np.log(n_laws), abs=1e-9
        )
    if n_laws == 4:
        assert found[TOTALS] == pytest.approx(chain(Total(k), codes, 1.0) - np.log(4), abs=1e-9)


@pytest.mark.parametrize(("n", "k"), [case for case in CASES if case[0] > 1])
def test_a_polya_law_is_an_urn_with_the_moments_of_the_counts(rng, n, k):
    codes = codes_of(rng, 200, n, k)
    counts = np.stack([(codes == v).sum(axis=0) for v in range(k)], axis=1)
    p = (counts.sum(axis=0) + 1 / k) / (200 * n + 1)
    correlation = (counts.var(axis=0).sum() / (n * p * (1 - p)).sum() - 1) / (n - 1)
    correlation = np.clip(correlation, 1e-4, 0.98)
    urn = dirichlet_multinomial(p * (1 / correlation - 1), n)
    sizes = ValueCounts(k).log_class_size(n)[ValueCounts(k).of(codes.T)]
    expected = sum(urn.logpmf(row) for row in counts) - sizes.sum() - 0.5 * k * np.log(201) - np.log(3)
    found = evidence_of_laws(classes_of(codes, k, False, MANY), np.ones(200))
    assert found[POLYA] == pytest.approx(expected, abs=1e-6)


def test_two_values_have_the_evidence_of_bits(rng):
    for n in (1, 2, 5, 9):
        codes = codes_of(rng, 60, n, 2)
        weights = rng.random(60) * 3
        counts = np.bincount(codes.sum(axis=0), weights=weights, minlength=n + 1)
        expected, _ = evidence_of_counts(counts, n, log_factorials_to(n))
        found, _ = evidence_of_classes(classes_of(codes, 2, False, MANY), weights)
        assert found == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("law", [HISTOGRAM, POLYA, DRAWS, TOTALS])
@pytest.mark.parametrize(("n", "k"), [(2, 3), (3, 3), (4, 4), (2, 5)])
def test_probabilities_of_all_assignments_sum_to_one(rng, law, n, k):
    every = np.array(list(product(range(k), repeat=n))).T
    codes = np.concatenate([codes_of(rng, 40, n, k), every], axis=1)
    weights = np.concatenate([rng.random(40), np.zeros(every.shape[1])])
    classes = classes_of(codes, k, True, MANY)
    logs = log_probabilities(classes, weights, law)[classes.of]
    assert np.exp(logs[40:]).sum() == pytest.approx(1, abs=1e-9)


def test_a_block_with_more_classes_than_a_leaf_may_have_is_one_of_draws_or_totals(rng):
    codes = codes_of(rng, 30, 8, 6)
    for ordered in (False, True):
        _, law = evidence_of_classes(classes_of(codes, 6, ordered, 100), np.ones(30))
        assert law in ((DRAWS, TOTALS) if ordered else (DRAWS,))


def moments(values, variances, weights=None, floors=None):
    weights = np.ones(len(values)) if weights is None else weights
    centers = np.average(values, axis=0, weights=weights) + 0.3  # the prior's, which need not be the rows' own
    away = values - centers
    floors = np.zeros(values.shape[1]) if floors is None else floors
    return RowMoments(
        weights.sum(), weights @ away, (away * weights[:, None]).T @ away, centers, np.asarray(variances), floors
    )


def log_mean_over(logs, log_prior, steps):
    return logsumexp(logs + log_prior) + np.log(steps)


def grid_of(variance):
    """Variances on a grid of their logarithms, their prior density there, and the width of a step."""
    logs = np.linspace(np.log(variance) - 14, np.log(variance) + 22, 1200)
    density = invgamma.logpdf(np.exp(logs), VARIANCE_ROWS / 2, scale=VARIANCE_ROWS * variance / 2)
    return np.exp(logs), density + logs, logs[1] - logs[0]


def test_a_single_column_against_the_integral_over_its_mean_and_variance(rng):
    values = rng.normal(2.0, 0.7, size=(6, 1))
    sums = moments(values, [1.7])
    variances, log_prior, width = grid_of(1.7)
    center, n = sums.centers[0], len(values)
    logs = [
        multivariate_normal.logpdf(values[:, 0], np.full(n, center), v * (np.eye(n) + np.ones((n, n)) / MEAN_ROWS))
        for v in variances
    ]
    expected = log_mean_over(np.array(logs), log_prior, width) + np.log(1 - POINTS)
    assert evidence_of_normal_block(np.array([0]), sums) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("m", [2, 3])
def test_a_block_against_the_integral_over_mean_and_two_variances(rng, m):
    """The joint density of all cells, for eigenvalues a (contrasts) and b (the mean) of each row's covariance."""
    values = rng.normal(0, 0.5, size=(4, m)) + rng.normal(1, 1, size=(4, 1))
    sums = moments(values, np.linspace(0.5, 2.0, m))
    prior, middle = float(np.mean(sums.variances)), sums.centers.mean()
    variances, log_prior, width = grid_of(prior)
    along = np.ones((m, m)) / m
    n = len(values)

    def density(a, b):
        covariance = np.kron(np.eye(n), a * (np.eye(m) - along) + b * along)
        covariance += np.kron(np.ones((n, n)), b * along / MEAN_ROWS)  # of the mean that all rows share
        white = np.linalg.solve(np.linalg.cholesky(covariance), values.ravel() - middle)
        return -0.5 * (white @ white + n * m * np.log(2 * np.pi) + np.linalg.slogdet(covariance)[1])

    # Contrasts and means are independent, so that the double integral is two: along a at some b, and along b at some a.
    base = density(prior, prior)
    of_a = log_mean_over(np.array([density(a, prior) for a in variances[::8]]) - base, log_prior[::8], 8 * width)
    of_b = log_mean_over(np.array([density(prior, b) for b in variances[::8]]) - base, log_prior[::8], 8 * width)
    assert evidence_of_normal_block(np.arange(m), sums) == pytest.approx(base + of_a + of_b, abs=1e-3)


def test_jointly_normal_columns_are_predicted_one_row_at_a_time(rng):
    """The predictive distribution of a normal–inverse-Wishart prior is a multivariate t."""
    n = 3
    values = rng.normal(size=(7, n)) @ rng.normal(size=(n, n))
    sums = moments(values, [0.5, 1.0, 2.0])
    scatter, degrees = VARIANCE_ROWS * np.diag(sums.variances), n - 1 + VARIANCE_ROWS
    mean, rows, expected = sums.centers, MEAN_ROWS, 0.0
    for row in values:
        free = degrees - n + 1
        expected += multivariate_t.logpdf(row, mean, scatter * (rows + 1) / (rows * free), df=free)
        scatter = scatter + rows / (rows + 1) * np.outer(row - mean, row - mean)
        mean, rows, degrees = (rows * mean + row) / (rows + 1), rows + 1, degrees + 1
    assert evidence_of_normals(np.arange(n), sums) == pytest.approx(expected, abs=1e-8)


def test_one_column_is_the_same_alone_and_jointly(rng):
    sums = moments(rng.normal(size=(20, 2)), [1.0, 3.0])
    for column in (0, 1):
        alone = evidence_of_normal_block(np.array([column]), sums) - np.log(1 - POINTS)
        assert evidence_of_normals(np.array([column]), sums) == pytest.approx(alone, abs=1e-9)


def test_weights_repeat_rows(rng):
    values, codes, weights = rng.normal(size=(30, 3)), codes_of(rng, 30, 3, 3), rng.integers(1, 4, size=30)
    repeated = np.repeat(values, weights, axis=0)
    one, other = moments(values, np.ones(3), weights.astype(float)), moments(repeated, np.ones(3))
    assert evidence_of_normal_block(np.arange(3), one) == pytest.approx(evidence_of_normal_block(np.arange(3), other))
    assert evidence_of_normals(np.arange(3), one) == pytest.approx(evidence_of_normals(np.arange(3), other))
    found = evidence_of_laws(classes_of(codes, 3, True, MANY), weights.astype(float))
    whole = evidence_of_laws(classes_of(np.repeat(codes, weights, axis=1), 3, True, MANY), np.ones(weights.sum()))
    np.testing.assert_allclose(found, whole, atol=1e-9)


def test_a_column_of_one_value_is_a_point(rng):
    """Its density is that of its rounding, not of its spread in the whole table."""
    floors = np.array([1e-6])
    sums = moments(np.full((50, 1), 3.0), [1.0], floors=floors)._replace(centers=np.array([3.0]), first=np.zeros(1))
    sums = sums._replace(second=np.zeros((1, 1)))
    most = 50 * norm.logpdf(0, scale=1e-3)
    assert most - 50 < evidence_of_normal_block(np.array([0]), sums) < most


@pytest.mark.parametrize("n_values", [1, 3])
@pytest.mark.parametrize("weight", [1.0, 1e90])
def test_columns_of_one_value_have_evidence_whatever_they_weigh(n_values, weight):
    """A column of one value has no variance, and a huge weight rounds its frequency to one."""
    classes = classes_of(np.zeros((3, 4), dtype=np.int64), n_values, ordered=False, most=100)
    found = evidence_of_laws(classes, np.full(4, weight))
    assert np.isfinite(found[[HISTOGRAM, DRAWS, POLYA]]).all()
    assert evidence_of_counts(np.array([0.0, 0.0, 4 * weight]), 2, log_factorials_to(2))[0] <= 0.0
