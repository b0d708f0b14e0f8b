"""What the global test needs to know of rows of which some cells are missing: sums over the rows.

Given which cells of a row are seen, and how many of them are one, exchangeability makes every arrangement of the ones
among the seen cells equally likely. So the moments are known row by row, as for whole rows, and add up.
"""

from dataclasses import dataclass, fields
from math import comb

import numpy as np
from numpy.typing import NDArray

from xspn._core.arrays import FloatArray, IntArray
from xspn.learning.deviations import (
    Cumulants,
    Index,
    Part,
    cumulants_of_product,
    largest,
    needs_largest,
    sum_of_squares,
)

SMALLEST_PART = 1e-9  # of a variance, or of the largest eigenvalue: less is rounding


@dataclass(frozen=True, eq=False)
class PartialMoments:
    """Sums over rows; those of two tables add up to those of both.

    Attributes:
        difference: How many more ones each variable has than expected: (n,).
        spread: The variance of each variable's ones: (n,).
        shared_spread: What two variables' ones have in common of it: (n, n).
        rest: The difference where each row counts as much as its fraction of ones exceeds a half: (n,).
        rest_with_difference: The covariance of the two: (n,).
        rest_variance: The variance of the former: (n,).
        residual: How much more often two variables are one together than both of their effects explain: (n, n).
        variance: The variance of that: (n, n).
        column_cumulants: The second, third and fourth cumulant of a seen cell, summed over cells, each times the powers
            0..4 of how much the row's fraction of ones exceeds a half: (3, 5).
        pair_cumulants: Those of a pair's residual, but for terms of the order of 1/m, summed over pairs: (3,).
    """

    difference: FloatArray
    spread: FloatArray
    shared_spread: FloatArray
    rest: FloatArray
    rest_with_difference: FloatArray
    rest_variance: FloatArray
    residual: FloatArray
    variance: FloatArray
    column_cumulants: FloatArray
    pair_cumulants: FloatArray

    @classmethod
    def of(cls, cells: NDArray[np.float32], weights: FloatArray) -> "PartialMoments":
        """Sum over weighted rows; NaN is missing."""
        missing = np.isnan(cells)
        seen = (~missing).astype(np.float64)
        ones = np.where(missing, 0.0, cells.astype(np.float64))
        m, k = seen.sum(axis=1), ones.sum(axis=1)
        means, pairs = _of_means(seen, ones, m, k, weights), _of_pairs(seen, ones, m, k, weights)
        sums = (*means, *pairs, *_cumulants(m, k, weights))
        return cls(*sums)

    def __add__(self, other: "PartialMoments") -> "PartialMoments":
        return PartialMoments(*(getattr(self, own.name) + getattr(other, own.name) for own in fields(self)))

    def without_unseen(self, seen: IntArray) -> "PartialMoments":
        """Return the moments of the variables of which something was seen: the others have no part in any row."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        for name, values in own.items():
            if not name.endswith("cumulants"):  # these are sums over what was seen
                own[name] = values[seen] if values.ndim == 1 else values[np.ix_(seen, seen)]
        return PartialMoments(**own)

    def statistics(self) -> dict[str, Part]:
        """Return Q (the means), B (the item–rest associations) and S (the pairs).

        Q is the general quadratic form of the differences between seen and expected ones. B takes what each variable's
        association with the others has beyond its difference by its own variance. S takes the pairs' residuals: rows
        that lack one of the two say nothing of it. What cannot vary has no degrees of freedom.
        """
        return {"Q": self._means(), "B": self._rests(), "S": self._pairs()}

    def _means(self) -> Part:
        n = len(self.difference)
        covariance = np.diag(self.spread) - self.shared_spread
        values, directions = np.linalg.eigh(covariance)
        kept = values > SMALLEST_PART * self.spread.max(initial=0.0)
        along = self.difference @ directions[:, kept]
        value, dof = float((along**2 / values[kept]).sum()), float(kept.sum())
        if not needs_largest(dof):
            return Part(value, dof)
        return Part(value, dof, largest(self.difference, np.diag(covariance).copy(), n, self._of_columns))

    def _rests(self) -> Part:
        n = len(self.difference)
        alone = self.spread - np.diag(self.shared_spread)
        slope = _ratio(self.rest_with_difference, alone)
        beyond = self.rest_variance - slope * self.rest_with_difference
        beyond = np.where(beyond > SMALLEST_PART * self.rest_variance, beyond, 0.0)
        deviations = self.rest - slope * self.difference
        # One variable's association is determined by the others' (as for whole rows).
        free = (n - 1) / n
        value, dof = float(_ratio(deviations**2, beyond).sum()) * free, float((beyond > 0).sum()) * free
        if not needs_largest(dof):
            return Part(value, dof)
        usual = float(self.rest_with_difference.sum() / alone.sum())
        return Part(value, dof, largest(deviations, beyond, n, lambda _: self._beyond(usual)))

    def _pairs(self) -> Part:
        n = len(self.difference)
        if n < 4:
            return Part()
        upper = np.triu_indices(n, 1)
        residual, variance = self.residual[upper], self.variance[upper]
        # Of the residuals of n(n − 1)/2 pairs n are determined by the others (as for whole rows). Not each by its own
        # variance: a row's sum of squares is what it is however its cells are arranged, and of pairs that were seldom
        # seen together a single one says much.
        value, dof = sum_of_squares(float(residual @ residual), variance, (n - 3) / (n - 1))
        if not needs_largest(dof):
            return Part(value, dof)
        found = largest(residual, variance, int(np.count_nonzero(variance)), self._of_pairs)
        return Part(value, dof, found.at(axis[found.member[0]] for axis in upper))

    def _of_columns(self, _: Index) -> Cumulants:
        second, third, fourth = self.column_cumulants[:, 0].tolist()
        return second, third, fourth

    def _of_pairs(self, _: Index) -> Cumulants:
        second, third, fourth = self.pair_cumulants.tolist()
        return second, third, fourth

    def _beyond(self, usual: float) -> Cumulants:
        """Return the cumulants where each row counts as much as its fraction of ones exceeds the usual one."""
        second, third, fourth = (
            sum(comb(m, j) * float(own[j]) * (-usual) ** (m - j) for j in range(m + 1))
            for m, own in enumerate(self.column_cumulants, start=2)
        )
        return second, third, fourth


def _of_means(
    seen: FloatArray, ones: FloatArray, m: FloatArray, k: FloatArray, weights: FloatArray
) -> tuple[FloatArray, ...]:
    """Return each variable's difference and its association with the others, with their variances."""
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
    effects = (ones - seen * _ratio(k, m)[:, None]) * (own * _ratio(k - 1, m - 2))[:, None]
    members = effects.T @ seen
    residual = (ones * own[:, None]).T @ ones - (seen * (own * p2)[:, None]).T @ seen - members - members.T
    # p₂ − 2p₃ + p₄ by its factors: rows with a single one, or a single zero, contribute an exact zero.
    of_row = own * p2 * _ratio((m - k) * (m - k - 1), (m - 2) * (m - 3)) * _ratio(m - 3, m - 1)
    return residual, (seen * of_row[:, None]).T @ seen


def _cumulants(m: FloatArray, k: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the second to fourth cumulants of cells, times powers of the row's excess of ones, and of pairs."""
    p = _ratio(k, m)
    pq = p * (1 - p)
    of_cell = np.array([pq, pq * (1 - 2 * p), pq * (1 - 6 * pq)]) * (weights * m)
    powers = np.vander(p - 0.5, 5, increasing=True)
    p2 = _ratio(k * (k - 1), m * (m - 1))
    of_pair = np.array(cumulants_of_product(p, p2)) @ np.where(m >= 4, weights * m * (m - 1), 0.0)
    return of_cell @ powers, of_pair


def _ratio(top: FloatArray, bottom: FloatArray) -> FloatArray:
    """Divide, with 0 where there is nothing to divide by."""
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)
