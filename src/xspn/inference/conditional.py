"""The circuit of what is unknown given what is known."""

from collections.abc import Sequence

import numpy as np

from xspn._core.arrays import FloatArray
from xspn._core.errors import EvidenceError, QueryError
from xspn.circuit.graph import Graph
from xspn.circuit.nodes import Node, Product, Sum
from xspn.leaves.base import Leaf

Part = tuple[Node | None, float]  # what is left of a node, and the log-probability of the evidence in its scope


def condition(graph: Graph, evidence: FloatArray) -> tuple[Node, float]:
    """Return the root of P(missing variables | evidence) for one row, and log P(evidence).

    Children that the evidence rules out disappear; weights become posterior weights.
    """

    def visit(node: Node, children: Sequence[Part]) -> Part:
        if isinstance(node, Leaf):
            return node.condition(evidence[list(node.variables)])
        if isinstance(node, Sum):
            return _posterior(node, children)
        total = sum(part[1] for part in children)
        left = [part[0] for part in children if part[0] is not None]
        if not left or np.isneginf(total):
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
