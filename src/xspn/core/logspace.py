"""Arithmetic on logarithms of probabilities and of (very large) counts."""

from functools import cache, lru_cache
from math import log

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray

__all__ = ["log_binomials", "log_factorials", "log_sum_counts", "logsumexp_quiet", "safe_log"]


def safe_log(values: AnyArray | float) -> FloatArray:
    """Logarithm in which 0 gives −inf without a warning: an impossible event is a fact, not a fault."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values), dtype=np.float64)


def logsumexp_quiet(values: FloatArray, axis: int = -1) -> FloatArray:
    """`log Σ exp`, −inf where every term is −inf, without warnings (and without scipy's overhead on small arrays).

    Examples:
        >>> logsumexp_quiet(np.log([[0.25, 0.5], [0.0 + 1e-300, 1e-300]])).round(3).tolist()
        [-0.288, -690.082]
    """
    top = values.max(axis=axis, keepdims=True)
    shift = np.where(np.isfinite(top), top, 0.0)
    total = np.exp(values - shift).sum(axis=axis)
    return np.asarray(safe_log(total) + np.squeeze(shift, axis=axis))


@cache
def log_factorials(n: int) -> AnyArray:
    """`log k!` for k = 0..n in extended precision, so that differences of them keep 15 digits.

    Examples:
        >>> round(float(log_factorials(5)[5]), 6)  # log 120
        4.787492
    """
    logs = np.zeros(n + 1, dtype=np.longdouble)
    logs[1:] = np.cumsum(np.log(np.arange(1, n + 1, dtype=np.longdouble)))
    logs.flags.writeable = False
    return logs


@lru_cache(maxsize=4096)
def log_binomials(n: int) -> FloatArray:
    """`log C(n, k)` for k = 0..n.

    Examples:
        >>> np.exp(log_binomials(4)).round(9).tolist()
        [1.0, 4.0, 6.0, 4.0, 1.0]
    """
    logs = log_factorials(n)
    row = np.asarray(logs[n] - (logs + logs[::-1]), dtype=np.float64)
    row.flags.writeable = False
    return row


@lru_cache(maxsize=4096)
def log_sum_counts(n: int, k: int) -> FloatArray:
    """Log of the number of ways in which n digits from 0..k−1 sum to s, for s = 0..n(k−1).

    These are the coefficients of (1 + x + … + x^(k−1))^n, computed as exact integers: with P the inner
    polynomial and A = Pⁿ, comparing coefficients of P·A′ = n·P′·A gives each one from the k−1 before it.

    Examples:
        >>> np.exp(log_sum_counts(2, 3)).round(9).tolist()  # 00 | 01 10 | 02 11 20 | 12 21 | 22
        [1.0, 2.0, 3.0, 2.0, 1.0]
    """
    counts = [1]
    top = n * (k - 1)
    for s in range(1, top // 2 + 1):
        total = sum((j * (n + 1) - s) * counts[s - j] for j in range(1, min(k - 1, s) + 1))
        counts.append(total // s)
    half = [log(c) for c in counts]
    row = np.array(half + half[: top + 1 - len(half)][::-1], dtype=np.float64)
    row.flags.writeable = False
    return row
