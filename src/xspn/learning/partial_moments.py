"""What the global test needs to know of rows of which some cells are missing: sums over the rows.

Given which cells of a row are seen, and how many of them are one, exchangeability makes every arrangement of the ones
among the seen cells equally likely. So the moments are known row by row, as for whole rows, and add up.
"""

from dataclasses import dataclass, fields

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
        bond: The difference where each row counts as much as its share of ones exceeds a half: (n,).
        bond_with_difference: The covariance of the two: (n,).
        bond_variance: The variance of the bond: (n,).
        residual: How much more often two variables are one together than both of their effects explain: (n, n).
        variance: The variance of that: (n, n).
    """

    difference: FloatArray
    spread: FloatArray
    shared_spread: FloatArray
    bond: FloatArray
    bond_with_difference: FloatArray
    bond_variance: FloatArray
    residual: FloatArray
    variance: FloatArray

    @classmethod
    def of(cls, cells: NDArray[np.float32], weights: FloatArray) -> "PartialMoments":
        """Sum over weighted rows; NaN is missing."""
        missing = np.isnan(cells)
        seen = (~missing).astype(np.float64)
        ones = np.where(missing, 0.0, cells.astype(np.float64))
        m, k = seen.sum(axis=1), ones.sum(axis=1)
        sums = (*_of_means(seen, ones, m, k, weights), *_of_pairs(seen, ones, m, k, weights))
        return cls(*sums)

    def __add__(self, other: "PartialMoments") -> "PartialMoments":
        return PartialMoments(*(getattr(self, own.name) + getattr(other, own.name) for own in fields(self)))

    def without_unseen(self, seen: IntArray) -> "PartialMoments":
        """Return the moments of the variables of which something was seen: the others have no part in any row."""
        own = (getattr(self, field.name) for field in fields(self))
        return PartialMoments(*(values[seen] if values.ndim == 1 else values[np.ix_(seen, seen)] for values in own))

    def statistics(self) -> dict[str, tuple[float, float]]:
        """Return Q (the means), B (the bonds) and S (the pairs), each with its degrees of freedom.

        Q is the general quadratic form of the differences between seen and expected ones. B takes what each variable's
        bond has beyond its difference by its own variance, and S each pair's residual: rows that lack one of the two
        say nothing of it.
        """
        n = len(self.difference)
        covariance = np.diag(self.spread) - self.shared_spread
        q = float(self.difference @ np.linalg.pinv(covariance, rcond=1e-9, hermitian=True) @ self.difference)
        slope = _ratio(self.bond_with_difference, np.diag(covariance))
        beyond = self.bond_variance - slope * self.bond_with_difference
        varies = beyond > 1e-9 * self.bond_variance
        squares = (self.bond - slope * self.difference)[varies] ** 2 / beyond[varies]
        # One variable's bond is determined by the others' (as for whole rows).
        b = float(squares.sum() * (n - 1) / n)
        found = {"Q": (q, float(n - 1)), "B": (b, float(n - 1) if varies.any() else 0.0), "S": (0.0, 0.0)}
        if n < 4:
            return found
        upper = np.triu_indices(n, 1)
        possible = self.variance[upper] > 1e-12
        squares = self.residual[upper][possible] ** 2 / self.variance[upper][possible]
        # Residuals of n(n − 1)/2 pairs, of which n are determined by the others (as for whole rows).
        return {**found, "S": (float(squares.sum() * (n - 3) / (n - 1)), n * (n - 3) / 2)}


def _of_means(
    seen: FloatArray, ones: FloatArray, m: FloatArray, k: FloatArray, weights: FloatArray
) -> tuple[FloatArray, ...]:
    """Return the difference of each variable and the bond, with their variances."""
    effects = ones - seen * _ratio(k, m)[:, None]
    spread = weights * _ratio(k * (m - k), m * (m - 1))
    excess = _ratio(k, m) - 0.5
    alone = spread * _ratio(m - 1, m)  # the variance of one variable's ones
    return (
        weights @ effects,
        spread @ seen,
        (seen * _ratio(spread, m)[:, None]).T @ seen,
        (weights * excess) @ effects,
        (alone * excess) @ seen,
        (alone * excess**2) @ seen,
    )


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
