"""The circuit of what is unknown given what is known."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.core.errors import EvidenceError, QueryError
from xspn.graph.graph import Graph
from xspn.graph.nodes import Node, Product, Sum
from xspn.graph.scope import Scope
from xspn.leaves.base import Leaf

Part = tuple[Node | None, float]  # what is left of a node, and the log-probability of the evidence in its scope


def condition(graph: Graph, evidence: FloatArray) -> tuple[Node, float]:
    """Return the root of P(missing variables | evidence) for one row, and log P(evidence).

    Children that the evidence rules out disappear; weights become posterior weights.
    """
    known = Scope.of(np.flatnonzero(~np.isnan(evidence)).tolist()).bits

    def visit(node: Node, children: Sequence[Part]) -> Part:
        if not node.scope.bits & known:
            return node, 0.0
        if not node.children:
            leaf = cast(Leaf, node)
            own = leaf.variables
            return leaf.condition(evidence[own[0] : own[0] + 1] if len(own) == 1 else evidence[list(own)])
        if isinstance(node, Sum):
            return _posterior(node, children)
        total = sum([part[1] for part in children])
        left = [part[0] for part in children if part[0] is not None]
        if not left or total == -np.inf:
            return None, total
        return (left[0] if len(left) == 1 else Product(left)), total

    root, log_evidence = graph.rebuild(visit)
    if np.isneginf(log_evidence):
        raise EvidenceError("the evidence has probability zero; nothing can be concluded from it")
    if root is None:
        raise QueryError("condition: the evidence fixes every variable, so no distribution is left")
    return root, float(log_evidence)


def _posterior(node: Sum, children: Sequence[Part]) -> Part:
    logs = np.array([part[1] for part in children])
    live = np.flatnonzero((node.weights > 0) & ~np.isneginf(logs))
    if not len(live):
        return None, -np.inf
    terms = np.log(node.weights[live]) + logs[live]
    total = float(np.logaddexp.reduce(terms))
    left = [child for k in live if (child := children[int(k)][0]) is not None]
    if not left:
        return None, total
    weights = np.exp(terms - total)
    return (left[0] if len(left) == 1 else Sum(weights / weights.sum(), left)), total
