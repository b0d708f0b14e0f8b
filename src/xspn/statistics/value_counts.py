"""How often each category occurs: full exchangeability of categorical variables."""

from functools import lru_cache
from math import comb
from typing import Any

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.core.logspace import log_factorials
from xspn.core.random import Rng
from xspn.statistics.base import Statistic, checked_cardinality, checked_size, ranks_of_missing, register

MOST_REPLACEMENTS = 1 << 18  # entries of a table


@lru_cache(maxsize=256)
def compositions(n: int, k: int) -> IntArray:
    """Return all ways to write n as k ordered counts, one per row, in lexicographic order."""
    table = np.array([[n]]) if k == 1 else np.concatenate([_starting_with(first, n, k) for first in range(n + 1)])
    table.flags.writeable = False  # it is shared by all who ask
    return table


def _starting_with(first: int, n: int, k: int) -> IntArray:
    rest = compositions(n - first, k - 1)
    return np.column_stack([np.full(len(rest), first), rest])


@lru_cache(maxsize=64)
def _replacements(n: int, k: int) -> IntArray:
    counts, steps = compositions(n, k), np.eye(k, dtype=np.int64)
    changed = counts[:, None, None, :] - steps[None, :, None, :] + steps[None, None, :, :]
    table = np.where(counts[:, :, None] > 0, _rank(changed.reshape(-1, k)).reshape(len(counts), k, k), -1)
    table.flags.writeable = False  # it is shared by all who ask
    return table


def _rank(counts: IntArray) -> IntArray:
    """Count the vectors that come before in lexicographic order: those smaller at the first place where they differ."""
    k = counts.shape[1]
    left = counts.sum(axis=1)
    rank = np.zeros(len(counts), dtype=np.int64)
    for place in range(k - 1):
        rest = k - 1 - place  # parts after this one; vectors of r in `rest` parts: C(r + rest − 1, rest − 1)
        here = counts[:, place]
        # Σ_{c < here} C(left − c + rest − 1, rest − 1) = C(left + rest, rest) − C(left − here + rest, rest)
        rank += _choose(left + rest, rest) - _choose(left - here + rest, rest)
        left = left - here
    return rank


@register
class ValueCounts(Statistic):
    """The vector of how often each of k values occurs; |T| = C(n + k − 1, k − 1).

    Examples:
        >>> T = ValueCounts(3)
        >>> T.values(2).tolist()
        [[0, 0, 2], [0, 1, 1], [0, 2, 0], [1, 0, 1], [1, 1, 0], [2, 0, 0]]
        >>> T.of(np.array([[2, 0]])).tolist()
        [3]
    """

    name = "value_counts"

    def __init__(self, cardinality: int = 2) -> None:
        self.cardinality = checked_cardinality(cardinality)

    def size(self, n: int) -> int:
        """Return the number of count vectors."""
        free = self.cardinality - 1
        size = comb(n + free, free) if min(n, free) <= 64 else 1 << 64  # at least: the number may have a million digits
        return checked_size(size, f"value counts of {n} variables with {self.cardinality} values", "use Total")

    def values(self, n: int) -> IntArray:
        """Return the count vectors, one per row."""
        self.size(n)
        return compositions(n, self.cardinality)

    def _counts(self, x: AnyArray) -> IntArray:
        return np.stack([(x == v).sum(axis=1) for v in range(self.cardinality)], axis=1).astype(np.int64)

    def of(self, x: AnyArray) -> IntArray:
        """Return the place of each row's counts in the lexicographic order."""
        return _rank(self._counts(x))

    def replacements(self, n: int) -> IntArray | None:
        """Return the class after one value more and another fewer."""
        return _replacements(n, self.cardinality) if self.size(n) * self.cardinality**2 <= MOST_REPLACEMENTS else None

    def log_class_size(self, n: int) -> FloatArray:
        """Return the logarithm of the multinomial coefficient."""
        logs = log_factorials(n)
        return np.asarray(logs[n] - logs[self.values(n)].sum(axis=1), dtype=np.float64)

    def key(self, evidence: FloatArray) -> IntArray:
        """Return the counts of the observed values."""
        return self._counts(evidence)

    def completions_of_key(self, n: int, key: IntArray) -> FloatArray:
        """Return log of the multinomial coefficient of what is left to be placed."""
        left = self.values(n) - key
        possible = (left >= 0).all(axis=1)
        logs = log_factorials(n)
        sizes = logs[n - int(key.sum())] - logs[np.maximum(left, 0)].sum(axis=1)
        return np.where(possible, np.asarray(sizes, dtype=np.float64), -np.inf)

    def construct(self, evidence: FloatArray, t: IntArray, rng: Rng | None = None) -> FloatArray:
        """Deal the values that are still needed out to the missing cells."""
        needed = self.values(evidence.shape[1])[t] - self._counts(evidence)
        ends = np.cumsum(needed, axis=1)  # (rows, k): the cell of rank r gets the value whose range holds r
        ranks = ranks_of_missing(evidence, rng)
        fill = (ranks[:, :, None] >= ends[:, None, :]).sum(axis=2)
        return np.where(np.isnan(evidence), fill.astype(np.float64), evidence)

    def restrict(self, positions: IntArray) -> Statistic:
        """Return the same statistic: it counts whatever there is."""
        return self

    def ones(self, n: int) -> IntArray:
        """Return the count of the value 1."""
        return self.values(n)[:, 1]

    def to_params(self) -> dict[str, Any]:
        """Return the cardinality."""
        return {"cardinality": self.cardinality}

    @classmethod
    def example(cls, rng: np.random.Generator) -> tuple[Statistic, int]:
        """Return the value counts of one to four variables with two or three values."""
        return cls(int(rng.integers(2, 4))), int(rng.integers(1, 5))


def _choose(n: IntArray, k: int) -> IntArray:
    """Return C(n, k) for a small k: products of k consecutive integers, divided as they grow."""
    result = np.ones_like(n)
    for j in range(1, k + 1):
        result = result * (n - k + j) // j
    return result
