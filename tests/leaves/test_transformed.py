"""Normal leaves on scales: every scale against quadrature, several variables, steps and ends."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import lognorm

from xspn import Circuit, Gaussian, MultivariateGaussian, Product, Sum
from xspn.core.errors import ParameterError, QueryError, StructureError
from xspn.io import from_json, to_json
from xspn.leaves import Atom, Bernoulli, ExchangeableGaussian, Scale, Transformed

SCALES = [
    Scale(),
    Scale("log", low=1.0, unit=2.0),
    Scale("log", low=1.0, unit=-2.0),
    Scale("soft", low=0.5, unit=0.7),
    Scale("soft", low=0.5, unit=-0.7),
    Scale("logit", low=-2.0, unit=5.0),
    Scale("asinh", low=0.2, unit=2.0),
]
MISSING = np.array([[np.nan]])
Y = np.linspace(-7, 7, 40_001)


@pytest.fixture(params=SCALES, ids=repr)
def scale(request):
    return request.param


def test_scales_are_increasing_and_undone_by_their_inverse(scale):
    x = scale.inverse(Y)
    assert (np.diff(x[np.abs(Y) < 5]) > 0).all()
    middle = np.abs(Y) < 5
    np.testing.assert_allclose(scale.forward(x[middle]), Y[middle], atol=1e-9)
    slope = np.gradient(Y[middle], x[middle])
    np.testing.assert_allclose(scale.log_derivative(x[middle])[1:-1], np.log(slope[1:-1]), atol=1e-5)


def test_densities_moments_and_modes_against_quadrature(scale):
    leaf = Transformed(Gaussian(0, mean=0.3, std=0.6), [scale])
    x = scale.inverse(Y)
    log_prob = leaf.log_prob(x[:, None])
    mass = np.exp(log_prob - scale.log_derivative(x)) * (Y[1] - Y[0])
    assert mass.sum() == pytest.approx(1, abs=1e-9)
    mean, covariance = leaf.moments()
    np.testing.assert_allclose(mean, [mass @ x], atol=1e-8)
    np.testing.assert_allclose(covariance, [[mass @ (x - mean[0]) ** 2]], atol=1e-7)
    filled, best = leaf.mode(MISSING)
    assert best[0] >= log_prob.max() - 1e-9
    assert leaf.log_prob(filled)[0] == best[0]


def test_log_normal_leaves_are_those_of_scipy():
    leaf = Transformed(Gaussian(0, mean=0.4, std=0.8), [Scale("log", unit=3.0)])
    x = np.array([0.1, 2.0, 30.0])
    np.testing.assert_allclose(leaf.log_prob(x[:, None]), lognorm(0.8, scale=3.0 * np.exp(0.4)).logpdf(x))
    assert leaf.log_prob(np.array([[-1.0], [0.0]])).tolist() == [-np.inf, -np.inf]
    rest, log_density = leaf.condition(np.array([-1.0]))
    assert rest is None
    assert log_density == -np.inf


def joint():
    covariance = np.array([[0.5, 0.2, 0.1], [0.2, 0.4, -0.1], [0.1, -0.1, 0.6]])
    base = MultivariateGaussian([2, 0, 1], np.array([0.2, -0.3, 0.1]), covariance)
    return Transformed(base, [Scale("log"), Scale("soft", unit=0.5), Scale("asinh", low=1.0, unit=2.0)])


def test_several_variables_are_conditioned_and_marginalized_alike():
    leaf, rng = joint(), np.random.default_rng(0)
    drawn = leaf.sample(np.full((40_000, 3), np.nan), rng)
    mean, covariance = leaf.moments()
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=0.05)
    np.testing.assert_allclose(np.cov(drawn.T), covariance, rtol=0.1)
    row = np.array([drawn[0, 0], np.nan, drawn[0, 2]])
    rest, log_density = leaf.condition(row)
    whole = leaf.log_prob(drawn[:1])[0]
    assert log_density + rest.log_prob(drawn[:1, [1]])[0] == pytest.approx(whole)
    assert leaf.log_prob(row[None, :])[0] == pytest.approx(log_density)
    kept = leaf.marginalize(leaf.scope & joint().scope)
    assert kept is leaf


def test_the_mode_of_several_variables_is_no_lower_than_what_is_near():
    leaf, rng = joint(), np.random.default_rng(1)
    rows = np.array([[np.nan] * 3, [1.3, np.nan, np.nan], [np.nan, 0.4, np.nan]])
    filled, best = leaf.mode(rows)
    for _ in range(200):
        near = np.where(np.isnan(rows), filled * np.exp(0.2 * rng.normal(size=rows.shape)), rows)
        assert (leaf.log_prob(near) <= best + 1e-9).all()


def random_hill(rng):
    """A normal distribution on a few random scales, as wide as makes several peaks likely."""
    scales = [SCALES[i] for i in rng.integers(0, len(SCALES), rng.integers(2, 5))]
    root = rng.choice([0.3, 0.6, 1.0]) * rng.normal(size=(len(scales), len(scales) + 1))
    return scales, rng.normal(size=len(scales)), root @ root.T + 0.05 * np.eye(len(scales))


@pytest.mark.parametrize("seed", range(25))
def test_no_search_from_random_starts_ends_higher_than_the_mode(seed):
    scales, mean, covariance = random_hill(np.random.default_rng(seed))
    leaf = Transformed(MultivariateGaussian(range(len(scales)), mean, covariance), scales)
    filled, best = leaf.mode(np.full((1, len(scales)), np.nan))

    def height(y):
        y = np.asarray(y, dtype=float)
        away = y - mean
        slopes = sum(float(own.log_derivative(own.inverse(v))) for own, v in zip(scales, y, strict=True))
        return slopes - 0.5 * away @ np.linalg.solve(covariance, away)

    y = np.array([float(own.forward(x)) for own, x in zip(scales, filled[0], strict=True)])
    constant = best[0] - height(y)  # the density is normalized, and this is not
    rng, spread = np.random.default_rng(seed), np.linalg.cholesky(covariance)
    for factor in (0.0, 1.0, 1.0, 2.0, 3.0):
        start = mean + factor * spread @ rng.normal(size=len(mean))
        top = minimize(lambda own: -height(own), start, method="BFGS")
        assert -top.fun + constant <= best[0] + 1e-9


def test_what_scales_do_to_a_density_has_the_derivatives_that_it_says(scale):
    y = np.linspace(-4.0, 4.0, 4001)
    value, first, second = scale.log_derivative_on_line(y)
    direct = scale.log_derivative(scale.inverse(y))
    np.testing.assert_allclose(value - value[0], direct - direct[0], atol=1e-9)
    np.testing.assert_allclose(np.gradient(value, y)[1:-1], first[1:-1], atol=1e-5)
    np.testing.assert_allclose(np.gradient(first, y)[1:-1], second[1:-1], atol=1e-5)
    assert second.max() <= scale.most_bent + 1e-12


def test_many_leaves_are_evaluated_as_one_by_one():
    rng = np.random.default_rng(0)
    parts = [
        Product([joint(), Bernoulli(3, p=0.4)]),
        Product([*(Transformed(Gaussian(v, mean=0.1, std=0.9), [s]) for v, s in enumerate(
            [Scale("soft", unit=0.5), Scale("asinh", low=1.0, unit=2.0), Scale("log")])), Bernoulli(3, p=0.9)]),
        Product([Atom(0, 1.0, 0.1), Gaussian(1, mean=0, std=1), Gaussian(2, mean=2, std=1), Bernoulli(3, p=0.5)]),
    ]  # fmt: skip
    circuit = Circuit(Sum([0.3, 0.3, 0.4], parts))
    rows = circuit.sample(60, random_state=0)
    rows[rng.random(rows.shape) < 0.3] = np.nan
    rows[0, 2] = -1.0
    alone = [
        sum(leaf.log_prob(rows[:, list(leaf.variables)]) for leaf in part.children) for part in circuit.root.children
    ]
    expected = np.logaddexp.reduce([np.log(w) + own for w, own in zip(circuit.root.weights, alone, strict=True)])
    for backend in ("numpy", "numba"):
        np.testing.assert_allclose(circuit.to(backend=backend).log_likelihood(rows), expected, atol=1e-10)
    again = from_json(to_json(circuit))
    np.testing.assert_array_equal(again.log_likelihood(rows), circuit.log_likelihood(rows))


def test_numbers_of_too_many_steps_stay_as_they_are():
    scale = Scale(step=1e-250)
    far = np.array([1e80, -1e200, 0.0, 3.2e-250])
    np.testing.assert_array_equal(scale.presented(far), [1e80, -1e200, 0.0, 3e-250])


def test_steps_and_ends_hold_for_what_is_drawn_and_filled_in():
    leaf = Transformed(Gaussian(0, mean=0.5, std=2.0), [Scale(step=0.1, least=0.0)])
    drawn = leaf.sample(np.full((2000, 1), np.nan), np.random.default_rng(0))
    assert drawn.min() >= 0
    np.testing.assert_array_equal(drawn, np.round(drawn, 1))
    below = Transformed(Gaussian(0, mean=-0.5, std=2.0), [Scale(step=1.0, most=0.0)])
    drawn = below.sample(np.full((2000, 1), np.nan), np.random.default_rng(0))
    assert drawn.max() <= 0
    np.testing.assert_array_equal(drawn, np.round(drawn))
    assert below.mode(MISSING)[0].tolist() in ([[0.0]], [[-1.0]])


def test_exchangeable_leaves_stay_so_on_one_scale():
    base = ExchangeableGaussian([0, 1, 2], 0.0, 1.0, 0.5)
    one, several = Transformed(base, [Scale("log")] * 3), Transformed(base, [Scale("log")] * 2 + [Scale()])
    assert [own.tolist() for own in one.interchangeable()] == [[0, 1, 2]]
    assert several.interchangeable() == []
    assert one.dependence() == several.dependence() == base.dependence()


def test_wrong_parameters_are_refused():
    with pytest.raises(StructureError, match="expected 1 scales, found 2"):
        Transformed(Gaussian(0, mean=0, std=1), [Scale(), Scale()])
    with pytest.raises(StructureError, match="normal leaf"):
        Transformed(Bernoulli(0, p=0.5), [Scale()])
    for wrong in ({"kind": "cube"}, {"unit": 0.0}, {"low": np.inf}, {"step": -1.0}, {"kind": "logit", "unit": -1.0}):
        with pytest.raises(ParameterError):
            Scale(**wrong)
    for wrong, message in (
        ({"least": 0.0, "most": 1.0}, "found both"),
        ({"kind": "logit", "least": 0.8}, "not left by reflection, found 0.8"),
        ({"kind": "log", "unit": -1.0, "least": -1.0}, "the range -inf to 0"),
        ({"kind": "log", "least": -1.0}, "the range 0 to inf"),
    ):
        with pytest.raises(ParameterError, match=message):
            Scale(**wrong)
    for wrong in ({"value": np.nan, "width": 1.0}, {"value": 0.0, "width": 0.0}):
        with pytest.raises(ParameterError):
            Atom(0, **wrong)


@pytest.mark.parametrize("low", [0.0, -1.3, 1e6, -1.59759247e6])
@pytest.mark.parametrize("unit", [0.3, 1.0, 2.5, 30.0])
def test_both_ends_of_a_bounded_scale_are_kept_apart(low, unit):
    """The inverse is always possible, and as exact near the upper end as near the lower one."""
    scale = Scale("logit", low=low, unit=unit)
    x = scale.inverse(np.array([-800.0, -40.0, 40.0, 800.0]))
    assert scale.possible(x).all()
    assert np.isfinite(scale.log_derivative(x)).all()
    high = low + unit
    near = np.nextafter(high, -np.inf)
    expected = np.log(float(Fraction(near) - Fraction(low))) - np.log(float(Fraction(high) - Fraction(near)))
    assert scale.forward(np.array([near]))[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", ["log", "asinh", "soft", "logit"])
def test_means_given_what_is_far_away_are_numbers(kind):
    """They would be beyond all numbers; and one row that is impossible does not disturb the others."""
    base = MultivariateGaussian([0, 1], np.zeros(2), np.array([[1.0, 0.9], [0.9, 1.0]]))
    leaf = Transformed(base, [Scale(), Scale(kind)])
    rows = np.array([[1000.0, np.nan], [-1000.0, np.nan], [0.5, np.nan], [np.nan, -2.0], [np.nan, 0.5]])
    assert np.isfinite(leaf.means(rows)).all()
    filled, _ = leaf.mode(rows)
    assert np.isfinite(filled).all()
    assert np.isfinite(np.asarray(Scale(kind, unit=1e10).moments(np.array(3000.0), np.array(900.0)))).all()


def test_a_mode_that_was_rounded_reflected_or_searched_for_is_not_called_exact():
    def claim(leaf):
        circuit = Circuit(leaf)
        found = circuit.mpe()
        assert circuit.to("numpy").mpe().exact == found.exact
        if not found.exact:
            with pytest.raises(QueryError, match="is real"):
                circuit.mpe(exact=True)
        return found.exact

    assert claim(Transformed(Gaussian(0, mean=0.2, std=0.5), [Scale("log", least=0.0)]))
    assert claim(Transformed(Gaussian(0, mean=3.0, std=0.5), [Scale(step=1.0)]))
    assert not claim(Transformed(Gaussian(0, mean=3.2, std=0.5), [Scale(step=1.0)]))
    assert not claim(Transformed(Gaussian(0, mean=-3.2, std=0.5), [Scale(least=0.0)]))
    assert not claim(joint())


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("mean", [300.0, 500.0, 705.0])
def test_a_variance_that_no_float_holds_is_infinite(mean):
    """Means of 1e130 and more still are numbers; how far they are apart, squared, is not always one."""
    leaves = [Transformed(Gaussian(0, mean=own, std=0.1), [Scale("log")]) for own in (1.0, mean)]
    circuit = Circuit(Sum([0.5, 0.5], leaves))
    found = circuit.variances([[np.nan]])
    assert (found == np.inf).all() if mean > 400 else np.isfinite(found).all()
    assert np.isfinite(circuit.means([[np.nan]])).all()
