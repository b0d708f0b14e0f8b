"""A product of exchangeable blocks of variables with indistinguishable means, as in exchangeable variable models."""

import numpy as np
from scipy.special import stdtr

from xspn._core.arrays import FloatArray, IntArray
from xspn.circuit.nodes import Node, Product
from xspn.learning.fallback.base import Candidate, LeafData, LeafOptions, fallbacks
from xspn.learning.fallback.exchangeable import exchangeable_leaf
from xspn.learning.summary import Summary


def blocks_leaf(data: LeafData, variables: IntArray, options: LeafOptions) -> Candidate:
    """Return one exchangeable leaf for each block of similar means."""
    nodes: list[Node] = []
    left_out = np.zeros(len(data.own.rows()[0]))
    for block in blocks_of_similar_means(data.own.ones, data.own.total, options.block_level):
        part = LeafData(_columns(data.own, block), _columns(data.pooled, block), data.unit)
        found = exchangeable_leaf(part, variables[block], options)
        nodes.append(found.node)
        left_out += found.left_out
    return Candidate("blocks", nodes[0] if len(nodes) == 1 else Product(nodes), left_out)


def _columns(summary: Summary, block: IntArray) -> Summary:
    """Return the summary of some of the variables."""
    cells, weights = summary.rows()
    own = cells[:, block]
    totals = np.bincount(own.sum(axis=1).astype(np.int64), weights=weights, minlength=len(block) + 1)
    pairs = summary.pairs[np.ix_(block, block)]
    return Summary(summary.total, pairs, np.asarray(totals, dtype=np.float64), lambda: (own, weights))


def blocks_of_similar_means(ones: FloatArray, total: float, level: float) -> list[IntArray]:
    """Cut the variables, sorted by mean, where Welch's t-test tells one from the first of its block.

    Examples:
        >>> [b.tolist() for b in blocks_of_similar_means(np.array([10.0, 90, 12, 88]), 100.0, 0.1)]
        [[0, 2], [3, 1]]
    """
    order = np.argsort(ones, kind="stable")
    means = ones[order] / total
    variances = means * (1 - means) * total / max(total - 1, 1)
    blocks: list[IntArray] = []
    start = 0
    while start < len(order):
        later = slice(start + 1, None)
        different = _welch_p(means[start], variances[start], means[later], variances[later], total) < level
        length = 1 + (int(np.argmax(different)) if different.any() else len(different))
        blocks.append(order[start : start + length])
        start += length
    return blocks


def _welch_p(mean: float, variance: float, means: FloatArray, variances: FloatArray, total: float) -> FloatArray:
    """Return the two-sided p-values of one column's mean against others', each of `total` rows."""
    spread = (variance + variances) / total
    difference = means - mean
    with np.errstate(divide="ignore", invalid="ignore"):
        t = difference / np.sqrt(spread)
        dof = spread**2 * total**2 * max(total - 1, 1) / (variance**2 + variances**2)
        p = 2 * stdtr(dof, -np.abs(t))
    # Without any variance two columns are the same, or surely different.
    return np.asarray(np.where(spread > 0, p, np.where(difference == 0, 1.0, 0.0)))


fallbacks.add("blocks", blocks_leaf)
