"""A product of exchangeable blocks: of variables with indistinguishable means, or of best evidence."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import stdtr

from xspn.core.arrays import FloatArray, IntArray
from xspn.graph.nodes import Node, Product
from xspn.learning.leaf_learners.base import TINY, BinaryLeafData, Candidate, LeafLearner, LeafOptions, leaf_learners
from xspn.learning.leaf_learners.exchangeable import beta_binomial_leaf, exchangeable_leaf
from xspn.learning.leaf_learners.factorized import factorized_leaf


def blocks_by(make: LeafLearner) -> LeafLearner:
    """Return the leaf learner that makes one leaf for each block of similar means."""

    def blocks(data: BinaryLeafData, variables: IntArray, options: LeafOptions) -> Candidate:
        found = blocks_of_similar_means(data.own.ones, data.own.seen, options.block_level)
        return _product(data, variables, options, [(make, block) for block in found])

    return blocks


def evidence_blocks_leaf(data: BinaryLeafData, variables: IntArray, options: LeafOptions) -> Candidate:
    """Return the product of the blocks of best evidence, each with the law of its counts that has most evidence."""
    from xspn.learning.blocks.laws import HISTOGRAM  # takes numba along

    found = data.own.exchangeable_blocks
    parts = [
        (one_row_of_counts if law == HISTOGRAM else beta_binomial_leaf, block)
        for law, block in zip(found.law.tolist(), found.blocks, strict=True)
    ]
    return _product(data, variables, options, parts)


def one_row_of_counts(data: BinaryLeafData, variables: IntArray, options: LeafOptions) -> Candidate:
    """Return an exchangeable leaf smoothed by one row in all, as the evidence of its counts supposes."""
    return exchangeable_leaf(data, variables, replace(options, smoothing=1.0 / (len(variables) + 1)))


def _product(
    data: BinaryLeafData, variables: IntArray, options: LeafOptions, blocks: Sequence[tuple[LeafLearner, IntArray]]
) -> Candidate:
    """Return the product of the leaves that learners make of blocks; single variables are made in one go."""
    parts = [(make, block) for make, block in blocks if len(block) > 1]
    alone = [int(block[0]) for _, block in blocks if len(block) == 1]
    if alone:
        parts.append((factorized_leaf, np.array(alone)))
    nodes: list[Node] = []
    leave_one_out = np.zeros(len(data.own.rows()[0]))
    for make, columns in parts:
        leaf = make(data.part(columns), variables[columns], options)
        nodes += leaf.node.children if isinstance(leaf.node, Product) else [leaf.node]
        leave_one_out += leaf.leave_one_out
    return Candidate("blocks", nodes[0] if len(nodes) == 1 else Product(nodes), leave_one_out)


def blocks_of_similar_means(ones: FloatArray, total: FloatArray | float, level: float) -> list[IntArray]:
    """Cut the variables, sorted by mean, where Welch's t-test tells one from the first of its block.

    Args:
        ones: How often each variable is one.
        total: In how many rows: one number, or one for each variable.
        level: The level of the test.

    Examples:
        >>> [b.tolist() for b in blocks_of_similar_means(np.array([10.0, 90, 12, 88]), 100.0, 0.1)]
        [[0, 2], [3, 1]]
    """
    rows = np.broadcast_to(np.asarray(total, dtype=np.float64), ones.shape)
    means = np.divide(ones, rows, out=np.full(ones.shape, 0.5), where=rows > 0)
    order = np.argsort(means, kind="stable")
    means, rows = means[order], np.maximum(rows[order], TINY)
    free = np.maximum(rows - 1, 1)
    squared_errors = means * (1 - means) / free  # the variance of each mean
    blocks: list[IntArray] = []
    start = 0
    while start < len(order):
        different = _welch_p(means[start:], squared_errors[start:], free[start:]) < level
        length = 1 + (int(np.argmax(different)) if different.any() else len(different))
        blocks.append(order[start : start + length])
        start += length
    return blocks


def _welch_p(means: FloatArray, squared_errors: FloatArray, free: FloatArray) -> FloatArray:
    """Return the two-sided p-values of the first column's mean against each of the others'."""
    spread = squared_errors[0] + squared_errors[1:]
    difference = means[1:] - means[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        t = difference / np.sqrt(spread)
        dof = spread**2 / (squared_errors[0] ** 2 / free[0] + squared_errors[1:] ** 2 / free[1:])
        p = 2 * stdtr(dof, -np.abs(t))
    # Without any variance two columns are the same, or surely different.
    return np.asarray(np.where(spread > 0, p, np.where(difference == 0, 1.0, 0.0)))


blocks_leaf = blocks_by(exchangeable_leaf)
sparse_blocks_leaf = blocks_by(beta_binomial_leaf)
leaf_learners.add("blocks", blocks_leaf)
