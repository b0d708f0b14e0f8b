"""How much of the rows each edge and each node of a circuit carries."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.engine import Automatic, compile_graph
from xspn.engine.program import SumStep
from xspn.graph.graph import Graph
from xspn.graph.nodes import Node, Product, Sum


@dataclass(frozen=True, eq=False)
class Flows:
    """A circuit, and the expected number of rows that pass through each of its parts.

    Attributes:
        graph: The circuit.
        edges: For each edge of the graph, in its order.
        nodes: For each node.
    """

    graph: Graph
    edges: FloatArray
    nodes: FloatArray

    @classmethod
    def of(cls, graph: Graph, rows: AnyArray, weights: FloatArray) -> "Flows":
        """Return what weighted rows say of a circuit, by one pass up and one down.

        Examples:
            >>> from xspn import Bernoulli
            >>> graph = Graph(Sum([0.5, 0.5], [Bernoulli(0, p=0.1), Bernoulli(0, p=0.9)]))
            >>> Flows.of(graph, np.array([[1.0], [1.0]]), np.ones(2)).edges.round(3).tolist()
            [0.2, 1.8]
        """
        program = compile_graph(graph)
        counts = Automatic(program).counts(rows, weights)
        edges = np.zeros(graph.n_edges)
        steps = (step for step in program.steps if isinstance(step, SumStep))
        for step, flow in zip(steps, counts.sums, strict=True):
            edges[graph.edges.begin[step.nodes][:, None] + np.arange(len(flow))] = flow.T
        return cls.of_sums(graph, edges, float(weights[~np.isneginf(counts.log_prob)].sum()))

    @classmethod
    def of_sums(cls, graph: Graph, edges: FloatArray, total: float) -> "Flows":
        """Return the flows of which those from sums are known."""
        nodes = np.zeros(len(graph))
        nodes[-1] = total
        parents, is_sum = parents_of(graph), is_sum_of(graph)
        for own in downward(graph):
            factors = own[~is_sum[parents[own]]]
            edges[factors] = nodes[parents[factors]]
            np.add.at(nodes, graph.edges.child[own], edges[own])
        return cls(graph, edges, nodes)

    def replaced(self, by: dict[int, Node]) -> "Flows":
        """Return the flows of the circuit in which some leaves, by their places, are replaced by other nodes."""
        if not by:
            return self
        place = iter(range(len(self.graph)))
        begin = self.graph.edges.begin
        of_sums: dict[int, FloatArray] = {}

        def visit(node: Node, children: Sequence[Any]) -> Any:
            own = next(place)
            if not node.children:
                return by.get(own, node)
            if all(new is old for new, old in zip(children, node.children, strict=True)):
                new = node
            else:
                new = Sum(node.weights, children) if isinstance(node, Sum) else Product(children)
            if isinstance(new, Sum):
                of_sums[id(new)] = self.edges[begin[own] : begin[own + 1]]
            return new

        graph = Graph(self.graph.rebuild(visit), self.graph.n_variables)
        parts = [of_sums[id(n)] if isinstance(n, Sum) else np.zeros(len(n.children)) for n in graph.nodes]
        return Flows.of_sums(graph, np.concatenate(parts), float(self.nodes[-1]))


def parents_of(graph: Graph) -> IntArray:
    """Return the place of the parent of each edge."""
    return np.repeat(np.arange(len(graph)), np.diff(graph.edges.begin))


def is_sum_of(graph: Graph) -> AnyArray:
    """Return which nodes are sums."""
    return np.array([isinstance(node, Sum) for node in graph.nodes], dtype=bool)


def downward(graph: Graph) -> Iterator[IntArray]:
    """Yield the edges of the nodes of each height, the root's first: whatever leads to a node comes before its own."""
    heights = graph.levels[parents_of(graph)]
    order = np.argsort(-heights, kind="stable")
    ends = np.flatnonzero(np.diff(heights[order], append=-1)) + 1
    return (order[start:stop] for start, stop in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True))
