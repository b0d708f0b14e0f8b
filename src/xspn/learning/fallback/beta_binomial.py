"""One exchangeable block of few parameters: for slices whose rows are too few to tell how likely each count is."""

import numpy as np

from xspn.core.arrays import IntArray
from xspn.learning.fallback.base import Candidate, LeafData, LeafOptions
from xspn.learning.fallback.exchangeable import exchangeable_leaf
from xspn.leaves.beta_binomial import BetaBinomial
from xspn.leaves.smoothing import Smoothing


def beta_binomial_leaf(data: LeafData, variables: IntArray, options: LeafOptions) -> Candidate:
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
