"""Rows as a hidden tree sees them: how many ones each block of variables has."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.core.logspace import log_binomials
from xspn.learning.mevm.evidence import Partition
from xspn.learning.partial_counts import chances_given_total, seen_and_ones


def every_variable_alone(n: int) -> Partition:
    """Return blocks of one variable each."""
    return tuple(np.array([v]) for v in range(n))


@dataclass(frozen=True, eq=False)
class CountedRows:
    """Rows that are summed up by what was seen of each block: so many cells, so many ones among them.

    Attributes:
        weights: The weight of each row.
        keys: For each block, the different pairs (cells seen, ones among them): (pairs, 2).
        which: Which pair of each block each row has: (rows, blocks).
        chances: For each block, P(k ones among m seen | t of all are one): (pairs, t = 0..n).
        log_arrangements: Of each row, how many arrangements share the probability of its pairs: log Π C(m, k).
    """

    weights: FloatArray
    keys: tuple[IntArray, ...]
    which: NDArray[np.int32]
    chances: tuple[FloatArray, ...]
    log_arrangements: FloatArray

    @classmethod
    def of(cls, rows: AnyArray, weights: FloatArray, blocks: Partition) -> "CountedRows":
        """Count the ones of each block; NaN is missing.

        Examples:
            >>> blocks = (np.array([0, 1]), np.array([2]))
            >>> rows = CountedRows.of(np.array([[1, 0, 1], [1, np.nan, 0]]), np.ones(2), blocks)
            >>> [pairs.tolist() for pairs in rows.keys]
            [[[1, 1], [2, 1]], [[1, 0], [1, 1]]]
        """
        keys, chances = [], []
        which = np.empty((len(rows), len(blocks)), dtype=np.int32)
        log_arrangements = np.zeros(len(rows))
        for b, block in enumerate(blocks):
            pairs, which[:, b] = seen_and_ones(np.asarray(rows[:, block], dtype=np.float32))
            keys.append(pairs)
            chances.append(chances_given_total(pairs, len(block)))
            log_arrangements += np.array([log_binomials(m)[k] for m, k in pairs.tolist()])[which[:, b]]
        return cls(weights, tuple(keys), which, tuple(chances), log_arrangements)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of variables of each block."""
        return tuple(chances.shape[1] - 1 for chances in self.chances)

    @property
    def categories(self) -> tuple[IntArray, ...]:
        """For each block, the full count that each of its pairs is nearest to; −1 where nothing was seen."""
        found = []
        for pairs, n in zip(self.keys, self.sizes, strict=True):
            seen = np.maximum(pairs[:, 0], 1)
            found.append(np.where(pairs[:, 0] > 0, np.rint(n * pairs[:, 1] / seen), -1).astype(np.int64))
        return tuple(found)

    def in_even_pieces(self) -> "CountedRows":
        """Return the same rows, those that weigh more than the average cut into pieces that do not.

        A batch of rows speaks for all of them. If a row of much weight were in one batch, the others would deny it.
        """
        pieces = np.ceil(self.weights / self.weights.mean()).astype(np.int64)
        return replace(
            self,
            weights=np.repeat(self.weights / pieces, pieces),
            which=np.repeat(self.which, pieces, axis=0),
            log_arrangements=np.repeat(self.log_arrangements, pieces),
        )

    def features(self) -> FloatArray:
        """Return the share of ones in each block, times the root of its size; the mean where nothing was seen.

        A block of many variables tells rows apart more reliably than one of few.
        """
        columns = []
        for pairs, which, n in zip(self.keys, self.which.T, self.sizes, strict=True):
            share = np.divide(pairs[:, 1], pairs[:, 0], out=np.full(len(pairs), np.nan), where=pairs[:, 0] > 0)[which]
            seen = ~np.isnan(share)
            mean = np.average(share[seen], weights=self.weights[seen]) if seen.any() else 0.0
            columns.append(np.where(seen, share, mean) * np.sqrt(n))
        return np.stack(columns, axis=1)
