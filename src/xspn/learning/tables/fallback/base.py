"""What leaves are estimated from, for columns of any kinds."""

from dataclasses import dataclass

import numpy as np

from xspn.core.arrays import IntArray
from xspn.learning.tables.summary import TableSummary


@dataclass(frozen=True, eq=False)
class TableLeafData:
    """A slice's own rows, and perhaps those of the sum above at a small weight (see `LeafData` for bits).

    Attributes:
        own: The rows of the slice, which a leaf is scored on.
        pooled: The same with the context's rows added; the own rows come first.
        unit: The weight of one own row in `pooled`, for leaving it out: its place in the context counts too.
    """

    own: TableSummary
    pooled: TableSummary
    unit: float = 1.0

    @classmethod
    def alone(cls, summary: TableSummary) -> "TableLeafData":
        """Return a slice without context."""
        return cls(summary, summary)

    @classmethod
    def in_context(cls, summary: TableSummary, context: TableSummary, shrinkage: float) -> "TableLeafData":
        """Return a slice with its context's rows, scaled to count as `shrinkage` rows."""
        scale = shrinkage / context.total
        cells = np.concatenate([summary.cells, context.cells])
        weights = np.concatenate([summary.weights, scale * context.weights])
        return cls(summary, TableSummary(cells, weights, summary.columns), 1.0 + scale)

    def part(self, block: IntArray) -> "TableLeafData":
        """Return some of the columns."""
        own = self.own.part(block)
        return TableLeafData(own, own if self.pooled is self.own else self.pooled.part(block), self.unit)
