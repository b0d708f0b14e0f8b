"""One exchangeable block."""

import numpy as np

from xspn._core.arrays import IntArray
from xspn.learning.fallback.base import Candidate, LeafData, LeafOptions, fallbacks
from xspn.learning.fallback.factorized import factorized_leaf
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
    of_count = data.left_out(counts, pseudo, data.pooled.total + smoothing.mass) - sizes
    cells, _ = data.own.rows()
    return Candidate("exchangeable", leaf, of_count[cells.sum(axis=1).astype(np.int64)])


fallbacks.add("exchangeable", exchangeable_leaf)
