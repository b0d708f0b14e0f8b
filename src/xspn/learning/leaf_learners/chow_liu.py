"""A Chow-Liu tree."""

import numpy as np
from numpy.typing import NDArray

from xspn.core.arrays import FloatArray, IntArray
from xspn.learning.leaf_learners.base import BinaryLeafData, Candidate, LeafOptions, leaf_learners
from xspn.learning.leaf_learners.factorized import factorized_leaf
from xspn.learning.methods import Can, Method
from xspn.learning.steps import step
from xspn.learning.summary import BinarySummary
from xspn.leaves.chow_liu import ChowLiu
from xspn.leaves.chow_liu_tree import RowOfPairs

WIDEST_TREE = 2048  # variables of a tree that competes by evidence; of more it would take longer than all else


def chow_liu_leaf(data: BinaryLeafData, variables: IntArray, options: LeafOptions) -> Candidate:
    """Return the tree of largest mutual information.

    The leave-one-out score takes the tree as given, which flatters it; choosing one of n^(n − 2) is paid for by the
    logarithm of that.
    """
    if len(variables) == 1:
        return factorized_leaf(data, variables, options)
    alpha, total = options.smoothing, data.pooled.total
    pairs, ones = _pairs(data.pooled)
    tree, both = ChowLiu.with_pair_counts(variables.tolist(), pairs, ones, total, alpha)
    parents = np.array(tree.parents)
    root, children = int(np.argmin(parents)), np.flatnonzero(parents >= 0)
    above, n11 = parents[children], both[children]
    n10, n01 = ones[children] - n11, ones[above] - n11
    table = np.maximum(np.array([[total - n11 - n10 - n01, n10], [n01, n11]]), 0.0)  # (parent's value, own, child)
    of_edges = data.leave_one_out(table, alpha / 2, table.sum(axis=1, keepdims=True) + alpha)
    of_bits = data.leave_one_out(np.array([total - ones, ones]), alpha, total + 2 * alpha)  # (value, variable)
    price = (data.own.n - 2) * float(np.log(data.own.n)) / max(data.own.total, 1.0)
    leave_one_out = _along_edges(data.own.rows()[0], children, above, of_edges, of_bits) - price
    return Candidate("chow_liu", tree, leave_one_out + _of_bit(data.own.rows()[0][:, root], of_bits[:, root]))


def _pairs(summary: BinarySummary) -> tuple[FloatArray | RowOfPairs, FloatArray]:
    """Return G with its diagonal; where there are too many variables for G, a function that makes one row of it."""
    if not summary.wide:
        pairs = summary.as_if_complete()
        return pairs, np.diag(pairs)
    ones = summary.ones if summary.complete else summary.means * summary.total

    def row(i: int) -> FloatArray:
        step(1 / summary.rows_at_once)
        return np.asarray(summary.as_if_complete(slice(i, i + 1))[0])

    return row, ones


def _of_bit(bits: NDArray[np.float32], of_value: FloatArray) -> FloatArray:
    """Return a bit's score in each row; nothing where it is missing."""
    return np.where(np.isnan(bits), 0.0, np.where(bits > 0, of_value[1], of_value[0]))


def _along_edges(
    cells: NDArray[np.float32], children: IntArray, above: IntArray, of_edges: FloatArray, of_bits: FloatArray
) -> FloatArray:
    """Return the score of all children given their parents; a child whose parent is missing is scored on its own."""
    own, parent = cells[:, children], cells[:, above]
    bits, bits_above = (np.nan_to_num(x).astype(np.int64) for x in (own, parent))
    places = np.arange(len(children))
    scores = of_edges[bits_above, bits, places]
    if np.isnan(cells).any():
        scores = np.where(np.isnan(parent), of_bits[:, children][bits, places], scores)
        scores = np.where(np.isnan(own), 0.0, scores)
    return np.asarray(scores.sum(axis=1))


leaf_learners.add("chow_liu", Method(bits=chow_liu_leaf, can=Can.ANY_ROWS | Can.OUT_OF_CORE))
