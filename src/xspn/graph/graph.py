"""A circuit as an ordered graph: every node once, children before parents, facts computed once; and how large it is."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import Any, NamedTuple, cast

import numpy as np

from xspn.core.arrays import IntArray
from xspn.core.errors import StructureError, counted
from xspn.data.domain import Domain
from xspn.graph.nodes import LeafNode, Node, Product, Record, Sum, children_first, from_records, records_of

__all__ = ["Graph", "from_records"]


class Edges(NamedTuple):
    """All edges as arrays: the children of node i are `child[begin[i] : begin[i + 1]]`."""

    begin: IntArray  # (nodes + 1,)
    child: IntArray  # (edges,)


class Graph:
    """The nodes below a root in a linear order; a node's id is its place in that order.

    Examples:
        >>> from xspn import Bernoulli, Product, Sum
        >>> shared = Bernoulli(1, p=0.5)
        >>> parts = [Product([Bernoulli(0, p=p), shared]) for p in (0.1, 0.9)]
        >>> graph = Graph(Sum([0.5, 0.5], parts))
        >>> len(graph), graph.n_edges  # the shared leaf is one node with two edges
        (6, 6)
    """

    def __init__(self, root: Node, n_variables: int | None = None) -> None:
        if not isinstance(root, Node):
            raise StructureError(f"circuit: expected a node as root, found {type(root).__name__}")
        width = root.scope.width
        self.n_variables = width if n_variables is None else n_variables
        if isinstance(self.n_variables, bool) or not isinstance(self.n_variables, int | np.integer):
            raise StructureError(f"circuit: expected a whole number of columns, found {n_variables!r}")
        if self.n_variables < width:
            raise StructureError(f"circuit: variable {width - 1} does not fit into {self.n_variables} columns")
        self.root = root
        self.nodes: tuple[Node, ...] = tuple(children_first(root))
        pairs = (zip(leaf.variables, leaf.domains, strict=True) for leaf in self.leaves)
        self.domains = merged_domains(chain.from_iterable(pairs), self.n_variables)

    @classmethod
    def of_nodes(cls, nodes: Sequence[Node], edges: Edges, domains: tuple[Domain | None, ...]) -> "Graph":
        """Return the graph of nodes that are in order already: children first, and all but the last have a parent."""
        graph = cls.__new__(cls)
        graph.nodes, graph.root, graph.edges = tuple(nodes), nodes[-1], edges
        graph.n_variables, graph.domains = len(domains), domains
        return graph

    def __len__(self) -> int:
        return len(self.nodes)

    @cached_property
    def _ids(self) -> dict[int, int]:
        return {id(node): index for index, node in enumerate(self.nodes)}

    def id_of(self, node: Node) -> int:
        """Return the place of a node in the order."""
        return self._ids[id(node)]

    def child_ids(self, node: Node) -> list[int]:
        """Return the places of a node's children."""
        return [self._ids[id(child)] for child in node.children]

    @cached_property
    def edges(self) -> Edges:
        """The edges of all nodes."""
        begin = np.zeros(len(self) + 1, dtype=np.int64)
        np.cumsum([len(node.children) for node in self.nodes], out=begin[1:])
        ids = map(self._ids.__getitem__, map(id, chain.from_iterable(node.children for node in self.nodes)))
        return Edges(begin, np.fromiter(ids, dtype=np.int64, count=int(begin[-1])))

    def children(self) -> Iterator[list[int]]:
        """Yield the places of each node's children, node by node."""
        begin, child = self.edges.begin.tolist(), self.edges.child.tolist()
        return (child[start:stop] for start, stop in pairwise(begin))

    @cached_property
    def leaves(self) -> tuple[LeafNode, ...]:
        """The leaves, in order."""
        return tuple(cast(LeafNode, node) for node in self.nodes if not node.children)

    @property
    def n_edges(self) -> int:
        """The number of edges."""
        return len(self.edges.child)

    @cached_property
    def n_parents(self) -> IntArray:
        """The number of edges into each node."""
        return np.bincount(self.edges.child, minlength=len(self))

    @cached_property
    def levels(self) -> IntArray:
        """The height of each node above its deepest leaf."""
        return np.fromiter((node.height for node in self.nodes), dtype=np.int64, count=len(self))

    def records(self) -> list[Record]:
        """Return each node as ("sum", weights, children), ("product", None, children) or ("leaf", leaf, ())."""
        return records_of(self.root, self.nodes)

    def rebuild(self, visit: Callable[[Node, Sequence[Any]], Any]) -> Any:
        """Fold the graph from the leaves up: `visit(node, results of its children)`; return the root's result."""
        results: list[Any] = []
        for node, children in zip(self.nodes, self.children(), strict=True):
            results.append(visit(node, [results[c] for c in children]))
        return results[-1]


def levels_of(edges: Edges) -> IntArray:
    """Return the height of each node above its deepest leaf."""
    inner = np.flatnonzero(np.diff(edges.begin))
    level, child = [0] * (len(edges.begin) - 1), edges.child.tolist()
    bounds = (inner.tolist(), edges.begin[inner].tolist(), edges.begin[inner + 1].tolist())
    for index, begin, end in zip(*bounds, strict=True):
        level[index] = 1 + max([level[c] for c in child[begin:end]])
    return np.array(level, dtype=np.int64)


def merged_domains(pairs: Iterable[tuple[int, Domain]], n_variables: int) -> tuple[Domain | None, ...]:
    """Return the domain of each variable (None for one that the circuit does not have) from those of leaves."""
    found: list[Domain | None] = [None] * n_variables
    for variable, domain in pairs:
        known = found[variable]
        if known is None:
            found[variable] = domain
        elif known is not domain and known != domain:  # mostly they are one object
            raise StructureError(f"variable {variable}: one leaf takes {known.describe()}, another {domain.describe()}")
    return tuple(found)


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
