"""All that the tests and leaves need to know of a slice of binary data: pair counts, row totals, the number of rows."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xspn._core.arrays import FloatArray, IntArray
from xspn.learning.partial_counts import likely_totals
from xspn.learning.partial_moments import PartialMoments

LARGEST_COUNT_IN_FLOAT32 = 1 << 24


class Summary:
    """Additive summary statistics of weighted rows over n binary variables, each computed when it is first asked for.

    Where cells are missing, each pair of variables is counted over the rows that have both.

    Attributes:
        n: The number of variables.
        total: N, the weight of all rows.
    """

    def __init__(self, cells: NDArray[np.float32], weights: FloatArray) -> None:
        self.n = cells.shape[1]
        self.total = float(weights.sum())
        # Counts are exact in float32 up to 2^24, if the weights are whole numbers to begin with.
        exact = self.total < LARGEST_COUNT_IN_FLOAT32 and bool((weights == np.floor(weights)).all())
        if not exact:
            weights = _in_steps(weights, self.total)
            self.total = float(weights.sum())
        self._kind = np.float32 if exact else np.float64
        self._cells, self._weights = cells, weights

    @classmethod
    def of(cls, cells: NDArray[np.float32], weights: FloatArray) -> "Summary":
        """Summarise rows; NaN is missing.

        Examples:
            >>> s = Summary.of(np.array([[0, 1], [1, 1]], dtype=np.float32), np.array([3.0, 1.0]))
            >>> s.total, s.pairs.tolist(), s.totals.tolist()
            (4.0, [[1.0, 1.0], [1.0, 4.0]], [0.0, 3.0, 1.0])
        """
        return cls(cells, weights)

    def rows(self) -> tuple[NDArray[np.float32], FloatArray]:
        """Return the cells themselves (NaN is missing) and their weights, for the methods that need them."""
        return self._cells, self._weights

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
        bits = self._cells if self.complete else np.where(self._missing, np.float32(0), self._cells)
        return bits.astype(self._kind, copy=False)

    @cached_property
    def _marks(self) -> NDArray[Any]:
        """1 where a variable is seen."""
        return (~self._missing).astype(self._kind)

    def _product(self, left: NDArray[Any], right: NDArray[Any]) -> FloatArray:
        """Return leftᵀ W right."""
        weighted = left if (self._weights == 1).all() else left * self._weights.astype(self._kind)[:, None]
        return np.asarray(weighted.T @ right, dtype=np.float64)

    @cached_property
    def pairs(self) -> FloatArray:
        """G = XᵀX: how often two variables are one together; the diagonal counts single ones."""
        return self._product(self._bits, self._bits)

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
        return np.asarray(self._weights.astype(self._kind) @ self._bits, dtype=np.float64)

    @cached_property
    def seen(self) -> FloatArray:
        """How many rows have each variable."""
        if self.complete:
            return np.full(self.n, self.total)
        return np.asarray(self._weights.astype(self._kind) @ self._marks, dtype=np.float64)

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
        return PartialMoments.of(*self.rows())

    def constant(self) -> NDArray[np.bool_]:
        """Mark the variables that have one value only."""
        return np.asarray((self.ones == 0) | (self.ones == self.seen))

    def pair_table(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return n₁₁, n₁₀, n₀₁, n₀₀ of every two variables, each over the rows that have both."""
        n11 = self.pairs
        n10 = self.ones_where_seen - n11
        n01 = self.ones_where_seen.T - n11
        return n11, n10, n01, self.seen_pairs - n11 - n10 - n01

    def columns(self, block: IntArray) -> "Summary":
        """Return the summary of some of the variables."""
        return Summary(self._cells[:, block], self._weights)

    def as_if_complete(self) -> FloatArray:
        """Return the pair counts that N complete rows would have in expectation: frequencies of what was seen, times N.

        A pair's frequency is kept between the bounds that the two single ones leave it, so that G is consistent.
        """
        if self.complete:
            return self.pairs
        p = np.divide(self.ones, self.seen, out=np.full(self.n, 0.5), where=self.seen > 0)
        rows = np.asarray(self.seen_pairs)
        both = np.divide(self.pairs, rows, out=np.outer(p, p), where=rows > 0)
        both = np.clip(both, np.maximum(p[:, None] + p[None, :] - 1, 0.0), np.minimum(p[:, None], p[None, :]))
        np.fill_diagonal(both, p)
        return np.asarray(both * self.total)


def _in_steps(weights: FloatArray, total: float) -> FloatArray:
    """Round weights to multiples of 2⁻⁵² or so of their sum, so that all sums and differences of them are exact.

    Otherwise rounding would give a variable more ones than there are rows, and hide that it is constant.
    """
    step = 2.0 ** (np.ceil(np.log2(total)) - 52)
    return np.asarray(np.round(weights / step) * step)
