"""The probability of every row that differs from a given one in one value, against enumeration and integrals."""

import numpy as np
import pytest
from hypothesis import given, settings

from support.circuits import any_rows, cases
from support.enumeration import log
from xspn import Bernoulli, Categorical, Circuit, Exchangeable, Gaussian, Product, Sum
from xspn.engine import Semiring
from xspn.engine.alternatives import log_alternatives
from xspn.leaves import Atom, ExchangeableGaussian, MultivariateGaussian, Transformed
from xspn.leaves.blocks import RowBlock
from xspn.leaves.scales import Scale


def alternatives_of(circuit, rows, semiring=Semiring.SUM):
    program, block = circuit.program, RowBlock(np.where(circuit.program.absent, 0.0, rows))
    values = circuit.to("numpy").backend.log_values(block, semiring)
    return log_alternatives(program, block, values, semiring)


@settings(max_examples=150, deadline=None)
@given(cases(components=2))
def test_every_cell_of_every_row(case):
    circuit, rng = case
    rows = any_rows(rng, circuit, 12)
    found = alternatives_of(circuit, rows)
    for variable in circuit.oracle.variables:
        for value in range(circuit.domains[variable].cardinality):
            replaced = rows.copy()
            replaced[:, variable] = value
            expected = circuit.oracle.log_likelihood(replaced)
            np.testing.assert_allclose(np.exp(found[:, variable, value]), np.exp(expected), rtol=1e-9, atol=1e-300)


@settings(max_examples=80, deadline=None)
@given(cases(components=2))
def test_bounds_are_those_of_passes_up(case):
    circuit, rng = case
    rows = any_rows(rng, circuit, 8)
    found = alternatives_of(circuit, rows, Semiring.BOUND)
    backend = circuit.to("numpy").backend
    for variable in circuit.oracle.variables:
        missing = np.isnan(rows[:, variable])
        for value in range(circuit.domains[variable].cardinality):
            replaced = np.where(circuit.program.absent, 0.0, rows)
            replaced[:, variable] = value
            expected = backend.log_values(RowBlock(replaced), Semiring.BOUND)[circuit.program.root]
            np.testing.assert_allclose(
                np.exp(found[missing, variable, value]), np.exp(expected[missing]), rtol=1e-9, atol=1e-300
            )


def mixed():
    """A circuit of every real family, an atom among them, and some bits."""

    def one(shift):
        covariance = np.array([[1.0, 0.6, 0.1], [0.6, 2.0, -0.3], [0.1, -0.3, 0.5]])
        income = Sum(
            [0.3, 0.7], [Atom(5, value=0.0, width=0.1), Transformed(Gaussian(5, 1.0 + shift, 0.5), [Scale("log")])]
        )
        return Product(
            [
                Gaussian(0, mean=shift, std=1.0),
                Categorical(1, [0.2, 0.3, 0.5] if shift else [0.6, 0.3, 0.1]),
                MultivariateGaussian([2, 3, 4], [shift, 0.0, 1.0], covariance),
                income,
                ExchangeableGaussian([6, 7, 8], mean=shift, std=1.5, correlation=0.4),
                Exchangeable([9, 10], log(np.array([0.3, 0.2, 0.3]) if shift else np.array([0.5, 0.2, 0.1]))),
                Transformed(
                    MultivariateGaussian([11, 12], [shift, 0.0], [[0.3, 0.1], [0.1, 0.2]]),
                    [Scale("log", low=1.0, unit=-2.0), Scale("logit", unit=2.0)],
                ),
            ]
        )

    return Circuit(Sum([0.4, 0.6], [one(0.0), one(1.5)]))


def test_real_cells_have_three_sides():
    circuit = mixed()
    rows = circuit.sample(20, random_state=0)
    rows[0, 0], rows[1, 0] = 60.0, -300.0  # so far away that probabilities underflow
    rows[2, 11] = 3.0  # out of the range of its scale: impossible
    rows[np.random.default_rng(0).random(rows.shape) < 0.15] = np.nan
    found = alternatives_of(circuit, rows)
    names = [f"x{v}" for v in range(circuit.n_variables)]
    named = Circuit(circuit.root, names=names)
    for variable in (0, 2, 3, 5, 6, 8, 11, 12):
        rest = rows.copy()
        rest[:, variable] = np.nan
        np.testing.assert_allclose(
            np.logaddexp.reduce(found[:, variable, :3], axis=1), circuit.log_likelihood(rest), rtol=1e-9
        )
        for row in range(3, 12):
            known = {names[v]: float(own) for v, own in enumerate(rest[row]) if not np.isnan(own)}
            value = float(rows[row, variable])
            if np.isnan(value):
                continue
            sides = np.exp(found[row, variable, :3] - np.logaddexp.reduce(found[row, variable, :3]))
            below = named.probability(f"{names[variable]} < {value!r}", given=known).probability
            np.testing.assert_allclose(sides[0], below, atol=1e-9)


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_an_impossible_row_tells_what_would_be_possible(p):
    circuit = Circuit(Product([Bernoulli(0, p=p), Bernoulli(1, p=0.25)]))
    found = np.exp(alternatives_of(circuit, np.array([[1 - p, 1.0]])))
    np.testing.assert_allclose(found[0, 0, int(p)], 0.25)
    assert found[0, 0, int(1 - p)] == 0
    assert not found[0, 1].any()
