"""A circuit as an ordered graph: every node once, children before parents, facts computed once."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from xspn._core.arrays import IntArray
from xspn._core.errors import StructureError
from xspn.circuit.domain import Domain
from xspn.circuit.nodes import LeafNode, Node, Record, children_first, from_records, records_of

__all__ = ["Graph", "from_records"]


class Graph:
    """The nodes below a root in a linear order; a node's id is its place in that order.

    Examples:
        >>> from xspn import Bernoulli
        >>> shared = Bernoulli(1, p=0.5)
        >>> parts = [Product([Bernoulli(0, p=p), shared]) for p in (0.1, 0.9)]
        >>> graph = Graph(Sum([0.5, 0.5], parts))
        >>> len(graph), graph.n_edges  # the shared leaf is one node with two edges
        (6, 6)
    """

    def __init__(self, root: Node, n_variables: int | None = None) -> None:
        if not isinstance(root, Node):
            raise StructureError(f"circuit: expected a node as root, found {type(root).__name__}")
        self.root = root
        self.nodes: tuple[Node, ...] = tuple(children_first(root))
        self._ids = {id(node): index for index, node in enumerate(self.nodes)}
        self.n_variables = root.scope.width if n_variables is None else n_variables
        if isinstance(self.n_variables, bool) or not isinstance(self.n_variables, int | np.integer):
            raise StructureError(f"circuit: expected a whole number of columns, found {n_variables!r}")
        if self.n_variables < root.scope.width:
            raise StructureError(
                f"circuit: variable {root.scope.width - 1} does not fit into {self.n_variables} columns"
            )
        self.domains = _domains(self.leaves, self.n_variables)

    def __len__(self) -> int:
        return len(self.nodes)

    def id_of(self, node: Node) -> int:
        """Return the place of a node in the order."""
        return self._ids[id(node)]

    def child_ids(self, node: Node) -> list[int]:
        """Return the places of a node's children."""
        return [self._ids[id(child)] for child in node.children]

    @cached_property
    def leaves(self) -> tuple[LeafNode, ...]:
        """The leaves, in order."""
        return tuple(node for node in self.nodes if isinstance(node, LeafNode))

    @cached_property
    def n_edges(self) -> int:
        """The number of edges."""
        return sum(len(node.children) for node in self.nodes)

    @cached_property
    def n_parents(self) -> IntArray:
        """The number of edges into each node."""
        count = np.zeros(len(self), dtype=np.int64)
        for node in self.nodes:
            np.add.at(count, self.child_ids(node), 1)
        return count

    @cached_property
    def levels(self) -> IntArray:
        """The height of each node above its deepest leaf."""
        level = np.zeros(len(self), dtype=np.int64)
        for index, node in enumerate(self.nodes):
            if node.children:
                level[index] = 1 + max(level[c] for c in self.child_ids(node))
        return level

    def records(self) -> list[Record]:
        """Return each node as ("sum", weights, children), ("product", None, children) or ("leaf", leaf, ())."""
        return records_of(self.root, self.nodes)

    def rebuild(self, visit: Callable[[Node, Sequence[Any]], Any]) -> Any:
        """Fold the graph from the leaves up: `visit(node, results of its children)`; return the root's result."""
        results: list[Any] = []
        for node in self.nodes:
            results.append(visit(node, [results[c] for c in self.child_ids(node)]))
        return results[-1]


def _domains(leaves: Sequence[LeafNode], n_variables: int) -> tuple[Domain | None, ...]:
    """Return the domain of each variable (None for one that the circuit does not have)."""
    found: list[Domain | None] = [None] * n_variables
    for leaf in leaves:
        for variable, domain in zip(leaf.variables, leaf.domains, strict=True):
            known = found[variable]
            if known is None:
                found[variable] = domain
            elif known != domain:
                raise StructureError(
                    f"variable {variable}: one leaf takes {known.describe()}, another {domain.describe()}"
                )
    return tuple(found)
