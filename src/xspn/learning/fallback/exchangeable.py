"""One exchangeable block."""

import numpy as np

from xspn.core.arrays import FloatArray, IntArray
from xspn.core.logspace import log_binomials, safe_log
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
    leaf = Exchangeable.from_class_counts(variables.tolist(), data.pooled.totals, options.for_counts(n))
    cells, _ = data.own.rows()
    if data.own.complete:
        return Candidate("exchangeable", leaf, left_out_of_counts(data, options)[cells.sum(axis=1).astype(np.int64)])
    keys, which = seen_and_ones(cells)
    return Candidate("exchangeable", leaf, left_out_of_keys(data, options, keys)[which])


def left_out_of_counts(data: LeafData, options: LeafOptions) -> FloatArray:
    """Return what a row with t ones scores when it is left out, for t = 0..n."""
    n = data.own.n
    sizes = Count().log_class_size(n)
    total = data.pooled.total + options.for_counts(n).mass
    return np.asarray(data.left_out(data.pooled.totals, options.for_counts(n).of_counts(n), total) - sizes)


def left_out_of_keys(data: LeafData, options: LeafOptions, keys: IntArray) -> FloatArray:
    """Return what partial rows score when left out, for each pair (cells seen, ones among them).

    Each is taken out of the counts in the shares that EM gave it.
    """
    n, counts = data.own.n, data.pooled.totals
    chances = chances_given_total(keys, n)
    joint = chances * counts
    posterior = joint / np.maximum(joint.sum(axis=1, keepdims=True), TINY)
    kept = np.maximum(counts - data.unit * posterior, 0.0) + options.for_counts(n).of_counts(n)
    kept /= kept.sum(axis=1, keepdims=True)
    # Each arrangement of the seen cells is as likely as any other: C(m, k) of them share the probability of (m, k).
    arrangements = np.array([log_binomials(m)[k] for m, k in keys.tolist()])
    return np.asarray(safe_log((kept * chances).sum(axis=1)) - arrangements)


fallbacks.add("exchangeable", exchangeable_leaf)
