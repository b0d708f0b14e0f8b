"""What drawings show: how often each node is reached, what lies below it, and the pictures of leaves."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from xspn.core.arrays import FloatArray, IntArray
from xspn.graph.graph import Graph
from xspn.graph.nodes import Node, Product, Sum
from xspn.leaves import Leaf

Family = Literal["exchangeable", "pairs", "independent"]
FAMILIES: tuple[Family, ...] = ("exchangeable", "pairs", "independent")
Shape = Literal["bars", "chances", "frequencies", "bell", "tree"]
CERTAIN = 0.01  # a value that is all but sure below a sum names the branch that it is on


def family_of(leaf: Leaf) -> Family:
    """Return in which way the variables of a leaf hang together; one variable alone is independent of the others."""
    if len(leaf.variables) == 1:
        return "independent"
    return "exchangeable" if leaf.interchangeable() else "pairs"


class NodeFacts:
    """Facts about the nodes of a graph, by their ids; each is computed at the first question.

    Examples:
        >>> from xspn import Bernoulli, Exchangeable, Product
        >>> pair = Exchangeable.from_class_probabilities([0, 1], [0.2, 0.5, 0.3])
        >>> other = Product([Bernoulli(0, p=0.1), Bernoulli(1, p=0.4)])
        >>> facts = NodeFacts(Graph(Sum([0.25, 0.75], [pair, other])))
        >>> facts.reach.tolist()
        [0.25, 0.75, 0.75, 0.75, 1.0]
        >>> facts.makeup[-1].tolist()  # half a variable is exchangeable, on average
        [0.5, 0.0, 1.5]
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    @cached_property
    def reach(self) -> FloatArray:
        """The chance that a random row comes by each node, on its way down from the root."""
        reach = np.zeros(len(self.graph))
        reach[-1] = 1.0
        for place in range(len(self.graph) - 1, -1, -1):
            node = self.graph.nodes[place]
            if node.children:
                weights = node.weights if isinstance(node, Sum) else np.ones(len(node.children))
                np.add.at(reach, self.graph.child_ids(node), reach[place] * weights)
        return reach

    @cached_property
    def makeup(self) -> FloatArray:
        """How many variables are in leaves of each family, on average over the rows that reach the node."""
        makeup = np.zeros((len(self.graph), len(FAMILIES)))
        for place, node in enumerate(self.graph.nodes):
            if isinstance(node, Leaf):
                makeup[place, FAMILIES.index(family_of(node))] = len(node.variables)
            else:
                below = makeup[self.graph.child_ids(node)]
                makeup[place] = node.weights @ below if isinstance(node, Sum) else below.sum(axis=0)
        return makeup

    @cached_property
    def same_as(self) -> IntArray:
        """For each node the first node that is equal to it in all parts and parameters."""
        first: dict[Any, int] = {}
        same = np.empty(len(self.graph), dtype=np.int64)
        for place, node in enumerate(self.graph.nodes):
            if isinstance(node, Leaf):
                key: Any = node.fingerprint()
            else:
                weights = node.weights.tobytes() if isinstance(node, Sum) else None
                key = (weights, *same[self.graph.child_ids(node)])
            same[place] = first.setdefault(key, place)
        return same

    def n_below(self, nodes: list[Node]) -> int:
        """Return how many different nodes there are, these and all below them."""
        seen = {id(node): node for node in nodes}
        stack = list(nodes)
        while stack:
            for child in stack.pop().children:
                if id(child) not in seen:
                    seen[id(child)] = child
                    stack.append(child)
        return len(seen)


@dataclass(frozen=True)
class LeafPicture:
    """A picture of a leaf, or of several univariate ones.

    Attributes:
        family: How its variables hang together.
        shape: What to draw: "bars" for P(number of ones = t), "chances" for P(x = 1) of each of several bits,
            "frequencies" for P(x = v) of each of several variables, "bell" for real numbers, "tree".
        size: How many variables it has.
        values: One row of numbers, or one for each variable.
    """

    family: Family
    shape: Shape
    size: int
    values: tuple[tuple[float, ...], ...] = ()


def leaf_pictures(leaves: Sequence[Node]) -> list[LeafPicture]:
    """Return the pictures of leaves that stand side by side, the largest of each family first.

    Univariate leaves of one kind are one picture.

    Examples:
        >>> from xspn import Bernoulli
        >>> [segment.shape for segment in leaf_pictures([Bernoulli(0, p=0.2), Bernoulli(1, p=0.7)])]
        ['chances']
    """
    alone: dict[Shape, list[tuple[float, ...]]] = {"chances": [], "frequencies": [], "bell": []}
    segments: list[LeafPicture] = []
    for leaf in leaves:
        assert isinstance(leaf, Leaf)
        shape, values = leaf.picture()
        if len(leaf.variables) == 1:
            alone.setdefault(shape, []).extend(values or [()])
        else:
            segments.append(LeafPicture(family_of(leaf), shape, len(leaf.variables), values))
    bits = tuple(sorted((chance for (chance,) in alone["chances"]), reverse=True))
    for shape, own in alone.items():
        if own:
            values = {"chances": (bits,), "bell": ()}.get(shape, tuple(own))
            segments.append(LeafPicture("independent", shape, len(own), values))
    return sorted(segments, key=lambda segment: (FAMILIES.index(segment.family), -segment.size))


def chance_of(node: Node) -> float | None:
    """Return P(x = 1) of a leaf that is a bit with a chance; None for other nodes."""
    if not isinstance(node, Leaf) or len(node.variables) > 1:
        return None
    shape, values = node.picture()
    return values[0][0] if shape == "chances" else None


def certain_value(leaf: Node) -> int | None:
    """Return the value that a leaf over one discrete variable all but surely has, or None."""
    if not isinstance(leaf, Leaf) or len(leaf.variables) > 1:
        return None
    shape, values = leaf.picture()
    if shape == "chances":
        chance = values[0][0]
        return round(chance) if min(chance, 1 - chance) < CERTAIN else None
    return int(np.argmax(values[0])) if shape == "frequencies" and max(values[0]) > 1 - CERTAIN else None


def certain_factors(node: Node, most: int) -> dict[Leaf, int]:
    """Return the few factors of a product, with their values, that tell which branch of a sum it is."""
    factors = node.children if isinstance(node, Product) else ()
    found = {
        factor: value for factor in factors if isinstance(factor, Leaf) and (value := certain_value(factor)) is not None
    }
    return found if len(found) <= most else {}
