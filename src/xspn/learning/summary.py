"""All that the tests and leaves need to know of a slice of binary data: pair counts, row totals, the number of rows."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xspn._core.arrays import FloatArray, IntArray
from xspn.learning.partial_counts import likely_totals

LARGEST_COUNT_IN_FLOAT32 = 1 << 24


@dataclass(frozen=True, eq=False)
class Summary:
    """Additive summary statistics of weighted rows over n binary variables.

    Where cells are missing, each pair of variables is counted over the rows that have both.

    Attributes:
        total: N, the weight of all rows.
        pairs: G = XᵀX: how often two variables are one together; the diagonal counts single ones.
        rows: Returns the cells themselves (NaN is missing) and their weights, for the methods that need them.
        seen_pairs: How many rows have both variables; None if no cell is missing.
        ones_where_seen: How often i is one among the rows that have j; None if no cell is missing.
    """

    total: float
    pairs: FloatArray
    rows: Callable[[], tuple[NDArray[np.float32], FloatArray]] = field(repr=False)
    seen_pairs: FloatArray | None = None
    ones_where_seen: FloatArray | None = None

    @classmethod
    def of(cls, cells: NDArray[np.float32], weights: FloatArray) -> "Summary":
        """Summarise rows: one matrix product, or three if cells are missing.

        Examples:
            >>> s = Summary.of(np.array([[0, 1], [1, 1]], dtype=np.float32), np.array([3.0, 1.0]))
            >>> s.total, s.pairs.tolist(), s.totals.tolist()
            (4.0, [[1.0, 1.0], [1.0, 4.0]], [0.0, 3.0, 1.0])
        """
        total = float(weights.sum())
        # Counts are exact in float32 up to 2^24, if the weights are whole numbers to begin with.
        exact = total < LARGEST_COUNT_IN_FLOAT32 and bool((weights == np.floor(weights)).all())
        if not exact:
            weights = _in_steps(weights, total)
            total = float(weights.sum())
        kind = np.float32 if exact else np.float64
        wide: NDArray[Any] = cells.astype(kind, copy=False)
        own_weights = weights.astype(kind)[:, None]

        def product(left: NDArray[Any], right: NDArray[Any]) -> FloatArray:
            weighted = left if (weights == 1).all() else left * own_weights
            return np.asarray(weighted.T @ right, dtype=np.float64)

        missing = np.isnan(wide)
        if not missing.any():
            return cls(total, product(wide, wide), lambda: (cells, weights))
        ones, seen = np.where(missing, 0, wide), (~missing).astype(kind)
        return cls(total, product(ones, ones), lambda: (cells, weights), product(seen, seen), product(ones, seen))

    @property
    def n(self) -> int:
        """The number of variables."""
        return len(self.pairs)

    @property
    def complete(self) -> bool:
        """Whether no cell is missing."""
        return self.seen_pairs is None

    @cached_property
    def ones(self) -> FloatArray:
        """How often each variable is one."""
        return np.diag(self.pairs)

    @cached_property
    def seen(self) -> FloatArray:
        """How many rows have each variable."""
        return np.full(self.n, self.total) if self.seen_pairs is None else np.diag(self.seen_pairs)

    @cached_property
    def totals(self) -> FloatArray:
        """How many rows have k ones, for k = 0..n; the most likely numbers where cells are missing."""
        cells, weights = self.rows()
        if not self.complete:
            return likely_totals(cells, weights)
        counts = np.bincount(cells.sum(axis=1).astype(np.int64), weights=weights, minlength=self.n + 1)
        return np.asarray(counts, dtype=np.float64)

    def constant(self) -> NDArray[np.bool_]:
        """Mark the variables that have one value only."""
        return np.asarray((self.ones == 0) | (self.ones == self.seen))

    def pair_table(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return n₁₁, n₁₀, n₀₁, n₀₀ of every two variables, each over the rows that have both."""
        n11 = self.pairs
        ones = self.ones[:, None] if self.ones_where_seen is None else self.ones_where_seen
        n10 = ones - n11
        n01 = ones.T - n11
        return n11, n10, n01, (self.total if self.seen_pairs is None else self.seen_pairs) - n11 - n10 - n01

    def columns(self, block: IntArray) -> "Summary":
        """Return the summary of some of the variables."""
        cells, weights = self.rows()
        own, both = cells[:, block], np.ix_(block, block)
        seen = None if self.seen_pairs is None else self.seen_pairs[both]
        ones = None if self.ones_where_seen is None else self.ones_where_seen[both]
        return Summary(self.total, self.pairs[both], lambda: (own, weights), seen, ones)

    def as_if_complete(self) -> FloatArray:
        """Return the pair counts that N complete rows would have in expectation: frequencies of what was seen, times N.

        A pair's frequency is kept between the bounds that the two single ones leave it, so that G is consistent.
        """
        if self.seen_pairs is None:
            return self.pairs
        p = np.divide(self.ones, self.seen, out=np.full(self.n, 0.5), where=self.seen > 0)
        both = np.divide(self.pairs, self.seen_pairs, out=np.outer(p, p), where=self.seen_pairs > 0)
        both = np.clip(both, np.maximum(p[:, None] + p[None, :] - 1, 0.0), np.minimum(p[:, None], p[None, :]))
        np.fill_diagonal(both, p)
        return np.asarray(both * self.total)


def _in_steps(weights: FloatArray, total: float) -> FloatArray:
    """Round weights to multiples of 2⁻⁵² or so of their sum, so that all sums and differences of them are exact.

    Otherwise rounding would give a variable more ones than there are rows, and hide that it is constant.
    """
    step = 2.0 ** (np.ceil(np.log2(total)) - 52)
    return np.asarray(np.round(weights / step) * step)
