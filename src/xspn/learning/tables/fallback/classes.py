"""The distribution of value counts: smoothed as a mixture of coin tosses where that predicts left-out rows better.

There may be hundreds of classes, and a frequency for each costs a parameter each. If the variables are part of a longer
exchangeable sequence, de Finetti's theorem says that their joint distribution is a mixture of independent draws. The
mixture (its most likely mixing distribution, on a grid) has few effective parameters. Where variables repel each other
it is wrong, and the frequencies themselves take over.
"""

from functools import lru_cache
from math import comb

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.core.logspace import safe_log
from xspn.learning.tables.fallback.shares import shares_of_experts
from xspn.statistics.value_counts import ValueCounts, compositions

LARGEST_GRID = 500
MOST_CLASSES = 3000  # for the mixture; beyond it there are frequencies only
EM_STEPS = 60
TINY = 1e-300


def class_probabilities(
    statistic: ValueCounts, n: int, counts: FloatArray, own: FloatArray, alpha: float, unit: float
) -> tuple[FloatArray, FloatArray]:
    """Return the probability of each class, and the one that is left to it when one of its rows is left out.

    Args:
        statistic: The value counts.
        n: The number of variables.
        counts: How often each class occurs, the context's rows included.
        own: The same for the slice's own rows.
        alpha: The pseudo-count of each class.
        unit: The weight of one own row in `counts`.
    """
    size, total = len(counts), float(counts.sum())
    plain = (counts + alpha) / max(total + size * alpha, TINY)
    kept = (np.maximum(counts - unit, 0.0) + alpha) / max(total - unit + size * alpha, TINY)
    if size > MOST_CLASSES or total <= unit:
        return plain, kept
    chances = _chances(n, statistic.cardinality)
    mixing = np.full(chances.shape[1], 1.0 / chances.shape[1])
    occurs = counts > 0
    for _ in range(EM_STEPS):
        joint = chances[occurs] * mixing
        mixing = (counts[occurs] / joint.sum(axis=1)) @ joint / total
    smooth = chances @ mixing
    posterior = chances * mixing / np.maximum(smooth, TINY)[:, None]
    smooth_kept = (chances * np.maximum(mixing * total - unit * posterior, 0.0)).sum(axis=1) / (total - unit)
    left_out = np.array([kept, smooth_kept])
    shares = shares_of_experts(left_out, own)
    mixed = shares @ np.array([plain, smooth])
    return mixed / mixed.sum(), np.asarray(shares @ left_out)


@lru_cache(maxsize=16)
def _chances(n: int, k: int) -> FloatArray:
    """Return P(class | draws by p) for p on a grid over the simplex: (classes, grid points)."""
    step = 2
    while comb(step + k, k - 1) <= LARGEST_GRID:
        step += 1
    grid = (compositions(step, k) + 0.5) / (step + 0.5 * k)
    T = ValueCounts(k)
    return np.exp(T.log_class_size(n)[:, None] + T.values(n) @ safe_log(grid).T)
