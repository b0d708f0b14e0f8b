"""What the global test needs to know of rows of which some cells are missing: sums over the rows.

Given which cells of a row are seen, and how many of them are one, exchangeability makes every arrangement of the ones
among the seen cells equally likely. So the moments are known row by row, as for whole rows, and add up.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, cg

from xspn._core.arrays import FloatArray, IntArray

POSSIBLE = 1e-12  # a smaller variance is that of nothing


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
        rows = (*_seen_and_ones(cells), weights)
        sums = (*_of_means(*rows), *_of_pairs(*rows))
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
        q = self._squared_differences()
        slope = _ratio(self.bond_with_difference, self._variances())
        beyond = self.bond_variance - slope * self.bond_with_difference
        varies = beyond > 1e-9 * self.bond_variance
        squares = (self.bond - slope * self.difference)[varies] ** 2 / beyond[varies]
        # One variable's bond is determined by the others' (as for whole rows).
        b = float(squares.sum() * (n - 1) / n)
        found = {"Q": (q, float(n - 1)), "B": (b, float(n - 1) if varies.any() else 0.0), "S": (0.0, 0.0)}
        if n < 4:
            return found
        # Residuals of n(n − 1)/2 pairs, of which n are determined by the others (as for whole rows).
        return {**found, "S": (self._squared_residuals() * (n - 3) / (n - 1), n * (n - 3) / 2)}

    def _variances(self) -> FloatArray:
        """Return the variance of each variable's difference."""
        return np.asarray(self.spread - np.diag(self.shared_spread))

    def _squared_differences(self) -> float:
        """Return the differences' quadratic form by their covariance."""
        covariance = np.diag(self.spread) - self.shared_spread
        return float(self.difference @ np.linalg.pinv(covariance, rcond=1e-9, hermitian=True) @ self.difference)

    def _squared_residuals(self) -> float:
        """Return the sum of the pairs' squared residuals, each by its variance."""
        upper = np.triu_indices(len(self.difference), 1)
        possible = self.variance[upper] > POSSIBLE
        return float((self.residual[upper][possible] ** 2 / self.variance[upper][possible]).sum())


SUMS = tuple(field.name for field in fields(PartialMoments))


@dataclass(frozen=True, eq=False)
class MomentsOfManyVariables(PartialMoments):
    """The same of so many variables that no table of all pairs is made: such tables are empty, and the rows are kept.

    Attributes:
        rows: Which cells are seen, which are one, both numbers of each row, and its weight.
        at_once: For how many variables all pairs may be in memory at a time.
    """

    rows: tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]
    at_once: int

    @classmethod
    def of_rows(cls, cells: NDArray[np.float32], weights: FloatArray, at_once: int) -> "MomentsOfManyVariables":
        """Sum over weighted rows; NaN is missing."""
        rows = (*_seen_and_ones(cells), weights)
        none = np.empty((0, 0))
        sums: dict[str, Any] = dict(zip(SUMS, (*_of_means(*rows, pairs=False), none, none), strict=True))
        return cls(**sums, rows=rows, at_once=at_once)

    def _variances(self) -> FloatArray:
        seen, _, m, k, weights = self.rows
        return np.asarray(self.spread - _ratio(_spread_of_rows(m, k, weights), m) @ seen)

    def _squared_differences(self) -> float:
        """Solve for the differences by conjugate gradients: times a vector, the covariance is a sum over the rows."""
        seen, _, m, k, weights = self.rows
        shared = _ratio(_spread_of_rows(m, k, weights), m)
        scale = np.sqrt(_ratio(np.ones(len(self.spread)), self.spread))  # of one unit each, they converge at once

        def times(x: FloatArray) -> FloatArray:
            y = np.ravel(x) * scale
            return np.asarray(scale * (self.spread * y - (shared * (seen @ y)) @ seen))

        n = len(self.spread)
        target = scale * self.difference
        solution, _ = cg(LinearOperator((n, n), matvec=times, dtype=np.float64), target, rtol=1e-9, maxiter=10 * n)
        return float(target @ solution)

    def _squared_residuals(self) -> float:
        found, n = 0.0, len(self.difference)
        for start in range(0, n, self.at_once):
            block = slice(start, min(start + self.at_once, n))
            residual, variance = _of_pairs(*self.rows, block)
            variance[np.arange(len(variance)), np.arange(n)[block]] = 0.0  # no pair
            possible = variance > POSSIBLE
            found += float((residual[possible] ** 2 / variance[possible]).sum()) / 2
        return found


def _seen_and_ones(cells: NDArray[np.float32]) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return which cells are seen, which are one, and how many are so in each row."""
    missing = np.isnan(cells)
    seen = (~missing).astype(np.float64)
    ones = np.where(missing, 0.0, cells.astype(np.float64))
    return seen, ones, seen.sum(axis=1), ones.sum(axis=1)


def _spread_of_rows(m: FloatArray, k: FloatArray, weights: FloatArray) -> FloatArray:
    return np.asarray(weights * _ratio(k * (m - k), m * (m - 1)))


def _of_means(
    seen: FloatArray, ones: FloatArray, m: FloatArray, k: FloatArray, weights: FloatArray, pairs: bool = True
) -> tuple[FloatArray, ...]:
    """Return the difference of each variable and the bond, with their variances; `pairs`: with what two share of it."""
    effects = ones - seen * _ratio(k, m)[:, None]
    spread = _spread_of_rows(m, k, weights)
    excess = _ratio(k, m) - 0.5
    alone = spread * _ratio(m - 1, m)  # the variance of one variable's ones
    return (
        weights @ effects,
        spread @ seen,
        (seen * _ratio(spread, m)[:, None]).T @ seen if pairs else np.empty((0, 0)),
        (weights * excess) @ effects,
        (alone * excess) @ seen,
        (alone * excess**2) @ seen,
    )


def _of_pairs(
    seen: FloatArray,
    ones: FloatArray,
    m: FloatArray,
    k: FloatArray,
    weights: FloatArray,
    block: slice = slice(None),
) -> tuple[FloatArray, FloatArray]:
    """Return each pair's residual after both variables' own effects, and its variance: a block of rows of each table.

    In a row with k ones among m seen cells, x_i x_j − p₂ − β(x_i − k/m) − β(x_j − k/m) with β = (k − 1)/(m − 2) is what
    the pair says beyond its two members; it has variance (p₂ − 2p₃ + p₄)(m − 3)/(m − 1). Rows with fewer than four seen
    cells say nothing.
    """
    own = np.where(m >= 4, weights, 0.0)
    p2 = _ratio(k * (k - 1), m * (m - 1))
    p3 = p2 * _ratio(k - 2, m - 2)
    p4 = p3 * _ratio(k - 3, m - 3)
    effects = (ones - seen * _ratio(k, m)[:, None]) * (own * _ratio(k - 1, m - 2))[:, None]
    members = effects[:, block].T @ seen
    others = members.T if len(members) == seen.shape[1] else seen[:, block].T @ effects
    both = (ones[:, block] * own[:, None]).T @ ones
    residual = both - (seen[:, block] * (own * p2)[:, None]).T @ seen - members - others
    of_row = own * (p2 - 2 * p3 + p4) * _ratio(m - 3, m - 1)
    return residual, (seen[:, block] * of_row[:, None]).T @ seen


def _ratio(top: FloatArray, bottom: FloatArray) -> FloatArray:
    """Divide, with 0 where there is nothing to divide by."""
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)
