"""From a circuit of any size to a drawing of few parts: what most rows and variables go through is opened up first.

Everything begins folded. Again and again the folded part that covers most cells (the chance to reach it times its
variables) is opened, as long as the drawing has room. What stays folded is summed up.
"""

import heapq
from dataclasses import dataclass, field
from itertools import count
from typing import Literal

import numpy as np

from xspn.circuit import Circuit
from xspn.core.arrays import FloatArray
from xspn.graph.nodes import LeafNode, Node, Product, Sum
from xspn.plotting.facts import FAMILIES, LeafPicture, NodeFacts, certain_factors, leaf_pictures

PartKind = Literal["sum", "product", "leaves", "folded", "again"]

MOST_BRANCHES = 6  # of a sum or product are drawn one by one; all others are summed up
SMALL = 0.06  # factors of so small a fraction of a product's variables are summed up too
MOST_CONTEXTS = 2  # bits written at an edge


@dataclass(eq=False)
class OutlinePart:
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
        segments: The leaves that are drawn side by side.
        makeup: The number of variables in leaves of each family, on average.
        counts: P(number of ones among the variables = k) for a folded part of bits.
        n_nodes: The number of nodes that it stands for, with all below them.
        origin: The id of the node that it is; None for several leaves and for the rest of many branches or factors.
        is_rest: Whether it sums up the last of many branches or factors.
        label: A number, where the same part occurs again elsewhere.
    """

    kind: PartKind
    nodes: list[Node]
    variables: list[int]
    reach: float
    weights: FloatArray | None = None
    weight: float | None = None
    contexts: list[tuple[int, int]] = field(default_factory=list)
    children: "list[OutlinePart]" = field(default_factory=list)
    segments: list[LeafPicture] = field(default_factory=list)
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

    def walk(self) -> "list[OutlinePart]":
        """Return this part and all to its right, parents first."""
        found, stack = [], [self]
        while stack:
            part = stack.pop()
            found.append(part)
            stack.extend(reversed(part.children))
        return found


def outline(circuit: Circuit, max_nodes: int, depth: int | None = None) -> OutlinePart:
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
        self.facts = NodeFacts(circuit.graph)
        self.opened: dict[int, OutlinePart] = {}
        self.labels = count(1)

    def open(self, part: OutlinePart, room: int) -> list[OutlinePart]:
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

    def closed(self, node: Node, reach: float) -> OutlinePart:
        """Return a node's part: a leaf's own, or all below it folded."""
        origin = self.graph.id_of(node)
        if isinstance(node, LeafNode):
            return _leaves([node], reach)
        if isinstance(node, Sum):
            return self._folded(list(node.children), reach, node.weights, origin)
        return self._product(list(node.children), reach, origin)

    def _product(self, factors: list[Node], reach: float, origin: int | None = None) -> OutlinePart:
        """Return the part of independent factors; leaves side by side need not be folded."""
        if len(factors) == 1:
            return self.closed(factors[0], reach)
        if all(isinstance(factor, LeafNode) for factor in factors):
            return _leaves(factors, reach)
        return self._folded(factors, reach, None, origin)

    def _folded(self, nodes: list[Node], reach: float, weights: FloatArray | None, origin: int | None) -> OutlinePart:
        makeup = self.facts.makeup[[self.graph.id_of(node) for node in nodes]]
        scopes = nodes if weights is None else nodes[:1]
        return OutlinePart(
            "folded",
            nodes,
            sorted(v for node in scopes for v in node.scope),
            reach,
            weights,
            makeup=makeup.sum(axis=0) if weights is None else weights @ makeup,
            origin=origin,
        )

    def _branches(self, part: OutlinePart, weights: FloatArray) -> list[OutlinePart]:
        """Return the branches of a sum, the heaviest first, with the bits that are certain in each as its context."""
        order = [int(i) for i in np.argsort(-weights, kind="stable") if weights[i] > 0]
        shown = order if len(order) <= MOST_BRANCHES else order[: MOST_BRANCHES - 1]
        parts = []
        for place in shown:
            reach = part.reach * float(weights[place])
            child = part.nodes[place]
            certain = certain_factors(child, MOST_CONTEXTS)
            rest = [factor for factor in child.children if factor not in certain]
            written = certain if rest else {}
            parts.append(self._product(rest, reach, self.graph.id_of(child)) if written else self.closed(child, reach))
            parts[-1].weight = float(weights[place])
            parts[-1].contexts = [(leaf.variables[0], value) for leaf, value in written.items()]
        if rest_of := order[len(shown) :]:
            total = float(weights[rest_of].sum())
            nodes = [part.nodes[i] for i in rest_of]
            parts.append(self._folded(nodes, part.reach * total, weights[rest_of] / total, None))
            parts[-1].weight, parts[-1].is_rest = total, True
        return parts

    def _factors(self, part: OutlinePart) -> list[OutlinePart]:
        """Return the factors of a product, the largest first; its leaves are side by side."""
        leaves: list[Node] = [node for node in part.nodes if isinstance(node, LeafNode)]
        parts = [self.closed(node, part.reach) for node in part.nodes if not isinstance(node, LeafNode)]
        if leaves:
            parts.append(_leaves(leaves, part.reach))
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


def _leaves(leaves: list[Node], reach: float) -> OutlinePart:
    """Return the part of leaves side by side."""
    variables = sorted(v for leaf in leaves for v in leaf.scope)
    return OutlinePart("leaves", leaves, variables, reach, segments=leaf_pictures(leaves))


def _counts(circuit: Circuit, part: OutlinePart) -> FloatArray | None:
    """Return the distribution of the number of ones in a folded part; None where not all variables are bits."""
    if any(domain is None or domain.cardinality != 2 for domain in (circuit.domains[v] for v in part.variables)):
        return None
    root = Product(part.nodes) if part.weights is None else Sum(part.weights, part.nodes)
    return Circuit(root).count_distribution(part.variables)
