"""All that the tests and leaves need to know of a slice of binary data: pair counts, row totals, the number of rows."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xspn._core.arrays import FloatArray

LARGEST_COUNT_IN_FLOAT32 = 1 << 24


@dataclass(frozen=True, eq=False)
class Summary:
    """Additive summary statistics of weighted rows over n binary variables.

    Attributes:
        total: N, the weight of all rows.
        pairs: G = XᵀX: how often two variables are one together; the diagonal counts single ones.
        totals: How many rows have k ones, for k = 0..n.
        rows: Returns the cells themselves and their weights, for the few methods that need them.
    """

    total: float
    pairs: FloatArray
    totals: FloatArray
    rows: Callable[[], tuple[NDArray[np.float32], FloatArray]] = field(repr=False)

    @classmethod
    def of(cls, cells: NDArray[np.float32], weights: FloatArray) -> "Summary":
        """Summarise rows: one matrix product.

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
        weighted: NDArray[Any] = wide if (weights == 1).all() else wide * weights.astype(kind)[:, None]
        pairs = np.asarray(weighted.T @ wide, dtype=np.float64)
        row_totals = cells.sum(axis=1).astype(np.int64)
        totals = np.bincount(row_totals, weights=weights, minlength=cells.shape[1] + 1)
        return cls(total, pairs, np.asarray(totals, dtype=np.float64), lambda: (cells, weights))

    @property
    def n(self) -> int:
        """The number of variables."""
        return len(self.pairs)

    @cached_property
    def ones(self) -> FloatArray:
        """How often each variable is one."""
        return np.diag(self.pairs)

    def constant(self) -> NDArray[np.bool_]:
        """Mark the variables that have one value only."""
        return np.asarray((self.ones == 0) | (self.ones == self.total))

    def pair_table(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return n₁₁, n₁₀, n₀₁, n₀₀ of every two variables."""
        ones = self.ones
        n11 = self.pairs
        n10 = ones[:, None] - n11
        n01 = ones[None, :] - n11
        return n11, n10, n01, self.total - n11 - n10 - n01


def _in_steps(weights: FloatArray, total: float) -> FloatArray:
    """Round weights to multiples of 2⁻⁵² or so of their sum, so that all sums and differences of them are exact.

    Otherwise rounding would give a variable more ones than there are rows, and hide that it is constant.
    """
    step = 2.0 ** (np.ceil(np.log2(total)) - 52)
    return np.asarray(np.round(weights / step) * step)
