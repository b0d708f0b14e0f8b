"""One exchangeable block: a probability for each count, or a beta-binomial of few parameters for slices of few rows."""

import numpy as np

from xspn.core.arrays import FloatArray, IntArray
from xspn.core.logspace import log_binomials, safe_log
from xspn.learning.leaf_learners.base import TINY, BinaryLeafData, Candidate, LeafOptions, leaf_learners
from xspn.learning.leaf_learners.factorized import factorized_leaf
from xspn.learning.partial_counts import chances_given_total, seen_and_ones
from xspn.leaves.base import Smoothing
from xspn.leaves.beta_binomial import BetaBinomial
from xspn.leaves.exchangeable import Exchangeable
from xspn.statistics import Count


def exchangeable_leaf(data: BinaryLeafData, variables: IntArray, options: LeafOptions) -> Candidate:
    """Return an exchangeable leaf over the count of ones (a Bernoulli leaf for a single variable)."""
    n = len(variables)
    if n == 1:
        return factorized_leaf(data, variables, options)
    leaf = Exchangeable.from_class_counts(variables.tolist(), data.pooled.totals, options.for_counts(n))
    cells, _ = data.own.rows()
    if data.own.complete:
        return Candidate(
            "exchangeable", leaf, leave_one_out_of_counts(data, options)[cells.sum(axis=1).astype(np.int64)]
        )
    keys, which = seen_and_ones(cells)
    return Candidate("exchangeable", leaf, leave_one_out_of_keys(data, options, keys)[which])


def leave_one_out_of_counts(data: BinaryLeafData, options: LeafOptions) -> FloatArray:
    """Return the leave-one-out score of a row with t ones, for t = 0..n."""
    n = data.own.n
    sizes = Count().log_class_size(n)
    total = data.pooled.total + options.for_counts(n).mass
    return np.asarray(data.leave_one_out(data.pooled.totals, options.for_counts(n).of_counts(n), total) - sizes)


def leave_one_out_of_keys(data: BinaryLeafData, options: LeafOptions, keys: IntArray) -> FloatArray:
    """Return the leave-one-out score of partial rows, for each pair (cells seen, ones among them).

    Each is removed from the counts by its responsibilities in EM.
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


leaf_learners.add("exchangeable", exchangeable_leaf)


def beta_binomial_leaf(data: BinaryLeafData, variables: IntArray, options: LeafOptions) -> Candidate:
    """Return a beta-binomial leaf; for two variables or one, the leaf that has no more parameters."""
    n = len(variables)
    if n <= 2:
        return exchangeable_leaf(data, variables, options)
    smoothing = Smoothing(2 * options.smoothing, "values")  # like a bit, which has two values
    counts, ones = data.pooled.totals + smoothing.of_counts(n), np.arange(n + 1.0)
    if not counts.any():  # every cell is missing, and there are no pseudo-rows: what those would say
        counts = Smoothing(1.0, "values").of_counts(n)
    total = float(counts.sum())
    mean = min(float(counts @ ones) / total, float(n))  # rounding
    leaf = BetaBinomial.from_moments(variables.tolist(), mean, float(counts @ (ones - mean) ** 2) / total)
    cells, _ = data.own.rows()
    if data.own.complete:
        own = leaf.log_weights[cells.sum(axis=1).astype(np.int64)]
    else:
        own = leaf.log_prob(cells.astype(np.float64))
    # Parameters that rest on N rows fit each of them better than a new one by 1/N nats a parameter (Akaike).
    return Candidate("beta-binomial", leaf, own - leaf.n_parameters / total)
