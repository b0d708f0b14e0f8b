"""Which block hangs under which."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from xspn.core.arrays import FloatArray, IntArray
from xspn.learning.hidden_tree.counts import CountedRows

ENOUGH_ROWS = 20_000  # to tell which blocks go together
SAMPLED_SHARE, SAMPLED_AT_LEAST = 0.05, 200  # so few rows that two samples give two trees


@dataclass(frozen=True)
class Tree:
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
    def of(cls, parents: Sequence[int], order: Sequence[int]) -> "Tree":
        """Return the tree with the children of each node."""
        children: list[list[int]] = [[] for _ in parents]
        for node in order[1:]:
            children[parents[node]].append(node)
        return cls(tuple(parents), tuple(order), tuple(map(tuple, children)))

    @property
    def root(self) -> int:
        """The node without a parent."""
        return self.order[0]


def tree_of(data: CountedRows) -> Tree:
    """Return the tree of largest mutual information between blocks; the block that tells most of others is the root.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> first = rng.integers(0, 2, size=(500, 1))
        >>> second = first ^ (rng.random((500, 1)) < 0.2)
        >>> third = second ^ (rng.random((500, 1)) < 0.2)
        >>> blocks = tuple(np.array([v]) for v in range(3))
        >>> tree_of(CountedRows.of(np.hstack([first, second, third]), np.ones(500), blocks)).parents
        (1, -1, 1)
    """
    information = mutual_information(data)
    root = int(information.sum(axis=0).argmax())
    distances = 1.0 + information.max() - information  # an edge of no length would be none
    np.fill_diagonal(distances, 0.0)
    order, parents = breadth_first_order(minimum_spanning_tree(distances), root, directed=False)
    return Tree.of([int(parent) if parent >= 0 else -1 for parent in parents], [int(node) for node in order])


def sampled_tree(data: CountedRows, seed: int) -> Tree:
    """Return the tree that a sample of the rows tells: one of many that are nearly as good as the best.

    The sample is small or, where rows are few, a bootstrap sample.
    """
    total = data.weights.sum()
    return tree_of(_drawn(data, round(min(max(SAMPLED_AT_LEAST, SAMPLED_SHARE * total), max(total, 1.0))), seed))


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


def mutual_information(data: CountedRows) -> FloatArray:
    """Return the mutual information of the counts of every two blocks, over the rows that have some of both.

    Where cells are missing, a count is the nearest one to the share of ones among those seen. What is to be expected of
    independent blocks by chance, (k − 1)(l − 1) / 2N, is taken off: large blocks would seem to tell the most otherwise.
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
    expected = beside[:, others] * (together.sum(axis=0) / positive[others])
    ratio = np.divide(together, expected, out=np.ones_like(together), where=together > 0)
    found = np.add.reduceat((together * np.log(ratio)).sum(axis=0), starts)
    return np.asarray(np.maximum(found - free / 2, 0.0) / positive)
