"""From a circuit of any size to a drawing of few parts: what most rows and variables go through is opened up first.

Everything begins folded. Again and again the folded part that covers most cells (the chance to reach it times its
variables) is opened, as long as the drawing has room. What stays folded is summed up.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Literal

import numpy as np

from xspn._core.arrays import FloatArray
from xspn.circuit.graph import Graph
from xspn.circuit.nodes import LeafNode, Node, Product, Sum
from xspn.inference.moments import count_distribution
from xspn.leaves import Bernoulli, Exchangeable
from xspn.model import Circuit
from xspn.plotting.facts import FAMILIES, Facts, Family, family_of
from xspn.plotting.sketch import CERTAIN

Kind = Literal["sum", "product", "leaves", "other", "folded", "again"]
Segment = tuple[Family, int, tuple[float, ...]]  # the family, how many variables, the heights of its bars

MOST_BRANCHES = 6  # of a sum or product are drawn one by one; all others are summed up
SMALL = 0.06  # factors of so small a share of a product's variables are summed up too
MOST_CONTEXTS = 2  # bits written at an edge


@dataclass(eq=False)
class Part:
    """A part of the drawing: a leaf, or a bundle of factors or branches, folded or open.

    Attributes:
        kind: What to draw.
        nodes: The factors of a product, the branches of a sum, or a leaf.
        variables: What they are about.
        reach: The chance that a row comes by here.
        weights: The weights of the branches, if it is a sum.
        weight: The weight of the branch of a sum that leads here; None below a product.
        contexts: The bits that are certain on that branch: (variable, value).
        children: The parts to its right.
        segments: The leaves that are drawn side by side: P(number of ones = t), or P(x = 1) of independent bits.
        makeup: The number of variables in leaves of each family, on average.
        counts: P(number of ones among the variables = k) for a folded part of bits.
        n_nodes: The number of nodes that it stands for, with all below them.
        origin: The id of the node that it is; None for several leaves and for the rest of many branches or factors.
        is_rest: Whether it sums up the last of many branches or factors.
        label: A number, where the same part occurs again elsewhere.
    """

    kind: Kind
    nodes: list[Node]
    variables: list[int]
    reach: float
    weights: FloatArray | None = None
    weight: float | None = None
    contexts: list[tuple[int, int]] = field(default_factory=list)
    children: "list[Part]" = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    makeup: FloatArray = field(default_factory=lambda: np.zeros(len(FAMILIES)))
    counts: FloatArray | None = None
    n_nodes: int = 1
    origin: int | None = None
    is_rest: bool = False
    label: int | None = None

    @property
    def cells(self) -> float:
        """The part of the table that it stands for: rows times variables."""
        return self.reach * len(self.variables)

    def walk(self) -> "list[Part]":
        """Return this part and all to its right, parents first."""
        found, stack = [], [self]
        while stack:
            part = stack.pop()
            found.append(part)
            stack.extend(reversed(part.children))
        return found


def outline(circuit: Circuit, max_nodes: int, depth: int | None = None) -> Part:
    """Return at most so many parts, opened to at most this depth.

    Args:
        circuit: The circuit.
        max_nodes: The number of parts.
        depth: How many levels below the root; None for as many as there is room for.
    """
    outliner = _Outliner(circuit)
    root = outliner.closed(circuit.root, 1.0)
    room = max_nodes - 1
    order = count()
    queue = [(-root.cells, next(order), 0, root)]
    while queue:
        _, _, level, part = heapq.heappop(queue)
        if part.kind != "folded" or (depth is not None and level >= depth):
            continue
        children = outliner.open(part, room)
        room -= len(children)
        for child in children:
            heapq.heappush(queue, (-child.cells, next(order), level + 1, child))
    for part in root.walk():
        if part.kind in ("folded", "again"):
            part.n_nodes = outliner.facts.n_below(part.nodes) + (part.origin is not None)
            part.counts = _counts(circuit, part)
    return root


class _Outliner:
    """Makes the parts of one circuit."""

    def __init__(self, circuit: Circuit) -> None:
        self.graph = circuit.graph
        self.facts = Facts(circuit.graph)
        self.opened: dict[int, Part] = {}
        self.labels = count(1)

    def open(self, part: Part, room: int) -> list[Part]:
        """Turn a folded part into a sum or product with parts below it, if there is room for them."""
        same = None if part.origin is None else int(self.facts.same_as[part.origin])
        if same is not None and same in self.opened:
            first = self.opened[same]
            first.label = next(self.labels) if first.label is None else first.label
            part.kind, part.label = "again", first.label
            return []
        children = self._factors(part) if part.weights is None else self._branches(part, part.weights)
        if len(children) > room:
            return []
        if same is not None:
            self.opened[same] = part
        part.kind = "product" if part.weights is None else "sum"
        part.children = children
        return children

    def closed(self, node: Node, reach: float) -> Part:
        """Return a node's part: a leaf's own, or all below it folded."""
        origin = self.graph.id_of(node)
        if isinstance(node, LeafNode):
            return _leaf(node, reach)
        if isinstance(node, Sum):
            return self._folded(list(node.children), reach, node.weights, origin)
        return self._product(list(node.children), reach, origin)

    def _product(self, factors: list[Node], reach: float, origin: int | None = None) -> Part:
        """Return the part of independent factors; leaves side by side need not be folded."""
        if len(factors) == 1:
            return self.closed(factors[0], reach)
        segments = _segments(factors)
        if segments is not None:
            return _leaves(factors, segments, reach)
        return self._folded(factors, reach, None, origin)

    def _folded(self, nodes: list[Node], reach: float, weights: FloatArray | None, origin: int | None) -> Part:
        makeup = self.facts.makeup[[self.graph.id_of(node) for node in nodes]]
        scopes = nodes if weights is None else nodes[:1]
        return Part(
            "folded",
            nodes,
            sorted(v for node in scopes for v in node.scope),
            reach,
            weights,
            makeup=makeup.sum(axis=0) if weights is None else weights @ makeup,
            origin=origin,
        )

    def _branches(self, part: Part, weights: FloatArray) -> list[Part]:
        """Return the branches of a sum, the heaviest first, with the bits that are certain in each as its context."""
        order = [int(i) for i in np.argsort(-weights, kind="stable") if weights[i] > 0]
        shown = order if len(order) <= MOST_BRANCHES else order[: MOST_BRANCHES - 1]
        parts = []
        for place in shown:
            reach = part.reach * float(weights[place])
            child = part.nodes[place]
            certain = _certain(child)
            rest = [factor for factor in child.children if factor not in certain]
            parts.append(self._product(rest, reach, self.graph.id_of(child)) if certain else self.closed(child, reach))
            parts[-1].weight = float(weights[place])
            parts[-1].contexts = [(bit.variables[0], round(bit.p)) for bit in certain]
        if rest_of := order[len(shown) :]:
            total = float(weights[rest_of].sum())
            nodes = [part.nodes[i] for i in rest_of]
            parts.append(self._folded(nodes, part.reach * total, weights[rest_of] / total, None))
            parts[-1].weight, parts[-1].is_rest = total, True
        return parts

    def _factors(self, part: Part) -> list[Part]:
        """Return the factors of a product, the largest first; its leaves are side by side."""
        leaves: list[Node] = [node for node in part.nodes if isinstance(node, LeafNode)]
        parts = [self.closed(node, part.reach) for node in part.nodes if not isinstance(node, LeafNode)]
        if leaves:
            segments = _segments(leaves)
            together = self._folded(leaves, part.reach, None, None)
            parts.append(together if segments is None else _leaves(leaves, segments, part.reach))
        parts.sort(key=lambda own: -len(own.variables))
        large = sum(len(own.variables) >= SMALL * len(part.variables) for own in parts)
        if len(parts) <= max(large + 1, 2) and len(parts) <= MOST_BRANCHES:
            return parts
        few = parts[: max(1, min(large, MOST_BRANCHES - 1))]
        shown = {variable for own in few for variable in own.variables}
        rest = [node for node in part.nodes if not shown.intersection(node.scope)]
        last = self._folded(rest, part.reach, None, None)
        last.is_rest = True
        return [*few, last]


def _leaf(leaf: LeafNode, reach: float) -> Part:
    segments = _segments([leaf])
    if segments is not None:
        return _leaves([leaf], segments, reach)
    return Part("other", [leaf], list(leaf.variables), reach)


def _leaves(leaves: list[Node], segments: list[Segment], reach: float) -> Part:
    return Part("leaves", leaves, sorted(v for leaf in leaves for v in leaf.scope), reach, segments=segments)


def _segments(factors: Sequence[Node]) -> list[Segment] | None:
    """Return the bars of leaves, the largest first, all bits as one; None if they cannot be drawn side by side."""
    bits = tuple(sorted((float(factor.p) for factor in factors if isinstance(factor, Bernoulli)), reverse=True))
    segments: list[Segment] = [("independent", len(bits), bits)] if bits else []
    for factor in factors:
        if isinstance(factor, Exchangeable) and factor.statistic.cardinality == 2:
            counts = tuple(float(chance) for chance in factor.count_distribution())
            segments.append(("exchangeable", len(factor.variables), counts))
        elif isinstance(factor, LeafNode) and family_of(factor) == "tree":
            segments.append(("tree", len(factor.variables), ()))
        elif not isinstance(factor, Bernoulli):
            return None
    segments.sort(key=lambda segment: (FAMILIES.index(segment[0]), -segment[1]))
    return segments


def _counts(circuit: Circuit, part: Part) -> FloatArray | None:
    """Return the distribution of the number of ones in a folded part; None where not all variables are bits."""
    if any(domain is None or domain.cardinality != 2 for domain in (circuit.domains[v] for v in part.variables)):
        return None
    root = Product(part.nodes) if part.weights is None else Sum(part.weights, part.nodes)
    return count_distribution(Graph(root))


def _certain(node: Node) -> list[Bernoulli]:
    """Return the few bits that tell which branch of a sum this is."""
    factors = node.children if isinstance(node, Product) else ()
    bits = [factor for factor in factors if isinstance(factor, Bernoulli) and min(factor.p, 1 - factor.p) < CERTAIN]
    return bits if 0 < len(bits) <= MOST_CONTEXTS and len(bits) < len(factors) else []
