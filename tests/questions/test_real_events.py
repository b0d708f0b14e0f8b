"""Intervals of real columns against numerical integration, random draws and closed forms."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm

from xspn import (
    Atom,
    Bernoulli,
    Circuit,
    ExchangeableGaussian,
    Gaussian,
    MultivariateGaussian,
    Product,
    Sum,
    Transformed,
)
from xspn.core.errors import QueryError
from xspn.leaves.events import Intervals
from xspn.leaves.normal_mass import log_box_mass, log_normal_mass
from xspn.leaves.scales import Scale


@pytest.mark.parametrize("seed", range(10))
def test_one_number(seed):
    rng = np.random.default_rng(seed)
    mean, std = rng.normal(), 0.1 + rng.random()
    low, high = np.sort(rng.normal(size=2) * 3)
    found = Circuit(Gaussian(0, mean=mean, std=std)).probability(f"X0 in {low}..{high}").probability
    expected = quad(norm(mean, std).pdf, low, high, points=[mean], limit=200)[0]
    assert found == pytest.approx(expected, rel=1e-7, abs=1e-12)


@pytest.mark.parametrize(("low", "high"), [(30, 31), (-31, -30), (100, np.inf), (-np.inf, -100), (5, 5 + 1e-9)])
def test_far_tails_keep_their_digits(low, high):
    """Beyond a few deviations differences of the distribution function round to 0; logarithms of either tail do not."""
    found = float(log_normal_mass(Intervals.of((low, high)), np.array(0.0), 1.0))
    near = min(abs(low), abs(high))
    width = min(high - low, 1 / near)
    expected = norm.logpdf(near) + np.log(width if high - low < 1e-6 else 1 / near)
    assert found == pytest.approx(expected, abs=0.01 if near < 50 else 0.001)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("n", [2, 3])
def test_jointly_normal_numbers(seed, n):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n + 1))
    covariance, mean = root @ root.T / n + 0.05 * np.eye(n), rng.normal(size=n)
    low = mean + rng.normal(size=n) - 1
    high = low + 3 * rng.random(n)
    sets = [Intervals.of((a, b)) for a, b in zip(low, high, strict=True)]
    found = np.exp(log_box_mass("leaf", mean, covariance, sets))
    close = {"abseps": 1e-10, "releps": 1e-10, "maxpts": 1_000_000, "rng": np.random.default_rng(0)}
    expected = multivariate_normal.cdf(high, mean, covariance, lower_limit=low, **close)
    assert found == pytest.approx(expected, rel=2e-5, abs=1e-8)


@pytest.mark.parametrize("correlation", [-0.4, -0.1, 0.0, 0.3, 0.9, 0.999, 1 - 1e-9])
def test_orthants_have_closed_forms(correlation):
    two = ExchangeableGaussian([0, 1], mean=1.0, std=2.0, correlation=correlation)
    expected = 0.25 + np.arcsin(correlation) / (2 * np.pi)
    assert Circuit(two).probability("X0 > 1 & X1 > 1").probability == pytest.approx(expected, rel=1e-11)
    three = ExchangeableGaussian(range(3), mean=1.0, std=2.0, correlation=correlation)
    expected = 1 / 8 + 3 * np.arcsin(correlation) / (4 * np.pi)
    assert Circuit(three).probability("X0 > 1 & X1 > 1 & X2 > 1").probability == pytest.approx(expected, rel=1e-10)


def test_many_exchangeable_numbers():
    """With correlation ½ all n are largest equally often, so that P(all above their mean) = 1 / (n + 1)."""
    n = 40
    leaf = ExchangeableGaussian(range(n), mean=-3.0, std=0.5, correlation=0.5)
    text = " & ".join(f"X{i} > -3" for i in range(n))
    assert Circuit(leaf).probability(text).probability == pytest.approx(1 / (n + 1), rel=1e-10)
    unlike = ExchangeableGaussian(range(5), mean=0.0, std=1.0, correlation=-0.2)
    with pytest.raises(QueryError, match="ExchangeableGaussian: intervals of 5 jointly normal columns at once"):
        Circuit(unlike).probability("X0 > 0 & X1 > 0 & X2 > 0 & X3 > 0 & X4 > 0")
    assert Circuit(unlike).probability("X0 > 0 & X1 > 0", given="X2 = 0.3 & X3 = 0 & X4 = 1").probability > 0


def test_too_many_numbers_are_refused_by_name():
    leaf = MultivariateGaussian(range(4), np.zeros(4), np.eye(4) + 0.3)
    with pytest.raises(QueryError, match="MultivariateGaussian: intervals of 4 jointly normal columns at once"):
        Circuit(leaf).probability("X0 > 0 & X1 > 0 & X2 > 0 & X3 > 0")


@pytest.mark.parametrize("seed", range(10))
def test_mixed_circuits_against_draws(seed):
    """Conjunctions, alternatives, evidence in intervals, and numbers that are known; 200,000 draws each."""
    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(2):
        root = rng.normal(size=(2, 3))
        parts.append(
            Product(
                [
                    MultivariateGaussian([0, 1], rng.normal(size=2), root @ root.T / 2 + 0.1 * np.eye(2)),
                    ExchangeableGaussian([2, 3, 4], float(rng.normal()), 1.0, 0.5),
                    Bernoulli(5, p=float(rng.random())),
                    Bernoulli(6, p=float(rng.random())),
                ]
            )
        )
    circuit = Circuit(Sum([0.4, 0.6], parts))
    drawn = circuit.sample(200_000, random_state=seed)
    a, b, c, d, e, f, g = drawn.T
    known = (a > -0.5) & ((c < 1) | (f == 1))
    holds = (b < 0.5) & ~((d > 0) & (e > 0)) | ((f + g) == 2)
    asked = "(X1 < 0.5 & not (X3 > 0 & X4 > 0)) | count(X5, X6) = 2"
    answer = circuit.probability(asked, given="X0 > -0.5 & (X2 < 1 | X5=1)")
    expected, n = holds[known].mean(), known.sum()
    assert abs(answer.probability - expected) < 5 * np.sqrt(0.25 / n)
    assert abs(answer.prior - holds.mean()) < 5 * np.sqrt(0.25 / len(drawn))
    point = circuit.probability("X0 > 0", given="X1 = 0.2 & X5=1")
    thin = circuit.probability("X0 > 0", given="X1 in 0.199..0.201 & X5=1")
    assert point.probability == pytest.approx(thin.probability, abs=2e-3)


SCALES = [
    Scale("log", low=-1.0, unit=2.0),
    Scale("log", low=1.0, unit=-2.0),
    Scale("soft", low=0.5, unit=0.3),
    Scale("logit", low=-2.0, unit=5.0),
    Scale("asinh", low=0.2, unit=2.0),
    Scale("plain", step=0.5),
    Scale("log", unit=3.0, step=1.0),
]


@pytest.mark.parametrize("scale", SCALES, ids=repr)
def test_numbers_on_scales_against_draws(scale):
    """Intervals with ends in and out of the range, strict and not, with an atom beside."""
    circuit = Circuit(Sum([0.7, 0.3], [Transformed(Gaussian(0, mean=0.3, std=0.6), [scale]), Atom(0, 1.5, 0.1)]))
    drawn = circuit.sample(100_000, random_state=0)[:, 0]
    for low, high in [(-10, 1), (0, 1.5), (1, 2), (2, 100), (0.6, 0.7)]:
        closed, strict = (drawn >= low) & (drawn <= high), (drawn > low) & (drawn < high)
        assert circuit.probability(f"X0 in {low}..{high}").probability == pytest.approx(closed.mean(), abs=0.01)
        assert circuit.probability(f"X0 > {low} & X0 < {high}").probability == pytest.approx(strict.mean(), abs=0.01)
    assert circuit.probability("X0 < 1e9").probability == pytest.approx(1.0)


def test_numbers_below_the_least_are_reflected_as_they_are_when_drawn():
    leaf = Transformed(Gaussian(0, mean=1.0, std=1.0), [Scale(step=1.0, least=0.0)])
    circuit = Circuit(leaf)
    assert circuit.probability("X0 < 0").probability == 0.0
    assert circuit.probability("X0 >= 0").probability == pytest.approx(1.0)
    zero = norm.cdf(0.5, 1) - norm.cdf(-0.5, 1)
    one = norm.cdf(1.5, 1) - norm.cdf(0.5, 1) + norm.cdf(-0.5, 1) - norm.cdf(-1.5, 1)
    assert circuit.probability("X0 <= 0").probability == pytest.approx(zero)
    assert circuit.probability("X0 in 0.5..1.5").probability == pytest.approx(one)
    drawn = circuit.sample(50_000, random_state=0)[:, 0]
    assert (drawn == 0).mean() == pytest.approx(zero, abs=0.01)
    assert (drawn == 1).mean() == pytest.approx(one, abs=0.01)


@pytest.mark.parametrize("step", [0.1, 0.01, 1e-3, 0.5])
def test_numbers_in_steps_are_within_bounds_that_are_written_like_them(step):
    """0.7 / 0.1 is less than 7, and still 0.7 is at most 0.7."""
    circuit = Circuit(Transformed(Gaussian(0, mean=0.7, std=20 * step), [Scale(step=step)]))
    for number in range(-30, 31):
        value = round((number + 7) * step, 6)
        edges = [norm.cdf((value + half * step - 0.7) / (20 * step)) for half in (-0.5, 0.5)]
        for relation, expected in (("<", edges[0]), ("<=", edges[1]), (">", 1 - edges[1]), (">=", 1 - edges[0])):
            found = circuit.probability(f"X0 {relation} {value!r}").probability
            assert found == pytest.approx(expected, abs=1e-9), (relation, value)


def test_numbers_that_no_step_is_near_stay_what_they_are():
    circuit = Circuit(Transformed(Gaussian(0, mean=-1.0, std=1.0), [Scale("log", step=1.0)]))
    drawn = circuit.sample(50_000, random_state=0)[:, 0]
    assert ((drawn > 0.2) & (drawn < 0.3)).mean() > 0.1  # nearest is zero, which has no logarithm
    for low, high in [(0.2, 0.3), (0.1, 1.0), (0.4, 0.7), (1.0, 2.0)]:
        expected = ((drawn >= low) & (drawn <= high)).mean()
        assert circuit.probability(f"X0 in {low}..{high}").probability == pytest.approx(expected, abs=0.01)


def test_single_numbers_have_the_probability_of_atoms_and_of_steps():
    amount = Sum([0.3, 0.7], [Atom(0, 0.0, 0.1), Transformed(Gaussian(0, mean=0.0, std=1.0), [Scale("log")])])
    whole = Transformed(Gaussian(2, mean=1.0, std=2.0), [Scale(step=1.0)])
    circuit = Circuit(Product([amount, Bernoulli(1, p=0.4), whole, Gaussian(3, mean=0.0, std=1.0)]))
    two = norm.cdf(0.75) - norm.cdf(0.25)
    for text, expected in {
        "X0 != 0": 0.7,
        "not X0 != 0": 0.3,
        "X0 = 0": 0.3,
        "X0 = 0 & X1=1": 0.12,
        "X0 in {0, 5} & X1=1": 0.12,
        "X0 = 0 | X1=1": 0.3 + 0.7 * 0.4,
        "X2 = 2": two,
        "X2 in {2} & X0 = 0": two * 0.3,
        "X1 = 1 & X3 = 0": 0.0,
    }.items():
        assert circuit.probability(text).probability == pytest.approx(expected, rel=1e-12), text
    given = circuit.probability("X1=1", given="X0 = 0 | X1=1").probability
    assert given == pytest.approx(0.4 / (0.3 + 0.7 * 0.4))
    assert circuit.probability("X0 = 0 & X2 = 2", given="X3 = 0.5").probability == pytest.approx(two * 0.3)
    with pytest.raises(QueryError, match="X3 = 0: this column has any single number with probability zero"):
        circuit.probability("X3 = 0")


def test_sets_of_numbers():
    both = Intervals.of((0.0, 1.0)) | Intervals.of((2.0, 3.0))
    assert both.complement().complement() == both
    assert (both & both.complement()).is_empty
    assert Intervals.of((1.0, 0.0)).is_empty
    assert Intervals.of().complement() == Intervals.of((-np.inf, np.inf))
    assert Intervals.of((-np.inf, np.inf)).complement().is_empty
    above = Intervals.of((0.0, np.inf)).complement()
    assert not above.contains(0.0)
    assert above.contains(-5e-324)


@pytest.mark.parametrize("value", [1e3, 1e6, 1e10])
def test_far_evidence_keeps_what_other_columns_say(value):
    """A number that all components share says nothing about them, however improbable it is."""
    far = Gaussian(2, mean=0.0, std=1.0)
    parts = [Product([Bernoulli(0, p=p), Bernoulli(1, p=q), far]) for p, q in ((0.1, 0.6), (0.35, 0.2), (0.8, 0.9))]
    circuit = Circuit(Sum([0.3, 0.2, 0.5], parts))
    for asked, known in (
        ("X0=1", "X1=1"),
        ("count(X0, X1) >= 1", "X1 in {0, 1}"),
        ("X0=1 | X1=0", "count(X0, X1) = 1"),
    ):
        expected = circuit.probability(asked, given=known).probability
        found = circuit.probability(asked, given=f"{known} & X2={value}").probability
        assert found == pytest.approx(expected, rel=1e-13)
        beyond = circuit.probability(asked, given=f"{known} & X2 > {value}").probability
        assert beyond == pytest.approx(expected, rel=1e-13)
