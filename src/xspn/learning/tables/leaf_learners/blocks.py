"""Exchangeable blocks of columns that are alike, or of best evidence; the other columns on their own."""

from collections.abc import Sequence

import numpy as np
from scipy.special import chdtrc

from xspn.core.arrays import FloatArray, IntArray
from xspn.graph.nodes import Node, Product
from xspn.learning.leaf_learners.base import Candidate
from xspn.learning.likeness import blocks_of
from xspn.learning.table_summary import TableSummary
from xspn.learning.tables.leaf_learners.base import TableLeafData
from xspn.learning.tables.leaf_learners.exchangeable import exchangeable_leaf
from xspn.learning.tables.leaf_learners.univariate import factorized_leaves

LEVEL = 0.01  # columns whose distributions differ at this level go into different blocks


def blocks_leaf(data: TableLeafData, variables: IntArray, alpha: float) -> Candidate:
    """Return a product of exchangeable leaves, one for each block; independent leaves where all columns differ."""
    found = several_blocks(data, variables, alpha)
    return factorized_leaves(data, variables, alpha) if found is None else found


def several_blocks(data: TableLeafData, variables: IntArray, alpha: float) -> Candidate | None:
    """Return the same, or None if every column is a block of its own: then it equals the factorized leaf."""
    blocks = similar_columns(data.own)
    return None if len(blocks) == data.own.n else _product(data, variables, alpha, blocks)


def evidence_blocks_leaf(data: TableLeafData, variables: IntArray, alpha: float) -> Candidate:
    """Return the product of the blocks of best evidence."""
    return _product(data, variables, alpha, data.own.exchangeable_blocks.blocks)


def several_blocks_by_evidence(data: TableLeafData, variables: IntArray, alpha: float) -> Candidate | None:
    """Return the same, or None if every column is a block of its own: then it equals the factorized leaf."""
    one_each = len(data.own.exchangeable_blocks.blocks) == data.own.n
    return None if one_each else evidence_blocks_leaf(data, variables, alpha)


def _product(data: TableLeafData, variables: IntArray, alpha: float, blocks: Sequence[IntArray]) -> Candidate:
    """Return a product of leaves, one for each block; single columns are made in one go."""
    nodes: list[Node] = []
    leave_one_out = np.zeros(len(data.own.cells))
    alone = [block for block in blocks if len(block) == 1]
    parts = [(block, True) for block in blocks if len(block) > 1]
    parts += [(np.concatenate(alone), False)] if alone else []
    for block, together in parts:
        part = data.part(block)
        found = exchangeable_leaf(part, variables[block], alpha) if together else None
        if found is None:
            found = factorized_leaves(part, variables[block], alpha)
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
    expected = np.outer(rows, table.sum(axis=0)) / total
    return float(chdtrc(table.shape[1] - 1.0, ((table - expected) ** 2 / expected).sum()))
