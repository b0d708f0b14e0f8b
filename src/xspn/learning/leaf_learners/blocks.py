"""A product of exchangeable blocks: of variables that no test tells apart, or of best evidence.

Bits are told apart by their means; other columns must be alike in the whole table too.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import chdtrc, stdtr

from xspn.core.arrays import FloatArray, IntArray
from xspn.graph.nodes import Node, Product
from xspn.learning.leaf_learners.base import (
    TINY,
    BinaryLeafData,
    Candidate,
    LeafLearner,
    LeafOptions,
    TableLeafData,
    leaf_learners,
)
from xspn.learning.leaf_learners.exchangeable import beta_binomial_leaf, exchangeable_leaf, table_exchangeable_leaf
from xspn.learning.leaf_learners.factorized import factorized_leaf, table_factorized_leaf
from xspn.learning.likeness import blocks_of
from xspn.learning.methods import Can, Method
from xspn.learning.table_summary import TableSummary

LEVEL = 0.01  # columns whose distributions differ at this level go into different blocks


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


# -- columns of any types ----------------------------------------------------------------------------------------------


def table_blocks_leaf(data: TableLeafData, variables: IntArray, options: LeafOptions) -> Candidate:
    """Return a product of exchangeable leaves, one for each block; independent leaves where all columns differ."""
    found = several_blocks(data, variables, options)
    return table_factorized_leaf(data, variables, options) if found is None else found


def several_blocks(data: TableLeafData, variables: IntArray, options: LeafOptions) -> Candidate | None:
    """Return the same, or None if every column is a block of its own: then it equals the factorized leaf."""
    blocks = similar_columns(data.own)
    return None if len(blocks) == data.own.n else _product_of_columns(data, variables, options, blocks)


def table_evidence_blocks_leaf(data: TableLeafData, variables: IntArray, options: LeafOptions) -> Candidate:
    """Return the product of the blocks of best evidence."""
    return _product_of_columns(data, variables, options, data.own.exchangeable_blocks.blocks)


def several_blocks_by_evidence(data: TableLeafData, variables: IntArray, options: LeafOptions) -> Candidate | None:
    """Return the same, or None if every column is a block of its own: then it equals the factorized leaf."""
    one_each = len(data.own.exchangeable_blocks.blocks) == data.own.n
    return None if one_each else table_evidence_blocks_leaf(data, variables, options)


def _product_of_columns(
    data: TableLeafData, variables: IntArray, options: LeafOptions, blocks: Sequence[IntArray]
) -> Candidate:
    """Return a product of leaves, one for each block; single columns are made in one go."""
    nodes: list[Node] = []
    leave_one_out = np.zeros(len(data.own.cells))
    alone = [block for block in blocks if len(block) == 1]
    parts = [(block, True) for block in blocks if len(block) > 1]
    parts += [(np.concatenate(alone), False)] if alone else []
    for block, together in parts:
        part = data.part(block)
        found = table_exchangeable_leaf(part, variables[block], options) if together else None
        if found is None:
            found = table_factorized_leaf(part, variables[block], options)
        nodes += found.node.children if isinstance(found.node, Product) else [found.node]
        leave_one_out += found.leave_one_out
    return Candidate("blocks", nodes[0] if len(nodes) == 1 else Product(nodes), leave_one_out)


def similar_columns(summary: TableSummary, level: float = LEVEL) -> list[IntArray]:
    """Return blocks of columns that are alike and that no test of homogeneity distinguishes."""
    alike = summary.alike.copy()
    domains = [column.domain for column in summary.columns]
    for domain in dict.fromkeys(domains):
        own = np.array([i for i, other in enumerate(domains) if other == domain], dtype=np.int64)
        pairs = np.argwhere(np.triu(alike[np.ix_(own, own)], 1))
        if len(pairs) == 0:
            continue
        profiles = _profiles(summary.part(own))
        for one, other in pairs.tolist():
            same = _p_value(profiles, one, other) >= level
            alike[own[one], own[other]] = alike[own[other], own[one]] = same
    return blocks_of(alike, summary.cells, summary.weights)


def _profiles(summary: TableSummary) -> FloatArray:
    """Return how often each value occurs in each column; real numbers and long scales in common bins: (n, bins)."""
    column = summary.columns[0]
    if not column.is_real and column.n_values <= 6:
        return np.array([summary.value_weights(i) for i in range(summary.n)])
    seen = ~summary.missing
    edges = np.unique(np.quantile(summary.cells[seen], [0.2, 0.4, 0.6, 0.8])) if seen.any() else np.zeros(1)
    codes = np.searchsorted(edges, np.where(seen, summary.cells, 0.0), side="left")
    table = [
        np.bincount(codes[seen[:, i], i], weights=summary.weights[seen[:, i]], minlength=len(edges) + 1)
        for i in range(summary.n)
    ]
    return np.array(table, dtype=np.float64)


def _p_value(profiles: FloatArray, one: int, other: int) -> float:
    """Return the p-value of Pearson's test of homogeneity of two columns' profiles."""
    table = profiles[[one, other]]
    table = table[:, table.sum(axis=0) > 0]
    total = table.sum()
    rows = table.sum(axis=1)
    if table.shape[1] < 2 or rows.min() == 0:
        return 1.0
    expected = np.outer(rows / total, table.sum(axis=0))
    counted = expected > 0  # next to no weight may be expected, and then there is none
    return float(chdtrc(table.shape[1] - 1.0, ((table - expected)[counted] ** 2 / expected[counted]).sum()))


def one_block_or_several(data: TableLeafData, variables: IntArray, options: LeafOptions) -> Candidate:
    """Return one exchangeable leaf; where columns are not all alike, or none could be stored, those of blocks."""
    found = table_exchangeable_leaf(data, variables, options) if data.own.one_distribution else None
    return table_blocks_leaf(data, variables, options) if found is None else found


ALL = Can.ANY_TYPE | Can.ANY_ROWS | Can.OUT_OF_CORE
leaf_learners.add("blocks", Method(bits=blocks_leaf, tables=table_blocks_leaf, can=ALL))
leaf_learners.add("exchangeable", Method(bits=exchangeable_leaf, tables=one_block_or_several, can=ALL))
