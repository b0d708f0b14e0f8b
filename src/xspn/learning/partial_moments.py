"""What the global test needs to know of rows of which some cells are missing: sums over the rows.

Given which cells of a row are seen, and how many of them are one, exchangeability makes every arrangement of the ones
among the seen cells equally likely. So the moments are known row by row, as for whole rows, and add up.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from xspn._core.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class PartialMoments:
    """Sums over rows; those of two tables add up to those of both.

    Attributes:
        difference: How many more ones each variable has than expected: (n,).
        spread: The variance of each variable's ones: (n,).
        shared_spread: What two variables' ones have in common of it: (n, n).
        residual: How much more often two variables are one together than both of their effects explain: (n, n).
        variance: The variance of that: (n, n).
    """

    difference: FloatArray
    spread: FloatArray
    shared_spread: FloatArray
    residual: FloatArray
    variance: FloatArray

    @classmethod
    def of(cls, cells: NDArray[np.float32], weights: FloatArray) -> "PartialMoments":
        """Sum over weighted rows; NaN is missing."""
        missing = np.isnan(cells)
        seen = (~missing).astype(np.float64)
        ones = np.where(missing, 0.0, cells.astype(np.float64))
        m, k = seen.sum(axis=1), ones.sum(axis=1)
        return cls(*_of_means(seen, ones, m, k, weights), *_of_pairs(seen, ones, m, k, weights))

    def __add__(self, other: "PartialMoments") -> "PartialMoments":
        return PartialMoments(
            self.difference + other.difference,
            self.spread + other.spread,
            self.shared_spread + other.shared_spread,
            self.residual + other.residual,
            self.variance + other.variance,
        )

    def without_unseen(self, seen: IntArray) -> "PartialMoments":
        """Return the moments of the variables of which something was seen: the others have no part in any row."""
        both = np.ix_(seen, seen)
        return PartialMoments(
            self.difference[seen],
            self.spread[seen],
            self.shared_spread[both],
            self.residual[both],
            self.variance[both],
        )

    def statistics(self) -> tuple[float, float]:
        """Return Q (the means) and S (the pairs); with n − 1 and n(n − 3)/2 degrees of freedom.

        Q is the general quadratic form of the differences between seen and expected ones. S takes each pair's residual
        by its own variance: rows that lack one of the two say nothing of it.
        """
        n = len(self.difference)
        covariance = np.diag(self.spread) - self.shared_spread
        q = float(self.difference @ np.linalg.pinv(covariance, rcond=1e-9, hermitian=True) @ self.difference)
        if n < 4:
            return q, 0.0
        upper = np.triu_indices(n, 1)
        possible = self.variance[upper] > 1e-12
        squares = self.residual[upper][possible] ** 2 / self.variance[upper][possible]
        # Residuals of n(n − 1)/2 pairs, of which n are determined by the others (as for whole rows).
        return q, float(squares.sum() * (n - 3) / (n - 1))


def _of_means(
    seen: FloatArray, ones: FloatArray, m: FloatArray, k: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    expected = weights * _ratio(k, m)
    difference = weights @ ones - expected @ seen
    spread = weights * _ratio(k * (m - k), m * (m - 1))
    return difference, spread @ seen, (seen * _ratio(spread, m)[:, None]).T @ seen


def _of_pairs(
    seen: FloatArray, ones: FloatArray, m: FloatArray, k: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return each pair's residual after both variables' own effects, and its variance.

    In a row with k ones among m seen cells, x_i x_j − p₂ − β(x_i − k/m) − β(x_j − k/m) with β = (k − 1)/(m − 2) is what
    the pair says beyond its two members; it has variance (p₂ − 2p₃ + p₄)(m − 3)/(m − 1). Rows with fewer than four seen
    cells say nothing.
    """
    own = np.where(m >= 4, weights, 0.0)
    p2 = _ratio(k * (k - 1), m * (m - 1))
    p3 = p2 * _ratio(k - 2, m - 2)
    p4 = p3 * _ratio(k - 3, m - 3)
    effects = (ones - seen * _ratio(k, m)[:, None]) * (own * _ratio(k - 1, m - 2))[:, None]
    members = effects.T @ seen
    residual = (ones * own[:, None]).T @ ones - (seen * (own * p2)[:, None]).T @ seen - members - members.T
    of_row = own * (p2 - 2 * p3 + p4) * _ratio(m - 3, m - 1)
    return residual, (seen * of_row[:, None]).T @ seen


def _ratio(top: FloatArray, bottom: FloatArray) -> FloatArray:
    """Divide, with 0 where there is nothing to divide by."""
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)
