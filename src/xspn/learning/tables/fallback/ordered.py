"""Probabilities of ordered values: neighbours are alike, so counts may be spread to them."""

from functools import lru_cache

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.learning.tables.fallback.shares import shares_of_experts

BANDWIDTHS = (0.7, 1.5, 3.0, 6.0, 12.0)
TINY = 1e-300


def ordered_probabilities(
    counts: FloatArray, own: FloatArray, alpha: float, unit: float
) -> tuple[FloatArray, FloatArray]:
    """Return the probability of each value, and that which is left to it when one of its rows is left out.

    Frequencies with the pseudo-count α are mixed with the same frequencies spread to their neighbours, near and far, in
    the shares that predict left-out rows best. Spikes stay spikes where the data have them.

    Args:
        counts: How often each value occurs, the context's rows included.
        own: The same for the slice's own rows.
        alpha: The pseudo-count of each value.
        unit: The weight of one own row in `counts`.

    Examples:
        >>> p, _ = ordered_probabilities(np.array([5.0, 9, 0, 8, 4]), np.array([5.0, 9, 0, 8, 4]), 0.1, 1.0)
        >>> bool(p[2] > 0.05)
        True
    """
    k, total = len(counts), float(counts.sum())
    plain = (counts + alpha) / (total + k * alpha)
    plain_without = np.maximum(counts - unit, 0.0) + alpha
    plain_without = plain_without / max(total - unit + k * alpha, TINY)
    experts, left_out = [plain], [plain_without]
    for width in BANDWIDTHS:
        if width >= k or total <= unit:
            break
        kernel = _kernel(k, width)
        spread = kernel @ counts
        experts.append(spread / total)
        left_out.append(np.maximum(spread - unit * np.diag(kernel), 0.0) / (total - unit))
    shares = shares_of_experts(np.array(left_out), own)
    mixed = shares @ np.array(experts)
    return mixed / mixed.sum(), np.asarray(shares @ np.array(left_out))


@lru_cache(maxsize=256)
def _kernel(k: int, width: float) -> FloatArray:
    """Return how each of k ordered values is spread: columns sum to 1, so that nothing leaves at the ends."""
    places = np.arange(k)
    kernel = np.exp(-0.5 * ((places[:, None] - places[None, :]) / width) ** 2)
    kernel = kernel / kernel.sum(axis=0)
    kernel.flags.writeable = False  # it is shared by all who ask
    return np.asarray(kernel)
