"""The tree of an HCLT: counts of ones in each block of variables, and the edges of largest mutual information."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.core.logspace import log_binomials
from xspn.learning.mevm.partition import BlockPartition
from xspn.learning.partial_rows import chances_given_total, seen_and_ones
from xspn.leaves.chow_liu_tree import information_of_cells, maximum_spanning_tree, parents_first

ENOUGH_ROWS = 20_000  # to tell which blocks go together
SAMPLED_FRACTION, SAMPLED_AT_LEAST = 0.05, 200  # so few rows that two samples give two trees


def singleton_blocks(n: int) -> BlockPartition:
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
    def of(cls, rows: AnyArray, weights: FloatArray, blocks: BlockPartition) -> "CountedRows":
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
        """Return the fraction of ones in each block, times the root of its size; the mean where nothing was seen.

        A block of many variables tells rows apart more reliably than one of few.
        """
        columns = []
        for pairs, which, n in zip(self.keys, self.which.T, self.sizes, strict=True):
            fraction = np.divide(pairs[:, 1], pairs[:, 0], out=np.full(len(pairs), np.nan), where=pairs[:, 0] > 0)[
                which
            ]
            seen = ~np.isnan(fraction)
            mean = np.average(fraction[seen], weights=self.weights[seen]) if seen.any() else 0.0
            columns.append(np.where(seen, fraction, mean) * np.sqrt(n))
        return np.stack(columns, axis=1)


@dataclass(frozen=True)
class BlockTree:
    """A rooted tree.

    Attributes:
        parents: The parent of each node; −1 for the root.
        order: The nodes, parents before children.
        children: Those of each node.
    """

    parents: tuple[int, ...]
    order: tuple[int, ...]
    children: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, parents: Sequence[int], order: Sequence[int]) -> "BlockTree":
        """Return the tree with the children of each node."""
        children: list[list[int]] = [[] for _ in parents]
        for node in order[1:]:
            children[parents[node]].append(node)
        return cls(tuple(parents), tuple(order), tuple(map(tuple, children)))

    @property
    def root(self) -> int:
        """The node without a parent."""
        return self.order[0]


def chow_liu_tree(data: CountedRows) -> BlockTree:
    """Return the tree of largest mutual information between blocks; the block that tells most of others is the root.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> first = rng.integers(0, 2, size=(500, 1))
        >>> second = first ^ (rng.random((500, 1)) < 0.2)
        >>> third = second ^ (rng.random((500, 1)) < 0.2)
        >>> blocks = tuple(np.array([v]) for v in range(3))
        >>> chow_liu_tree(CountedRows.of(np.hstack([first, second, third]), np.ones(500), blocks)).parents
        (1, -1, 1)
    """
    information = information_of_blocks(data)
    root = int(information.sum(axis=0).argmax())
    parents = maximum_spanning_tree(lambda b: (information[b], information[b]), len(information), root)[0].tolist()
    return BlockTree.of(parents, parents_first(parents))


def sampled_chow_liu_tree(data: CountedRows, seed: int) -> BlockTree:
    """Return the tree that a sample of the rows tells: one of many that are nearly as good as the best.

    The sample is small or, where rows are few, a bootstrap sample.
    """
    total = data.weights.sum()
    return chow_liu_tree(
        _drawn(data, round(min(max(SAMPLED_AT_LEAST, SAMPLED_FRACTION * total), max(total, 1.0))), seed)
    )


def _drawn(data: CountedRows, number: int, seed: int) -> CountedRows:
    """Return a sample of the rows, drawn with replacement by their weights."""
    drawn = np.random.default_rng(seed).multinomial(number, data.weights / data.weights.sum())
    rows = drawn.nonzero()[0]
    return replace(
        data,
        weights=drawn[rows].astype(np.float64),
        which=data.which[rows],
        log_arrangements=data.log_arrangements[rows],
    )


def information_of_blocks(data: CountedRows) -> FloatArray:
    """Return the mutual information of the counts of every two blocks, over the rows that have some of both.

    Where cells are missing, a count is the nearest one to the fraction of ones among those seen. The bias of
    independent blocks, (k − 1)(l − 1) / 2N, is subtracted: otherwise large blocks would seem the most informative.
    """
    if len(data.weights) > ENOUGH_ROWS:
        data = _drawn(data, ENOUGH_ROWS, seed=0)
    blocks = zip(data.categories, data.which.T, data.sizes, strict=True)
    columns = [_indicators(found[which], n) for found, which, n in blocks]
    indicators = np.hstack(columns)
    weighted = indicators * data.weights[:, None].astype(np.float32)
    widths = np.array([column.shape[1] for column in columns])
    starts = np.cumsum(widths) - widths
    free = np.array([max(int(column.any(axis=0).sum()) - 1, 0) for column in columns])
    information = np.empty((len(columns), len(columns)))
    for b, (start, width) in enumerate(zip(starts, widths, strict=True)):
        together = np.asarray(weighted[:, start : start + width].T @ indicators, dtype=np.float64)
        information[b] = _information_of(together, starts, widths, free * free[b])
    np.fill_diagonal(information, 0.0)
    return (information + information.T) / 2


def _indicators(categories: IntArray, n: int) -> NDArray[np.float32]:
    """Return a column for each count that occurs or may occur, 1 where it is the row's; −1 is none."""
    return np.asarray(categories[:, None] == np.arange(n + 1), dtype=np.float32)


def _information_of(together: FloatArray, starts: IntArray, widths: IntArray, free: IntArray) -> FloatArray:
    """Return the mutual information of one block and each: `together` has its counts by those of all blocks."""
    others = np.repeat(np.arange(len(starts)), widths)
    beside = np.add.reduceat(together, starts, axis=1)  # how often each of its counts occurs where the other is seen
    total = beside.sum(axis=0)
    positive = np.where(total > 0, total, 1.0)
    cells = information_of_cells(together, beside[:, others], together.sum(axis=0) / positive[others])
    found = np.add.reduceat(cells.sum(axis=0), starts)
    return np.asarray(np.maximum(found - free / 2, 0.0) / positive)
