"""Counts of ones in rows of which only a part was seen.

If the variables of a row are exchangeable and t of n are one, then of m that are seen k are one with hypergeometric
probability, whichever they are. That is all that is needed to learn the distribution of t from partial rows.
"""

import numpy as np
from numpy.typing import NDArray

from xspn.core.arrays import FloatArray, IntArray
from xspn.core.logspace import log_binomials

EM_STEPS = 50
TOLERANCE = 1e-6


def seen_and_ones(cells: NDArray[np.float32]) -> tuple[IntArray, IntArray]:
    """Return the different pairs (cells seen, ones among them) that rows have, and which pair each row has."""
    seen = (~np.isnan(cells)).sum(axis=1)
    ones = np.nansum(cells, axis=1).astype(np.int64)
    width = cells.shape[1] + 1
    keys, which = np.unique(seen * width + ones, return_inverse=True)  # far faster than unique rows, in the same order
    return np.column_stack(np.divmod(keys, width)), which.reshape(-1)


def chances_given_total(keys: IntArray, n: int) -> FloatArray:
    """Return P(k ones among m seen | t of n are one) for each pair (m, k) and every t: (pairs, n + 1).

    Examples:
        >>> chances_given_total(np.array([[1, 1]]), 2).round(6).tolist()  # one of two seen, and it is one
        [[0.0, 0.5, 1.0]]
    """
    t = np.arange(n + 1)
    table = np.zeros((len(keys), n + 1))
    for row, (seen, ones) in zip(table, keys.tolist(), strict=True):
        possible = (t >= ones) & (n - t >= seen - ones)
        # C(m, k) C(n − m, t − k) / C(n, t)
        logs = log_binomials(seen)[ones] + log_binomials(n - seen)[t[possible] - ones] - log_binomials(n)[t[possible]]
        row[possible] = np.exp(logs)
    return table


def likely_totals(cells: NDArray[np.float32], weights: FloatArray) -> FloatArray:
    """Return how many rows have t ones, for t = 0..n: the maximum-likelihood estimate, by EM."""
    keys, which = seen_and_ones(cells)
    of_key = np.asarray(np.bincount(which, weights=weights, minlength=len(keys)), dtype=np.float64)
    return likely_totals_of_keys(keys, of_key, cells.shape[1])


def likely_totals_of_keys(keys: IntArray, of_key: FloatArray, n: int) -> FloatArray:
    """Return how many rows have t ones, given how many have each pair (cells seen, ones among them).

    Rows of which nothing was seen say nothing, and are distributed as the others.
    """
    chances = chances_given_total(keys, n)
    total = float(of_key.sum())
    counts = np.full(n + 1, total / (n + 1))
    for _ in range(EM_STEPS):
        joint = chances * counts
        posterior = joint / joint.sum(axis=1, keepdims=True)
        updated = of_key @ posterior
        settled = abs(updated - counts).max() < TOLERANCE * max(total, 1.0)
        counts = updated
        if settled:
            break
    return np.asarray(counts)
