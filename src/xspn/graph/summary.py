"""How large a circuit is, and what it is made of."""

from collections import Counter
from dataclasses import dataclass

from xspn.core.text import counted
from xspn.graph.graph import Graph
from xspn.graph.nodes import Product, Sum


@dataclass(frozen=True)
class Summary:
    """Counts of a circuit's parts.

    Attributes:
        nodes: All nodes, each once.
        edges: All edges.
        depth: The longest way from the root to a leaf, in edges.
        parameters: Free parameters: K − 1 per sum of K children, and each leaf's own.
        variables: The variables in the root's scope.
        sums: Sum nodes.
        products: Product nodes.
        leaves: Leaves by family.
    """

    nodes: int
    edges: int
    depth: int
    parameters: int
    variables: int
    sums: int
    products: int
    leaves: dict[str, int]

    def __str__(self) -> str:
        leaves = ", ".join(f"{count} {family}" for family, count in sorted(self.leaves.items()))
        size = f"{counted(self.nodes, 'node')}, {counted(self.edges, 'edge')}, depth {self.depth}"
        free = f"{counted(self.parameters, 'parameter')} over {counted(self.variables, 'variable')}"
        return f"{size}, {free}: {counted(self.sums, 'sum')}, {counted(self.products, 'product')}, leaves: {leaves}"


def summarize(graph: Graph) -> Summary:
    """Count the parts of a circuit."""
    sums = [node for node in graph.nodes if isinstance(node, Sum)]
    leaves = graph.leaves
    return Summary(
        nodes=len(graph),
        edges=graph.n_edges,
        depth=int(graph.levels[-1]),
        parameters=sum(len(node.children) - 1 for node in sums) + sum(leaf.n_parameters for leaf in leaves),
        variables=len(graph.root.scope),
        sums=len(sums),
        products=sum(isinstance(node, Product) for node in graph.nodes),
        leaves=dict(Counter(type(leaf).__name__ for leaf in leaves)),
    )
