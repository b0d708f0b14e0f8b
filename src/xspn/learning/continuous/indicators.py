"""What a component of a continuous mixture sees of a row, and its distribution: an exponential family over indicators.

Each block of variables has an indicator for each count of ones but zero. Where all cells are there and blocks are
single variables, a variable may depend on another one, its parent in a tree: then both of them being one is an
indicator, too. The log-probability of a row is linear in its indicators, so that all rows and components take one
matrix product.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from xspn.core.arrays import FloatArray, IntArray
from xspn.learning.hclt.tree import BlockTree, CountedRows

Matrix = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class BlockIndicators:
    """Which block each indicator is of, and which variables depend on which.

    Attributes:
        sizes: The number of variables of each block.
        parents: For each block its parent in the tree, −1 for none. Only blocks of one variable have or are parents.
    """

    sizes: tuple[int, ...]
    parents: tuple[int, ...]
    starts: IntArray = field(init=False)  # the first indicator of each block
    blocks: IntArray = field(init=False)  # the block of each indicator
    children: IntArray = field(init=False)  # indicators of variables with a parent, those of one parent side by side
    above: IntArray = field(init=False)  # the indicators of their parents
    first_children: IntArray = field(init=False)  # where in `children` those of each parent begin

    def __post_init__(self) -> None:
        starts = np.cumsum(self.sizes) - np.array(self.sizes)
        parents = np.array(self.parents)
        children = np.flatnonzero(parents >= 0)
        children = children[np.argsort(parents[children], kind="stable")]
        object.__setattr__(self, "starts", starts)
        object.__setattr__(self, "blocks", np.repeat(np.arange(len(self.sizes)), self.sizes))
        object.__setattr__(self, "children", starts[children])
        object.__setattr__(self, "above", starts[parents[children]])
        object.__setattr__(self, "first_children", np.unique(self.above, return_index=True)[1])

    @classmethod
    def of(cls, sizes: tuple[int, ...], tree: BlockTree | None = None) -> "BlockIndicators":
        """Return the indicators of independent blocks, or of single variables along a tree."""
        return cls(sizes, (-1,) * len(sizes) if tree is None else tree.parents)

    @property
    def width(self) -> int:
        """The number of indicators of blocks; those of pairs come after them."""
        return len(self.blocks)

    @property
    def n_parameters(self) -> int:
        """The number of natural parameters of a component."""
        return self.width + len(self.children)

    def of_rows(self, rows: CountedRows) -> "SeenRows":
        """Return the indicators of rows; blocks of which only some cells are there are not supported."""
        columns, seen = [], []
        for keys, which, size in zip(rows.keys, rows.which.T, rows.sizes, strict=True):
            counts = np.where(keys[:, 0] == size, keys[:, 1], -1)
            columns.append((counts[:, None] == np.arange(1, size + 1)).astype(np.float32)[which])
            seen.append((keys[:, 0] == size)[which])
        indicators = np.hstack(columns)
        pairs = indicators[:, self.children] * indicators[:, self.above]
        is_seen = np.stack(seen, axis=1)
        return SeenRows(
            np.hstack([indicators, pairs]),
            None if is_seen.all() else is_seen.astype(np.float32),
            rows.weights,
            rows.log_arrangements,
        )

    def components(self, logits: Matrix) -> "Components":
        """Return components with some natural parameters: (parameters, components)."""
        own, coupling = logits[: self.width], logits[self.width :]
        if self.width == len(self.sizes):
            log_partition, chances = _of_bits(own)
        else:
            top = np.maximum(np.maximum.reduceat(own, self.starts, axis=0), np.float32(0))
            shifted = np.exp(own - top[self.blocks])
            total = np.exp(-top) + np.add.reduceat(shifted, self.starts, axis=0)
            log_partition, chances = top + np.log(total), shifted / total[self.blocks]
        if len(self.children) == 0:
            return Components(self, logits, log_partition, chances, chances[:0])
        log_partition_beside, chances_beside = _of_bits(own[self.children] + coupling)
        # Where the parent is one, the child has another partition function: that counts for the parent's indicator.
        natural = logits.copy()
        difference = log_partition[self.blocks[self.children]] - log_partition_beside
        natural[self.above[self.first_children]] += np.add.reduceat(difference, self.first_children, axis=0)
        return Components(self, natural, log_partition, chances, chances_beside)


def _of_bits(logits: Matrix) -> tuple[Matrix, Matrix]:
    """Return the logarithms of the partition functions of single variables, and the chances of a one."""
    small = np.exp(-np.abs(logits))
    total = 1 + small
    return np.maximum(logits, 0) + np.log(total), np.where(logits > 0, np.ones_like(small), small) / total


@dataclass(frozen=True, eq=False)
class SeenRows:
    """The indicators of rows.

    Attributes:
        indicators: (rows, parameters).
        seen: Which blocks are there: (rows, blocks); None if all are.
        weights: The weight of each row.
        log_arrangements: Of each row, how many arrangements share the probability of its counts.
    """

    indicators: Matrix
    seen: Matrix | None
    weights: FloatArray
    log_arrangements: FloatArray

    def take(self, rows: IntArray) -> "SeenRows":
        """Return some of the rows."""
        seen = None if self.seen is None else self.seen[rows]
        return SeenRows(self.indicators[rows], seen, self.weights[rows], self.log_arrangements[rows])


@dataclass(frozen=True, eq=False)
class Components:
    """Distributions over rows, one a column: indicators are picked by rows, which lie together in memory.

    Attributes:
        layout: What their parameters are of.
        natural: What each indicator adds to the log-probability of a row: (parameters, components).
        log_partition: Of each block; of children, where the parent is zero: (blocks, components).
        chances: The probability of each count but zero, given that the parent is zero: (indicators, components).
        chances_beside: That of each child being one, given that the parent is one: (children, components).
    """

    layout: BlockIndicators
    natural: Matrix
    log_partition: Matrix
    chances: Matrix
    chances_beside: Matrix

    def log_probs(self, rows: SeenRows) -> Matrix:
        """Return the log-probabilities of the rows' counts, but for their arrangements: (rows, components)."""
        found = rows.indicators @ self.natural
        if rows.seen is None:
            found -= self.log_partition.sum(axis=0)
        else:
            found -= rows.seen @ self.log_partition
        return np.asarray(found)

    def slopes(self, rows: SeenRows, responsibilities: Matrix) -> Matrix:
        """Return the derivatives of the log-probability by the logits: what was seen less what was expected."""
        layout = self.layout
        found: Matrix = rows.indicators.T @ responsibilities
        beside = found[layout.above]
        if rows.seen is None:
            found[: layout.width] -= responsibilities.sum(axis=0) * self.chances
        else:
            found[: layout.width] -= (rows.seen.T @ responsibilities)[layout.blocks] * self.chances
        if len(layout.children):
            expected_beside = beside * self.chances_beside
            found[layout.children] += beside * self.chances[layout.children] - expected_beside
            found[layout.width :] -= expected_beside
        return found
