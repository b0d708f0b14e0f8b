"""What a drawing wants to know of each node: how often it is reached, how much lies below it, and of what kinds."""

from functools import cached_property
from typing import Any, Literal

import numpy as np

from xspn.core.arrays import FloatArray, IntArray
from xspn.graph.graph import Graph
from xspn.graph.nodes import Node, Sum
from xspn.leaves import Leaf

Family = Literal["exchangeable", "pairs", "independent"]
FAMILIES: tuple[Family, ...] = ("exchangeable", "pairs", "independent")


def family_of(leaf: Leaf) -> Family:
    """Return in which way the variables of a leaf hang together; one variable alone is independent of the others."""
    if len(leaf.variables) == 1:
        return "independent"
    return "exchangeable" if leaf.interchangeable() else "pairs"


class Facts:
    """Facts about the nodes of a graph, by their ids; each is computed at the first question.

    Examples:
        >>> from xspn import Bernoulli, Exchangeable, Product
        >>> pair = Exchangeable.from_class_probabilities([0, 1], [0.2, 0.5, 0.3])
        >>> other = Product([Bernoulli(0, p=0.1), Bernoulli(1, p=0.4)])
        >>> facts = Facts(Graph(Sum([0.25, 0.75], [pair, other])))
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
