"""The summary of a slice whose rows are elsewhere: exact sums, and a sample of the rows."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from xspn.core.arrays import FloatArray, IntArray
from xspn.distributed.aggregate import Aggregate
from xspn.learning.partial_counts import likely_totals_of_keys
from xspn.learning.partial_moments import PartialMoments
from xspn.learning.summary import Summary


class RemoteSummary(Summary):
    """What `Summary` promises, from sums that were made elsewhere. `rows()` is a sample that stands for all rows.

    Args:
        aggregate: The sums.
        cells: The sample; NaN is missing.
        weights: Its weights, in any unit: they are scaled to the weight of all rows.
    """

    def __init__(self, aggregate: Aggregate, cells: NDArray[np.float32], weights: FloatArray) -> None:
        self.n, self.total = aggregate.n, aggregate.total
        self.aggregate = aggregate
        mass = float(weights.sum())
        self._cells = cells
        self._weights = weights if mass in (0.0, self.total) else weights * (self.total / mass)

    @property
    def wide(self) -> bool:
        """Return False: the tables of pairs are here, and the rows are not."""
        return False

    @cached_property
    def complete(self) -> bool:
        """Whether no cell of any row is missing."""
        return self.aggregate.complete

    @cached_property
    def pairs(self) -> FloatArray:
        """How often two variables are one together."""
        return self.aggregate.pairs

    @cached_property
    def seen_pairs(self) -> FloatArray | float:
        """How many rows have both variables: (n, n), or N if no cell is missing."""
        partial = self.aggregate.partial
        return self.total if partial is None or self.complete else partial.seen_pairs

    @cached_property
    def ones_where_seen(self) -> FloatArray:
        """How often i is one among the rows that have j: (n, n), or (n, 1) if no cell is missing."""
        partial = self.aggregate.partial
        return self.ones[:, None] if partial is None or self.complete else partial.ones_where_seen

    @cached_property
    def ones(self) -> FloatArray:
        """How often each variable is one."""
        return np.diag(self.aggregate.pairs).copy()

    @cached_property
    def seen(self) -> FloatArray:
        """How many rows have each variable."""
        partial = self.aggregate.partial
        return np.full(self.n, self.total) if partial is None else np.diag(partial.seen_pairs).copy()

    @cached_property
    def totals(self) -> FloatArray:
        """How many rows have k ones, for k = 0..n; the most likely numbers where cells are missing."""
        if self.complete:
            return self.aggregate.totals
        return likely_totals_of_keys(*self.keys(), self.n)

    @cached_property
    def assignments(self) -> FloatArray:
        """How many rows there are of each assignment."""
        if self.aggregate.assignments is None:
            raise ValueError("the assignments of these rows were not counted")
        return self.aggregate.assignments

    @cached_property
    def partial_moments(self) -> PartialMoments:
        """What the test of exchangeability needs of rows with missing cells."""
        if self.aggregate.partial is None:
            raise ValueError("the rows have no missing cells")
        return self.aggregate.partial.moments

    def keys(self) -> tuple[IntArray, FloatArray]:
        """Return the pairs (cells seen, ones among them) that rows have, and how many rows have each."""
        if self.aggregate.partial is None:
            raise ValueError("the rows have no missing cells")
        keys = np.argwhere(self.aggregate.partial.keys > 0)
        return keys, self.aggregate.partial.keys[keys[:, 0], keys[:, 1]]

    def columns(self, block: IntArray) -> Summary:
        """Return the summary of some of the variables.

        It is exact where the others were never seen; otherwise it is that of the sample, because the number of ones
        among some variables cannot be told from the number among all.
        """
        exact = self.aggregate.without_unseen(block)
        if exact is not None:
            return RemoteSummary(exact, self._cells[:, block], self._weights)
        return Summary(self._cells[:, block], self._weights)

    def with_context(self, cells: NDArray[np.float32], weights: FloatArray) -> "RemoteSummary":
        """Return the summary with some more rows, which are at hand."""
        added = Aggregate.of(cells, weights, complete=self.aggregate.partial is None)
        return RemoteSummary(
            self.aggregate + added,
            np.concatenate([self._cells, cells]),
            np.concatenate([self._weights, weights]),
        )
