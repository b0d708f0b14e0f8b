"""All that the tests and leaves need to know of a slice of binary data: pair counts, row totals, the number of rows."""

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xspn.core.arrays import FloatArray, IntArray
from xspn.core.errors import ParameterError
from xspn.core.exact import in_steps
from xspn.learning.partial_rows import MomentsOfManyVariables, PartialMoments, likely_totals

if TYPE_CHECKING:
    from xspn.learning.blocks.contexts import Context

LARGEST_COUNT_IN_FLOAT32 = 1 << 24
WIDEST_AT_ONCE = 2048  # variables; tables of all pairs of more are made and used some rows at a time
ROWS_AT_ONCE = 1 << 17  # that products of all rows are added up from
ALL = slice(None)
Places = slice | IntArray


class KnownBlocks(NamedTuple):
    """Exchangeable blocks of best evidence, found above.

    Attributes:
        label: The block of each variable, numbered from 0.
        settled: Whether they were found in these very rows. Those of a context were found while rows still moved from
            one to another, and are where to go on from.
    """

    label: IntArray
    settled: bool


class BinarySummary:
    """Additive summary statistics of weighted rows over n binary variables, each computed when it is first asked for.

    Where cells are missing, each pair of variables is counted over the rows that have both.

    Attributes:
        n: The number of variables.
        total: N, the weight of all rows.
    """

    def __init__(
        self, cells: NDArray[np.float32], weights: FloatArray, known_blocks: KnownBlocks | None = None
    ) -> None:
        self._known_blocks = known_blocks
        self.n = cells.shape[1]
        self.total = float(weights.sum())
        # Counts are exact in float32 up to 2^24, if the weights are whole numbers to begin with.
        exact = self.total < LARGEST_COUNT_IN_FLOAT32 and bool((weights == np.floor(weights)).all())
        if not exact:
            # Else rounding would give a variable more ones than there are rows, and hide that it is constant.
            weights = in_steps(weights, self.total)
            self.total = float(weights.sum())
        self._kind = np.float32 if exact else np.float64
        self._cells, self._weights = cells, weights

    @classmethod
    def of(
        cls, cells: NDArray[np.float32], weights: FloatArray, known_blocks: KnownBlocks | None = None
    ) -> "BinarySummary":
        """Summarize rows, whose exchangeable blocks may be known; NaN is missing.

        Examples:
            >>> s = BinarySummary.of(np.array([[0, 1], [1, 1]], dtype=np.float32), np.array([3.0, 1.0]))
            >>> s.total, s.pairs.tolist(), s.totals.tolist()
            (4.0, [[1.0, 1.0], [1.0, 4.0]], [0.0, 3.0, 1.0])
        """
        return cls(cells, weights, known_blocks)

    def rows(self) -> tuple[NDArray[np.float32], FloatArray]:
        """Return the cells themselves (NaN is missing) and their weights, for the methods that need them."""
        return self._cells, self._weights

    def complete_rows(self) -> tuple[NDArray[np.uint8], FloatArray]:
        """Return the cells as bytes and their weights, for the methods that need every cell."""
        if not self.complete:
            raise ParameterError("blocks and contexts of best evidence are for tables without missing cells")
        return self._cells.astype(np.uint8), self._weights

    @cached_property
    def _missing(self) -> NDArray[np.bool_]:
        return np.asarray(np.isnan(self._cells))

    @cached_property
    def complete(self) -> bool:
        """Whether no cell is missing."""
        return not self._missing.any()

    @cached_property
    def _bits(self) -> NDArray[Any]:
        """1 where a variable is one."""
        return self._cells if self.complete else np.where(self._missing, np.float32(0), self._cells)

    @cached_property
    def _marks(self) -> NDArray[Any]:
        """1 where a variable is seen."""
        return (~self._missing).astype(np.float32)

    def _product(self, left: NDArray[Any], right: NDArray[Any]) -> FloatArray:
        """Return leftᵀ W right, added up over some rows at a time, which alone are copied."""
        found = np.zeros((left.shape[1], right.shape[1]))
        weighted = not (self._weights == 1).all()
        for start in range(0, len(left), ROWS_AT_ONCE):
            some = slice(start, start + ROWS_AT_ONCE)
            own: NDArray[Any] = left[some].astype(self._kind, copy=False)
            others = right[some].astype(self._kind, copy=False)
            heavy = own * self._weights[some, None].astype(self._kind) if weighted else own
            # Some kernels of linear algebra compute with what lies beside a small matrix in memory, and set the flag of
            # an invalid operation for it; what they return is right, and all numbers here are finite.
            with np.errstate(invalid="ignore"):
                found += heavy.T @ others
        return found

    @cached_property
    def exchangeable_blocks(self) -> "Context":
        """The variables in exchangeable blocks of best evidence; no cell may be missing."""
        from xspn.learning.blocks.contexts import one_context  # takes numba along

        return one_context(*self.complete_rows(), self._known_blocks)

    @property
    def gain_of_blocks(self) -> float:
        """How much more evidence these blocks have than variables that stand alone, in nats."""
        from xspn.learning.blocks.contexts import evidence_alone

        return self.exchangeable_blocks.evidence - evidence_alone(*self.complete_rows())

    @property
    def wide(self) -> bool:
        """Whether there are so many variables that no table of all pairs is to be made."""
        return bool(self.n > WIDEST_AT_ONCE)

    @property
    def rows_at_once(self) -> int:
        """How many rows of a table of all pairs may be in memory at a time."""
        return int(max(WIDEST_AT_ONCE**2 // self.n, 1) if self.wide else self.n)

    def blocks(self) -> Iterator[slice]:
        """Yield rows of the tables of pairs, as many as may be in memory at a time: all of them if they are few."""
        for start in range(0, self.n, self.rows_at_once):
            yield slice(start, min(start + self.rows_at_once, self.n))

    @cached_property
    def pairs(self) -> FloatArray:
        """G = XᵀX: how often two variables are one together; the diagonal counts single ones."""
        return self._product(self._bits, self._bits)

    def pairs_of(self, rows: Places, columns: Places = ALL) -> FloatArray:
        """Return some rows and columns of G."""
        if self.wide:
            return self._product(self._bits[:, rows], self._bits[:, columns])
        return self.pairs[rows][:, columns]

    @cached_property
    def ones_beside(self) -> FloatArray:
        """The ones of all rows in which a variable is one, its own included: the sums of the rows of G."""
        if self.wide:
            in_row = self._weights * self._bits.sum(axis=1, dtype=np.float64)
            return np.asarray(in_row @ self._bits, dtype=np.float64)
        return np.asarray(self.pairs.sum(axis=1))

    @cached_property
    def seen_pairs(self) -> FloatArray | float:
        """How many rows have both variables: (n, n), or N if no cell is missing."""
        return self.total if self.complete else self._product(self._marks, self._marks)

    @cached_property
    def ones_where_seen(self) -> FloatArray:
        """How often i is one among the rows that have j: (n, n), or (n, 1) if no cell is missing."""
        return self.ones[:, None] if self.complete else self._product(self._bits, self._marks)

    @cached_property
    def ones(self) -> FloatArray:
        """How often each variable is one."""
        return self._product(self._bits, np.ones((len(self._bits), 1), np.float32))[:, 0]

    @cached_property
    def seen(self) -> FloatArray:
        """How many rows have each variable."""
        if self.complete:
            return np.full(self.n, self.total)
        return self._product(self._marks, np.ones((len(self._marks), 1), np.float32))[:, 0]

    @cached_property
    def totals(self) -> FloatArray:
        """How many rows have k ones, for k = 0..n; the most likely numbers where cells are missing."""
        cells, weights = self.rows()
        if not self.complete:
            return likely_totals(cells, weights)
        counts = np.bincount(cells.sum(axis=1).astype(np.int64), weights=weights, minlength=self.n + 1)
        return np.asarray(counts, dtype=np.float64)

    @cached_property
    def assignments(self) -> FloatArray:
        """How many rows there are of each of the 2ⁿ assignments, the first variable being the lowest bit."""
        cells, weights = self.rows()
        codes = (cells.astype(np.int64) * (1 << np.arange(self.n))).sum(axis=1)
        return np.asarray(np.bincount(codes, weights=weights, minlength=1 << self.n), dtype=np.float64)

    @cached_property
    def partial_moments(self) -> PartialMoments:
        """What the test of exchangeability needs of rows with missing cells."""
        if self.wide:
            return MomentsOfManyVariables.of_rows(*self.rows(), self.rows_at_once)
        return PartialMoments.of(*self.rows())

    def constant(self) -> NDArray[np.bool_]:
        """Mark the variables that have one value only."""
        return np.asarray((self.ones == 0) | (self.ones == self.seen))

    def where_seen(
        self, rows: Places = ALL, columns: Places = ALL
    ) -> tuple[FloatArray, FloatArray, FloatArray | float]:
        """Return how often i is one where j is seen, how often j is one where i is, and how often both are seen.

        The variables i are some rows of the tables of pairs, the variables j some columns.
        """
        if self.complete:
            return self.ones[rows][:, None], self.ones[columns][None, :], self.total
        if self.wide:
            seen, others = self._marks[:, rows], self._marks[:, columns]
            of_rows, of_columns = (
                self._product(self._bits[:, rows], others),
                self._product(seen, self._bits[:, columns]),
            )
            return of_rows, of_columns, self._product(seen, others)
        table = self.ones_where_seen
        return table[rows][:, columns], table.T[rows][:, columns], np.asarray(self.seen_pairs)[rows][:, columns]

    def pair_table(
        self, rows: Places = ALL, columns: Places = ALL
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return n₁₁, n₁₀, n₀₁, n₀₀ of every two variables, or of some, each over the rows that have both."""
        n11 = self.pairs_of(rows, columns)
        ones, others, seen = self.where_seen(rows, columns)
        n10 = ones - n11
        n01 = others - n11
        return n11, n10, n01, seen - n11 - n10 - n01

    def part(self, block: IntArray) -> "BinarySummary":
        """Return the summary of some of the variables."""
        return BinarySummary(self._cells[:, block], self._weights)

    def with_rows(self, cells: NDArray[np.float32], weights: FloatArray) -> "BinarySummary":
        """Return the summary of these rows and some more."""
        return BinarySummary(np.concatenate([self._cells, cells]), np.concatenate([self._weights, weights]))

    @cached_property
    def means(self) -> FloatArray:
        """How often each variable is one among the rows that have it; a half where none has."""
        return np.asarray(np.divide(self.ones, self.seen, out=np.full(self.n, 0.5), where=self.seen > 0))

    def as_if_complete(self, rows: slice = ALL) -> FloatArray:
        """Return the pair counts that N complete rows would have in expectation: frequencies of what was seen, times N.

        A pair's frequency is kept between the bounds that the two single ones leave it, so that G is consistent.
        """
        if self.complete:
            return self.pairs_of(rows)
        p, own = self.means, self.means[rows]
        seen = np.asarray(self.where_seen(rows)[2])
        both = np.divide(self.pairs_of(rows), seen, out=np.outer(own, p), where=seen > 0)
        both = np.clip(both, np.maximum(own[:, None] + p[None, :] - 1, 0.0), np.minimum(own[:, None], p[None, :]))
        both[np.arange(len(own)), np.arange(self.n)[rows]] = own
        return np.asarray(both * self.total)

    def covariance_times(self, direction: FloatArray) -> FloatArray:
        """Return the covariance matrix times a vector, without making the matrix; missing cells count as the mean."""
        p: NDArray[Any] = self.means.astype(self._kind)
        along: NDArray[Any] = direction.astype(self._kind)
        of_rows = self._bits @ along - (p @ along if self.complete else self._marks @ (p * along))
        of_rows = of_rows * (self._weights / self.total).astype(self._kind)
        seen = of_rows.sum() if self.complete else of_rows @ self._marks
        return np.asarray(of_rows @ self._bits - p * seen, dtype=np.float64)
