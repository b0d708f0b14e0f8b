"""Rewritings that keep the distribution: prune, merge, share."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from xspn.graph.graph import Graph
from xspn.graph.nodes import LeafNode, Node, Product, Sum

LEAST_WEIGHT = float(np.finfo(np.float64).tiny)  # smaller numbers have fewer digits


def simplify(root: Node) -> Node:
    """Prune trivial nodes, merge nested ones and share equal sub-circuits, in that order."""
    return share(merge(prune(root)))


def prune(root: Node) -> Node:
    """Drop children of weight 0, and every sum or product that has only one child.

    Examples:
        >>> from xspn import Bernoulli
        >>> prune(Sum([1.0, 0.0], [Product([Bernoulli(0, p=0.2)]), Bernoulli(0, p=0.9)]))
        Bernoulli(0, p=0.2)
    """

    def visit(node: Node, children: Sequence[Node]) -> Node:
        if isinstance(node, Sum):
            live = np.flatnonzero(node.weights > 0)
            if len(live) == 1:
                return children[int(live[0])]
            if len(live) < len(children) or _changed(node, children):
                return Sum(node.weights[live], [children[int(k)] for k in live])
            return node
        if isinstance(node, Product):
            if len(children) == 1:
                return children[0]
            return Product(children) if _changed(node, children) else node
        return node

    result: Node = Graph(root).rebuild(visit)
    return result


def merge(root: Node) -> Node:
    """Replace a sum of sums by one sum and a product of products by one product.

    A nested node that other parents use too is left alone: merging it would copy it. So is a sum whose weights, times
    its own weight, would be too small to keep all their digits.

    Examples:
        >>> from xspn import Bernoulli
        >>> a, b, c = (Bernoulli(0, p=p) for p in (0.1, 0.5, 0.9))
        >>> merge(Sum([0.5, 0.5], [Sum([0.5, 0.5], [a, b]), c])).weights.tolist()
        [0.25, 0.25, 0.5]
    """
    graph = Graph(root)
    swallowed_by: dict[int, int] = {}  # the place of a nested node → that of its only parent, of the same kind
    least = [1.0] * len(graph)  # the smallest weight above 0 that a node would have with all that it has swallowed
    for place, node in enumerate(graph.nodes):
        weights = node.weights.tolist() if isinstance(node, Sum) else [1.0] * len(node.children)
        for weight, child in zip(weights, graph.child_ids(node), strict=True):
            if type(graph.nodes[child]) is type(node) and graph.n_parents[child] == 1:
                product = weight * least[child]
                if weight == 0 or product >= LEAST_WEIGHT:
                    swallowed_by[child], weight = place, product
            if weight > 0:
                least[place] = min(least[place], weight)
    built: dict[int, Node] = {}
    for place, node in enumerate(graph.nodes):
        if place not in swallowed_by:
            built[place] = _merged(graph, node, swallowed_by, built)
    return built[len(graph) - 1]


def _merged(graph: Graph, top: Node, swallowed_by: Mapping[int, int], built: Mapping[int, Node]) -> Node:
    """Return the node that holds what `top` and the nodes swallowed below it hold, in their order."""
    weights: list[float] = []
    children: list[Node] = []
    waiting: list[tuple[float, Node]] = [(1.0, top)]
    while waiting:
        weight, node = waiting.pop()
        place = graph.id_of(node)
        if node is not top and place not in swallowed_by:
            weights.append(weight)
            children.append(built[place])
            continue
        own = node.weights if isinstance(node, Sum) else np.ones(len(node.children))
        waiting.extend((weight * float(w), child) for w, child in zip(own[::-1], node.children[::-1], strict=True))
    if len(children) == len(top.children) and not _changed(top, children):
        return top
    # Weights that are off 1 by rounding would be off by more when multiplied.
    return Sum(np.array(weights) / np.sum(weights), children) if isinstance(top, Sum) else Product(children)


def share(root: Node) -> Node:
    """Make equal sub-circuits one node with several parents.

    Examples:
        >>> from xspn import Bernoulli
        >>> halves = [Product([Bernoulli(0, p=p), Bernoulli(1, p=0.5)]) for p in (0.1, 0.9)]
        >>> len(Graph(Sum([0.5, 0.5], halves))), len(Graph(share(Sum([0.5, 0.5], halves))))
        (7, 6)
    """
    return share_and_tell(root)[0]


def share_and_tell(root: Node) -> tuple[Node, dict[Node, Node]]:
    """Make equal sub-circuits one node; return the root and the node that replaces each old node."""
    known: dict[Any, Node] = {}
    became: dict[Node, Node] = {}

    def visit(node: Node, children: Sequence[Node]) -> Node:
        if isinstance(node, LeafNode):
            key: Any = ("leaf", node.fingerprint())
        elif isinstance(node, Sum):
            key = ("sum", node.weights.tobytes(), tuple(map(id, children)))
        else:
            key = ("product", tuple(map(id, children)))
        if key not in known:
            known[key] = _with_children(node, children)
        became[node] = known[key]
        return known[key]

    result: Node = Graph(root).rebuild(visit)
    return result, became


def _changed(node: Node, children: Sequence[Node]) -> bool:
    return any(new is not old for new, old in zip(children, node.children, strict=True))


def _with_children(node: Node, children: Sequence[Node]) -> Node:
    if not children or not _changed(node, children):
        return node
    return Sum(node.weights, children) if isinstance(node, Sum) else Product(children)
