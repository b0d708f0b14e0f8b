"""Products of the columns' own univariate families, in matrix form: all that clusterings need of them.

Discrete columns are one-hot, real ones standardized; a missing cell is a row of zeros. ProductSums of rows are matrix
products, and so are the log-likelihoods of all rows under several products at once.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import xlogy

from xspn.core.arrays import FloatArray
from xspn.learning.table_summary import TableSummary, row_blocks
from xspn.leaves.gaussian import LOG_2PI

TINY = 1e-300
PSEUDO_COUNT = 0.1  # of a value, while EM runs
PSEUDO_ROWS = 1.0  # with the slice's variance, while EM runs


@dataclass(frozen=True, eq=False)
class ProductSums:
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

    def less(self, other: "ProductSums") -> "ProductSums":
        """Return what is left without other rows."""
        return ProductSums(
            np.maximum(self.mass - other.mass, 0.0),
            np.maximum(self.counts - other.counts, 0.0),
            np.maximum(self.seen - other.seen, 0.0),
            self.first - other.first,
            np.maximum(self.second - other.second, 0.0),
        )


@dataclass(frozen=True, eq=False)
class Matrices:
    """Some rows as matrices.

    Attributes:
        marks: 1 at the value of each discrete column: (rows, values).
        seen: 1 where a real column has a value: (rows, reals).
        values: The standardized real columns, 0 where a value is missing.
        squares: The squares of these.
    """

    marks: FloatArray
    seen: FloatArray
    values: FloatArray
    squares: FloatArray


class Encoded:
    """The rows of a slice as matrices, which are made of some rows at a time where all would take too much memory."""

    def __init__(self, summary: TableSummary) -> None:
        self.summary = summary
        sizes = np.array([summary.columns[int(i)].n_values for i in summary.discrete], dtype=np.int64)
        self.starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)[: len(sizes)]
        self.sizes = sizes
        real = summary.real
        self.blocks = row_blocks(len(summary.cells), int(sizes.sum()) + 3 * len(real))
        seen = ~summary.missing[:, real]
        values = np.where(seen, summary.cells[:, real], 0.0)
        mass = np.maximum(summary.weights @ seen.astype(np.float64), TINY)
        values -= summary.weights @ values / mass
        values[~seen] = 0.0
        floors = np.array([summary.columns[int(i)].floor for i in real])
        spread = np.maximum(np.sqrt(summary.weights @ values**2 / mass), floors)
        values /= spread
        self.values = values
        self.floor = (floors / spread) ** 2

    @cached_property
    def _at_once(self) -> Matrices:
        return self._made(self.blocks[0])

    def matrices(self, rows: slice) -> Matrices:
        """Return the matrices of some rows; those of all rows are kept if there is one block of them."""
        return self._at_once if len(self.blocks) == 1 and rows == self.blocks[0] else self._made(rows)

    def _made(self, rows: slice) -> Matrices:
        cells, missing = self.summary.cells[rows], self.summary.missing[rows]
        marks = np.zeros((len(cells), int(self.sizes.sum())))
        for start, position in zip(self.starts.tolist(), self.summary.discrete.tolist(), strict=True):
            has = np.flatnonzero(~missing[:, position])
            marks[has, start + cells[has, position].astype(np.int64)] = 1.0
        seen = (~missing[:, self.summary.real]).astype(np.float64)
        return Matrices(marks, seen, self.values[rows], self.values[rows] ** 2)

    @cached_property
    def whole(self) -> ProductSums:
        """The sums of all rows."""
        return self.sums(self.summary.weights)

    def sums(self, weights: FloatArray) -> ProductSums:
        """Return the sums for weights (rows,) or (…, rows)."""
        found: list[FloatArray] = []
        for rows in self.blocks:
            own, m = weights[..., rows], self.matrices(rows)
            parts = [own @ m.marks, own @ m.seen, own @ m.values, own @ m.squares]
            found = [one + other for one, other in zip(found, parts, strict=True)] if found else parts
        return ProductSums(np.asarray(weights.sum(axis=-1)), *found)

    @property
    def n_parameters(self) -> int:
        """The free parameters of one product."""
        return int((self.sizes - 1).sum()) + 2 * len(self.floor)

    def likelihood(self, sums: ProductSums) -> FloatArray:
        """Return the maximum log-likelihood of a product for rows with these sums: (…)."""
        found = xlogy(sums.counts, sums.counts).sum(axis=-1)
        if len(self.starts):
            totals = np.add.reduceat(sums.counts, self.starts, axis=-1)
            found = found - xlogy(totals, totals).sum(axis=-1)
        safe = np.maximum(sums.seen, TINY)
        variance = np.maximum(sums.second / safe - (sums.first / safe) ** 2, self.floor)
        return np.asarray(found - 0.5 * (sums.seen * (LOG_2PI + 1 + np.log(variance))).sum(axis=-1))

    def log_densities(self, sums: ProductSums) -> FloatArray:
        """Return the log-density of each row under the (smoothed) product that each set of sums gives: (rows, sets)."""
        found = np.zeros((len(self.summary.cells), len(sums.mass)))
        if len(self.starts):
            totals = np.add.reduceat(sums.counts, self.starts, axis=-1)
            smoothed = np.repeat(totals + self.sizes * PSEUDO_COUNT, self.sizes, axis=-1)
            of_values = (np.log(sums.counts + PSEUDO_COUNT) - np.log(smoothed)).T
            for rows in self.blocks:
                found[rows] += self.matrices(rows).marks @ of_values
        if len(self.floor):
            safe = np.maximum(sums.seen, TINY)
            mean = sums.first / safe
            scatter = np.maximum(sums.second - sums.seen * mean**2, 0.0)
            variance = np.maximum((scatter + PSEUDO_ROWS) / (sums.seen + PSEUDO_ROWS), self.floor)
            constant = -0.5 * (LOG_2PI + np.log(variance) + mean**2 / variance)
            for rows in self.blocks:
                m = self.matrices(rows)
                found[rows] += m.seen @ constant.T + m.values @ (mean / variance).T - m.squares @ (0.5 / variance).T
        return found

    def gain(self, responsibilities: FloatArray) -> float:
        """Return the gain in penalized log-likelihood of two clusters over one, for responsibilities of the second."""
        weights = self.summary.weights
        second = self.sums(weights * responsibilities)
        first = self.whole.less(second)
        masses = np.array([float(first.mass), float(second.mass)])
        split = float(self.likelihood(first) + self.likelihood(second)) + float(
            xlogy(masses, masses / masses.sum()).sum()
        )
        penalty = 0.5 * (self.n_parameters + 1) * float(np.log(max(masses.sum(), 1.0)))
        return split - float(self.likelihood(self.whole)) - penalty
