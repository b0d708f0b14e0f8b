"""Which nodes of a circuit make nothing impossible."""

from collections.abc import Sequence

import numpy as np

from xspn.core.arrays import BoolArray
from xspn.graph.graph import Graph
from xspn.graph.nodes import LeafNode, Node, Product

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
