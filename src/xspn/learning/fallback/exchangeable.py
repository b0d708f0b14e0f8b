"""One exchangeable block."""

import numpy as np

from xspn._core.arrays import FloatArray, IntArray
from xspn._core.logspace import log_binomials, safe_log
from xspn.learning.fallback.base import TINY, Candidate, LeafData, LeafOptions, fallbacks
from xspn.learning.fallback.factorized import factorized_leaf
from xspn.learning.partial_counts import chances_given_total, seen_and_ones
from xspn.leaves.exchangeable import Exchangeable
from xspn.statistics import Count


def exchangeable_leaf(data: LeafData, variables: IntArray, options: LeafOptions) -> Candidate:
    """Return an exchangeable leaf over the count of ones (a Bernoulli leaf for a single variable)."""
    n = len(variables)
    if n == 1:
        return factorized_leaf(data, variables, options)
    smoothing = options.for_counts(n)
    counts = data.pooled.totals
    leaf = Exchangeable.from_class_counts(variables.tolist(), counts, smoothing)
    sizes = Count().log_class_size(n)
    if smoothing.spread == "assignments":
        pseudo = smoothing.mass * np.exp(sizes - n * np.log(2.0))
    else:
        pseudo = np.full(n + 1, smoothing.mass / (n + 1))
    if not data.own.complete:
        return Candidate("exchangeable", leaf, _left_out_of_partial_rows(data, counts, pseudo))
    cells, _ = data.own.rows()
    of_count = data.left_out(counts, pseudo, data.pooled.total + smoothing.mass) - sizes
    return Candidate("exchangeable", leaf, of_count[cells.sum(axis=1).astype(np.int64)])


def _left_out_of_partial_rows(data: LeafData, counts: FloatArray, pseudo: FloatArray) -> FloatArray:
    """Return what partial rows score when left out: each is taken out of the counts in the shares that EM gave it."""
    cells, _ = data.own.rows()
    n = cells.shape[1]
    keys, which = seen_and_ones(cells)
    chances = chances_given_total(keys, n)
    joint = chances * counts
    posterior = joint / np.maximum(joint.sum(axis=1, keepdims=True), TINY)
    kept = np.maximum(counts - data.unit * posterior, 0.0) + pseudo
    kept /= kept.sum(axis=1, keepdims=True)
    # Each arrangement of the seen cells is as likely as any other: C(m, k) of them share the probability of (m, k).
    arrangements = np.array([log_binomials(m)[k] for m, k in keys.tolist()])
    return np.asarray((safe_log((kept * chances).sum(axis=1)) - arrangements)[which])


fallbacks.add("exchangeable", exchangeable_leaf)
