"""Random circuits: mixed leaves, sums, products, shared parts, columns that belong to no variable."""

from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from xspn import Bernoulli, Categorical, ChowLiu, Circuit, Exchangeable, Product, Sum
from xspn.statistics import Blocks, Count, Total, ValueCounts

MOST_ASSIGNMENTS = 4096
MOST_VARIABLES = 12


@dataclass
class Builder:
    """Grows a random circuit; equal scopes may share nodes."""

    rng: np.random.Generator
    cardinalities: dict[int, int]
    pool: dict[frozenset, list] = field(default_factory=dict)

    def node(self, variables, depth):
        key = frozenset(variables)
        known = self.pool.setdefault(key, [])
        if known and self.rng.random() < 0.25:
            return known[int(self.rng.integers(len(known)))]
        node = self._fresh(list(variables), depth)
        known.append(node)
        return node

    def _fresh(self, variables, depth):
        kind = self.rng.random()
        if depth <= 0:
            return self.leaf(variables)
        if kind < 0.4:
            return self.sum(variables, depth)
        if kind < 0.8 or not self._alike(variables):
            return self.product(variables, depth)
        return self.leaf(variables)

    def sum(self, variables, depth):
        switches = [v for v in variables if self.cardinalities[v] == 2]
        if switches and len(variables) > 1 and self.rng.random() < 0.4:
            return self.selective_sum(variables, depth, switches[0])
        count = int(self.rng.integers(1, 4))
        return Sum(self.weights(count), [self.node(variables, depth - 1) for _ in range(count)])

    def selective_sum(self, variables, depth, switch):
        """A sum whose children exclude each other: one variable tells them apart."""
        rest = [v for v in variables if v != switch]
        children = [Product([Bernoulli(switch, p=p), self.node(rest, depth - 1)]) for p in (0.0, 1.0)]
        return Sum(self.weights(2), children)

    def weights(self, count):
        weights = self.rng.random(count) + 1e-3
        if count > 1 and self.rng.random() < 0.15:
            weights[int(self.rng.integers(count))] = 0.0
        return weights / weights.sum()

    def product(self, variables, depth):
        parts = self.partition(variables, int(self.rng.integers(1, 4)))
        return Product([self.node(part, depth - 1) for part in parts])

    def partition(self, variables, count):
        order = [int(v) for v in self.rng.permutation(variables)]
        cuts = sorted(self.rng.choice(len(order) + 1, size=count - 1).tolist())
        parts = [order[a:b] for a, b in zip([0, *cuts], [*cuts, len(order)], strict=True)]
        return [part for part in parts if part]

    def _alike(self, variables):
        return len({self.cardinalities[v] for v in variables}) == 1

    def leaf(self, variables):
        """A leaf over all variables, or a product of leaves where their domains differ."""
        by_domain = {}
        for variable in self.rng.permutation(variables):
            by_domain.setdefault(self.cardinalities[int(variable)], []).append(int(variable))
        leaves = [self._leaf(own, k) for k, own in by_domain.items()]
        return leaves[0] if len(leaves) == 1 else Product(leaves)

    def _leaf(self, variables, k):
        kinds = [self._exchangeable]
        if len(variables) == 1:
            kinds += [self._categorical, self._categorical]
        if k == 2:
            kinds += [self._bernoullis, self._chow_liu]
        return kinds[int(self.rng.integers(len(kinds)))](variables, k)

    def _categorical(self, variables, k):
        p = self.rng.dirichlet(np.ones(k)) * (self.rng.random(k) < 0.85)
        p[int(self.rng.integers(k))] += 0.05
        return Categorical(variables[0], p / p.sum())

    def _bernoullis(self, variables, k):
        leaves = [Bernoulli(v, p=float(self.rng.choice([0.0, 1.0, *self.rng.random(6)]))) for v in variables]
        return leaves[0] if len(leaves) == 1 else Product(leaves)

    def _chow_liu(self, variables, k):
        n = len(variables)
        parents = [-1] + [int(self.rng.integers(-1 if self.rng.random() < 0.2 else 0, i)) for i in range(1, n)]
        p = self.rng.random((n, 2))
        p[self.rng.random((n, 2)) < 0.08] = 0.0
        p[self.rng.random((n, 2)) < 0.08] = 1.0
        p[np.array(parents) < 0, 1] = p[np.array(parents) < 0, 0]
        return ChowLiu(variables, parents, p)

    def _exchangeable(self, variables, k):
        statistic = self.statistic(len(variables), k, nested=True)
        size = statistic.size(len(variables))
        chances = self.rng.dirichlet(np.ones(size)) * (self.rng.random(size) < 0.85)
        chances[int(self.rng.integers(size))] += 0.05
        return Exchangeable.from_class_probabilities(variables, chances / chances.sum(), statistic)

    def statistic(self, n, k, nested):
        kinds = [ValueCounts(k), Total(k)] + ([Count()] * 4 if k == 2 else [])
        choice = int(self.rng.integers(len(kinds) + int(nested and n > 1)))
        if choice < len(kinds):
            return kinds[choice]
        parts = self.partition(range(n), int(self.rng.integers(2, 4)))
        return Blocks(parts, [self.statistic(len(part), k, nested=len(part) > 2) for part in parts])


def random_circuit(rng, cardinalities, depth, spare_columns=0, components=1):
    """A circuit over variables of these cardinalities, at random places among some spare columns.

    With several components the root is a mixture of as many circuits.
    """
    n = len(cardinalities) + spare_columns
    columns = sorted(int(c) for c in rng.choice(n, size=len(cardinalities), replace=False))
    builder = Builder(rng, dict(zip(columns, cardinalities, strict=True)))
    parts = [builder.node(columns, depth) for _ in range(components)]
    return Circuit(parts[0] if components == 1 else Sum(builder.weights(components), parts), n_variables=n)


def random_rows(rng, circuit, count):
    """Rows of positive probability with random cells missing: none, some, or all of them."""
    oracle = circuit.oracle
    chosen = rng.choice(len(oracle.assignments), size=count, p=oracle.probabilities / oracle.probabilities.sum())
    rows = oracle.assignments[chosen]
    rows[rng.random(rows.shape) < rng.choice([0.0, 0.3, 0.6, 1.0], size=(count, 1))] = np.nan
    return rows


def any_rows(rng, circuit, count):
    """Rows of any probability, zero included, with random cells missing."""
    rows = circuit.oracle.assignments[rng.integers(len(circuit.oracle.assignments), size=count)]
    rows[rng.random(rows.shape) < rng.choice([0.0, 0.3, 0.6, 1.0], size=(count, 1))] = np.nan
    return rows


@st.composite
def cases(draw, binary=False, most_variables=MOST_VARIABLES, most_assignments=MOST_ASSIGNMENTS, components=1):
    """A random circuit, and a generator for whatever else the test draws."""
    n = draw(st.integers(1, most_variables))
    wanted = draw(st.lists(st.just(2) if binary else st.sampled_from([2, 2, 2, 3, 4]), min_size=n, max_size=n))
    cardinalities, all_assignments = [], 1
    for k in wanted:
        if all_assignments * k <= most_assignments:
            cardinalities.append(k)
            all_assignments *= k
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    depth, spare = draw(st.integers(0, 5)), draw(st.integers(0, 2))
    return random_circuit(rng, cardinalities, depth, spare, components), rng
