"""What was grown and predicts no better than a leaf becomes one."""

import numpy as np

from xspn.graph.nodes import Node, Product, Sum
from xspn.learning.assembly import Record
from xspn.learning.leaf_learners.base import Candidate
from xspn.learning.policy import Operation
from xspn.leaves.base import Leaf

PRICE = 0.25  # nats of leave-one-out score that each parameter must bring: the rows also chose the split


def pruned(records: list[Record]) -> list[Record]:
    """Replace each sum or product by the leaf that stands beside it, unless its score pays for its parameters.

    The score of a product is the sum of its factors', that of a sum the scores of its clusters, weighted rows included,
    with the entropy of the responsibilities. Records come parents first, so that children are judged before them.
    """
    scores, sizes = np.zeros(len(records)), np.zeros(len(records), dtype=np.int64)
    dropped = np.zeros(len(records), dtype=bool)
    for index in range(len(records) - 1, -1, -1):
        record = records[index]
        if record.node is not None:
            scores[index], sizes[index] = record.score, n_parameters_of(record.node)
            continue
        scores[index] = record.score + scores[record.children].sum()
        sizes[index] = sizes[record.children].sum() + sum(n_parameters_of(leaf) for own in record.extra for leaf in own)
        if record.weights is not None:
            totals = np.array([records[child].total for child in record.children])
            scores[index] += float(totals @ np.log(record.weights))
            sizes[index] += len(record.weights) - 1
        if record.cut is not None:  # the price of naming a variable, which the edges of a Chow-Liu leaf pay too
            scores[index] -= float(np.log(len(record.task.variables)))
        if record.instead is None:
            continue
        own = n_parameters_of(record.instead.node)
        if priced(record.instead_score, record.instead) >= scores[index] - PRICE * sizes[index]:
            scores[index], sizes[index] = record.instead_score, own
            dropped[_below(records, index)] = True
            _become_leaf(record)
    kept = np.flatnonzero(~dropped)
    place = np.cumsum(~dropped) - 1
    for index in kept.tolist():
        records[index].children = [int(place[child]) for child in records[index].children]
    return [records[index] for index in kept.tolist()]


def priced(score: float, leaf: Candidate) -> float:
    """Return a leaf's leave-one-out score, its parameters paid for."""
    return score - PRICE * n_parameters_of(leaf.node)


def n_parameters_of(node: Node) -> int:
    """Return the number of free parameters of a small circuit whose parts are not shared."""
    if isinstance(node, Leaf):
        return node.n_parameters
    assert isinstance(node, Sum | Product)
    own = len(node.children) - 1 if isinstance(node, Sum) else 0
    return own + sum(n_parameters_of(child) for child in node.children)


def _below(records: list[Record], top: int) -> list[int]:
    found, waiting = [], list(records[top].children)
    while waiting:
        index = waiting.pop()
        found.append(index)
        waiting += records[index].children
    return found


def _become_leaf(record: Record) -> None:
    assert record.instead is not None
    record.node, record.detail = record.instead.node, record.instead.name
    record.operation = Operation.PRUNED
    record.weights, record.cut, record.conditions, record.rule = None, None, (), None
    record.extra, record.below, record.children = [], [], []
