"""Every kind of event, as question and as evidence, against enumeration of all assignments."""

import numpy as np
import pytest
from hypothesis import given, settings

from support.circuits import any_rows, cases
from xspn import Bernoulli, BetaBinomial, Categorical, ChowLiu, Circuit, Product, Sum
from xspn.core.errors import EvidenceError
from xspn.leaves.base import leaves
from xspn.questions.events import Codes, CountOf, Event

CLOSE = {"rtol": 1e-9, "atol": 1e-11}


class Meaning:
    """Random events as text, and which assignments they are true of."""

    def __init__(self, rng, circuit):
        self.rng, self.circuit = rng, circuit
        self.table = circuit.oracle.assignments
        self.sizes = {v: circuit.domains[v].cardinality for v in circuit.scope}
        self.columns = list(self.sizes)

    def name(self, v):
        return self.circuit.schema.shown_name(v)

    def comparison(self):
        v = int(self.rng.choice(self.columns))
        k, x = self.sizes[v], self.table[:, v]
        code = int(self.rng.integers(k))
        kind = int(self.rng.integers(7))
        if kind == 0:
            return f"{self.name(v)}={code}", x == code
        if kind == 1:
            return f"{self.name(v)} != {code}", x != code
        if kind == 2:
            return f"{self.name(v)} >= {code}", x >= code
        if kind == 3:
            return f"{self.name(v)} < {code}.5", x < code + 0.5
        if kind == 4:
            other = int(self.rng.integers(code, k))
            return f"{self.name(v)} in {code}..{other}", (x >= code) & (x <= other)
        some = sorted({code, int(self.rng.integers(k))})
        inside = np.isin(x, some)
        text = f"{{{', '.join(map(str, some))}}}"
        return (f"{self.name(v)} in {text}", inside) if kind == 5 else (f"{self.name(v)} not in {text}", ~inside)

    def count(self):
        """Return a count as text, and its value for each assignment."""
        own = self.rng.permutation(self.columns)[: int(self.rng.integers(1, len(self.columns) + 1))].tolist()
        ones = [v for v in own if self.sizes[v] == 2 and self.rng.random() < 0.5]
        items, total = [], np.zeros(len(self.table), dtype=int)
        for v in [v for v in own if v not in ones]:
            code = int(self.rng.integers(self.sizes[v]))
            items.append(f"{self.name(v)}={code}")
            total += self.table[:, v] == code
        for v in ones:
            items.append(self.name(v))
            total += self.table[:, v] == 1
        return f"count({', '.join(items)})", total

    def number_of(self):
        text, total = self.count()
        k = int(self.rng.integers(0, len(self.columns) + 1))
        kind = int(self.rng.integers(3))
        if kind == 0:
            return f"{text} >= {k}", total >= k
        if kind == 1:
            return f"{text} = {k}", total == k
        return f"{text} in {k}..{k + 1}", (total >= k) & (total <= k + 1)

    def event(self, depth=2):
        kind = self.rng.random()
        if depth == 0 or kind < 0.25:
            return self.number_of() if self.rng.random() < 0.3 else self.comparison()
        if kind < 0.4:
            text, holds = self.event(depth - 1)
            return f"not ({text})", ~holds
        (a, one), (b, other) = self.event(depth - 1), self.event(depth - 1)
        return (f"({a}) & ({b})", one & other) if kind < 0.7 else (f"({a}) or ({b})", one | other)


@settings(max_examples=250)
@given(cases(most_assignments=600))
def test_events_given_events(case):
    circuit, rng = case
    meaning, p = Meaning(rng, circuit), circuit.oracle.probabilities
    for _ in range(3):
        (text, holds), (known, true) = meaning.event(), meaning.event(1)
        both = circuit.oracle.probabilities @ (holds & true)
        if p @ true == 0:
            with pytest.raises(EvidenceError):
                circuit.probability(text, given=known)
            continue
        found = circuit.probability(text, given=known)
        np.testing.assert_allclose(found.probability, both / (p @ true), **CLOSE)
        np.testing.assert_allclose(found.prior, p @ holds, **CLOSE)
        assert (found.probability == 0) == (both == 0) or found.probability < 1e-12


@settings(max_examples=150)
@given(cases(most_assignments=600))
def test_events_given_rows(case):
    circuit, rng = case
    meaning, oracle = Meaning(rng, circuit), circuit.oracle
    for row in any_rows(rng, circuit, 4):
        weights = oracle.probabilities * oracle.agrees(row)
        text, holds = meaning.event()
        row[[v for v in range(len(row)) if v not in circuit.scope]] = np.nan
        if not weights.sum():
            with pytest.raises(EvidenceError):
                circuit.probability(text, given=row)
        else:
            found = circuit.probability(text, given=row)
            np.testing.assert_allclose(found.probability, weights @ holds / weights.sum(), **CLOSE)


@settings(max_examples=150)
@given(cases(most_assignments=600))
def test_counts_given_events(case):
    circuit, rng = case
    meaning, oracle = Meaning(rng, circuit), circuit.oracle
    binary = [v for v in meaning.columns if meaning.sizes[v] == 2]
    known, true = meaning.event(1)
    weights = oracle.probabilities * true
    if not binary or not weights.sum():
        return
    chosen = rng.permutation(binary)[: int(rng.integers(1, len(binary) + 1))].tolist()
    ones = (oracle.assignments[:, chosen] == 1).sum(axis=1)
    expected = np.bincount(ones, weights=weights, minlength=len(chosen) + 1) / weights.sum()
    np.testing.assert_allclose(circuit.count_distribution(chosen, given=known), expected, **CLOSE)


@settings(max_examples=100)
@given(cases(binary=True))
def test_counts_of_a_table_are_those_of_its_rows(case):
    circuit, rng = case
    rows = any_rows(rng, circuit, 30)
    rows = rows[~np.isneginf(circuit.log_likelihood(rows))]
    chosen = list(circuit.scope)
    if not len(rows):
        return
    found = circuit.count_distribution(chosen, given=rows)
    assert found.shape == (len(rows), len(chosen) + 1)
    for row, own in zip(rows, found, strict=True):
        np.testing.assert_allclose(own, circuit.oracle.count_distribution(chosen, row), **CLOSE)
    for backend in ("numpy", "numba"):
        np.testing.assert_array_equal(circuit.to(backend).count_distribution(chosen, given=rows), found)


@pytest.mark.parametrize(
    "family", [name for name in leaves if leaves[name].example(np.random.default_rng(0)).domains[0].is_discrete]
)
@pytest.mark.parametrize("seed", range(10))
def test_every_discrete_family_adds_up_sets_and_counts(family, seed):
    rng = np.random.default_rng(seed)
    leaf = leaves[family].example(rng)
    circuit = Circuit(leaf)
    meaning, p = Meaning(rng, circuit), circuit.oracle.probabilities
    for _ in range(6):
        text, holds = meaning.event()
        np.testing.assert_allclose(circuit.probability(text).probability, p @ holds, **CLOSE)


@pytest.mark.parametrize("n", [30, 200])
def test_large_leaves_agree_with_single_bits(n):
    """Where bits are independent every family is a product of Bernoulli leaves, whatever its closed form."""
    p = 0.3
    coins = Product([Bernoulli(i, p=p) for i in range(n)])
    chain = ChowLiu(range(n), [-1, *range(n - 1)], np.full((n, 2), p))
    urn = BetaBinomial(range(n), p, 0.0)
    mixed = Sum([0.5, 0.5], [coins, Product([BetaBinomial(range(n - 1), p, 0.0), Categorical(n - 1, [1 - p, p])])])
    given = "X0=1 & count(X1, X2, X3) >= 1"
    asked = f"count(*) in {n // 4}..{n // 3} & (X5=0 or X6=1)"
    found = [Circuit(root).probability(asked, given=given).probability for root in (coins, chain, urn, mixed)]
    np.testing.assert_allclose(found, found[0], rtol=1e-10)
    assert 0 < found[0] < 1


def test_improbable_counts_keep_their_digits():
    n = 400
    circuit = Circuit(Product([Bernoulli(i, p=0.01) for i in range(n)]))
    from scipy.stats import binom

    found = circuit.count_distribution(range(n))
    np.testing.assert_allclose(found[:120], binom.pmf(np.arange(120), n, 0.01), rtol=1e-9)
    assert found[100] < 1e-90
    assert circuit.probability("count(*) >= 90").probability == pytest.approx(binom.sf(89, n, 0.01), rel=1e-9)


def test_many_unlikely_observations_do_not_underflow():
    n = 300
    parents = [-1, *[0] * (n - 1)]
    tree = ChowLiu(range(n), parents, [[0.5, 0.5]] + [[1e-6, 0.5]] * (n - 1))
    circuit = Circuit(Sum([0.5, 0.5], [tree, Product([Bernoulli(i, p=1e-5) for i in range(n)])]))
    row = np.full(n, 1.0)
    row[[0, 1, 2]] = np.nan
    found = circuit.count_distribution([0, 1, 2], given=row)
    np.testing.assert_allclose(found, [0, 0.25, 0.5, 0.25], atol=1e-12)  # the root is 1, the others are fair coins


def test_cases_exclude_each_other():
    def bit(column):
        return Event.of(column, Codes.where([0, 1]))

    some = bit(0) & bit(1) | bit(2) & bit(3) | ~bit(4)
    table = np.array(np.meshgrid(*[[0, 1]] * 5)).reshape(5, -1).T
    hits = [sum(all(row[k] in own.members for k, own in case.items()) for case in some.cases) for row in table]
    expected = (table[:, 0] & table[:, 1]) | (table[:, 2] & table[:, 3]) | (1 - table[:, 4])
    assert hits == expected.tolist()
    assert (~~some).cases
    assert Event.of(CountOf(((0, frozenset({1})),)), Codes.where([1, 1])).cases == ({},)
