"""What is known of a slice with columns of any types: its rows, and the table of every two columns."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from xspn.core.arrays import BoolArray, FloatArray, IntArray
from xspn.data.domain import Domain
from xspn.learning.likeness import ENOUGH_ROWS, alike

if TYPE_CHECKING:
    from xspn.learning.blocks.table_products import BlockProduct

ROWS_PER_CELL = 5.0  # expected in each cell of a table of two binned columns
MOST_BINS = 6
FEWEST_IN_BIN = 5.0  # rows; rarer categories are counted as one
NUMBERS_AT_ONCE = 1 << 24  # what may be made of some rows at a time; tables of which no more is made are done in one go


def row_blocks(n_rows: int, numbers_per_row: int) -> list[slice]:
    """Cut rows into blocks whose intermediate arrays fit in memory; one block if there are few rows.

    Examples:
        >>> row_blocks(10, 1 << 22)
        [slice(0, 4, None), slice(4, 8, None), slice(8, 10, None)]
    """
    step = max(NUMBERS_AT_ONCE // max(numbers_per_row, 1), 1)
    return [slice(start, min(start + step, n_rows)) for start in range(0, max(n_rows, 1), step)]


@dataclass(frozen=True)
class Column:
    """What holds of a column wherever it is looked at.

    Attributes:
        domain: Its values.
        spread: The deviation of a real column in the whole table.
        floor: The smallest deviation that a leaf may give it.
        group: Columns of one group have one distribution in the whole table (see `likeness`).
        atoms: The values of a real column that many rows share, each with the width of the interval that it stands for.
        scale: Columns of the same number are on one scale; others share no block.
    """

    domain: Domain
    spread: float = 1.0
    floor: float = 1.0
    group: int = 0
    atoms: tuple[tuple[float, float], ...] = ()
    scale: int = 0

    @property
    def is_real(self) -> bool:
        """Whether the values are numbers rather than codes."""
        return self.domain.cardinality is None

    @property
    def n_values(self) -> int:
        """The number of values of a discrete column."""
        return self.domain.cardinality or 0


class TableSummary:
    """Weighted rows over columns of any types; what is derived from them is computed when it is first asked for.

    Attributes:
        cells: (rows, n), NaN where a value is missing.
        weights: (rows,).
        columns: What is known of each column.
        n: The number of variables.
        total: The weight of all rows.
    """

    def __init__(self, cells: FloatArray, weights: FloatArray, columns: tuple[Column, ...]) -> None:
        self.cells, self.weights, self.columns = cells, weights, columns
        self.n = cells.shape[1]
        self.total = float(weights.sum())

    def rows(self) -> tuple[FloatArray, FloatArray]:
        """Return the cells (NaN is missing) and the weights of rows, as of bits."""
        return self.cells, self.weights

    def part(self, block: IntArray) -> "TableSummary":
        """Return the summary of some of the columns."""
        return TableSummary(self.cells[:, block], self.weights, tuple(self.columns[int(i)] for i in block))

    def with_rows(self, cells: FloatArray, weights: FloatArray) -> "TableSummary":
        """Return these rows, then some more."""
        return TableSummary(np.concatenate([self.cells, cells]), np.concatenate([self.weights, weights]), self.columns)

    def cluster(self, rows: BoolArray, weights: FloatArray) -> "TableSummary":
        """Return some of the rows, with weights of their own."""
        return TableSummary(self.cells[rows], weights[rows], self.columns)

    @cached_property
    def missing(self) -> BoolArray:
        """Which cells have no value."""
        return np.asarray(np.isnan(self.cells))

    def atom_weights(self, position: int) -> FloatArray:
        """Return the weight of the rows that have each atom of a column."""
        values = [value for value, _ in self.columns[position].atoms]
        return np.array([self.weights[self.cells[:, position] == value].sum() for value in values])

    def without_atoms(self) -> "TableSummary":
        """Return the rows with atoms taken for missing cells."""
        if not any(column.atoms for column in self.columns):
            return self
        cells = self.cells.copy()
        for position, column in enumerate(self.columns):
            cells[np.isin(cells[:, position], [value for value, _ in column.atoms]), position] = np.nan
        return TableSummary(cells, self.weights, self.columns)

    @cached_property
    def complete(self) -> bool:
        """Whether no cell is missing."""
        return not self.missing.any()

    @cached_property
    def real(self) -> IntArray:
        """The positions of the real columns."""
        return np.flatnonzero([column.is_real for column in self.columns])

    @cached_property
    def discrete(self) -> IntArray:
        """The positions of the other columns."""
        return np.flatnonzero([not column.is_real for column in self.columns])

    @property
    def one_distribution(self) -> bool:
        """Whether all columns have the same values, and rows show them to be distributed alike."""
        return len({column.domain for column in self.columns}) == 1 and bool(self.alike.all())

    @cached_property
    def alike(self) -> BoolArray:
        """Which columns may share a block: of one group in the whole table, or of any if rows are many: (n, n)."""
        domains = [column.domain for column in self.columns]
        groups = np.array([column.group for column in self.columns])
        if self.total >= ENOUGH_ROWS:
            return alike(self.cells, self.weights, domains)
        return alike(self.cells, self.weights, domains, groups[:, None] == groups[None, :], slack=1.0)

    @cached_property
    def exchangeable_blocks(self) -> "BlockProduct":
        """The columns in exchangeable blocks of best evidence; no cell may be missing."""
        from xspn.learning.blocks.table_contexts import one_context  # takes numba along

        return one_context(self)

    @property
    def gain_of_blocks(self) -> float:
        """How much more evidence these blocks have than columns that stand alone, in nats."""
        from xspn.learning.blocks.table_contexts import evidence_alone

        return self.exchangeable_blocks.evidence - evidence_alone(self)

    @cached_property
    def seen(self) -> FloatArray:
        """The weight of the rows that have each column."""
        return np.asarray(self.weights @ ~self.missing)

    def constant(self) -> BoolArray:
        """Mark the columns that have one value only, or none."""
        low, high = (find.reduce(self.cells, axis=0, initial=np.nan) for find in (np.fmin, np.fmax))  # past NaN
        return np.asarray(~(low < high))

    def value_weights(self, position: int) -> FloatArray:
        """Return the weight of each value of a discrete column."""
        own = ~self.missing[:, position]
        codes = self.cells[own, position].astype(np.int64)
        counts = np.bincount(codes, weights=self.weights[own], minlength=self.columns[position].n_values)
        return np.asarray(counts, dtype=np.float64)

    @cached_property
    def binned(self) -> "BinnedPairs":
        """The table of every two columns, long scales cut into bins of ranks."""
        return BinnedPairs(self)


class BinnedPairs:
    """How often every two (binned) values of every two columns come together, each over the rows that have both.

    Attributes:
        starts: Where the bins of each column begin.
        counts: (bins, bins), the bins of all columns one after the other.
    """

    def __init__(self, summary: TableSummary) -> None:
        bins = [
            rank_bins(summary.cells[:, i], summary.weights, summary.columns[i].domain, summary.total).astype(np.int32)
            for i in range(summary.n)
        ]
        sizes = np.array([int(own.max(initial=0)) + 1 for own in bins])
        self.starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        self.counts: FloatArray = np.zeros((int(sizes.sum()), int(sizes.sum())))
        for block in row_blocks(len(summary.cells), len(self.counts)):
            weights = summary.weights[block]
            marks = np.zeros((len(weights), len(self.counts)))
            for start, of_column in zip(self.starts, bins, strict=True):
                has = np.flatnonzero(of_column[block] >= 0)
                marks[has, start + of_column[block][has]] = 1.0
            self.counts += (marks * weights[:, None]).T @ marks

    def within(self, table: FloatArray) -> FloatArray:
        """Sum a table over the bins of each column, along both axes."""
        return np.asarray(np.add.reduceat(np.add.reduceat(table, self.starts, axis=0), self.starts, axis=1))

    @cached_property
    def margins(self) -> FloatArray:
        """How often each bin comes in the rows that have column j: (bins, n)."""
        return np.asarray(np.add.reduceat(self.counts, self.starts, axis=1))

    def over_own_bins(self, table: FloatArray) -> FloatArray:
        """Sum a table (bins, n) over the bins of each column: (n, n)."""
        return np.asarray(np.add.reduceat(table, self.starts, axis=0))


def rank_bins(values: FloatArray, weights: FloatArray, domain: Domain, total: float) -> IntArray:
    """Return the bin of each value, 0, 1, …; −1 where it is missing.

    What is independent stays so under any binning of each column on its own, so a test on bins holds its level whatever
    the distributions are, without assuming normality, and it sees dependence of any shape that is coarse enough (a rank
    correlation would see monotone dependence only). Ties stay together: equal values are never told apart.

    Names with few rows are counted together. Numbers, and scales of more steps than bins, are cut where equal parts of
    the rows end.

    Examples:
        >>> rank_bins(np.array([5.0, 1, 2, 9, np.nan]), np.ones(5), Domain.real(), 20.0).tolist()
        [1, 0, 0, 1, -1]
        >>> rank_bins(np.repeat([0.0, 1, 2, 3], [10, 1, 9, 2]), np.ones(22), Domain(4), 22.0)[[0, 10, 11, 20]].tolist()
        [0, 1, 2, 1]
    """
    most = int(np.clip(np.sqrt(total / ROWS_PER_CELL), 2, MOST_BINS))
    seen = ~np.isnan(values)
    bins = np.full(len(values), -1, dtype=np.int64)
    if not seen.any():
        return bins
    if domain.cardinality is None or (domain.ordered and domain.cardinality > most):
        bins[seen] = _cut_by_rank(values[seen], weights[seen], most)
    else:
        bins[seen] = _common_values(values[seen].astype(np.int64), weights[seen])
    return bins


def _cut_by_rank(values: FloatArray, weights: FloatArray, most: int) -> IntArray:
    """Give each distinct value the bin that the middle of its ranks falls into; empty bins are skipped."""
    distinct, which = np.unique(values, return_inverse=True)
    mass = np.bincount(which, weights=weights)
    middle = (np.cumsum(mass) - mass / 2) / mass.sum()
    bins = np.minimum((middle * most).astype(np.int64), most - 1)
    if len(distinct) > 1 and bins[0] == bins[-1]:  # nearly all rows have one value: it against the others
        bins = (np.arange(len(distinct)) != int(np.argmax(mass))).astype(np.int64)
    return np.unique(bins, return_inverse=True)[1].reshape(-1)[which.reshape(-1)]


def _common_values(codes: IntArray, weights: FloatArray) -> IntArray:
    """Number the values that occur; all that are rare share a number."""
    mass = np.bincount(codes, weights=weights)
    occurring = np.flatnonzero(mass > 0)
    rare = occurring[mass[occurring] < FEWEST_IN_BIN]
    common = occurring[mass[occurring] >= FEWEST_IN_BIN]
    if len(occurring) - len(rare) < 2 and len(rare) <= 1:
        rare, common = rare[:0], occurring
    number = np.zeros(len(mass), dtype=np.int64)
    first_of_rare = int(rare[0]) if len(rare) else -1
    kept = np.sort(np.append(common, first_of_rare)) if len(rare) else common
    number[kept] = np.arange(len(kept))
    if len(rare):
        number[rare] = number[first_of_rare]
    return number[codes]
