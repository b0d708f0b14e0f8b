"""A slice whose rows are out of core, and what the policy asks of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from xspn.core.arrays import FloatArray, IntArray
from xspn.core.errors import ParameterError
from xspn.distributed.summary import RemoteSummary
from xspn.learning.clustering import Split, clusterings, variable_split
from xspn.learning.config import LearnConfig
from xspn.learning.data import BinaryData, Bits
from xspn.learning.exchangeability.base import TestResult, tests
from xspn.learning.leaf_learners import BinaryLeafData, LeafData
from xspn.learning.leaf_learners.exchangeable import leave_one_out_of_counts, leave_one_out_of_keys
from xspn.learning.leaf_learners.factorized import leave_one_out_of_bits
from xspn.learning.methods import Can
from xspn.learning.slice import BitSlice
from xspn.learning.summary import BinarySummary
from xspn.learning.task import Rows


@dataclass(frozen=True, eq=False)
class RowsAbove:
    """Some rows of the sum above a slice, which stand for all of them.

    Attributes:
        variables: The columns.
        bits: The rows.
        weights: Their weights, which sum to that of all rows.
    """

    variables: IntArray
    bits: Bits
    weights: FloatArray

    def of(self, variables: IntArray) -> Bits:
        """Return the columns of some of the variables."""
        return np.ascontiguousarray(self.bits[:, np.searchsorted(self.variables, variables)])


class StandInRows(Rows):
    """The rows of a sample, which stand for those that are out of core."""

    def clusters(self, split: Split) -> Sequence[Rows]:
        """Return the rows of both clusters; one of them may be so rare that the sample has none of it."""
        second = split.responsibilities
        second = (split.labels == 1).astype(np.float64) if second is None else second
        return [self.part(1 - second), self.part(second)]


class RemoteSlice(BitSlice):
    """Answers from exact sums where sums suffice, and from a sample of the rows where they do not.

    Exact: tests of exchangeability, independence, the choice between counts and independent variables, splits on a
    variable, Bernoulli and exchangeable leaves, Chow-Liu trees. From the sample: mixtures, the
    weights of mixed leaves, and the counts of their blocks.
    """

    def __init__(self, summary: RemoteSummary, variables: IntArray, context: RowsAbove | None) -> None:
        super().__init__(summary, variables)
        self.summary = summary
        self._context = context

    def test(self, config: LearnConfig) -> TestResult | None:
        """Run the test that the configuration names; p-values come from χ²: there is nothing to shuffle here."""
        if config.exchangeability is None:
            return None
        options = dict(config.test_options)
        if config.exchangeability == "global" and options.get("p_value") == "shuffle":
            raise ParameterError("global test: shuffling needs all rows in one process; use p_value='chi2'")
        if config.exchangeability == "global":
            options["p_value"] = "chi2"
        return tests.for_bits(config.exchangeability, self.summary)(self.summary, **options)

    def exchangeable_predicts_better(self, config: LearnConfig) -> bool:
        """Compare the two leaves by their leave-one-out scores, of all rows: they depend on counts alone."""
        data: BinaryLeafData = LeafData.alone(self._bits)
        options = config.tested_leaves
        if self.summary.complete:
            counts = _score(self.summary.totals, leave_one_out_of_counts(data, options))
        else:
            keys, of_key = self.summary.keys()
            counts = _score(of_key, leave_one_out_of_keys(data, options, keys))
        zero, one = leave_one_out_of_bits(data, options)
        ones = self.summary.ones
        return counts > _score(ones, one) + _score(self.summary.seen - ones, zero)

    def split(self, config: LearnConfig, seed: int) -> Split | None:
        """Cluster the sample; a split on a variable is chosen anew from all rows.

        Labels are those that the split's rule gives, which is what the other rows will get.
        """
        cells, weights = self.summary.rows()
        if len(cells) < 2:
            return None
        clusterings.require(config.clustering, Can.OUT_OF_CORE, ", or raise xspn.gather_cells in Dask's configuration")
        found = clusterings.for_bits(config.clustering, self.summary)(BinarySummary(cells, weights), seed)
        if found is not None and found.variable is not None:
            found = variable_split(self.summary, seed)
        if found is None:
            return None
        if found.rule is None:
            raise ParameterError(f"clustering={config.clustering!r} gives no rule for rows that it was not shown")
        second = found.rule.responsibilities(cells)
        labels = (second > 0.5).astype(np.int64)
        if found.variable is None and not 0 < labels.sum() < len(labels):
            return None
        return replace(found, labels=labels, responsibilities=None if self.summary.complete else second)

    def _informed(self, config: LearnConfig) -> BinaryLeafData:
        """Return the slice together with the rows of the sum above it, from which its leaves borrow strength."""
        if self._context is None or config.shrinkage == 0:
            return LeafData.alone(self.summary)
        own = BinaryData(self._context.of(self._variables), self._context.weights)
        cells = own.slice(np.arange(len(own.bits)), np.arange(self.n))
        return LeafData.in_context(self.summary, cells, own.weights, config.shrinkage)


def _score(counts: FloatArray, logs: FloatArray) -> float:
    """Return Σ counts · logs; what never occurs costs nothing, impossible as it may be."""
    seen = counts > 0
    return float(counts[seen] @ logs[seen])
