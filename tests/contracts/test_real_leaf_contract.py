"""Every registered leaf over one real variable × the promises of the contract, against quadrature."""

import numpy as np
import pytest
from scipy.stats import kstest

from xspn.graph import Scope
from xspn.leaves import leaves

GRID_POINTS = 200_001


def is_real(family):
    example = leaves[family].example(np.random.default_rng(0))
    return len(example.domains) == 1 and not example.domains[0].is_discrete


EXAMPLES = [(family, seed) for family in leaves if is_real(family) for seed in range(6)]


class Case:
    """A leaf and a fine grid of its values, each with its part of the mass."""

    def __init__(self, family, seed):
        self.leaf = leaves[family].example(np.random.default_rng(seed))
        mean, covariance = self.leaf.moments()
        spread = float(np.sqrt(covariance[0, 0]))
        self.rounding = getattr(self.leaf, "width", 0.0)  # samples are rounded to numbers so far apart
        ends = 12 * spread if not self.rounding else 1.5 * self.rounding * (1 - 1 / GRID_POINTS)  # middles of cells
        self.grid = np.linspace(mean[0] - ends, mean[0] + ends, GRID_POINTS)[:, None]
        self.mass = np.exp(self.leaf.log_prob(self.grid)) * (self.grid[1, 0] - self.grid[0, 0])


@pytest.fixture(params=EXAMPLES, ids=lambda key: f"{key[0]}-{key[1]}")
def case(request):
    return Case(*request.param)


MISSING = np.array([[np.nan]])


def test_the_density_integrates_to_one(case):
    assert abs(case.mass.sum() - 1) < 1e-9


def test_a_missing_value_is_integrated_out(case):
    assert case.leaf.log_prob(MISSING).tolist() == [0.0]


def test_alternatives_are_the_mass_on_either_side(case):
    places = np.linspace(0, GRID_POINTS - 1, 41).astype(int)[1:-1]
    at = case.grid[places] + (case.grid[1, 0] - case.grid[0, 0]) / 2  # between two cells of the grid
    found = np.exp(case.leaf.alternatives(at)[:, 0])
    below = np.cumsum(case.mass)[places]
    if case.rounding:  # a mass counts as one value
        near = np.abs(at[:, 0] - case.leaf.value) <= case.rounding / 2
        below = np.where(near, 0.0, below)
        np.testing.assert_array_equal(found[:, 1], near)
    else:
        assert not found[:, 1].any()
    np.testing.assert_allclose(found[:, 0], below, atol=1e-7)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(np.exp(case.leaf.alternatives(MISSING)), [[[1.0, 0.0, 0.0]]])


def test_moments(case):
    mean, covariance = case.leaf.moments()
    np.testing.assert_allclose(mean, [case.mass @ case.grid[:, 0]], atol=1e-9)
    np.testing.assert_allclose(covariance, [[case.mass @ (case.grid[:, 0] - mean[0]) ** 2]], atol=1e-9)


def test_means_given_what_is_seen(case):
    mean, _ = case.leaf.moments()
    expected = [[mean[0]], [case.grid[0, 0]]]
    np.testing.assert_allclose(case.leaf.means(np.vstack([MISSING, case.grid[:1]])), expected, atol=1e-12)


def test_variances_given_what_is_seen(case):
    _, covariance = case.leaf.moments()
    expected = [[covariance[0, 0]], [0.0]]
    np.testing.assert_allclose(case.leaf.variances(np.vstack([MISSING, case.grid[:1]])), expected, rtol=1e-9)


def test_the_mode_is_the_highest_point(case):
    filled, log_prob = case.leaf.mode(np.vstack([MISSING, case.grid[:1]]))
    assert log_prob[0] >= case.leaf.log_prob(case.grid).max() - 1e-12
    np.testing.assert_array_equal(case.leaf.log_prob(filled), log_prob)
    assert filled[1, 0] == case.grid[0, 0]


def test_samples_fit_and_evidence_stays(case):
    drawn = case.leaf.sample(np.full((4000, 1), np.nan), np.random.default_rng(5))[:, 0]
    drawn = drawn + case.rounding * (np.random.default_rng(6).random(4000) - 0.5)

    def cumulative(x):
        return np.interp(x, case.grid[:, 0], np.cumsum(case.mass))

    assert kstest(drawn, cumulative).pvalue > 1e-4
    assert case.leaf.sample(case.grid[:3], np.random.default_rng(0)).tolist() == case.grid[:3].tolist()


def test_marginalize_and_condition(case):
    variable = case.leaf.variables[0]
    assert case.leaf.marginalize(Scope.of([variable])) is case.leaf
    assert case.leaf.marginalize(Scope.of([variable + 1])) is None
    assert case.leaf.condition(MISSING[0]) == (case.leaf, 0.0)
    rest, log_density = case.leaf.condition(case.grid[GRID_POINTS // 3])
    assert rest is None
    assert log_density == case.leaf.log_prob(case.grid[GRID_POINTS // 3][None, :])[0]


def test_real_variables_have_no_tables(case):
    assert case.leaf.supports() == (None,)
    with pytest.raises(ValueError, match="real"):
        case.leaf.marginals(MISSING)
    with pytest.raises(ValueError, match="binary"):
        case.leaf.count_distribution()


def test_statistics_add_up(case):
    rng = np.random.default_rng(3)
    rows, weights = case.grid[rng.integers(GRID_POINTS, size=50)], rng.integers(0, 4, size=50).astype(float)
    rows[::7] = np.nan
    whole = case.leaf.statistics(rows, weights)
    split = case.leaf.statistics(rows[:20], weights[:20]) + case.leaf.statistics(rows[20:], weights[20:])
    np.testing.assert_allclose(whole, split, rtol=1e-12, atol=1e-12)
    repeated = np.repeat(rows, weights.astype(int), axis=0)
    np.testing.assert_allclose(whole, case.leaf.statistics(repeated, np.ones(len(repeated))), rtol=1e-12, atol=1e-12)
    assert not case.leaf.statistics(MISSING, np.ones(1)).any()


def test_the_fit_maximises_the_likelihood(case):
    rng = np.random.default_rng(4)
    rows, weights = case.leaf.sample(np.full((60, 1), np.nan), rng), rng.random(60)
    fit = case.leaf.from_statistics(case.leaf.statistics(rows, weights))
    best = weights @ fit.log_prob(rows)
    assert best >= weights @ case.leaf.log_prob(rows)
    for size in (0.01, 0.1, 1.0):
        shaken = fit.from_statistics(fit.statistics(rows, weights * (1 + size * rng.random(60))))
        assert best >= weights @ shaken.log_prob(rows)


def test_exact_statistics_reproduce_the_leaf(case):
    again = case.leaf.from_statistics(case.leaf.statistics(case.grid, case.mass))
    near = case.grid[GRID_POINTS // 3 : -GRID_POINTS // 3 : 1000]
    np.testing.assert_allclose(again.log_prob(near), case.leaf.log_prob(near), atol=1e-9)


def test_without_any_mass_the_leaf_stays(case):
    nothing = case.leaf.statistics(case.grid[:5], np.zeros(5))
    assert case.leaf.from_statistics(nothing).fingerprint() == case.leaf.fingerprint()


def test_no_rows_give_no_answers(case):
    none = np.empty((0, 1))
    assert case.leaf.log_prob(none).shape == (0,)
    assert case.leaf.mode(none)[0].shape == (0, 1)
    assert case.leaf.sample(none, np.random.default_rng(0)).shape == (0, 1)


REAL_FAMILIES = [
    family
    for family in leaves
    if not any(domain.is_discrete for domain in leaves[family].example(np.random.default_rng(0)).domains)
]


@pytest.mark.parametrize("family", REAL_FAMILIES)
@pytest.mark.parametrize("seed", range(3))
def test_conditional_means_of_several_variables(family, seed):
    rng = np.random.default_rng(seed)
    leaf = leaves[family].example(rng)
    rows = leaf.sample(np.full((8, len(leaf.variables)), np.nan), rng)
    rows[rng.random(rows.shape) < 0.5] = np.nan
    for row, means in zip(rows, leaf.means(rows), strict=True):
        missing = np.isnan(row)
        np.testing.assert_array_equal(means[~missing], row[~missing])
        if missing.any():
            rest, _ = leaf.condition(row)
            np.testing.assert_allclose(means[missing], rest.moments()[0], atol=1e-9)
