"""Rows with missing cells under mixtures of normals: log-densities and expected moments, missing cells summed out.

What is done for each row is in `leaves/partial_normals.py`; the rest is products of matrices for all rows at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from xspn.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from xspn.learning.table_data import TableData
from xspn.leaves.gaussian import LOG_2PI
from xspn.leaves.partial_normals import add_left_over, fill_means, missing_places, precision_of

CELLS_AT_ONCE = 1 << 22  # of all rows under all components
NEGLIGIBLE = 1e-8  # responsibility of a row that tells a component nothing


@dataclass(frozen=True, eq=False)
class Mixture:
    """A mixture of products of a normal distribution and of independent discrete columns.

    Attributes:
        weights: The weight of each component: (components,).
        means: (components, reals).
        covariances: (components, reals, reals).
        tables: Of each discrete column the probability of each value: (components, values).
    """

    weights: FloatArray
    means: FloatArray
    covariances: FloatArray
    tables: tuple[FloatArray, ...]


@dataclass(frozen=True, eq=False)
class Sums:
    """Expected sums over rows, for each component.

    Attributes:
        mass: The weight of the rows: (components,).
        first: The sums of the reals: (components, reals).
        second: The sums of their products, what is missing spread as it is given the row: (components, reals, reals).
        counts: Of each discrete column the weight of each value: (components, values).
        log_likelihood: That of the rows.
    """

    mass: FloatArray
    first: FloatArray
    second: FloatArray
    counts: tuple[FloatArray, ...]
    log_likelihood: float


class PartialRows:
    """Weighted rows of real and discrete columns, NaN where a cell is missing; reals in units of their deviations."""

    def __init__(self, cells: FloatArray, weights: FloatArray, real: IntArray, discrete: IntArray, sizes: IntArray):
        self.weights, self.sizes = weights, sizes
        self.missing: BoolArray = np.isnan(cells[:, real])
        self.values = np.where(self.missing, 0.0, cells[:, real])
        self.codes = np.nan_to_num(cells[:, discrete], nan=-1.0).astype(np.int64)

    @classmethod
    def of(cls, data: TableData, real: IntArray, centers: FloatArray, units: FloatArray) -> "PartialRows":
        """Return the rows of a table, some real columns centered and in given units, beside all discrete ones."""
        cells = data.cells.copy()
        cells[:, real] = (cells[:, real] - centers) / units
        discrete = np.array([v for v, domain in enumerate(data.domains) if domain.is_discrete], dtype=np.int64)
        sizes = np.array([data.domains[v].cardinality or 0 for v in discrete.tolist()], dtype=np.int64)
        return cls(cells, data.weights, real, discrete, sizes)

    def some(self, keep: AnyArray) -> "PartialRows":
        """Return some of the rows."""
        part = object.__new__(PartialRows)
        part.sizes, part.weights, part.missing = self.sizes, self.weights[keep], self.missing[keep]
        part.values, part.codes = self.values[keep], self.codes[keep]
        return part

    def without_categories(self) -> "PartialRows":
        """Return the rows with all discrete cells missing."""
        part = self.some(np.arange(len(self)))
        part.codes = np.full_like(self.codes, -1)
        return part

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(self.weights.sum())

    def marks(self, column: int) -> FloatArray:
        """Return 1 at the value of each row in a discrete column; a missing value has no mark: (rows, values)."""
        codes = self.codes[:, column]
        return np.asarray((codes[:, None] == np.arange(self.sizes[column])).astype(np.float64))

    def log_likelihood(self, mixture: Mixture) -> FloatArray:
        """Return the log-density of what is observed of each row."""
        found = np.empty(len(self))
        for part, rows in self._parts(len(mixture.weights)):
            logs, _ = part._joint(mixture, _precisions(mixture))
            found[rows] = _log_sums(logs)
        return found

    def sums(self, mixture: Mixture) -> Sums:
        """Return the expected sums of all rows: an expectation step."""
        k, n = mixture.means.shape
        first, second, mass, total = np.zeros((k, n)), np.zeros((k, n, n)), np.zeros(k), 0.0
        counts = tuple(np.zeros_like(table) for table in mixture.tables)
        precisions = _precisions(mixture)
        for part, _ in self._parts(k):
            logs, filled = part._joint(mixture, precisions)
            sums = _log_sums(logs)
            own = np.exp(logs - sums[:, None]) * part.weights[:, None]
            total += float(part.weights @ sums)
            mass += own.sum(axis=0)
            for column, table in enumerate(counts):
                table += own.T @ part.marks(column)
            starts, places = missing_places(part.missing)
            for c, (precision, _) in enumerate(precisions):
                values, weight = mixture.means[c] + filled[c], own[:, c]
                first[c] += weight @ values
                second[c] += (values * weight[:, None]).T @ values
                add_left_over(weight, starts, places, precision, second[c], NEGLIGIBLE)
        return Sums(mass, first, second, counts, total)

    def filled(self, mixture: Mixture) -> FloatArray:
        """Return the reals with missing cells at their means given the row, under a mixture of one component."""
        found = np.empty(self.values.shape)
        for part, rows in self._parts(1):
            found[rows] = mixture.means[0] + part._joint(mixture, _precisions(mixture))[1][0]
        return found

    def _parts(self, k: int) -> "Iterator[tuple[PartialRows, AnyArray]]":
        """Yield the rows in parts that fit into memory under so many components, and where they are."""
        size = max(1, CELLS_AT_ONCE // max(1, k * self.values.shape[1]))
        for start in range(0, len(self), size):
            rows = np.arange(start, min(start + size, len(self)))
            yield self if size >= len(self) else self.some(rows), rows

    def _joint(self, mixture: Mixture, precisions: list[tuple[FloatArray, float]]) -> tuple[FloatArray, FloatArray]:
        """Return log P(row, component), and how far each row, completed, is from each mean: (components, rows, n)."""
        n = mixture.means.shape[1]
        starts, places = missing_places(self.missing)
        logs = np.tile(np.log(mixture.weights), (len(self), 1))
        away = np.where(self.missing, 0.0, self.values - mixture.means[:, None, :])
        seen = n - np.diff(starts)
        for c, (precision, log_determinant) in enumerate(precisions):
            pull = away[c] @ precision
            quadratic, of_missing = np.einsum("ij,ij->i", pull, away[c]), np.zeros(len(self))
            fill_means(starts, places, precision, pull, away[c], quadratic, of_missing)
            logs[:, c] -= 0.5 * (seen * LOG_2PI + log_determinant + of_missing + quadratic)
        for column, table in enumerate(mixture.tables):
            logs += self.marks(column) @ np.log(table).T
        return logs, away


def _log_sums(logs: FloatArray) -> FloatArray:
    top = logs.max(axis=1)
    return np.asarray(top + np.log(np.exp(logs - top[:, None]).sum(axis=1)))


def _precisions(mixture: Mixture) -> list[tuple[FloatArray, float]]:
    """Return the precision matrix of each component, and the log-determinant of its covariance."""
    return [precision_of(covariance) for covariance in mixture.covariances]
