"""Leaves over several variables that take their dependence for weak fall apart into smaller ones."""

from dataclasses import dataclass
from typing import cast

import numpy as np

from xspn.core.arrays import BoolArray, FloatArray, IntArray
from xspn.core.logspace import safe_log
from xspn.graph.nodes import Node, Product
from xspn.learning.distillation.flows import Flows
from xspn.leaves import Bernoulli, ChowLiu
from xspn.leaves.base import Leaf
from xspn.leaves.expansion import univariate

FREED = 2  # parameters of a tree for each edge that is cut: single variables' leaves can be merged with others'


@dataclass(frozen=True, eq=False)
class Loosenings:
    """What taking dependence out of leaves costs.

    Attributes:
        leaves: The place of a leaf in the graph, for each part of its dependence.
        prices: What the part costs, in nats for each parameter that it frees.
        freed: How many parameters it frees.
    """

    leaves: IntArray
    prices: FloatArray
    freed: IntArray

    @classmethod
    def of(cls, flows: Flows) -> "Loosenings":
        """Return those of a circuit.

        The cost of taking variables for independent is their total correlation for each row; that of cutting an edge of
        a Chow-Liu tree its mutual information. Leaves of few parameters have nothing to free.
        """
        found: list[tuple[int, float, int]] = []
        for place, node in enumerate(flows.graph.nodes):
            if isinstance(node, Leaf) and len(node.variables) > 1 and node.n_parameters > FREED:
                rows = float(flows.nodes[place])
                if isinstance(node, ChowLiu):
                    prices = _edge_prices(node, rows)
                    found += [(place, price, FREED) for price in prices[np.isfinite(prices)].tolist()]
                elif all(domain.is_discrete for domain in node.domains):
                    price = rows * node.dependence() / node.n_parameters
                    found.append((place, price if price == price else np.inf, node.n_parameters))  # unknown: too much
        places, prices_of_all, freed = zip(*found, strict=True) if found else ((), (), ())
        return cls(np.array(places, dtype=np.int64), np.array(prices_of_all), np.array(freed, dtype=np.int64))

    def freed_at(self, price: float, n_nodes: int) -> IntArray:
        """Return how many parameters of each node are freed by all that costs no more."""
        own = self.prices <= price
        return np.bincount(self.leaves[own], self.freed[own], minlength=n_nodes).astype(np.int64)


def loosened(flows: Flows, own: Loosenings, price: float) -> Flows:
    """Return the circuit without the dependence in leaves that costs no more."""
    by: dict[int, Node] = {}
    for place in np.unique(own.leaves[own.prices <= price]).tolist():
        leaf = cast(Leaf, flows.graph.nodes[place])
        if isinstance(leaf, ChowLiu):
            by[place] = _parts(leaf, _edge_prices(leaf, float(flows.nodes[place])) <= price)
        else:
            by[place] = Product(marginals_of(leaf))
    return flows.replaced(by)


def _edge_prices(tree: ChowLiu, rows: float) -> FloatArray:
    """Return what the edge above each variable costs; a root has none."""
    return np.where(np.array(tree.parents) >= 0, rows * tree.edge_information() / FREED, np.inf)


def marginals_of(leaf: Leaf) -> list[Leaf]:
    """Return a leaf for each of a leaf's discrete variables."""
    table = leaf.marginals(np.full((1, len(leaf.variables)), np.nan))[0]
    found: list[Leaf] = []
    for variable, own, domain in zip(leaf.variables, table, leaf.domains, strict=True):
        if domain.cardinality == 2:
            found.append(Bernoulli(variable, p=float(np.clip(own[1] / own[:2].sum(), 0.0, 1.0))))
        else:
            found.append(univariate(variable, safe_log(own[: domain.cardinality])))
    return found


def _parts(tree: ChowLiu, weak: BoolArray) -> Node:
    """Return the trees that are left without some edges."""
    above = np.where(weak, -1, np.array(tree.parents))
    ones = tree.marginals(np.full((1, len(above)), np.nan))[0, :, 1]
    top = np.arange(len(above))
    for i in tree.order:
        if above[i] >= 0:
            top[i] = top[above[i]]
    return Product([_part(tree, np.flatnonzero(top == root), above, ones) for root in np.unique(top).tolist()])


def _part(tree: ChowLiu, members: IntArray, above: IntArray, ones: FloatArray) -> Leaf:
    variables = [tree.variables[i] for i in members.tolist()]
    if len(members) == 1:
        return Bernoulli(variables[0], p=float(np.clip(ones[members[0]], 0.0, 1.0)))
    place = {int(i): k for k, i in enumerate(members)}
    parents = [place[int(above[i])] if above[i] >= 0 else -1 for i in members.tolist()]
    p = np.where((above[members] >= 0)[:, None], tree.p[members], np.clip(ones[members], 0.0, 1.0)[:, None])
    return ChowLiu(variables, parents, p)
