"""Which block hangs under which."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from xspn._core.arrays import FloatArray
from xspn.learning.hidden_tree.counts import CountedRows


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


def mutual_information(data: CountedRows) -> FloatArray:
    """Return the mutual information of what was seen of every two blocks, over the rows that have some of both.

    What is to be expected of independent blocks by chance, (k − 1)(l − 1) / 2N, is taken off: blocks of many variables
    would seem to tell the most otherwise.
    """
    seen = [pairs[:, 0] > 0 for pairs in data.keys]
    starts = np.cumsum([0, *(len(own) for own in seen[:-1])])
    places = data.which + starts
    indicator = np.zeros((len(data.weights), sum(map(len, seen))), dtype=np.float32)
    np.put_along_axis(indicator, places, np.float32(1), axis=1)
    indicator *= np.concatenate(seen)
    together = np.asarray((indicator * data.weights[:, None].astype(np.float32)).T @ indicator, dtype=np.float64)
    which = np.repeat(np.arange(len(seen)), [len(own) for own in seen])
    of_first = np.add.reduceat(
        together, starts, axis=1
    )  # how often a pair of one block is seen beside each other block
    total = np.add.reduceat(of_first, starts, axis=0)
    expected = of_first[:, which] * of_first.T[which] / np.maximum(total, 1.0)[which][:, which]
    ratio = np.divide(together, expected, out=np.ones_like(together), where=(together > 0) & (expected > 0))
    summed = np.add.reduceat(np.add.reduceat(together * np.log(ratio), starts, axis=0), starts, axis=1)
    free = np.maximum(np.array([own.sum() for own in seen]) - 1, 0)
    information = np.maximum(summed - np.outer(free, free) / 2, 0.0) / np.maximum(total, 1.0)
    np.fill_diagonal(information, 0.0)
    return np.asarray(information)
