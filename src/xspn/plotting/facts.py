"""What a drawing wants to know: of each node how often it is reached and what lies below it; of a leaf, its picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from xspn.core.arrays import FloatArray, IntArray
from xspn.graph.graph import Graph
from xspn.graph.nodes import LeafNode, Node, Product, Sum
from xspn.leaves import Bernoulli, Categorical, ChowLiu, Exchangeable, ExchangeableGaussian
from xspn.leaves.base import Leaf

Family = Literal["exchangeable", "pairs", "independent"]
FAMILIES: tuple[Family, ...] = ("exchangeable", "pairs", "independent")
Shape = Literal["bars", "chances", "shares", "bell", "tree"]
CERTAIN = 0.01  # a value that is all but sure below a sum names the branch that it is on


def family_of(leaf: LeafNode) -> Family:
    """Return in which way the variables of a leaf hang together; one variable alone is independent of the others."""
    if len(leaf.variables) == 1:
        return "independent"
    return "exchangeable" if isinstance(leaf, Exchangeable | ExchangeableGaussian) else "pairs"


class NodeFacts:
    """Facts about the nodes of a graph, by their ids; each is computed at the first question.

    Examples:
        >>> from xspn import Bernoulli, Product
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
            if isinstance(node, LeafNode):
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
            if isinstance(node, LeafNode):
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
class Segment:
    """A picture of a leaf, or of several univariate ones.

    Attributes:
        family: How its variables hang together.
        shape: What to draw: "bars" for P(number of ones = t), "chances" for P(x = 1) of each of several bits,
            "shares" for P(x = v) of each of several variables, "bell" for real numbers, "tree".
        size: How many variables it has.
        values: One row of numbers, or one for each variable.
    """

    family: Family
    shape: Shape
    size: int
    values: tuple[tuple[float, ...], ...] = ()


def segments_of(leaves: Sequence[Node]) -> list[Segment]:
    """Return the pictures of leaves that stand side by side, the largest of each family first.

    Univariate leaves of one kind are one picture.

    Examples:
        >>> [segment.shape for segment in segments_of([Bernoulli(0, p=0.2), Bernoulli(1, p=0.7)])]
        ['chances']
    """
    segments: list[Segment] = []
    bits = sorted((float(leaf.p) for leaf in leaves if isinstance(leaf, Bernoulli)), reverse=True)
    categories = [tuple(map(float, leaf.probabilities)) for leaf in leaves if isinstance(leaf, Categorical)]
    if bits:
        segments.append(Segment("independent", "chances", len(bits), (tuple(bits),)))
    if categories:
        segments.append(Segment("independent", "shares", len(categories), tuple(categories)))
    others = [leaf for leaf in leaves if isinstance(leaf, Leaf) and not isinstance(leaf, Bernoulli | Categorical)]
    alone = [leaf for leaf in others if len(leaf.variables) == 1]
    if alone:
        segments.append(Segment("independent", "bell", len(alone)))
    segments += [_of_several(leaf) for leaf in others if len(leaf.variables) > 1]
    return sorted(segments, key=lambda segment: (FAMILIES.index(segment.family), -segment.size))


def _of_several(leaf: Leaf) -> Segment:
    """Return the picture of a leaf over several variables."""
    family, size = family_of(leaf), len(leaf.variables)
    if isinstance(leaf, ChowLiu):
        return Segment(family, "tree", size)
    if isinstance(leaf, Exchangeable):
        if leaf.statistic.cardinality == 2:
            return Segment(family, "bars", size, (tuple(map(float, leaf.count_distribution())),))
        marginals = leaf.marginals(np.full((1, size), np.nan))[0]
        groups = leaf.statistic.symmetric_positions(size)
        return Segment(family, "shares", size, tuple(tuple(map(float, marginals[group[0]])) for group in groups))
    return Segment(family, "bell", size)


def certain_value(leaf: Node) -> int | None:
    """Return the value that a leaf over one discrete variable all but surely has, or None."""
    if isinstance(leaf, Bernoulli):
        return round(leaf.p) if min(leaf.p, 1 - leaf.p) < CERTAIN else None
    if isinstance(leaf, Categorical) and leaf.probabilities.max() > 1 - CERTAIN:
        return int(leaf.probabilities.argmax())
    return None


def certain_factors(node: Node, most: int) -> dict[LeafNode, int]:
    """Return the few factors of a product, with their values, that tell which branch of a sum it is."""
    factors = node.children if isinstance(node, Product) else ()
    found = {
        factor: value
        for factor in factors
        if isinstance(factor, LeafNode) and (value := certain_value(factor)) is not None
    }
    return found if len(found) <= most else {}
