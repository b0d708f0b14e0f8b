"""Training data with columns of any types."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from xspn.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from xspn.core.errors import DataError
from xspn.data.domain import Domain
from xspn.learning.data import merged
from xspn.learning.likeness import groups_of_columns

LEAST_SPREAD = 1e-3  # of a leaf's deviation, relative to that of the column
MISSING = 255  # the byte of a cell without a value, where rows are compared
# Of numbers in steps of 1, no normal leaf is narrower: a value that all rows have has probability 1, density 1.
VARIANCE_OF_ROUNDING = 1 / (2 * np.pi)


@dataclass(frozen=True, eq=False)
class TableData:
    """Rows of codes (discrete columns) and numbers (real ones), NaN where a value is missing, each with a weight.

    Attributes:
        cells: (rows, variables).
        domains: One for each variable.
        weights: How often each row counts.
        spreads: The deviation of each real column in the whole table (1 where it has none, and for discrete columns).
        floors: The smallest deviation that a leaf may give to each real column: that of a rounding error if the numbers
            come in steps, and never less than a thousandth of the column's own.
        groups: The group of each column: columns of one group have one distribution in the whole table.
        atoms: The values that many rows share, of each column: (value, width of the interval that it stands for).
        scales: Columns of the same number are on one scale.
    """

    cells: FloatArray
    domains: tuple[Domain, ...]
    weights: FloatArray
    spreads: FloatArray
    floors: FloatArray
    groups: IntArray
    atoms: tuple[tuple[tuple[float, float], ...], ...] = ()
    scales: tuple[int, ...] = ()

    @classmethod
    def of(
        cls,
        cells: FloatArray,
        domains: Sequence[Domain],
        weights: FloatArray | None = None,
        merge_equal_rows: bool = True,
    ) -> "TableData":
        """Return the data, equal rows merged into one with the sum of their weights.

        Rows of weight 0, and rows of which nothing was seen, say nothing and are dropped.

        Examples:
            >>> data = TableData.of(np.array([[0, 1.5], [2, np.nan], [np.nan, np.nan]]), [Domain(3), Domain.real()])
            >>> data.shape
            (2, 2)
        """
        own = np.ones(len(cells)) if weights is None else np.asarray(weights, dtype=np.float64)
        _check(cells, domains)
        keep = (own > 0) & ~_all_missing(cells)
        if not keep.all():
            cells, own = cells[keep], own[keep]
        kept = np.ascontiguousarray(cells, dtype=np.float64)
        if merge_equal_rows:
            # Equal rows are one, so that a weight of two is the same as a row twice, to the last bit.
            first, own = merged(equal_cells(kept, domains), own)
            kept = kept if len(first) == len(kept) else kept[first]
        spreads, floors = np.ones(len(domains)), np.ones(len(domains))
        for column, domain in enumerate(domains):
            if not domain.is_discrete:
                spreads[column], floors[column] = _scale(kept[:, column], own)
        groups = groups_of_columns(kept, own, domains)
        return cls(kept, tuple(domains), own, spreads, floors, groups, ((),) * len(domains), (0,) * len(domains))

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and variables."""
        return self.cells.shape[0], self.cells.shape[1]

    @cached_property
    def binary(self) -> IntArray:
        """The columns with two values."""
        return np.array([v for v, domain in enumerate(self.domains) if domain.cardinality == 2], dtype=np.int64)

    def rows(self) -> AnyArray:
        """Return the rows as inference takes them."""
        return self.cells

    @cached_property
    def complete(self) -> bool:
        """Whether no cell is missing."""
        return not np.isnan(self.cells).any()

    @property
    def discrete(self) -> bool:
        """Whether no column is real."""
        return all(domain.cardinality is not None for domain in self.domains)

    def with_rows(self, rows: AnyArray, weights: FloatArray) -> "TableData":
        """Return other rows of the same variables, whose scales stay as they are."""
        return replace(self, cells=rows, weights=weights)

    def with_weights(self, weights: FloatArray) -> "TableData":
        """Return the same rows with other weights; those of weight 0 are dropped."""
        keep = weights > 0
        return replace(self, cells=self.cells[keep], weights=weights[keep])

    def repeated(self) -> "TableData":
        """Return rows as often as their weights say."""
        cells = np.repeat(self.cells, self.weights.astype(np.int64), axis=0)
        return replace(self, cells=cells, weights=np.ones(len(cells)))


def _all_missing(cells: FloatArray) -> BoolArray:
    """Mark the rows of which nothing was seen."""
    missing = np.isnan(cells[:, 0])
    for column in range(1, cells.shape[1]):
        if not missing.any():
            break
        missing &= np.isnan(cells[:, column])
    return np.asarray(missing)


def equal_cells(cells: FloatArray, domains: Sequence[Domain]) -> AnyArray:
    """Return a key for each row, equal just when the rows are: a byte for each code, eight for each number."""
    is_short = [domain.cardinality is not None and domain.cardinality <= MISSING for domain in domains]
    ends = np.cumsum([1 if short else 8 for short in is_short])
    keys = np.zeros((len(cells), int(ends[-1])), dtype=np.uint8)
    for column, (short, end) in enumerate(zip(is_short, ends.tolist(), strict=True)):
        values = cells[:, column]
        if short:
            keys[:, end - 1] = np.where(np.isnan(values), MISSING, values)
        else:  # no cell is infinite; adding 0 makes a positive zero of a negative one
            numbers = np.where(np.isnan(values), np.inf, values + 0.0)
            keys[:, end - 8 : end] = numbers.view(np.uint8).reshape(-1, 8)
    return keys.view(np.dtype((np.void, keys.shape[1]))).ravel()


def _check(cells: FloatArray, domains: Sequence[Domain]) -> None:
    if cells.ndim != 2 or cells.shape[1] != len(domains):
        raise DataError(f"X: expected a table with {len(domains)} columns, found shape {cells.shape}")
    for column, domain in enumerate(domains):
        bad = domain.outside(cells[:, column])
        if bad.any():
            row = int(np.argmax(bad))
            raise DataError(
                f"X: expected {domain.describe()}, found {cells[row, column]:g} at row {row}, column {column}"
            )


def _scale(values: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Return the deviation of a real column, and the smallest one that a leaf may have."""
    seen = ~np.isnan(values)
    values, weights = values[seen], weights[seen]
    if not len(values) or values.min() == values.max():
        return 1.0, 1.0
    mean = float(np.average(values, weights=weights))
    spread = float(np.sqrt(np.average((values - mean) ** 2, weights=weights)))
    step = float(np.diff(np.unique(values)).min())
    return spread, max(step * VARIANCE_OF_ROUNDING**0.5, LEAST_SPREAD * spread)
