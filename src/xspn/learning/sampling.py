"""A sample of the rows of a long table, made block by block, that depends on a seed and on the order of rows alone.

Priority sampling (Duffield, Lund and Thorup, 2007): a row of weight w has the priority w / u, where u is a number
between 0 and 1 that a hash makes of the seed and of the row's position in the table; the rows of highest priority are
drawn. Rows of equal weight are a simple random sample; rows of large weight are all in it. Samples of parts of a table
add up to that of the whole, bit for bit, however the table is cut into parts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from xspn.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from xspn.data.domain import Domain
from xspn.learning.data import MISSING, BinaryData, equal_bits, merged
from xspn.learning.source import TrainingData
from xspn.learning.table_data import TableData, equal_cells

MOST_ROWS = 50_000  # of which structure is learned; the parameters come from all
EXACT_BITS = 52  # of a sum of weights


def scrambled(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers that look random: the finalizer of SplitMix64, twice because the seeds are near each other."""
    for _ in range(2):
        numbers = numbers + np.uint64(0x9E3779B97F4A7C15)
        numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        numbers = numbers ^ (numbers >> np.uint64(31))
    return numbers


@dataclass(frozen=True, eq=False)
class Block:
    """Some consecutive rows of a table, without those that say nothing: of weight 0, or with no cell seen.

    Attributes:
        first: The position of the first row in the table, such rows not counted.
        cells: (rows, columns): bytes with 2 for what is missing where all columns are binary, else numbers with NaN.
        weights: The weight of each row.
    """

    first: int
    cells: AnyArray
    weights: FloatArray

    @classmethod
    def of(cls, first: int, cells: AnyArray, weights: FloatArray | None) -> "Block":
        """Return the rows that say something."""
        own = np.ones(len(cells)) if weights is None else weights
        keep = (own > 0) & ~missing_cells(cells).all(axis=1)
        return cls(first, cells, own) if keep.all() else cls(first, cells[keep], own[keep])

    def __len__(self) -> int:
        return len(self.cells)


def missing_cells(cells: AnyArray) -> BoolArray:
    """Mark the cells that are missing."""
    return np.asarray(cells == MISSING if cells.dtype == np.uint8 else np.isnan(cells))


@dataclass(frozen=True, eq=False)
class RowStatistics:
    """What must be known of all rows before some are drawn.

    Attributes:
        rows: Their number.
        largest: The largest weight.
        complete: Whether no cell is missing.
        seen: Which columns have a cell that is not.
    """

    rows: int
    largest: float
    complete: bool
    seen: BoolArray

    @classmethod
    def of(cls, block: Block) -> "RowStatistics":
        """Return the statistics of some rows."""
        return cls.of_cells(missing_cells(block.cells), block.weights)

    @classmethod
    def of_cells(cls, missing: BoolArray, weights: FloatArray) -> "RowStatistics":
        """Return the statistics of weighted rows, given which cells are missing; rows that say nothing do not count."""
        keep = (weights > 0) & ~missing.all(axis=1)
        missing, weights = (missing, weights) if keep.all() else (missing[keep], weights[keep])
        seen = np.asarray(~missing.all(axis=0))
        return cls(len(missing), float(weights.max(initial=0.0)), not missing.any(), seen)

    def plus(self, other: "RowStatistics") -> "RowStatistics":
        """Return the statistics of both."""
        return RowStatistics(
            self.rows + other.rows,
            max(self.largest, other.largest),
            self.complete and other.complete,
            self.seen | other.seen,
        )

    def exact(self, weights: FloatArray) -> FloatArray:
        """Round weights to multiples of a step so small that sums of them are exact, in whatever order."""
        if self.rows == 0:
            return weights
        step = 2.0 ** (np.ceil(np.log2(self.largest) + np.log2(self.rows)) - EXACT_BITS)
        return np.asarray(np.round(weights / step) * step)


@dataclass(frozen=True, eq=False)
class SampledRows:
    """Rows that were drawn, with their positions in the table."""

    index: IntArray
    cells: AnyArray
    weights: FloatArray

    def taken(self, chosen: AnyArray) -> "SampledRows":
        """Return some of them."""
        return SampledRows(self.index[chosen], self.cells[chosen], self.weights[chosen])

    def plus(self, other: "SampledRows") -> "SampledRows":
        """Return both."""
        return SampledRows(
            np.concatenate([self.index, other.index]),
            np.concatenate([self.cells, other.cells]),
            np.concatenate([self.weights, other.weights]),
        )

    def priorities(self, seed: int) -> FloatArray:
        """Return the priority of each row."""
        numbers = scrambled(self.index.astype(np.uint64) ^ scrambled(np.array([seed % (1 << 64)], dtype=np.uint64)))
        return np.asarray(self.weights * (2.0**53 / ((numbers >> np.uint64(11)).astype(np.float64) + 1.0)))


@dataclass(frozen=True)
class Draw:
    """Draws rows of a table.

    Attributes:
        seed: The seed.
        domains: The domain of each column.
        statistics: Those of the whole table.
        most: How many rows are drawn; all of them, equal ones as one of their weight, if no more are different.
    """

    seed: int
    domains: tuple[Domain, ...]
    statistics: RowStatistics
    most: int = MOST_ROWS

    def __call__(self, block: Block) -> "RowSample":
        """Return the sample of some rows."""
        weights = self.statistics.exact(block.weights)
        rows = SampledRows(block.first + np.arange(len(block)), block.cells, weights)
        if not weights.all():  # beside the largest they are nothing
            rows = rows.taken(weights > 0)
        return RowSample(self, float(weights.sum()), rows, rows, rows).cut()


@dataclass(frozen=True, eq=False)
class RowSample:
    """A sample of the rows that were seen so far.

    Attributes:
        draw: What draws it.
        total: The weight of all rows.
        drawn: Those of highest priority, one more than wanted.
        ends: A row with the least and one with the largest number of each real column: what is possible in a column
            must not depend on chance.
        different: All rows, equal ones as one; None if these are more than wanted.
    """

    draw: Draw
    total: float
    drawn: SampledRows
    ends: SampledRows
    different: SampledRows | None

    def plus(self, other: "RowSample") -> "RowSample":
        """Return the sample of both, of which the rows of this one come first."""
        different = None
        if self.different is not None and other.different is not None:
            different = self.different.plus(other.different)
        drawn, ends = self.drawn.plus(other.drawn), self.ends.plus(other.ends)
        return RowSample(self.draw, self.total + other.total, drawn, ends, different).cut()

    def cut(self) -> "RowSample":
        """Return the sample with no more rows than are needed."""
        draw, drawn, different = self.draw, self.drawn, self.different
        if len(drawn.index) > draw.most + 1:
            order = np.lexsort((drawn.index, -drawn.priorities(draw.seed)))[: draw.most + 1]
            drawn = drawn.taken(np.sort(order))
        if different is not None:
            first, weights = merged(_keys(different.cells, draw.domains), different.weights)
            whole = SampledRows(different.index[first], different.cells[first], weights)
            different = whole if len(first) <= draw.most else None
        real = [v for v, domain in enumerate(draw.domains) if not domain.is_discrete]
        ends = self.ends.taken(np.unique(_ends(self.ends.cells[:, real])))
        return replace(self, drawn=drawn, ends=ends, different=different)

    @property
    def is_whole(self) -> bool:
        """Whether it has all rows."""
        return self.different is not None

    def data(self) -> TrainingData:
        """Return the rows as the learner takes them.

        A sample counts for as many rows as it has, not for all of the table: what cannot be told from so few rows must
        not look certain.
        """
        if self.different is not None:
            return training_rows(self.different.cells, self.draw.domains, self.different.weights)
        priorities = self.drawn.priorities(self.draw.seed)
        last = int(np.lexsort((-self.drawn.index, priorities))[0])
        drawn = self.drawn.taken(np.delete(np.arange(len(priorities)), last))
        threshold = float(priorities[last])
        ends = self.ends.taken(~np.isin(self.ends.index, drawn.index))
        rows = drawn.plus(ends)
        weights = np.concatenate([np.maximum(drawn.weights, threshold), ends.weights]) / threshold
        order = np.argsort(rows.index)
        cells, weights = rows.cells[order], weights[order]
        weights = weights * (self.draw.most * (self.total / self.draw.statistics.rows) / weights.sum())
        return training_rows(cells, self.draw.domains, weights)


def training_rows(cells: AnyArray, domains: Sequence[Domain], weights: FloatArray | None = None) -> TrainingData:
    """Return rows as the learner takes them, equal ones merged: bits where cells are bytes."""
    if cells.dtype == np.uint8:
        return BinaryData.of(cells, weights)
    return TableData.of(cells, domains, weights)


def _ends(numbers: FloatArray) -> IntArray:
    """Return the first rows with the least and with the largest number of each column; none of an empty column."""
    if not numbers.size:
        return np.zeros(0, dtype=np.int64)
    seen = ~np.isnan(numbers).all(axis=0)
    own = numbers[:, seen]
    return np.concatenate([np.nanargmin(own, axis=0), np.nanargmax(own, axis=0)])


def _keys(cells: AnyArray, domains: Sequence[Domain]) -> AnyArray:
    return equal_bits(cells) if cells.dtype == np.uint8 else equal_cells(cells, domains)
