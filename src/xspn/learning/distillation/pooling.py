"""Which leaves are so alike that one may stand for several, and what that costs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from sklearn.cluster import KMeans

from xspn.core.arrays import FloatArray, IntArray
from xspn.graph.graph import Graph
from xspn.leaves.base import Leaf

MOST_COMPARED = 256  # leaves of a group that are compared with each other; of more, similar ones are merged first
LEAST = 1e-9


@dataclass(frozen=True, eq=False)
class Pool:
    """Leaves over the same variables, and the order in which they are merged, the cheapest two first.

    Attributes:
        leaves: Their places in the graph.
        tables: The probability of each value, or of each number of ones: (leaves, values).
        rows: One row for each of these values.
        mass: The flow into each leaf.
        freed: The parameters that each merge frees.
        pairs: Which two groups of leaves each merge makes one, by the places of two members: (merges, 2).
        prices: What each costs, in nats for each parameter that it frees; never falling.
    """

    leaves: IntArray
    tables: FloatArray
    rows: FloatArray
    mass: FloatArray
    freed: int
    pairs: IntArray
    prices: FloatArray

    def groups(self, price: float) -> IntArray:
        """Return which group each leaf belongs to if all merges are made that cost no more."""
        top = np.arange(len(self.leaves))
        for into, other in self.pairs[: np.searchsorted(self.prices, price, side="right")].tolist():
            top[other] = into
        while True:  # to the ends of the chains
            above = top[top]
            if (above == top).all():
                return top
            top = above

    def merged(self, members: IntArray, leaf: Leaf) -> Leaf:
        """Return the leaf that stands for some of them."""
        mass = self.mass[members] + np.finfo(float).tiny
        mean = mass @ self.tables[members]
        found: Leaf = leaf.from_statistics(leaf.statistics(self.rows, mean / mean.sum()))
        return found


def pools_of(graph: Graph, flow: FloatArray) -> list[Pool]:
    """Return the pools of a circuit's leaves, given the flow into each node.

    Leaves over one discrete variable can be merged, and exchangeable ones over the same bits.
    """
    members: dict[object, list[int]] = {}
    for place, node in enumerate(graph.nodes):
        if isinstance(node, Leaf) and node.n_parameters:
            key = _key(node)
            if key is not None:
                members.setdefault(key, []).append(place)
    return [_pool(graph, np.array(own), flow) for own in members.values() if len(own) > 1]


def _key(leaf: Leaf) -> object:
    """Return what leaves that can be merged have in common; None for one that cannot be merged with any."""
    n = len(leaf.variables)
    if not all(domain.is_discrete for domain in leaf.domains):
        return None
    if n == 1:
        return leaf.family, leaf.variables
    if any(domain.cardinality != 2 for domain in leaf.domains) or [len(own) for own in leaf.interchangeable()] != [n]:
        return None
    return leaf.family, leaf.scope


def _pool(graph: Graph, places: IntArray, flow: FloatArray) -> Pool:
    found = cast(Sequence[Leaf], [graph.nodes[place] for place in places.tolist()])
    first = found[0]
    n = len(first.variables)
    if n == 1:
        rows = np.arange(float(first.domains[0].cardinality or 0))[:, None]
        tables = np.array([np.exp(leaf.log_prob(rows)) for leaf in found])
    else:
        rows = (np.arange(n) < np.arange(n + 1)[:, None]).astype(np.float64)
        tables = np.array([leaf.count_distribution() for leaf in found])
    mass = flow[places]
    pairs, costs = _merges(tables, mass)
    prices = np.maximum.accumulate(costs) / first.n_parameters
    return Pool(places, tables, rows, mass, first.n_parameters, pairs, prices)


def _merges(tables: FloatArray, mass: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return which leaves are merged, the cheapest pair first, and what each merge costs in nats."""
    mass = np.maximum(mass, LEAST * max(float(mass.max()), LEAST))
    own, owner = _close_together(tables)
    sums, weights = _totals(tables, mass, owner, len(own))
    entropies = _entropies(sums, weights)
    pairs, costs = _merges_within(own, owner, entropies, _entropies(tables * mass[:, None], mass))
    cost = np.full((len(own), len(own)), np.inf)  # of merging two groups: (larger place, smaller place)
    for i in range(1, len(own)):
        cost[i, :i] = _entropies(sums[:i] + sums[i], weights[:i] + weights[i]) - entropies[:i] - entropies[i]
    alive = np.ones(len(own), dtype=bool)
    for _ in range(len(own) - 1):
        i, j = divmod(int(cost.argmin()), len(own))
        pairs.append((int(own[j]), int(own[i])))
        costs.append(float(cost[i, j]))
        sums[j] += sums[i]
        weights[j] += weights[i]
        entropies[j] = _entropies(sums[j : j + 1], weights[j : j + 1])[0]
        alive[i] = False
        cost[i], cost[:, i] = np.inf, np.inf
        others = np.flatnonzero(alive)
        others = others[others != j]
        fresh = _entropies(sums[others] + sums[j], weights[others] + weights[j]) - entropies[others] - entropies[j]
        low = others < j
        cost[j, others[low]], cost[others[~low], j] = fresh[low], fresh[~low]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2), np.maximum(costs, 0.0)


def _close_together(tables: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the first leaf of each of a few groups of very similar leaves, and the group of each leaf."""
    if len(tables) <= MOST_COMPARED:
        return np.arange(len(tables)), np.arange(len(tables))
    roots = np.sqrt(tables)  # distances of which are about as costs are
    if tables.shape[1] == 2:
        angle = np.arctan2(roots[:, 1], roots[:, 0])
        label = np.minimum((angle / (np.pi / 2) * MOST_COMPARED).astype(np.int64), MOST_COMPARED - 1)
    else:
        label = KMeans(MOST_COMPARED, n_init=1, max_iter=20, random_state=0).fit_predict(roots)
    _, own, owner = np.unique(label, return_index=True, return_inverse=True)
    return own, owner


def _merges_within(
    own: IntArray, owner: IntArray, entropies: FloatArray, of_leaves: FloatArray
) -> tuple[list[tuple[int, int]], list[float]]:
    """Return the merges that make the groups, and what each costs."""
    merges = np.bincount(owner) - 1
    cost = (entropies - np.bincount(owner, of_leaves)) / np.maximum(merges, 1)
    others = np.setdiff1d(np.arange(len(owner)), own)
    others = others[np.argsort(cost[owner[others]], kind="stable")]
    return list(zip(own[owner[others]].tolist(), others.tolist(), strict=True)), cost[owner[others]].tolist()


def _totals(tables: FloatArray, mass: FloatArray, owner: IntArray, n: int) -> tuple[FloatArray, FloatArray]:
    """Return how often each value comes in each group, and the mass of each."""
    sums: FloatArray = np.zeros((n, tables.shape[1]))
    np.add.at(sums, owner, tables * mass[:, None])
    return sums, np.asarray(np.bincount(owner, mass, minlength=n))


def _entropies(sums: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the entropy of each distribution, which adds up to its weight, times the weight."""
    safe = np.where(sums > 0, sums, 1.0)
    return np.asarray(-(sums * np.log(safe / weights[:, None])).sum(axis=1))
