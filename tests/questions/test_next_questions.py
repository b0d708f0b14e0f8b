"""Expected information gains against enumeration."""

import numpy as np
import pytest
from hypothesis import assume, given, settings

from support.circuits import cases, random_rows
from xspn import Bernoulli, Circuit, Exchangeable, Gaussian, Product, Sum
from xspn.core.errors import ParameterError, QueryError


def information(circuit, row, first, second):
    """I(first; second | row) in bits, where both are functions of an assignment, by enumeration."""
    oracle = circuit.oracle
    p = oracle.probabilities * oracle.agrees(row)
    a, b = first(oracle.assignments).astype(int), second(oracle.assignments).astype(int)
    joint = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(joint, (a, b), p / p.sum())
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    live = joint > 0
    return float((joint[live] * np.log2(joint[live] / apart[live])).sum())


def column(v):
    return lambda worlds: worlds[:, v]


@settings(max_examples=50, deadline=None)
@given(cases(most_variables=6, most_assignments=256, components=2))
def test_gains_for_a_column(case):
    circuit, rng = case
    row = random_rows(rng, circuit, 1)[0]
    open_columns = [v for v in circuit.scope if np.isnan(row[v])]
    assume(len(open_columns) > 1)
    target, *others = open_columns
    found = circuit.next_questions(target, given=row)
    gains = {own.column: own.gain for own in found}
    assert set(gains) == {f"X{v}" for v in others}
    for v in others:
        expected = information(circuit, row, column(target), column(v))
        assert gains[f"X{v}"] == pytest.approx(expected, abs=1e-9)
    assert found.entropy == pytest.approx(information(circuit, row, column(target), column(target)), abs=1e-9)
    np.testing.assert_array_less(np.diff([own.gain for own in found]), 1e-9)  # the most telling first


@settings(max_examples=40, deadline=None)
@given(cases(binary=True, most_variables=5, most_assignments=32, components=2))
def test_gains_for_an_event_and_for_everything(case):
    circuit, _ = case
    nothing = np.full(circuit.n_variables, np.nan)
    columns = list(circuit.scope)
    assume(len(columns) > 2)
    text = f"count({', '.join(f'X{v}' for v in columns[:2])}) >= 1"
    event = circuit.next_questions(text)
    for own in event:
        v = int(own.column[1:])
        expected = information(circuit, nothing, lambda w: w[:, columns[:2]].max(axis=1), column(v))
        assert own.gain == pytest.approx(expected, abs=1e-9)
    whole = circuit.next_questions()
    for own in whole:
        v = int(own.column[1:])
        expected = sum(information(circuit, nothing, column(v), column(u)) for u in columns if u != v)
        assert own.gain == pytest.approx(expected, abs=1e-9)


def test_evidence_that_is_an_event():
    leaf = Exchangeable.from_class_probabilities([0, 1, 2], [0.4, 0.1, 0.1, 0.4])
    circuit = Circuit(Product([leaf, Bernoulli(3, p=0.5)]))
    gains = {own.column: own.gain for own in circuit.next_questions("X0", given="X1=1 | X2=1")}
    oracle = circuit.oracle
    kept = oracle.assignments[:, 1:3].max(axis=1) == 1
    joint, worlds = np.zeros((2, 2)), oracle.assignments[kept].astype(int)
    np.add.at(joint, (worlds[:, 0], worlds[:, 1]), oracle.probabilities[kept])
    joint /= joint.sum()
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    assert gains["X1"] == pytest.approx(float((joint * np.log2(joint / apart)).sum()), abs=1e-9)
    assert gains["X3"] == pytest.approx(0.0, abs=1e-9)


def test_a_real_column_tells_within_its_error():
    parts = [Product([Gaussian(0, mean=m, std=1.0), Bernoulli(1, p=float(m > 0))]) for m in (-1.0, 1.0)]
    found = Circuit(Sum([0.5, 0.5], parts)).next_questions(1)[0]
    z = np.linspace(-9, 9, 20_001)
    density = np.exp(-0.5 * (z[:, None] - [-1.0, 1.0]) ** 2) / np.sqrt(2 * np.pi)
    posterior = density / density.sum(axis=1, keepdims=True)
    open_bits = -(posterior * np.log2(np.maximum(posterior, 1e-300))).sum(axis=1)
    expected = 1 - float(np.trapezoid(open_bits * density.mean(axis=1), z))
    assert found.error > 0
    assert abs(found.gain - expected) < 4 * found.error


def test_what_cannot_be_asked():
    circuit = Circuit(Product([Gaussian(0, mean=0.0, std=1.0), Bernoulli(1, p=0.5), Bernoulli(2, p=0.5)]))
    with pytest.raises(QueryError, match="interval"):
        circuit.next_questions(0)
    with pytest.raises(QueryError, match="fix values"):
        circuit.next_questions(given="X1=1 | X2=1")
    with pytest.raises(ParameterError, match="one row"):
        circuit.next_questions(1, given=[[0.0, np.nan, 1], [0.0, np.nan, 0]])
    with pytest.raises(ParameterError, match="a column or an event"):
        circuit.next_questions(1.5)
    with pytest.raises(ParameterError, match="random_state: expected"):
        circuit.next_questions(1, random_state=-1)


def test_what_is_known_leaves_nothing_open():
    found = Circuit(Product([Bernoulli(0, p=0.5), Bernoulli(1, p=0.5)])).next_questions(0, given={0: 1})
    assert str(found.entropy) == "0.0"
