"""The sum of integer codes: a coarser statistic for ordered values (scores, ratings, counts)."""

from typing import Any

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.core.logspace import log_sum_counts
from xspn.core.random import Rng
from xspn.statistics.base import Statistic, checked_cardinality, checked_size, register


@register
class Total(Statistic):
    """The sum of the codes 0..k−1; |T| = n(k − 1) + 1. For binary variables it is the count.

    Examples:
        >>> Total(3).of(np.array([[2, 1, 0], [2, 2, 2]])).tolist()
        [3, 6]
    """

    name = "total"

    def __init__(self, cardinality: int = 2) -> None:
        self.cardinality = checked_cardinality(cardinality)

    def size(self, n: int) -> int:
        """Return n(k − 1) + 1."""
        return checked_size(n * (self.cardinality - 1) + 1, f"totals of {n} variables", "use fewer values")

    def values(self, n: int) -> IntArray:
        """Return 0..n(k − 1)."""
        return np.arange(self.size(n))

    def of(self, x: AnyArray) -> IntArray:
        """Return the sum of each row."""
        return np.asarray(x.sum(axis=1), dtype=np.int64)

    def log_class_size(self, n: int) -> FloatArray:
        """Return the logarithm of the number of ways to reach each sum."""
        return log_sum_counts(n, self.cardinality)

    def key(self, evidence: FloatArray) -> IntArray:
        """Return (observed cells, their sum)."""
        observed = (~np.isnan(evidence)).sum(axis=1)
        return np.column_stack([observed, np.nansum(evidence, axis=1)]).astype(np.int64)

    def completions_of_key(self, n: int, key: IntArray) -> FloatArray:
        """Return the logarithm of the number of ways in which the missing cells make up the rest."""
        observed, total = int(key[0]), int(key[1])
        row = np.full(self.size(n), -np.inf)
        ways = log_sum_counts(n - observed, self.cardinality)
        row[total : total + len(ways)] = ways
        return row

    def construct(self, evidence: FloatArray, t: IntArray, rng: Rng | None = None) -> FloatArray:
        """Fill the missing cells of each row one after the other.

        A value is drawn in proportion to the ways in which the cells after it can make up the rest, which makes the
        whole row uniform; without `rng` the smallest value that leaves a way is taken.
        """
        filled = evidence.copy()
        rest = np.asarray(t - np.nansum(evidence, axis=1), dtype=np.int64)
        left = np.isnan(evidence).sum(axis=1)
        draws = rng.random(evidence.shape) if rng is not None else np.zeros(evidence.shape)
        for column in range(evidence.shape[1]):
            rows = np.flatnonzero(np.isnan(evidence[:, column]))
            left[rows] -= 1
            for cells in np.unique(left[rows]):
                group = rows[left[rows] == cells]
                value = self._next_value(int(cells), rest[group], draws[group, column])
                filled[group, column] = value
                rest[group] -= value
        return filled

    def _next_value(self, cells: int, rest: IntArray, draw: FloatArray) -> IntArray:
        """Choose a value for one cell so that `cells` more can make up the rest."""
        ways = log_sum_counts(cells, self.cardinality)
        after = rest[:, None] - np.arange(self.cardinality)
        logs = np.where((after >= 0) & (after < len(ways)), ways[np.clip(after, 0, len(ways) - 1)], -np.inf)
        chances = np.exp(logs - logs.max(axis=1, keepdims=True))
        cumulative = np.cumsum(chances, axis=1)
        # The smallest value whose cumulative chance exceeds the draw: never one of chance 0, even for a draw of 0.
        return np.asarray((cumulative <= (draw * cumulative[:, -1])[:, None]).sum(axis=1), dtype=np.int64)

    def restrict(self, positions: IntArray) -> Statistic:
        """Return the same statistic: it adds whatever there is."""
        return self

    def ones(self, n: int) -> IntArray:
        """Return t itself, which for binary variables is the count."""
        return np.arange(n + 1)

    def to_params(self) -> dict[str, Any]:
        """Return the cardinality."""
        return {"cardinality": self.cardinality}

    @classmethod
    def example(cls, rng: np.random.Generator) -> tuple[Statistic, int]:
        """Return the total of one to four variables with two or three values."""
        return cls(int(rng.integers(2, 4))), int(rng.integers(1, 5))
