"""Marginal probabilities of all variables given evidence, and circuits with variables summed out."""

from collections.abc import Sequence

import numpy as np

from xspn._core.arrays import AnyArray, FloatArray
from xspn._core.checks import Names
from xspn._core.errors import QueryError
from xspn.circuit.graph import Graph
from xspn.circuit.nodes import Node, Product, Sum
from xspn.circuit.scope import Scope
from xspn.engine import Program, flows, upward
from xspn.inference.likelihood import refuse_impossible
from xspn.leaves.base import Leaf


def marginals(program: Program, evidence: AnyArray, names: Names | None = None) -> FloatArray:
    """Return P(X_i = v | evidence row) for all variables: (rows, n, k), NaN for real or absent variables.

    One pass up and one down, whatever the number of variables: a leaf counts with the flow that reaches it.
    """
    sizes = [0 if d is None or d.cardinality is None else d.cardinality for d in program.domains]
    table = np.zeros((len(evidence), len(sizes), max([2, *sizes])))
    for start, stop, rows in program.row_blocks(evidence, names, "evidence"):
        values = upward(program, rows)
        refuse_impossible(values[program.root], start)
        flow = flows(program, values)
        for first, block in program.blocks:
            block.add_marginals(rows, flow[first : first + block.n_slots], table[start:stop])
    for i, size in enumerate(sizes):
        table[:, i, size:] = np.nan
    # Flows sum to 1 only up to rounding; a distribution sums to 1 exactly.
    return np.asarray(table / np.nansum(table, axis=2, keepdims=True).clip(min=np.finfo(float).tiny))


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
