"""What a leaf learner gets and returns, how leaves are smoothed, and the registry of leaf learners.

A leaf learner makes the leaf of a slice that is not split any further. It is a function (data, variables, options) →
Candidate. To add one, write one file, register it with what it can handle, and import it in the folder's `__init__.py`.

Candidates are compared by their leave-one-out log-likelihood: every row is scored by the smoothed leaf that the other
rows give. For leaves that are frequencies it has a closed form, and it needs no penalty of its own: a parameter that
rests on a single row costs what it would cost on new data.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.graph.nodes import Node
from xspn.learning.methods import Methods
from xspn.learning.summary import BinarySummary
from xspn.learning.table_summary import TableSummary
from xspn.leaves.base import Smoothing

TINY = float(np.finfo(np.float64).tiny)
CountSpread = Literal["assignments", "values"]


@dataclass(frozen=True)
class LeafOptions:
    """How leaves are smoothed and blocks are cut.

    Attributes:
        smoothing: The pseudo-count α of each value of a bit.
        count_spread: For exchangeable leaves: "assignments" spreads α over all assignments, as the paper's program
            does; "values" gives α to each value of the count, as a bit gives it to each of its values.
        block_level: Columns whose means differ at this level (Welch's test) go into different blocks.
        exchangeable: Whether mixed leaves may have exchangeable blocks; those of a conventional SPN have none.
    """

    smoothing: float = 0.1
    count_spread: CountSpread = "values"
    block_level: float = 0.1
    exchangeable: bool = True

    def for_counts(self, n: int) -> Smoothing:
        """Return the smoothing of an exchangeable leaf over n variables."""
        if self.count_spread == "assignments":
            return Smoothing(self.smoothing, "assignments")
        return Smoothing(self.smoothing * (n + 1), "values")


class Poolable(Protocol):
    """Rows of a slice, to which other rows of the same columns can be added."""

    def part(self, block: IntArray) -> Any:
        """Return some of the columns."""

    def with_rows(self, cells: Any, weights: FloatArray) -> Any:
        """Return these rows, then some more."""


S = TypeVar("S", bound=Poolable)


@dataclass(frozen=True, eq=False)
class LeafData(Generic[S]):
    """What a leaf is estimated from: its own rows, and perhaps those of the sum above at a small weight.

    A cluster of few rows says little about a variable that happened to be constant in it; the rows that it was cut from
    say more. They count as `shrinkage` rows in all.

    Attributes:
        own: The rows of the slice, which a leaf is scored on.
        pooled: The same with the context's rows added; the own rows come first.
        unit: The weight of one own row in `pooled`, for leaving it out: its place in the context counts too.
    """

    own: S
    pooled: S
    unit: float = 1.0

    @classmethod
    def alone(cls, summary: S) -> "LeafData[S]":
        """Return a slice without context."""
        return cls(summary, summary)

    @classmethod
    def in_context(cls, summary: S, cells: AnyArray, weights: FloatArray, shrinkage: float) -> "LeafData[S]":
        """Return a slice with its context's rows, scaled to count as `shrinkage` rows."""
        scale = shrinkage / float(weights.sum())
        return cls(summary, summary.with_rows(cells, weights * scale), 1.0 + scale)

    def part(self, block: IntArray) -> "LeafData[S]":
        """Return some of the columns."""
        own = self.own.part(block)
        return LeafData(own, own if self.pooled is self.own else self.pooled.part(block), self.unit)

    def leave_one_out(self, counts: FloatArray, pseudo: FloatArray | float, total: FloatArray | float) -> FloatArray:
        """Return the leave-one-out log-probability of a cell: after one of its own rows is removed.

        Args:
            counts: The pooled count of each cell.
            pseudo: Its pseudo-count.
            total: The sum of counts and pseudo-counts that the cell is normalized by.
        """
        removed = np.minimum(counts, self.unit)  # a row that belongs here in part may be all that a cell has
        kept = counts - removed + pseudo
        others = np.maximum(np.asarray(total) - removed, TINY)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(kept) - np.log(others))


@dataclass(frozen=True, eq=False)
class Candidate:
    """A leaf (or a small circuit of leaves).

    Attributes:
        name: What it is.
        node: The leaf.
        leave_one_out: The leave-one-out log-probability of each own row.
    """

    name: str
    node: Node
    leave_one_out: FloatArray

    def score(self, weights: FloatArray) -> float:
        """Return the leave-one-out log-likelihood; rows without weight say nothing, impossible ones neither."""
        seen = weights > 0
        return float(weights[seen] @ self.leave_one_out[seen])


BinaryLeafData = LeafData[BinarySummary]
TableLeafData = LeafData[TableSummary]
LeafLearner = Callable[[BinaryLeafData, IntArray, LeafOptions], Candidate]
TableLeafLearner = Callable[[TableLeafData, IntArray, LeafOptions], Candidate]
leaf_learners: Methods[LeafLearner, TableLeafLearner] = Methods("leaf learner", "leaf_learner")


def without_atoms(data: TableLeafData) -> TableLeafData:
    """Return the data with values that many rows share taken for missing cells."""
    own = data.own.without_atoms()
    return LeafData(own, own if data.pooled is data.own else data.pooled.without_atoms(), data.unit)
