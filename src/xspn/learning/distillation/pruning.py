"""Which edges and leaves a circuit can do without at a price, the smaller circuit, and what it leaves possible."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from xspn.core.arrays import BoolArray, FloatArray, IntArray
from xspn.graph.graph import Graph
from xspn.graph.nodes import LeafNode, Node, Product, Sum
from xspn.learning.distillation.flows import Flows, downward, is_sum_of, parents_of
from xspn.learning.distillation.loosening import Loosenings
from xspn.learning.distillation.pooling import Pool, pools_of
from xspn.leaves.base import Leaf

TRACE = 1e-9  # of a sum's flow: an edge that no row takes keeps some of its weight


@dataclass(frozen=True, eq=False)
class Cuts:
    """A circuit with the price of each part that could be taken out of it, in nats for each parameter.

    Attributes:
        flows: The circuit, and the rows that pass through its parts.
        loosenings: What leaves over several variables could do without; it counts in sizes, and is not cut here.
    """

    flows: Flows
    loosenings: Loosenings | None = None

    @property
    def graph(self) -> Graph:
        """The circuit."""
        return self.flows.graph

    @cached_property
    def pools(self) -> list[Pool]:
        """The leaves that can be merged."""
        return pools_of(self.graph, self.flows.nodes)

    @cached_property
    def is_pooled(self) -> BoolArray:
        """Which nodes are leaves that can be merged."""
        found = np.zeros(len(self.graph), dtype=bool)
        for pool in self.pools:
            found[pool.leaves] = True
        return found

    @cached_property
    def parents(self) -> IntArray:
        """The place of the parent of each edge."""
        return parents_of(self.graph)

    @cached_property
    def of_sums(self) -> BoolArray:
        """Which edges are those of sums."""
        return np.asarray(is_sum_of(self.graph)[self.parents], dtype=bool)

    @cached_property
    def downward(self) -> list[IntArray]:
        """The edges, from the root down."""
        return list(downward(self.graph))

    @cached_property
    def own_parameters(self) -> IntArray:
        """The free parameters of each node, those of leaves that can be merged not among them."""
        nodes = zip(self.graph.nodes, self.is_pooled.tolist(), strict=True)
        return np.array([0 if pooled else _parameters(node) for node, pooled in nodes], dtype=np.int64)

    @cached_property
    def edge_prices(self) -> FloatArray:
        """What each edge costs: those of products, and the one of each sum that stays, are not to be had."""
        child = self.graph.edges.child
        only = self.graph.n_parents == 1
        below = self.own_parameters.astype(np.float64)  # and all that nothing else leads to
        for own in reversed(self.downward):
            alone = own[only[child[own]]]
            np.add.at(below, self.parents[alone], below[child[alone]])
        prices = self.flows.edges / (1.0 + np.where(only, below, 0.0)[child])
        prices[~self.of_sums | self._needed] = np.inf
        return np.asarray(prices)

    @cached_property
    def _needed(self) -> BoolArray:
        """Which edges of sums stay: the one of largest flow among those that make nothing impossible, or all."""
        known = np.zeros(len(self.graph), dtype=bool)
        for pool in self.pools:
            known[pool.leaves] = (pool.tables > 0).all(axis=1)
        full = has_full_support(self.graph, known)[self.graph.edges.child]
        own = np.flatnonzero(self.of_sums)
        order = own[np.lexsort((own, -self.flows.edges[own], ~full[own], self.parents[own]))]
        first = order[np.flatnonzero(np.diff(self.parents[order], prepend=-1))]
        needed = np.zeros(len(full), dtype=bool)
        needed[first] = True
        covered = np.zeros(len(self.graph), dtype=bool)
        covered[self.parents[first[full[first]]]] = True
        return needed | (self.of_sums & ~covered[self.parents])

    def size(self, price: float) -> int:
        """Return how many parameters are left if all is cut that costs no more; equal parts may make it fewer."""
        kept = self.edge_prices > price
        reached = self._reached(kept)
        sums = kept & self.of_sums & reached[self.parents]
        n_sums = int((np.bincount(self.parents[sums]) > 0).sum())
        leaves = reached & (np.diff(self.graph.edges.begin) == 0)
        own = self.own_parameters
        if self.loosenings is not None:
            own = own - self.loosenings.freed_at(price, len(own))
        total = int(sums.sum()) - n_sums + int(np.maximum(own[leaves], 0).sum())
        return total + sum(len(np.unique(pool.groups(price)[reached[pool.leaves]])) * pool.freed for pool in self.pools)

    def _reached(self, kept: BoolArray) -> BoolArray:
        """Return which nodes are below the root still."""
        reached = np.zeros(len(self.graph), dtype=bool)
        reached[-1] = True
        for own in self.downward:
            followed = own[kept[own] & reached[self.parents[own]]]
            reached[self.graph.edges.child[followed]] = True
        return reached

    def price_of(self, most: int) -> float:
        """Return the lowest price at which no more than so many parameters are left; the highest if none is."""
        more = np.empty(0) if self.loosenings is None else self.loosenings.prices
        known = np.unique(np.concatenate([self.edge_prices, *(pool.prices for pool in self.pools), more]))
        known = np.concatenate([[-1.0], known[np.isfinite(known)]])
        low, high = 0, len(known) - 1
        while low < high:
            middle = (low + high) // 2
            if self.size(float(known[middle])) <= most:
                high = middle
            else:
                low = middle + 1
        return float(known[low])

    def cut(self, price: float) -> Graph:
        """Return the circuit without what costs no more."""
        merged: dict[int, Leaf] = {}
        kept = self.edge_prices > price
        reached = self._reached(kept)
        for pool in self.pools:
            groups = pool.groups(price)
            for group in np.unique(groups[reached[pool.leaves]]).tolist():
                members = np.flatnonzero((groups == group) & reached[pool.leaves])
                if len(members) > 1:
                    leaf = pool.merged(members, cast(Leaf, self.graph.nodes[pool.leaves[members[0]]]))
                    merged.update(dict.fromkeys(pool.leaves[members].tolist(), leaf))
        begin = self.graph.edges.begin.tolist()
        place = iter(range(len(self.graph)))
        known: dict[tuple[int, ...], Node] = {}

        def visit(node: Node, children: Sequence[Node | None]) -> Node | None:
            own = next(place)
            if not reached[own]:
                return None
            if isinstance(node, Sum):
                live = np.flatnonzero(kept[begin[own] : begin[own + 1]])
                flow = self.flows.edges[begin[own] : begin[own + 1]][live]
                weights = node.weights[live] if flow.sum() <= 0 else flow + TRACE * flow.sum() * node.weights[live]
                return _mixture(weights, [cast(Node, children[k]) for k in live.tolist()])
            if isinstance(node, Product):
                factors = _flat(cast(Sequence[Node], children))
                key = tuple(sorted(map(id, factors)))
                if key not in known:
                    known[key] = Product(factors)
                return known[key]
            return merged.get(own, node)

        root = cast(Node, self.graph.rebuild(visit))
        return Graph(root, self.graph.n_variables)


def _parameters(node: Node) -> int:
    if isinstance(node, LeafNode):
        return node.n_parameters
    return len(node.children) - 1 if isinstance(node, Sum) else 0


def _flat(factors: Sequence[Node]) -> list[Node]:
    """Return the factors of a product, those of products among them as its own."""
    found: list[Node] = []
    for factor in factors:
        found += factor.children if isinstance(factor, Product) else [factor]
    return found


def _mixture(weights: FloatArray, children: Sequence[Node]) -> Node:
    """Return the sum of children, equal ones once; the only child if there is one."""
    places: dict[int, int] = {}
    different: list[Node] = []
    for child in children:
        if id(child) not in places:
            places[id(child)] = len(different)
            different.append(child)
    if len(different) == 1:
        return different[0]
    own = np.zeros(len(different))
    np.add.at(own, [places[id(child)] for child in children], weights)
    return Sum(own / own.sum(), different)


# -- what is possible --------------------------------------------------------------------------------------------------

# The possible values of each variable of which not all are possible; None where more than that is impossible.
Support = dict[int, frozenset[int]] | None


def has_full_support(graph: Graph, known: BoolArray | None = None) -> BoolArray:
    """Return which nodes are known to give each row a positive probability.

    A sum does if one of its children does, or if they tell the values of one variable apart and have all of them.

    Args:
        graph: The circuit.
        known: Which leaves are known to, and need not be asked.

    Examples:
        >>> from xspn import Bernoulli, Product, Sum
        >>> zero, one = (Product([Bernoulli(0, p=x), Bernoulli(1, p=0.3)]) for x in (0.0, 1.0))
        >>> has_full_support(Graph(Sum([0.5, 0.5], [zero, one]))).tolist()
        [False, True, False, False, True, False, True]
    """
    found: list[bool] = []

    def visit(node: Node, children: Sequence[Support]) -> Support:
        if isinstance(node, LeafNode):
            own: Support = {} if known is not None and known[len(found)] else _of_leaf(node)
        else:
            own = _of_inner(graph, node, children)
        found.append(own == {})
        return own

    graph.rebuild(visit)
    return np.array(found)


def _of_leaf(leaf: LeafNode) -> Support:
    restricted: dict[int, frozenset[int]] = {}
    for variable, domain, values in zip(leaf.variables, leaf.domains, leaf.supports(), strict=True):
        if values is not None and len(values) < (domain.cardinality or 0):
            restricted[variable] = values
    return None if restricted and len(leaf.variables) > 1 else restricted


def _of_inner(graph: Graph, node: Node, children: Sequence[Support]) -> Support:
    if isinstance(node, Product):
        joined: dict[int, frozenset[int]] = {}
        for child in children:
            if child is None:
                return None
            joined.update(child)
        return joined
    known = [child for child in children if child is not None]
    if any(not child for child in known):
        return {}
    if len(known) < len(children) or len({frozenset(child) for child in known}) > 1:
        return None
    differ = [v for v in known[0] if len({child[v] for child in known}) > 1]
    if len(differ) > 1:
        return None
    together = {v: frozenset().union(*(child[v] for child in known)) for v in known[0]}
    sizes = [0 if domain is None else domain.cardinality or 0 for domain in graph.domains]
    return {v: own for v, own in together.items() if len(own) < sizes[v]}
