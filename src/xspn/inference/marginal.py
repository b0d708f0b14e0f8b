"""Circuits with variables summed out."""

from collections.abc import Sequence

from xspn.core.errors import QueryError
from xspn.graph.graph import Graph
from xspn.graph.nodes import Node, Product, Sum
from xspn.graph.scope import Scope
from xspn.leaves.base import Leaf


def marginalize(graph: Graph, keep: Scope) -> Node:
    """Return the root of the circuit over the kept variables, all others summed out."""
    if not graph.root.scope & keep:
        raise QueryError(f"marginalize: none of the variables to keep is in the circuit's scope {graph.root.scope}")

    def visit(node: Node, children: Sequence[Node | None]) -> Node | None:
        if not node.scope & keep:
            return None
        if isinstance(node, Leaf):
            return node.marginalize(keep)
        if not node.scope - keep:
            return node
        kept = [child for child in children if child is not None]
        if isinstance(node, Sum):
            return Sum(node.weights, kept)
        return kept[0] if len(kept) == 1 else Product(kept)

    root: Node = graph.rebuild(visit)
    return root
