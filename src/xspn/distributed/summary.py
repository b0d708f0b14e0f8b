"""Sums over the rows of a slice: all that tests and leaves need, and additive, so that partitions can be summed up.

Weights are whole multiples of one small unit (see `TableStatistics.weight_unit`), so every sum is exact and does not
depend on its order. The summary of an out-of-core slice has exact sums, and a sample of the rows.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xspn.core.arrays import FloatArray, IntArray
from xspn.learning.exchangeability.full import LARGEST_N
from xspn.learning.partial_rows import PartialMoments, likely_totals_of_keys
from xspn.learning.summary import BinarySummary


@dataclass(frozen=True, eq=False)
class Partial:
    """What is needed on top where cells are missing.

    Attributes:
        seen_pairs: How many rows have both variables: (n, n).
        ones_where_seen: How often i is one among the rows that have j: (n, n).
        keys: How many rows have m cells, k of them ones: (n + 1, n + 1).
        moments: The moments of the global test.
    """

    seen_pairs: FloatArray
    ones_where_seen: FloatArray
    keys: FloatArray
    moments: PartialMoments

    def __add__(self, other: "Partial") -> "Partial":
        return Partial(
            self.seen_pairs + other.seen_pairs,
            self.ones_where_seen + other.ones_where_seen,
            self.keys + other.keys,
            self.moments + other.moments,
        )


@dataclass(frozen=True, eq=False)
class Aggregate:
    """Sums over weighted rows of n bits.

    Attributes:
        rows: The number of rows.
        total: Their weight.
        pairs: How often two variables are one together: (n, n).
        totals: How many complete rows have k ones, for k = 0..n.
        assignments: How many rows there are of each of the 2ⁿ assignments; None where nobody asks.
        partial: More, if the table has missing cells anywhere.
    """

    rows: int
    total: float
    pairs: FloatArray
    totals: FloatArray
    assignments: FloatArray | None
    partial: Partial | None

    @classmethod
    def of(
        cls, cells: NDArray[np.float32], weights: FloatArray, complete: bool, count_assignments: bool = False
    ) -> "Aggregate":
        """Sum over rows; NaN is missing. `complete` says that no row anywhere in the table lacks a cell."""
        n = cells.shape[1]
        # Sums of ones are exact in single precision up to 2²⁴ rows, and a block has fewer.
        once = bool((weights == 1).all())
        kind: Any = np.float32 if once else np.float64
        missing = None if complete else np.isnan(cells)
        ones: NDArray[Any] = (cells if missing is None else np.where(missing, np.float32(0), cells)).astype(
            kind, copy=False
        )
        weighted = ones if once else ones * weights[:, None]
        pairs = np.asarray(weighted.T @ ones, dtype=np.float64)
        k = ones.sum(axis=1).astype(np.int64)
        assignments = None
        if count_assignments and n <= LARGEST_N:
            codes = ones.astype(np.int64) @ (1 << np.arange(n))
            assignments = np.bincount(codes, weights=weights, minlength=1 << n).astype(np.float64)
        if missing is None:
            totals = np.bincount(k, weights=weights, minlength=n + 1).astype(np.float64)
            return cls(len(cells), float(weights.sum()), pairs, totals, assignments, None)
        marks: NDArray[Any] = (~missing).astype(kind)
        m = marks.sum(axis=1).astype(np.int64)
        keys = np.bincount(m * (n + 1) + k, weights=weights, minlength=(n + 1) ** 2).astype(np.float64)
        keys = keys.reshape(n + 1, n + 1)
        seen_pairs = np.asarray((marks if once else marks * weights[:, None]).T @ marks, dtype=np.float64)
        ones_where_seen = np.asarray(weighted.T @ marks, dtype=np.float64)
        partial = Partial(seen_pairs, ones_where_seen, keys, PartialMoments.of(cells, weights))
        return cls(len(cells), float(weights.sum()), pairs, keys[n], assignments, partial)

    def __add__(self, other: "Aggregate") -> "Aggregate":
        counted = self.assignments is not None and other.assignments is not None
        both_partial = self.partial is not None and other.partial is not None
        return Aggregate(
            self.rows + other.rows,
            self.total + other.total,
            self.pairs + other.pairs,
            self.totals + other.totals,
            self.assignments + other.assignments if counted else None,  # type: ignore[operator]
            self.partial + other.partial if both_partial else None,  # type: ignore[operator]
        )

    @property
    def n(self) -> int:
        """The number of variables."""
        return len(self.pairs)

    @property
    def complete(self) -> bool:
        """Whether no cell of these rows is missing."""
        return self.partial is None or bool((self.partial.seen_pairs == self.total).all())

    def without_unseen(self, seen: IntArray) -> "Aggregate | None":
        """Return the sums over these variables if nothing was seen of the others; None if they are needed."""
        if self.partial is None or len(seen) == self.n:
            return self if len(seen) == self.n and (seen == np.arange(self.n)).all() else None
        others = np.delete(np.arange(self.n), seen)
        if self.partial.seen_pairs[others, others].any():
            return None
        size, both = len(seen) + 1, np.ix_(seen, seen)
        keys = self.partial.keys[:size, :size]
        partial = Partial(
            self.partial.seen_pairs[both],
            self.partial.ones_where_seen[both],
            keys,
            self.partial.moments.without_unseen(seen),
        )
        return Aggregate(self.rows, self.total, self.pairs[both], keys[size - 1], None, partial)


class RemoteSummary(BinarySummary):
    """What `BinarySummary` promises, from sums over out-of-core rows. `rows()` is a sample that stands for all rows.

    Args:
        aggregate: The sums.
        cells: The sample; NaN is missing.
        weights: Its weights, in any unit: they are scaled to the weight of all rows.
    """

    def __init__(self, aggregate: Aggregate, cells: NDArray[np.float32], weights: FloatArray) -> None:
        self.n, self.total = aggregate.n, aggregate.total
        self.aggregate = aggregate
        mass = float(weights.sum())
        self._cells = cells
        self._weights = weights if mass in (0.0, self.total) else weights * (self.total / mass)

    @property
    def wide(self) -> bool:
        """Return False: the tables of pairs are here, and the rows are not."""
        return False

    @cached_property
    def complete(self) -> bool:
        """Whether no cell of any row is missing."""
        return self.aggregate.complete

    @cached_property
    def pairs(self) -> FloatArray:
        """How often two variables are one together."""
        return self.aggregate.pairs

    @cached_property
    def seen_pairs(self) -> FloatArray | float:
        """How many rows have both variables: (n, n), or N if no cell is missing."""
        partial = self.aggregate.partial
        return self.total if partial is None or self.complete else partial.seen_pairs

    @cached_property
    def ones_where_seen(self) -> FloatArray:
        """How often i is one among the rows that have j: (n, n), or (n, 1) if no cell is missing."""
        partial = self.aggregate.partial
        return self.ones[:, None] if partial is None or self.complete else partial.ones_where_seen

    @cached_property
    def ones(self) -> FloatArray:
        """How often each variable is one."""
        return np.diag(self.aggregate.pairs).copy()

    @cached_property
    def seen(self) -> FloatArray:
        """How many rows have each variable."""
        partial = self.aggregate.partial
        return np.full(self.n, self.total) if partial is None else np.diag(partial.seen_pairs).copy()

    @cached_property
    def totals(self) -> FloatArray:
        """How many rows have k ones, for k = 0..n; the most likely numbers where cells are missing."""
        if self.complete:
            return self.aggregate.totals
        return likely_totals_of_keys(*self.keys(), self.n)

    @cached_property
    def assignments(self) -> FloatArray:
        """How many rows there are of each assignment."""
        if self.aggregate.assignments is None:
            raise ValueError("the assignments of these rows were not counted")
        return self.aggregate.assignments

    @cached_property
    def partial_moments(self) -> PartialMoments:
        """What the test of exchangeability needs of rows with missing cells."""
        if self.aggregate.partial is None:
            raise ValueError("the rows have no missing cells")
        return self.aggregate.partial.moments

    def keys(self) -> tuple[IntArray, FloatArray]:
        """Return the pairs (cells seen, ones among them) that rows have, and how many rows have each."""
        if self.aggregate.partial is None:
            raise ValueError("the rows have no missing cells")
        keys = np.argwhere(self.aggregate.partial.keys > 0)
        return keys, self.aggregate.partial.keys[keys[:, 0], keys[:, 1]]

    def part(self, block: IntArray) -> BinarySummary:
        """Return the summary of some of the variables.

        It is exact where the others were never seen; otherwise it is that of the sample, because the number of ones
        among some variables cannot be told from the number among all.
        """
        exact = self.aggregate.without_unseen(block)
        if exact is not None:
            return RemoteSummary(exact, self._cells[:, block], self._weights)
        return BinarySummary(self._cells[:, block], self._weights)

    def with_rows(self, cells: NDArray[np.float32], weights: FloatArray) -> "RemoteSummary":
        """Return the summary with some more rows, which are at hand."""
        added = Aggregate.of(cells, weights, complete=self.aggregate.partial is None)
        return RemoteSummary(
            self.aggregate + added,
            np.concatenate([self._cells, cells]),
            np.concatenate([self._weights, weights]),
        )
