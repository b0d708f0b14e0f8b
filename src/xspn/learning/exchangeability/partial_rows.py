"""The statistics of the global test for rows of which some cells are missing.

Given which cells of a row are seen, and how many of them are one, exchangeability makes every arrangement of the ones
among the seen cells equally likely. So the moments are known row by row, as for whole rows, and add up.
"""

import numpy as np
from numpy.typing import NDArray

from xspn._core.arrays import FloatArray


def partial_statistics(cells: NDArray[np.float32], weights: FloatArray) -> tuple[float, float]:
    """Return Q (the means) and S (the pairs); with n − 1 and n(n − 3)/2 degrees of freedom.

    Q is the general quadratic form of the differences between seen and expected ones. S takes each pair's residual by
    its own variance: rows that lack one of the two say nothing of it.
    """
    missing = np.isnan(cells)
    seen = (~missing).astype(np.float64)
    ones = np.where(missing, 0.0, cells.astype(np.float64))
    m, k = seen.sum(axis=1), ones.sum(axis=1)
    q = _means(seen, ones, m, k, weights)
    return q, _pairs(seen, ones, m, k, weights) if cells.shape[1] >= 4 else 0.0


def _means(seen: FloatArray, ones: FloatArray, m: FloatArray, k: FloatArray, weights: FloatArray) -> float:
    expected = weights * _ratio(k, m)
    difference = weights @ ones - expected @ seen
    spread = weights * _ratio(k * (m - k), m * (m - 1))
    covariance = np.diag(spread @ seen) - (seen * _ratio(spread, m)[:, None]).T @ seen
    return float(difference @ np.linalg.pinv(covariance, rcond=1e-9, hermitian=True) @ difference)


def _pairs(seen: FloatArray, ones: FloatArray, m: FloatArray, k: FloatArray, weights: FloatArray) -> float:
    """Return S: each pair's residual after both variables' own effects, squared, by its variance.

    In a row with k ones among m seen cells, x_i x_j − p₂ − β(x_i − k/m) − β(x_j − k/m) with β = (k − 1)/(m − 2) is what
    the pair says beyond its two members; it has variance (p₂ − 2p₃ + p₄)(m − 3)/(m − 1). Rows with fewer than four seen
    cells say nothing.
    """
    n = seen.shape[1]
    own = np.where(m >= 4, weights, 0.0)
    p2 = _ratio(k * (k - 1), m * (m - 1))
    p3 = p2 * _ratio(k - 2, m - 2)
    p4 = p3 * _ratio(k - 3, m - 3)
    effects = (ones - seen * _ratio(k, m)[:, None]) * (own * _ratio(k - 1, m - 2))[:, None]
    members = effects.T @ seen
    residual = (ones * own[:, None]).T @ ones - (seen * (own * p2)[:, None]).T @ seen - members - members.T
    of_row = own * (p2 - 2 * p3 + p4) * _ratio(m - 3, m - 1)
    variance = (seen * of_row[:, None]).T @ seen
    upper = np.triu_indices(n, 1)
    possible = variance[upper] > 1e-12
    squares = residual[upper][possible] ** 2 / variance[upper][possible]
    # Residuals of n(n − 1)/2 pairs, of which n are determined by the others (as for whole rows).
    return float(squares.sum() * (n - 3) / (n - 1))


def _ratio(top: FloatArray, bottom: FloatArray) -> FloatArray:
    """Divide, with 0 where there is nothing to divide by."""
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)
