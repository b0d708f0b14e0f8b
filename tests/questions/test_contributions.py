"""Contributions of evidence: Shapley values against enumeration of orders."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given, settings

from support.circuits import cases
from xspn import Bernoulli, Circuit, Exchangeable, Gaussian, Product, Sum
from xspn.core.errors import ParameterError, QueryError, XSPNError


def value(circuit, target, rows):
    """The log-odds of a bit by enumeration, given one row of evidence each."""
    found = []
    for row in rows:
        both = np.tile(row, (2, 1))
        both[:, target] = [1, 0]
        logs = circuit.oracle.log_likelihood(both)
        found.append(logs[0] - logs[1])
    return np.array(found)


def by_orders(circuit, target, row, items):
    shares = dict.fromkeys(items, 0.0)
    orders = list(permutations(items))
    for order in orders:
        rows = np.full((len(items) + 1, len(row)), np.nan)
        for place, item in enumerate(order, 1):
            rows[place:, item] = row[item]
        steps = np.diff(value(circuit, target, rows))
        for item, own in zip(order, steps.tolist(), strict=True):
            shares[item] += own / len(orders)
    return shares


@settings(max_examples=40, deadline=None)
@given(cases(binary=True, most_variables=6, most_assignments=64, components=2))
def test_values_against_all_orders(case):
    circuit, rng = case
    assume(len(circuit.scope) > 2)
    row = circuit.sample(1, random_state=rng)[0]
    target, *items = list(circuit.scope)[:5]
    subsets = np.full((2 ** len(items), len(row)), np.nan)
    for k, own in enumerate(subsets):
        chosen = [v for i, v in enumerate(items) if k >> i & 1]
        own[chosen] = row[chosen]
    with np.errstate(divide="ignore", invalid="ignore"):
        assume(np.isfinite(value(circuit, target, subsets)).all())
    found = circuit.contributions(f"X{target}=1", {v: row[v] for v in items})
    expected = by_orders(circuit, target, row, items)
    own = {item.item: item.log_odds for item in found.items}
    assert found.is_exact
    for v in items:
        assert own[f"X{v}={row[v]:g}"] == pytest.approx(expected[v], abs=1e-9)
    assert found.prior + sum(own.values()) == pytest.approx(found.posterior, abs=1e-9)
    assert found.posterior == pytest.approx(value(circuit, target, subsets[-1:])[0], abs=1e-9)


def weather():
    block = Exchangeable.from_class_probabilities
    parts = [
        Product([Bernoulli(0, p=p), block([1, 2, 3], own), Gaussian(4, mean=m, std=1.0)])
        for p, own, m in ((0.9, [0.1, 0.2, 0.3, 0.4], 1.0), (0.1, [0.5, 0.3, 0.1, 0.1], -1.0))
    ]
    return Circuit(Sum([0.4, 0.6], parts), names=["rain", "a", "b", "c", "wind"])


def test_items_that_are_events_or_numbers():
    circuit = weather()
    found = circuit.contributions("rain=1", ["count(a, b, c) >= 2", "wind > 0"])
    assert [own.item for own in found.items] == ["wind > 0", "count(a, b, c) >= 2"]
    asked = circuit.probability("rain=1", given=["count(a, b, c) >= 2", "wind > 0"])
    assert found.posterior == pytest.approx(np.log(asked.odds), abs=1e-9)
    assert sum(own.log_odds for own in found.items) == pytest.approx(found.posterior - found.prior, abs=1e-9)
    assert found.contexts == ()
    numbers = circuit.contributions("rain=1", {"wind": 0.7, "a": 1})
    asked = circuit.probability("rain=1", given={"wind": 0.7, "a": 1})
    assert numbers.posterior == pytest.approx(np.log(asked.odds), abs=1e-9)
    single = circuit.contributions("rain=1", {"wind": 0.7})
    alone = next(own.alone for own in numbers.items if own.item.startswith("wind"))
    assert alone == pytest.approx(single.items[0].log_odds, abs=1e-9)


def test_contexts_before_and_after():
    found = weather().contributions("rain=1", "a=1 & b=1")
    circuit = weather()
    row = np.array([[np.nan] * 5, [np.nan, 1, 1, np.nan, np.nan]])
    before, after = circuit.responsibilities(row)
    assert [own.name for own in found.contexts] == list(circuit.segments().names)
    np.testing.assert_allclose([own.before for own in found.contexts], before)
    np.testing.assert_allclose([own.after for own in found.contexts], after)
    assert len(found.items) == 2


def test_many_items_are_sampled_with_errors():
    rng = np.random.default_rng(0)
    parts = [Product([Bernoulli(v, p=float(p)) for v, p in enumerate(rng.random(18))]) for _ in range(3)]
    circuit = Circuit(Sum([0.3, 0.3, 0.4], parts))
    given_ = {v: int(rng.integers(2)) for v in range(1, 18)}
    found, more = (circuit.contributions("X0=1", given_, permutations=m) for m in (100, 1000))
    assert not found.is_exact
    assert all(own.error > 0 for own in found.items)
    assert found.prior + sum(own.log_odds for own in found.items) == pytest.approx(found.posterior, abs=1e-9)
    exact = {own.item: own.log_odds for own in more.items}
    away = [(own.log_odds - exact[own.item]) / own.error for own in found.items]
    assert np.mean(np.abs(away) < 3) > 0.8
    assert max(own.error for own in more.items) < max(own.error for own in found.items)
    again = circuit.contributions("X0=1", given_, permutations=100)
    assert again == found


def test_what_cannot_be_explained():
    circuit = weather()
    with pytest.raises(QueryError, match="is certain given 1 of the items"):
        circuit.contributions("rain=1", {"rain": 1})
    with pytest.raises(ParameterError, match="at least one item"):
        circuit.contributions("rain=1", {})
    with pytest.raises(QueryError, match="expected an event"):
        circuit.contributions("rain", {"a": 1})
    with pytest.raises(ParameterError, match="one row"):
        circuit.contributions("rain=1", [[np.nan, 1, 1, 1, 0.0], [np.nan, 0, 1, 1, 0.0]])
    with pytest.raises(XSPNError, match="given: expected"):
        circuit.contributions("rain=1", 5)
