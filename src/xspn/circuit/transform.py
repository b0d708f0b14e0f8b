"""Rewritings that keep the distribution: prune, merge, share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xspn.circuit.graph import Graph
from xspn.circuit.nodes import LeafNode, Node, Product, Sum


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

    A nested node that other parents use too is left alone: merging it would copy it.

    Examples:
        >>> from xspn import Bernoulli
        >>> a, b, c = (Bernoulli(0, p=p) for p in (0.1, 0.5, 0.9))
        >>> merge(Sum([0.5, 0.5], [Sum([0.5, 0.5], [a, b]), c])).weights.tolist()
        [0.25, 0.25, 0.5]
    """
    graph = Graph(root)
    parents = np.zeros(len(graph), dtype=np.int64)
    for node in graph.nodes:
        for child in graph.child_ids(node):
            parents[child] += 1

    def visit(node: Node, open_children: Sequence[_Open]) -> _Open:
        """Collect what a node will hold; it is built once its parent is known not to swallow it."""
        if not node.children:
            return _Open(node, [1.0], [node])
        outer = node.weights if isinstance(node, Sum) else np.ones(len(node.children))
        weights: list[float] = []
        children: list[Node] = []
        for weight, child, place in zip(outer, open_children, graph.child_ids(node), strict=True):
            if type(child.node) is type(node) and parents[place] == 1:
                children += child.children
                weights += [weight * inner for inner in child.weights]
            else:
                children.append(child.build())
                weights.append(weight)
        return _Open(node, weights, children)

    result: _Open = graph.rebuild(visit)
    return result.build()


@dataclass
class _Open:
    """A node whose children are collected but that is not yet built."""

    node: Node
    weights: list[float]
    children: list[Node]
    built: Node | None = None

    def build(self) -> Node:
        if self.built is None:
            same = len(self.children) == len(self.node.children) and not _changed(self.node, self.children)
            if same or not self.node.children:
                self.built = self.node
            elif isinstance(self.node, Sum):
                self.built = Sum(np.array(self.weights), self.children)
            else:
                self.built = Product(self.children)
        return self.built


def share(root: Node) -> Node:
    """Make equal sub-circuits one node with several parents.

    Examples:
        >>> from xspn import Bernoulli
        >>> halves = [Product([Bernoulli(0, p=p), Bernoulli(1, p=0.5)]) for p in (0.1, 0.9)]
        >>> len(Graph(Sum([0.5, 0.5], halves))), len(Graph(share(Sum([0.5, 0.5], halves))))
        (7, 6)
    """
    known: dict[Any, Node] = {}

    def visit(node: Node, children: Sequence[Node]) -> Node:
        if isinstance(node, LeafNode):
            key: Any = ("leaf", node.fingerprint())
        elif isinstance(node, Sum):
            key = ("sum", node.weights.tobytes(), tuple(map(id, children)))
        else:
            key = ("product", tuple(map(id, children)))
        if key not in known:
            known[key] = _with_children(node, children)
        return known[key]

    result: Node = Graph(root).rebuild(visit)
    return result


def _changed(node: Node, children: Sequence[Node]) -> bool:
    return any(new is not old for new, old in zip(children, node.children, strict=True))


def _with_children(node: Node, children: Sequence[Node]) -> Node:
    if not children or not _changed(node, children):
        return node
    return Sum(node.weights, children) if isinstance(node, Sum) else Product(children)
