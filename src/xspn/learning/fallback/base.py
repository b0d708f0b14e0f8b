"""What a fallback gets and returns, how leaves are smoothed, and the registry of fallbacks.

A fallback is a function (data, variables, options) → Candidate. To add one, write one file, register it, and import it
in `xspn/learning/fallback/__init__.py`.

Candidates are compared by their leave-one-out log-likelihood: every row is scored by the smoothed leaf that the other
rows give. For leaves that are frequencies it has a closed form, and it needs no penalty of its own: a parameter that
rests on a single row costs what it would cost on new data.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from xspn.core.arrays import FloatArray, IntArray
from xspn.core.registry import Registry
from xspn.graph.nodes import Node
from xspn.learning.summary import Summary
from xspn.leaves.smoothing import Smoothing

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
    """

    smoothing: float = 0.1
    count_spread: CountSpread = "values"
    block_level: float = 0.1

    def for_counts(self, n: int) -> Smoothing:
        """Return the smoothing of an exchangeable leaf over n variables."""
        if self.count_spread == "assignments":
            return Smoothing(self.smoothing, "assignments")
        return Smoothing(self.smoothing * (n + 1), "values")


@dataclass(frozen=True, eq=False)
class LeafData:
    """What a leaf is estimated from: its own rows, and perhaps those of the sum above at a small weight.

    A cluster of few rows says little about a variable that happened to be constant in it; the rows that it was cut from
    say more. They count as `shrinkage` rows in all.

    Attributes:
        own: The rows of the slice, which a leaf is scored on.
        pooled: The same with the context's rows added.
        unit: The weight of one own row in `pooled`, for leaving it out: its place in the context counts too.
    """

    own: Summary
    pooled: Summary
    unit: float = 1.0

    @classmethod
    def alone(cls, summary: Summary) -> "LeafData":
        """Return a slice without context."""
        return cls(summary, summary)

    @classmethod
    def in_context(
        cls, summary: Summary, context: NDArray[np.float32], weights: FloatArray, shrinkage: float
    ) -> "LeafData":
        """Return a slice with its context's rows, scaled to count as `shrinkage` rows."""
        scale = shrinkage / float(weights.sum())
        own_cells, own_weights = summary.rows()
        pooled = Summary.of(np.concatenate([own_cells, context]), np.concatenate([own_weights, weights * scale]))
        return cls(summary, pooled, 1.0 + scale)

    def left_out(self, counts: FloatArray, pseudo: FloatArray | float, total: FloatArray | float) -> FloatArray:
        """Return the log-probability of a cell after one of its own rows is left out.

        Args:
            counts: The pooled count of each cell.
            pseudo: Its pseudo-count.
            total: The sum of counts and pseudo-counts that the cell is normalised by.
        """
        kept = np.maximum(counts - self.unit, 0.0) + pseudo
        others = np.maximum(np.asarray(total) - self.unit, TINY)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(kept) - np.log(others))


@dataclass(frozen=True, eq=False)
class Candidate:
    """A leaf (or a small circuit of leaves).

    Attributes:
        name: What it is.
        node: The leaf.
        left_out: The leave-one-out log-probability of each own row.
    """

    name: str
    node: Node
    left_out: FloatArray

    def score(self, weights: FloatArray) -> float:
        """Return the leave-one-out log-likelihood."""
        return float(weights @ self.left_out)


Fallback = Callable[[LeafData, IntArray, LeafOptions], Candidate]
fallbacks: Registry[Fallback] = Registry("fallback")
