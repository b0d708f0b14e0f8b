"""Answers where numbers are very large, very small or very close: against exact fractions and known values."""

import warnings
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from xspn import XSPN, Bernoulli, Categorical, ChowLiu, Circuit, Exchangeable, Gaussian, Product, Sum
from xspn.core.errors import ParameterError
from xspn.leaves import BetaBinomial, ExchangeableGaussian, MultivariateGaussian

FAR = [1e9, -1e12, 1e15]


# -- moments -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0.0, *FAR])
def test_moments_of_far_off_mixtures(offset):
    leaves = {
        0: [Gaussian(0, mean=offset, std=1.0), Gaussian(0, mean=offset + 4, std=2.0)],
        1: [
            ExchangeableGaussian([1, 2], mean=offset, std=2.0, correlation=0.25),
            ExchangeableGaussian([1, 2], mean=offset + 2, std=1.0, correlation=-0.5),
        ],
        3: [
            MultivariateGaussian([4, 3], [offset, -offset], [[2.0, 0.5], [0.5, 1.0]]),
            MultivariateGaussian([4, 3], [offset + 1, -offset], [[1.0, -0.5], [-0.5, 1.0]]),
        ],
    }
    circuit = Circuit(Sum([0.25, 0.75], [Product([part[k] for part in leaves.values()]) for k in (0, 1)]))
    between = 0.25 * 0.75
    away = np.array([4.0, 2.0, 2.0, 0.0, 1.0])  # between the children's means
    within = np.zeros((5, 5))
    within[0, 0] = 0.25 * 1 + 0.75 * 4
    within[1:3, 1:3] = 0.25 * np.array([[4, 1], [1, 4]]) + 0.75 * np.array([[1, -0.5], [-0.5, 1]])
    within[3:, 3:] = 0.25 * np.array([[1, 0.5], [0.5, 2]]) + 0.75 * np.array([[1, -0.5], [-0.5, 1]])
    found = circuit.moments()
    np.testing.assert_allclose(found.covariance, within + between * np.outer(away, away), rtol=1e-12)
    np.testing.assert_allclose(found.mean, [offset + 3, offset + 1.5, offset + 1.5, -offset, offset + 0.75], rtol=1e-15)


def test_moments_of_discrete_leaves_of_many_values():
    codes = np.arange(100_000)
    chances = np.where(codes >= 99_998, 0.5, 0.0)
    found = Circuit(Product([Categorical(0, chances), Bernoulli(1, p=1e-20)])).moments()
    assert found.variance.tolist() == [0.25, pytest.approx(1e-20)]


def test_moments_of_shared_parts():
    """A leaf that is reached on several ways counts with the probability of all of them."""
    shared = Gaussian(1, mean=1e9, std=2.0)
    root = Sum([0.5, 0.5], [Product([Gaussian(0, mean=m, std=1.0), shared]) for m in (1e9, 1e9 + 2)])
    np.testing.assert_allclose(Circuit(root).moments().covariance, [[2.0, 0.0], [0.0, 4.0]], rtol=1e-12)


# -- EM ----------------------------------------------------------------------------------------------------------------


def starts():
    return {
        "gaussians": Product([Gaussian(i, mean=0, std=1) for i in range(3)]),
        "wide": Product([Gaussian(i, mean=0, std=1e9) for i in range(3)]),
        "multivariate": MultivariateGaussian([0, 1, 2], np.zeros(3), np.eye(3)),
        "exchangeable": ExchangeableGaussian([0, 1, 2], mean=0, std=1, correlation=0.2),
        "mixture": Sum([0.5, 0.5], [MultivariateGaussian([0, 1, 2], [m, 0, 0], np.eye(3)) for m in (0.0, 0.5)]),
    }


@pytest.mark.parametrize("offset", FAR)
@pytest.mark.parametrize("start", starts())
@pytest.mark.parametrize("options", [{"n_iter": 1}, {}, {"batch_size": 50, "random_state": 0, "n_iter": 4}])
def test_em_finds_the_spread_of_rows_far_from_its_start(offset, start, options):
    rng = np.random.default_rng(1)
    noise = np.round(rng.normal(size=(300, 3)) * 32) / 4  # exact after the shift
    fitted = Circuit(starts()[start]).fit_parameters(offset + noise, **options).moments()
    tolerance = 1e-12 * abs(offset)
    centred = np.cov(noise.T, bias=True)
    if start == "exchangeable":
        assert fitted.mean == pytest.approx(offset + noise.mean(), abs=tolerance)
        assert fitted.variance == pytest.approx(((noise - noise.mean()) ** 2).mean(), rel=1e-2)
    else:
        np.testing.assert_allclose(fitted.mean, offset + noise.mean(axis=0), atol=tolerance)
        np.testing.assert_allclose(fitted.variance, np.diag(centred), rtol=1e-2)


def test_em_of_far_off_rows_with_missing_values():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 3)) @ np.array([[1, 0.5, 0], [0, 1, 0.5], [0, 0, 1]])
    X[rng.random(X.shape) < 0.2] = np.nan
    near, far = (
        Circuit(MultivariateGaussian([0, 1, 2], np.zeros(3), np.eye(3)))
        .fit_parameters(offset + X, n_iter=200, tol=1e-10)
        .moments()
        for offset in (0.0, 1e9)
    )
    np.testing.assert_allclose(far.covariance, near.covariance, atol=1e-4)


def test_rows_that_are_the_same_still_say_so():
    for leaf in (Gaussian(0, mean=0, std=1), Gaussian(0, mean=5e8, std=1e9)):
        with pytest.raises(ParameterError, match="are the same"):
            Circuit(leaf).fit_parameters(np.full((20, 1), 1e9))


# -- zeros and what is close to them -----------------------------------------------------------------------------------


def nearly_exclusive():
    """Two blocks that both allow the row of ones, one of them with probability 1e-400."""
    n = 20
    weights = np.full(n + 1, -np.inf)
    weights[0] = 0.0
    unlikely = weights.copy()
    unlikely[n] = -400 * np.log(10)
    likely = np.full(n + 1, -np.inf)
    likely[n] = 0.0
    blocks = [Exchangeable(range(n), unlikely), Exchangeable(range(n), likely)]
    return Sum([0.5, 0.5], blocks), blocks


def test_supports_are_not_rounded():
    root, blocks = nearly_exclusive()
    assert blocks[0].supports() == (frozenset({0, 1}),) * 20
    circuit = Circuit(root)
    assert circuit.why_not_selective() is not None
    assert not circuit.mpe().exact


def test_a_chain_of_unlikely_links_has_its_support():
    """P(the last bit is 1) = 1e-600 by a product of parameters, none of which is zero."""
    p = [[1e-200, 1e-200], [0.0, 1e-200], [0.0, 1e-200]]
    tree = ChowLiu([0, 1, 2], parents=[-1, 0, 1], p=p)
    assert tree.supports() == (frozenset({0, 1}),) * 3
    ones = Product([Bernoulli(i, p=1.0) for i in range(3)])
    assert Circuit(Sum([0.5, 0.5], [tree, ones])).why_not_selective() is not None


@pytest.mark.parametrize("seed", range(30))
def test_selectivity_is_what_enumeration_says(seed):
    """Where the proof holds no assignment has two positive children of a sum; on univariate supports it is complete."""
    rng = np.random.default_rng(seed)

    def leaf(variable, size):
        chances = rng.random(size) * (rng.random(size) < 0.5)
        chances[rng.integers(size)] += 0.5
        return Categorical(variable, chances / chances.sum())

    sizes = [2, 3, 1, 4]
    children = [Product([leaf(v, size) for v, size in enumerate(sizes)]) for _ in range(2)]
    excluded = not any(
        all(
            (part.probabilities[value] > 0)
            for child in children
            for part, value in zip(child.children, assignment, strict=True)
        )
        for assignment in product(*map(range, sizes))
    )
    assert (Circuit(Sum([0.5, 0.5], children)).why_not_selective() is None) == excluded


def exact_tree(tree, row):
    """The probability of a whole row as a fraction."""
    total = Fraction(1)
    for i, parent in enumerate(tree.parents):
        p = Fraction(tree.p[i, int(row[parent]) if parent >= 0 else 0])
        total *= p if row[i] == 1 else 1 - p
    return total


def log_of(fraction):
    """The logarithm of a fraction of any size."""
    shift = fraction.denominator.bit_length() - fraction.numerator.bit_length()
    return float(np.log(float(fraction * 2**shift))) - shift * np.log(2)


@pytest.mark.parametrize("tiny", [2e-20, 1e-300])
def test_an_event_that_is_nearly_ruled_out_keeps_its_probability(tiny):
    tree = ChowLiu([0, 1, 2, 3], [-1, 0, 1, 0], [[0.5, 0.5], [tiny, 0.75], [0.3, 0.4], [0.25, 0.5]])
    all_assignments = [np.array([a, 1, b, c], dtype=float) for a, b, c in product((0, 1), repeat=3)]
    evidence = sum(exact_tree(tree, assignment) for assignment in all_assignments)
    left = Circuit(tree).condition({1: 1})
    for assignment in all_assignments:
        expected = log_of(exact_tree(tree, assignment) / evidence)
        assert left.log_likelihood([assignment])[0] == pytest.approx(expected, rel=1e-13)
    never = sum(exact_tree(tree, assignment) for assignment in all_assignments if assignment[0] == 0)
    for part in (left, left.marginalize([0])):
        assert part.log_likelihood([[0, np.nan, np.nan, np.nan]])[0] == pytest.approx(
            log_of(never / evidence), rel=1e-13
        )
    assert left.condition({0: 0}).log_likelihood([[0, 1, 1, 0]])[0] == pytest.approx(np.log(0.4 * 0.75), rel=1e-12)


def test_both_probabilities_of_a_tree_are_kept_in_files(tmp_path):
    from xspn import load, save

    left = Circuit(ChowLiu([0, 1], [-1, 0], [[0.5, 0.5], [1e-20, 0.75]])).condition({1: 1})
    plain = Circuit(ChowLiu([0, 1], [-1, 0], [[0.5, 0.5], [0.1, 0.75]]))
    assert "q" not in plain.root.to_params()
    save(left, tmp_path / "left.json")
    for again in (load(tmp_path / "left.json"), left.to("numba"), left.to("numpy")):
        assert again.log_likelihood([[0, np.nan]])[0] == pytest.approx(np.log(1e-20 / 0.75), rel=1e-13)


# -- evidence far from everything --------------------------------------------------------------------------------------


def shared_far_leaf(weights, chances):
    """A mixture of bits beside one real leaf that all components share: it says nothing about them."""
    far = Gaussian(2, mean=0.0, std=1.0)
    inner = [Sum([0.3, 0.7], [Product([Bernoulli(1, p=q), far]) for q in (p, 1 - p / 2)]) for p in chances]
    return Circuit(Sum(weights, [Product([Bernoulli(0, p=p), own]) for p, own in zip(chances, inner, strict=True)]))


@pytest.mark.parametrize("value", [1e3, 1e6, 1e10])
@pytest.mark.parametrize("backend", ["numpy", "numba", "torch"])
def test_far_evidence_that_all_components_share_changes_nothing(value, backend):
    pytest.importorskip(backend)
    weights, chances = [0.3, 0.2, 0.5], [0.1, 0.35, 0.8]
    circuit = shared_far_leaf(weights, chances)
    row = np.array([np.nan, np.nan, value])
    expected = circuit.marginals(np.full((1, 3), np.nan))[0, :2]
    assert expected[0, 1] == pytest.approx(np.dot(weights, chances), rel=1e-15)
    np.testing.assert_allclose(circuit.to(backend).marginals(row[None])[0, :2], expected, rtol=1e-14)
    drawn = circuit.to(backend).sample(4000, given=row, random_state=0)[:, :2].mean(axis=0)
    np.testing.assert_allclose(drawn, expected[:, 1], atol=0.04)  # five deviations


@pytest.mark.parametrize("value", [1e3, 1e6, 1e10])
def test_conditioning_on_far_evidence_keeps_the_weights(value):
    weights, chances = [0.3, 0.2, 0.5], [0.1, 0.35, 0.8]
    circuit = shared_far_leaf(weights, chances)
    row = np.array([np.nan, np.nan, value])
    np.testing.assert_allclose(circuit.condition(row).root.weights, weights, rtol=1e-15)
    unconditional = circuit.count_distribution([0, 1])
    np.testing.assert_allclose(circuit.count_distribution([0, 1], row), unconditional, rtol=1e-14)


def test_conditioning_weighs_small_weights_against_small_probabilities():
    """Neither 1e-300 nor exp(−800) may be rounded to zero on the way to a posterior in which both count."""
    near, off = Gaussian(1, mean=0.0, std=1.0), Gaussian(1, mean=40.0, std=1.0)
    circuit = Circuit(Sum([1e-300, 1.0], [Product([Bernoulli(0, p=1.0), near]), Product([Bernoulli(0, p=0.0), off])]))
    chance = np.exp(circuit.condition([np.nan, 0.0]).log_likelihood([[0, np.nan]])[0])
    assert chance == pytest.approx(np.exp(-800 + 300 * np.log(10)), rel=1e-12)


# -- leaves ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mean", "dispersion"), [(0.5, 0.0), (0.3, 1e6), (1e-12, 50.0), (0.999999, 1.0), (0.5, 1e9)])
def test_a_beta_binomial_over_many_variables(mean, dispersion):
    leaf = BetaBinomial(range(20_000), mean, dispersion)
    assert leaf.class_probabilities.sum() == pytest.approx(1, abs=1e-10)
    if dispersion == 0:
        assert leaf.log_weights[123] == pytest.approx(20_000 * np.log(0.5), rel=1e-14)


def test_negatively_correlated_values_are_drawn_without_a_warning():
    leaf = ExchangeableGaussian([0, 1, 2], mean=0, std=1, correlation=-0.4999)
    rows = np.array([[1, 2, 3], [1, np.nan, np.nan], [0, 0, np.nan], [np.nan] * 3])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn = leaf.sample(rows, np.random.default_rng(0))
    assert np.isfinite(drawn).all()
    np.testing.assert_array_equal(drawn[~np.isnan(rows)], rows[~np.isnan(rows)])


# -- units: a power of two changes no digit, so nothing but densities may change ---------------------------------------

UNITS = [2.0**262, 2.0**328, 2.0**-262, 2.0**-328]  # variances are numbers, products of two of them are not


def in_one_unit(kind, rng):
    """Real columns, whose distributions the learner may share, cluster or relate."""
    cells, row = rng.normal(size=(80, 3)), rng.normal(size=(80, 1))
    if kind == "alike":
        return cells + row
    if kind == "missing":
        return np.where(rng.random(cells.shape) < 0.15, np.nan, cells + row)
    if kind == "clusters":
        return cells + np.where(row > 0, 3.0, -3.0)
    return np.column_stack([cells[:, 0], cells[:, 0] + 0.3 * cells[:, 1], cells[:, 2]])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("exchangeability", ["auto", "global"])
@pytest.mark.parametrize("kind", ["alike", "missing", "clusters", "related"])
def test_what_is_learned_does_not_depend_on_the_unit(kind, exchangeability, unit, rng):
    X = in_one_unit(kind, rng)
    one, other = (XSPN(exchangeability=exchangeability, random_state=0).fit(table) for table in (X, unit * X))
    cells = (~np.isnan(X)).sum() / len(X)
    assert other.score(unit * X) + cells * np.log(unit) == pytest.approx(one.score(X), abs=1e-4)
    assert other.circuit_.summary().parameters == one.circuit_.summary().parameters
    mine, theirs = one.circuit_.moments(), other.circuit_.moments()
    np.testing.assert_allclose(theirs.mean / unit, mine.mean, atol=1e-3)
    np.testing.assert_allclose(theirs.covariance / unit / unit, mine.covariance, rtol=1e-2, atol=1e-3)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("correlation", [0.7, -0.2])
def test_what_alike_columns_say_of_each_other_does_not_depend_on_the_unit(correlation, unit):
    one, other = (ExchangeableGaussian(range(4), s, 2 * s, correlation) for s in (1.0, unit))
    rows = np.array([[1.0, -3.0, np.nan, np.nan], [5.0, np.nan, np.nan, np.nan], [0.0, 1.0, 2.0, np.nan]])
    seen = (~np.isnan(rows)).sum(axis=1)
    np.testing.assert_allclose(other.log_prob(unit * rows) + seen * np.log(unit), one.log_prob(rows), rtol=1e-12)
    for ask in (lambda leaf, x: leaf.mode(x)[0], lambda leaf, x: leaf.sample(x, np.random.default_rng(0))):
        np.testing.assert_allclose(ask(other, unit * rows) / unit, ask(one, rows), rtol=1e-12)
    ones, others = one.row_statistics(rows), other.row_statistics(unit * rows)
    np.testing.assert_allclose(others / np.array([[1], [unit], [unit**2], [unit**2]]), ones, rtol=1e-12)
