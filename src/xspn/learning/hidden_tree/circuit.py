"""A hidden tree as a circuit."""

import numpy as np

from xspn.core.arrays import FloatArray, IntArray
from xspn.graph.nodes import Node, Product, Sum
from xspn.learning.hidden_tree.fit import FittedTree
from xspn.learning.mevm.evidence import Partition
from xspn.leaves import Bernoulli, Exchangeable


def circuit_of(fitted: FittedTree, blocks: Partition) -> Node:
    """Return the circuit: for each kind of a block a product of its leaf and of the sums of the blocks below."""
    tree, tables = fitted.tree, fitted.tables
    sums: dict[int, list[Node]] = {}  # of each block, one for each kind of its parent
    for b in reversed(tree.order):
        kinds: list[Node] = []
        for state, chances in enumerate(tables.counts[b]):
            below = [sums[child][state] for child in tree.children[b]]
            leaf = _leaf(blocks[b], chances)
            kinds.append(Product([leaf, *below]) if below else leaf)
        for child in tree.children[b]:
            del sums[child]
        rows = [tables.first] if b == tree.root else list(tables.moves[b])
        sums[b] = [_sum(row, kinds) for row in rows]
    return sums[tree.root][0]


def _sum(weights: FloatArray, kinds: list[Node]) -> Node:
    own = np.asarray(weights, dtype=np.float64)
    return kinds[0] if len(kinds) == 1 else Sum(own / own.sum(), kinds)


def _leaf(block: IntArray, chances: FloatArray) -> Node:
    variables = [int(v) for v in block]
    if len(variables) == 1:
        return Bernoulli(variables[0], p=min(float(chances[1]), 1.0))
    return Exchangeable.from_class_probabilities(variables, chances / chances.sum())
