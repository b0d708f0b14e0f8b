"""Properties of a circuit: each function returns the reason why it does not hold, or None."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from xspn._core.checks import probability_vector
from xspn._core.errors import ParameterError
from xspn.circuit.graph import Graph
from xspn.circuit.nodes import LeafNode, Node, Product, Sum
from xspn.circuit.scope import why_not_disjoint, why_not_equal

Supports = dict[int, frozenset[int] | None]


def why_not_smooth(graph: Graph) -> str | None:
    """Say which sum mixes children of different scopes; `Sum` refuses such children to begin with."""
    for index, node in enumerate(graph.nodes):
        if isinstance(node, Sum) and (reason := why_not_equal(c.scope for c in node.children)):
            return f"sum {index}: {reason}"
    return None


def why_not_decomposable(graph: Graph) -> str | None:
    """Say which product's children overlap; `Product` refuses such children to begin with."""
    for index, node in enumerate(graph.nodes):
        if isinstance(node, Product) and (reason := why_not_disjoint(c.scope for c in node.children)):
            return f"product {index}: {reason}"
    return None


def why_not_normalised(graph: Graph) -> str | None:
    """Say which sum's weights are not a distribution; leaves check their own parameters."""
    for index, node in enumerate(graph.nodes):
        if isinstance(node, Sum):
            try:
                probability_vector(node.weights, f"sum {index}")
            except ParameterError as error:
                return str(error)
    return None


def why_not_selective(graph: Graph) -> str | None:
    """Say which sum has two children that one world may both make positive.

    Two children are known to exclude each other when some variable has no value in common to their supports
    (or when one of them has weight 0). This is sufficient, not necessary: None is a proof, a reason is not a disproof.
    In a selective circuit the max-product pass finds the true most probable completion.
    """
    supports: dict[int, Supports] = {}
    waiting = graph.n_parents.copy()
    for index, node in enumerate(graph.nodes):
        ids = graph.child_ids(node)
        if isinstance(node, Sum) and (reason := _overlap(node, [supports[c] for c in ids])):
            return f"sum {index}: {reason}"
        np.subtract.at(waiting, ids, 1)
        # A child that no other parent waits for gives its dictionary away: a chain of products stays linear.
        below = {c: supports[c].copy() if waiting[c] else supports.pop(c) for c in dict.fromkeys(ids)}
        live = [c for c, weight in zip(ids, node.weights, strict=True) if weight > 0] if isinstance(node, Sum) else ids
        supports[index] = _supports_of(node, [below[c] for c in live])
    return None


def _overlap(node: Sum, below: Sequence[Supports]) -> str | None:
    """Say which children of a sum are not known to exclude each other."""
    live = [k for k in range(len(below)) if node.weights[k] > 0]
    for a, b in combinations(live, 2):
        if not _exclusive(below[a], below[b]):
            return f"no variable tells its children {a} and {b} apart"
    return None


def _supports_of(node: Node, below: Sequence[Supports]) -> Supports:
    """Return the union of what lies below, collected in the largest dictionary."""
    if isinstance(node, LeafNode):
        return dict(zip(node.variables, node.supports(), strict=True))
    merged = max(below, key=len)
    for supports in below:
        if supports is merged:
            continue
        for variable, values in supports.items():
            known = merged.get(variable, frozenset())
            merged[variable] = None if values is None or known is None else known | values
    return merged


def _exclusive(a: Supports, b: Supports) -> bool:
    for variable, values in a.items():
        others = b[variable]
        if values is not None and others is not None and values.isdisjoint(others):
            return True
    return False
