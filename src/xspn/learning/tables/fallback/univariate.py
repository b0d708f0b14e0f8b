"""A leaf for one column, and what it says of each row when that is left out."""

import numpy as np

from xspn.core.arrays import FloatArray, IntArray
from xspn.core.logspace import safe_log
from xspn.graph.nodes import Node, Product
from xspn.learning.fallback.base import Candidate
from xspn.learning.tables.fallback.base import TableLeafData
from xspn.learning.tables.fallback.normal_mixtures import normal_mixtures
from xspn.learning.tables.fallback.ordered import TINY, ordered_probabilities
from xspn.leaves.bernoulli import Bernoulli
from xspn.leaves.categorical import Categorical


def factorized_leaves(data: TableLeafData, variables: IntArray, alpha: float) -> Candidate:
    """Return a product of univariate leaves, one for each column (one leaf for a single column)."""
    nodes: dict[int, Node] = {}
    left_out = np.zeros(len(data.own.cells))
    for position in data.own.discrete.tolist():
        nodes[position], scores = _discrete_leaf(data, position, int(variables[position]), alpha)
        codes = np.where(data.own.missing[:, position], 0, data.own.cells[:, position]).astype(np.int64)
        left_out += np.where(data.own.missing[:, position], 0.0, scores[codes])
    if len(data.own.real):
        found, scores = normal_mixtures(data.part(data.own.real), variables[data.own.real], alpha)
        nodes |= dict(zip(data.own.real.tolist(), found, strict=True))
        left_out += scores
    ordered = [nodes[position] for position in range(data.own.n)]
    return Candidate("factorized", ordered[0] if len(ordered) == 1 else Product(ordered), left_out)


def _discrete_leaf(data: TableLeafData, position: int, variable: int, alpha: float) -> tuple[Node, FloatArray]:
    """Return the leaf, and the log-probability of each value after a row with it is left out."""
    counts, own = data.pooled.value_weights(position), data.own.value_weights(position)
    k = len(counts)
    if k > 2 and data.own.columns[position].domain.ordered and counts.sum() > 0:
        p, without = ordered_probabilities(counts, own, alpha, data.unit)
        return Categorical(variable, p), safe_log(without)
    total = counts.sum() + k * alpha
    p = (counts + alpha) / total if total > 0 else np.full(k, 1.0 / k)
    kept = np.maximum(counts - data.unit, 0.0) + alpha
    scores = safe_log(kept / max(float(total) - data.unit, TINY))
    return (Bernoulli(variable, p=float(p[1])) if k == 2 else Categorical(variable, p / p.sum())), scores
