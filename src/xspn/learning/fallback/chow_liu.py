"""A Chow-Liu tree."""

import numpy as np

from xspn._core.arrays import IntArray
from xspn.learning.fallback.base import Candidate, LeafData, LeafOptions, fallbacks
from xspn.learning.fallback.factorized import factorized_leaf
from xspn.leaves.chow_liu import ChowLiu


def chow_liu_leaf(data: LeafData, variables: IntArray, options: LeafOptions) -> Candidate:
    """Return the tree of largest mutual information.

    The leave-one-out score takes the tree as given, which flatters it; choosing it is paid for by log n for each edge,
    the price of naming a parent.
    """
    if len(variables) == 1:
        return factorized_leaf(data, variables, options)
    alpha = options.smoothing
    tree = ChowLiu.from_pair_counts(variables.tolist(), data.pooled.pairs, data.pooled.total, alpha)
    parents = np.array(tree.parents)
    root, children = int(np.argmin(parents)), np.flatnonzero(parents >= 0)
    above = parents[children]
    cells, _ = data.own.rows()
    n11, n10, n01, n00 = (np.maximum(cell[children, above], 0.0) for cell in data.pooled.pair_table())
    table = np.array([[n00, n10], [n01, n11]])  # (parent's value, own value, child)
    logs = data.left_out(table, alpha / 2, table.sum(axis=1, keepdims=True) + alpha)
    bits = cells.astype(np.int64)
    left_out = logs[bits[:, above], bits[:, children], np.arange(len(children))].sum(axis=1)
    ones, total = data.pooled.ones[root], data.pooled.total
    of_root = data.left_out(np.array([total - ones, ones]), alpha, total + 2 * alpha)
    price = len(children) * float(np.log(data.own.n)) / max(data.own.total, 1.0)
    return Candidate("chow_liu", tree, left_out + of_root[bits[:, root]] - price)


fallbacks.add("chow_liu", chow_liu_leaf)
