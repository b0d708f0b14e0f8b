"""Products of the columns' own univariate families, in matrix form: all that clusterings need of them.

Discrete columns are one-hot, real ones standardised; a missing cell is a row of zeros. Sums of rows are matrix
products, and so are the log-likelihoods of all rows under several products at once.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import xlogy

from xspn._core.arrays import FloatArray
from xspn.learning.tables.summary import TableSummary
from xspn.leaves.gaussian import LOG_2PI

TINY = 1e-300
PSEUDO_COUNT = 0.1  # of a value, while EM runs
PSEUDO_ROWS = 1.0  # with the slice's variance, while EM runs


@dataclass(frozen=True, eq=False)
class Sums:
    """Weighted sums of rows, for one or several sets of weights.

    Attributes:
        mass: The weight of all rows: (…).
        counts: The weight of each value of each discrete column: (…, values).
        seen: The weight of the rows that have each real column: (…, reals).
        first: The sum of each real column: (…, reals).
        second: The sum of its squares: (…, reals).
    """

    mass: FloatArray
    counts: FloatArray
    seen: FloatArray
    first: FloatArray
    second: FloatArray

    def less(self, other: "Sums") -> "Sums":
        """Return what is left without other rows."""
        return Sums(
            np.maximum(self.mass - other.mass, 0.0),
            np.maximum(self.counts - other.counts, 0.0),
            np.maximum(self.seen - other.seen, 0.0),
            self.first - other.first,
            np.maximum(self.second - other.second, 0.0),
        )


class Encoded:
    """The rows of a slice as matrices."""

    def __init__(self, summary: TableSummary) -> None:
        self.summary = summary
        sizes = np.array([summary.columns[int(i)].n_values for i in summary.discrete], dtype=np.int64)
        self.starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)[: len(sizes)]
        self.sizes = sizes
        rows = len(summary.cells)
        self.marks = np.zeros((rows, int(sizes.sum())))
        for start, position in zip(self.starts.tolist(), summary.discrete.tolist(), strict=True):
            has = np.flatnonzero(~summary.missing[:, position])
            self.marks[has, start + summary.cells[has, position].astype(np.int64)] = 1.0
        real = summary.real
        self.seen = (~summary.missing[:, real]).astype(np.float64)
        values = np.where(self.seen > 0, summary.cells[:, real], 0.0)
        mass = np.maximum(summary.weights @ self.seen, TINY)
        center = summary.weights @ values / mass
        values = np.where(self.seen > 0, values - center, 0.0)
        floors = np.array([summary.columns[int(i)].floor for i in real])
        spread = np.maximum(np.sqrt(summary.weights @ values**2 / mass), floors)
        self.values = values / spread
        self.floor = (floors / spread) ** 2

    @cached_property
    def squares(self) -> FloatArray:
        """The squares of the real columns."""
        return np.asarray(self.values**2)

    @cached_property
    def whole(self) -> Sums:
        """The sums of all rows."""
        return self.sums(self.summary.weights)

    def sums(self, weights: FloatArray) -> Sums:
        """Return the sums for weights (rows,) or (…, rows)."""
        return Sums(
            np.asarray(weights.sum(axis=-1)),
            weights @ self.marks,
            weights @ self.seen,
            weights @ self.values,
            weights @ self.squares,
        )

    @property
    def n_parameters(self) -> int:
        """The free parameters of one product."""
        return int((self.sizes - 1).sum()) + 2 * len(self.floor)

    def likelihood(self, sums: Sums) -> FloatArray:
        """Return the maximum log-likelihood of a product for rows with these sums: (…)."""
        found = xlogy(sums.counts, sums.counts).sum(axis=-1)
        if len(self.starts):
            totals = np.add.reduceat(sums.counts, self.starts, axis=-1)
            found = found - xlogy(totals, totals).sum(axis=-1)
        safe = np.maximum(sums.seen, TINY)
        variance = np.maximum(sums.second / safe - (sums.first / safe) ** 2, self.floor)
        return np.asarray(found - 0.5 * (sums.seen * (LOG_2PI + 1 + np.log(variance))).sum(axis=-1))

    def log_densities(self, sums: Sums) -> FloatArray:
        """Return the log-density of each row under the (smoothed) product that each set of sums gives: (rows, sets)."""
        found = np.zeros((len(self.marks), len(sums.mass)))
        if len(self.starts):
            totals = np.add.reduceat(sums.counts, self.starts, axis=-1)
            smoothed = np.repeat(totals + self.sizes * PSEUDO_COUNT, self.sizes, axis=-1)
            found += self.marks @ (np.log(sums.counts + PSEUDO_COUNT) - np.log(smoothed)).T
        if len(self.floor):
            safe = np.maximum(sums.seen, TINY)
            mean = sums.first / safe
            scatter = np.maximum(sums.second - sums.seen * mean**2, 0.0)
            variance = np.maximum((scatter + PSEUDO_ROWS) / (sums.seen + PSEUDO_ROWS), self.floor)
            constant = -0.5 * (LOG_2PI + np.log(variance) + mean**2 / variance)
            found += self.seen @ constant.T + self.values @ (mean / variance).T - self.squares @ (0.5 / variance).T
        return found

    def gain(self, shares: FloatArray) -> float:
        """Return the gain in penalised log-likelihood of two clusters over one, for shares in the second."""
        weights = self.summary.weights
        second = self.sums(weights * shares)
        first = self.whole.less(second)
        masses = np.array([float(first.mass), float(second.mass)])
        split = float(self.likelihood(first) + self.likelihood(second)) + float(
            xlogy(masses, masses / masses.sum()).sum()
        )
        penalty = 0.5 * (self.n_parameters + 1) * float(np.log(max(masses.sum(), 1.0)))
        return split - float(self.likelihood(self.whole)) - penalty
