"""What rows of bits tell of which some cells are missing: the distribution of their count, and the global test's sums.

If the variables of a row are exchangeable and t of n are one, then of m that are seen k are one with hypergeometric
probability, whichever they are. That is all that is needed to learn the distribution of t.

Given m and k, every arrangement of the ones among the seen cells is equally likely. So the moments that the test needs
are known row by row, as for whole rows, and add up.
"""

from dataclasses import dataclass, fields
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, cg

from xspn.core.arrays import FloatArray, IntArray
from xspn.core.logspace import log_binomials
from xspn.learning.deviations import (
    Cumulants,
    DeviationPart,
    Ends,
    Index,
    by_two_moments,
    cumulants_of_product,
    largest,
    needs_largest,
    sum_of_squares,
)

EM_STEPS = 50
TOLERANCE = 1e-6
SMALLEST_PART = 1e-9  # of a variance, or of the largest eigenvalue: less is rounding


# -- the count of ones -------------------------------------------------------------------------------------------------


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


# -- moments of the global test ----------------------------------------------------------------------------------------


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
        rows = (*_indicators(cells), weights)
        sums = (*_of_means(*rows), *_of_pairs(*rows), *_cumulants(*rows[2:]))
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

    def statistics(self) -> dict[str, DeviationPart]:
        """Return Q (the means), B (the item–rest associations) and S (the pairs).

        Q is the general quadratic form of the differences between seen and expected ones. B takes what each variable's
        association with the others has beyond its difference by its own variance. S takes the pairs' residuals: rows
        that lack one of the two say nothing of it. What cannot vary has no degrees of freedom.
        """
        return {"Q": self._means(), "B": self._rests(), "S": self._pairs()}

    def _means(self) -> DeviationPart:
        value, dof = self._squared_differences()
        if not needs_largest(dof):
            return DeviationPart(value, dof)
        return DeviationPart(
            value, dof, largest(self.difference, self._alone(), len(self.difference), self._of_columns)
        )

    def _alone(self) -> FloatArray:
        """Return the variance of each variable's difference."""
        return np.asarray(self.spread - np.diag(self.shared_spread))

    def _squared_differences(self) -> tuple[float, float]:
        """Return the quadratic form of the differences by their covariance, and its rank."""
        values, directions = np.linalg.eigh(np.diag(self.spread) - self.shared_spread)
        kept = values > SMALLEST_PART * self.spread.max(initial=0.0)
        along = self.difference @ directions[:, kept]
        return float((along**2 / values[kept]).sum()), float(kept.sum())

    def _rests(self) -> DeviationPart:
        n = len(self.difference)
        alone = self._alone()
        slope = _ratio(self.rest_with_difference, alone)
        beyond = self.rest_variance - slope * self.rest_with_difference
        beyond = np.where(beyond > SMALLEST_PART * self.rest_variance, beyond, 0.0)
        deviations = self.rest - slope * self.difference
        # One variable's association is determined by the others' (as for whole rows).
        free = (n - 1) / n
        value, dof = float(_ratio(deviations**2, beyond).sum()) * free, float((beyond > 0).sum()) * free
        if not needs_largest(dof):
            return DeviationPart(value, dof)
        usual = float(self.rest_with_difference.sum() / alone.sum())
        return DeviationPart(value, dof, largest(deviations, beyond, n, lambda _: self._beyond(usual)))

    def _pairs(self) -> DeviationPart:
        n = len(self.difference)
        if n < 4:
            return DeviationPart()
        upper = np.triu_indices(n, 1)
        residual, variance = self.residual[upper], self.variance[upper]
        # Of the residuals of n(n − 1)/2 pairs n are determined by the others (as for whole rows). Not each by its own
        # variance: a row's sum of squares is what it is however its cells are arranged, and of pairs that were seldom
        # seen together a single one says much.
        value, dof = sum_of_squares(float(residual @ residual), variance, (n - 3) / (n - 1))
        if not needs_largest(dof):
            return DeviationPart(value, dof)
        found = largest(residual, variance, int(np.count_nonzero(variance)), self._of_pairs)
        return DeviationPart(value, dof, found.at(axis[found.member[0]] for axis in upper))

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
        rows = (*_indicators(cells), weights)
        none = np.empty((0, 0))
        values = (*_of_means(*rows, pairs=False), none, none, *_cumulants(*rows[2:]))
        sums: dict[str, Any] = dict(zip(SUMS, values, strict=True))
        return cls(**sums, rows=rows, at_once=at_once)

    def _alone(self) -> FloatArray:
        seen, _, m, k, weights = self.rows
        return np.asarray(self.spread - _ratio(_spread_of_rows(m, k, weights), m) @ seen)

    def _squared_differences(self) -> tuple[float, float]:
        """Solve for the differences by conjugate gradients: times a vector, the covariance is a sum over the rows.

        It is the Laplacian of the graph in which a row connects all variables that are seen in it, if they vary there:
        so its rank is the number of variables less that of the graph's components.
        """
        seen, _, m, k, weights = self.rows
        spread = _spread_of_rows(m, k, weights)
        shared, n = _ratio(spread, m), len(self.spread)
        scale = np.sqrt(_ratio(np.ones(n), self.spread))  # of one unit each, they converge at once

        def times(x: FloatArray) -> FloatArray:
            y = np.ravel(x) * scale
            return np.asarray(scale * (self.spread * y - (shared * (seen @ y)) @ seen))

        target = scale * self.difference
        solution, _ = cg(LinearOperator((n, n), matvec=times, dtype=np.float64), target, rtol=1e-9, maxiter=10 * n)
        rows, columns = np.nonzero(seen[spread > 0])
        links = coo_matrix((np.ones(len(rows)), (rows + n, columns)), shape=(n + len(m), n + len(m)))
        _, of_node = connected_components(links, directed=False)
        varying = of_node[:n][self.spread > 0]
        return float(target @ solution), float(len(varying) - len(np.unique(varying)))

    def _pairs(self) -> DeviationPart:
        n = len(self.difference)
        squares, first, second, n_members, ends = 0.0, 0.0, 0.0, 0, Ends()
        for start in range(0, n, self.at_once):
            block = slice(start, min(start + self.at_once, n))
            residual, variance = _of_pairs(*self.rows, block)
            no_pair = np.arange(n)[block][:, None] >= np.arange(n)[None, :]  # each pair once
            residual[no_pair], variance[no_pair] = 0.0, 0.0
            squares, first = squares + float(np.vdot(residual, residual)), first + float(variance.sum())
            second, n_members = second + float(np.vdot(variance, variance)), n_members + int(np.count_nonzero(variance))
            ends.look_at(residual, variance, start)
        value, dof = by_two_moments(squares, first, second, (n - 3) / (n - 1))
        return DeviationPart(value, dof, ends.largest(n_members, self._of_pairs) if needs_largest(dof) else None)


def _indicators(cells: NDArray[np.float32]) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
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
    """Return each variable's difference and its association with the others, with their variances.

    With `pairs` also what every two of them have in common.
    """
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
    effects = (ones - seen * _ratio(k, m)[:, None]) * (own * _ratio(k - 1, m - 2))[:, None]
    members = effects[:, block].T @ seen
    others = members.T if len(members) == seen.shape[1] else seen[:, block].T @ effects
    both = (ones[:, block] * own[:, None]).T @ ones
    residual = both - (seen[:, block] * (own * p2)[:, None]).T @ seen - members - others
    # p₂ − 2p₃ + p₄ by its factors: rows with a single one, or a single zero, contribute an exact zero.
    of_row = own * p2 * _ratio((m - k) * (m - k - 1), (m - 2) * (m - 3)) * _ratio(m - 3, m - 1)
    return residual, (seen[:, block] * of_row[:, None]).T @ seen


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
