"""A slice of the training data, and all that the learner asks of it, whatever types its columns have.

The policy, the queue and the assembly of a circuit are the same for every table. What differs is how dependence and
exchangeability are tested, how rows are clustered and which leaves there are. A slice answers these questions for
its own columns: `BinarySlice` for zeros and ones, `TableSlice` (in `learning/table_slice.py`) for anything else.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

import numpy as np

from xspn.core.arrays import BoolArray, IntArray
from xspn.core.errors import ParameterError
from xspn.learning.clustering import Split, clusterings
from xspn.learning.clustering.contexts import evidence_of_tree, several_contexts, worth_splitting
from xspn.learning.config import LearnConfig
from xspn.learning.data import BinaryData
from xspn.learning.exchangeability.base import TestResult, tests
from xspn.learning.independence import groups_exclude_each_other, groups_of_blocks, independent_groups
from xspn.learning.leaf_learners import (
    BinaryLeafData,
    Candidate,
    LeafData,
    evidence_blocks_leaf,
    exchangeable_leaf,
    factorized_leaf,
    leaf_learners,
    products_of_blocks,
)
from xspn.learning.summary import BinarySummary
from xspn.learning.table_summary import TableSummary
from xspn.learning.task import Rows, Task

S = TypeVar("S", BinarySummary, TableSummary)
NEARLY_ALL = 0.9  # of the variables
NO_EVIDENCE = "exchangeability='evidence' is for tables in memory; for others use one of 'full', 'global', 'pairwise'"


class Slice(ABC):
    """Weighted rows over some of the variables.

    Attributes:
        n: The number of variables.
        total: The weight of all rows.
    """

    n: int
    total: float

    @abstractmethod
    def constant(self) -> BoolArray:
        """Mark the variables that have one value only."""

    @abstractmethod
    def test(self, config: LearnConfig) -> TestResult | None:
        """Test whether the variables are exchangeable; None where that is no question (different domains)."""

    @abstractmethod
    def independent_groups(self, config: LearnConfig) -> list[IntArray]:
        """Return the connected components of the dependence graph, in the order of their first variable."""

    def exchangeable_blocks(self) -> list[IntArray]:
        """Return the exchangeable blocks of best evidence; single variables are blocks of their own."""
        raise ParameterError(NO_EVIDENCE)

    def block_of_each(self) -> IntArray | None:
        """Return the block of each variable, for those who look for blocks in these rows again; None if of no use."""
        return None

    def gain_of_blocks(self) -> float:
        """Return how much more evidence these blocks have than variables that stand alone, in nats."""
        raise ParameterError(NO_EVIDENCE)

    def tree_has_more_evidence(self) -> bool:
        """Whether a Chow-Liu tree has more evidence than these blocks: a chain, say, that looks exchangeable."""
        return False

    def groups_of_blocks(self) -> list[IntArray]:
        """Return the groups of such blocks that no dependence connects, in the order of their first variable."""
        raise ParameterError(NO_EVIDENCE)

    def instead_of_product(self, config: LearnConfig, connected: Sequence[IntArray]) -> Candidate | None:
        """Return a leaf for all variables that may predict better than independent groups do; None if there is none.

        Args:
            config: The choices.
            connected: The groups of dependent variables.
        """
        return None

    def block_mixture(self, config: LearnConfig) -> Candidate | None:
        """Return a mixture over exchangeable blocks that its components share; None if one component is enough."""
        return None

    def score(self, leaf: Candidate) -> float:
        """Return the leave-one-out score of a leaf for all rows; NaN where it is not asked for."""
        return float("nan")

    def groups_exclude_each_other(self, groups: list[IntArray], config: LearnConfig) -> bool:
        """Whether groups that no two variables connect are anything but independent: of many, a row has few."""
        return False

    @abstractmethod
    def exchangeable_predicts_better(self, config: LearnConfig) -> bool:
        """Whether an exchangeable leaf has a better leave-one-out score than independent variables."""

    @abstractmethod
    def exchangeable_suffices(self, config: LearnConfig) -> bool:
        """Whether one exchangeable leaf can hold what the test allows: not if its family is too narrow for the rows."""

    @abstractmethod
    def univariate(self, config: LearnConfig) -> Candidate:
        """Return a leaf for each variable."""

    @abstractmethod
    def exchangeable(self, config: LearnConfig) -> Candidate:
        """Return one exchangeable leaf for all variables."""

    @abstractmethod
    def leaf(self, config: LearnConfig) -> Candidate:
        """Return the leaf of a slice that is not split any further, made by the configuration's leaf learner."""

    @abstractmethod
    def split(self, config: LearnConfig, seed: int) -> Split | None:
        """Split the rows into clusters; None if there is nothing to split, or nothing to be gained by it."""

    def contexts(self, seed: int) -> Split | None:
        """Split the rows into contexts; None if evidence takes them for one."""
        return None

    def split_in_two(self, config: LearnConfig, seed: int) -> Split | None:
        """Split rows that evidence takes for one context; None as above."""
        return self.split(config.in_two, seed)


class SliceInMemory(Slice, Generic[S]):
    """What slices answer alike whose rows are in memory, by evidence.

    Attributes:
        summary: The rows.
    """

    summary: S

    def contexts(self, seed: int) -> Split | None:
        """Return the contexts of best evidence."""
        return several_contexts(self.summary, seed)

    def exchangeable_blocks(self) -> list[IntArray]:
        """Return the blocks of best evidence."""
        return self.summary.exchangeable_blocks.blocks

    def gain_of_blocks(self) -> float:
        """Compare them with single variables."""
        return self.summary.gain_of_blocks

    def groups_of_blocks(self) -> list[IntArray]:
        """Return the components of the graph of dependent variables and of what blocks add up to."""
        return groups_of_blocks(self.summary, self.exchangeable_blocks())

    def score(self, leaf: Candidate) -> float:
        """Return the leave-one-out score."""
        return leaf.score(self.summary.rows()[1])


class BitSlice(Slice):
    """What slices of bits answer alike, wherever their rows are.

    Args:
        summary: What is known of the rows.
        variables: Which variables of the circuit the columns are.
    """

    def __init__(self, summary: BinarySummary, variables: IntArray) -> None:
        self.n, self.total = summary.n, summary.total
        self._bits, self._variables = summary, variables

    def constant(self) -> BoolArray:
        """Mark the variables that are always zero, or always one."""
        return self._bits.constant()

    def independent_groups(self, config: LearnConfig) -> list[IntArray]:
        """Return the components of the graph of the G-test."""
        return independent_groups(self._bits, config.independence_threshold)

    def groups_exclude_each_other(self, groups: list[IntArray], config: LearnConfig) -> bool:
        """Whether the number of ones varies far less than that of independent groups would."""
        return groups_exclude_each_other(self._bits, groups, config.independence_threshold)

    def exchangeable_suffices(self, config: LearnConfig) -> bool:
        """Return True: a leaf with a probability for each count holds any exchangeable distribution of bits."""
        return True

    def univariate(self, config: LearnConfig) -> Candidate:
        """Return Bernoulli leaves."""
        return factorized_leaf(self._informed(config), self._variables, config.leaf_options)

    def exchangeable(self, config: LearnConfig) -> Candidate:
        """Return a leaf over the count of ones."""
        return exchangeable_leaf(self._informed(config), self._variables, config.tested_leaves)

    def leaf(self, config: LearnConfig) -> Candidate:
        """Return the leaf that the configuration's leaf learner makes of the slice."""
        learner = leaf_learners.for_bits(config.leaves_by, self._bits)
        return learner(self._informed(config), self._variables, config.leaf_options)

    @abstractmethod
    def _informed(self, config: LearnConfig) -> BinaryLeafData:
        """Return the slice together with the rows of the sum above it, from which its leaves borrow strength."""


class BinarySlice(SliceInMemory[BinarySummary], BitSlice):
    """A summary of the rows of zeros and ones, and where it came from.

    Args:
        summary: The rows.
        variables: Which variables of the circuit the columns are; 0, 1, … if not given.
        columns: Which columns of `data` they are.
        data: The table that the slice was cut from, for the rows of the sum above it.
        context: These rows; None above any sum.
    """

    def __init__(
        self,
        summary: BinarySummary,
        variables: IntArray | None = None,
        columns: IntArray | None = None,
        data: BinaryData | None = None,
        context: Rows | None = None,
    ) -> None:
        super().__init__(summary, np.arange(summary.n) if variables is None else variables)
        self.summary = summary
        self._columns = self._variables if columns is None else columns
        self._data, self._context = data, context

    @classmethod
    def of(cls, data: BinaryData, task: Task, columns: IntArray | None = None) -> "BinarySlice":
        """Cut the slice of a task out of a table, which has the task's variables in the given columns."""
        own = task.variables if columns is None else columns
        summary = BinarySummary.of(data.slice(task.rows.index, own), task.rows.weights, task.blocks)
        return cls(summary, task.variables, own, data, task.context)

    def test(self, config: LearnConfig) -> TestResult | None:
        """Run the test that the configuration names."""
        if config.exchangeability is None or config.by_evidence:
            return None
        return tests.for_bits(config.exchangeability, self.summary)(self.summary, **config.test_options)

    def exchangeable_predicts_better(self, config: LearnConfig) -> bool:
        """Compare the two leaves by their leave-one-out scores, without the rows above."""
        data, variables = LeafData.alone(self.summary), np.arange(self.n)
        weights = self.summary.rows()[1]
        counts = exchangeable_leaf(data, variables, config.tested_leaves).score(weights)
        return counts > factorized_leaf(data, variables, config.tested_leaves).score(weights)

    def block_of_each(self) -> IntArray | None:
        """Return the block of each variable."""
        return self.summary.exchangeable_blocks.label

    def tree_has_more_evidence(self) -> bool:
        """Compare the blocks with the tree of most mutual information."""
        return evidence_of_tree(self.summary) > self.summary.exchangeable_blocks.evidence

    def split(self, config: LearnConfig, seed: int) -> Split | None:
        """Run the clustering that the configuration names."""
        return clusterings.for_bits(config.split_by, self.summary)(self.summary, seed)

    def split_in_two(self, config: LearnConfig, seed: int) -> Split | None:
        """Split rows of one context, unless they are few and the variables many."""
        return super().split_in_two(config, seed) if worth_splitting(self.summary) else None

    def groups_of_blocks(self) -> list[IntArray]:
        """Return the same, with groups joined that have their contexts in common."""
        groups, blocks = super().groups_of_blocks(), self.exchangeable_blocks()
        if len(groups) in (1, len(blocks)):
            return groups
        from xspn.learning.blocks.joining import joined_by_contexts  # takes numba along

        return joined_by_contexts(*self.summary.complete_rows(), groups, blocks)

    def instead_of_product(self, config: LearnConfig, connected: Sequence[IntArray]) -> Candidate | None:
        """Return a mixture over the blocks: many weak dependences add up.

        Where one group is nearly all variables none is made: the same will be tried with that group.
        """
        label = self.summary.exchangeable_blocks.label
        again = any(len(group) > NEARLY_ALL * self.n and len(np.unique(label[group])) > 1 for group in connected)
        return None if again and worth_splitting(self.summary) else self.block_mixture(config)

    def block_mixture(self, config: LearnConfig) -> Candidate | None:
        """Return a mixture over the blocks of best evidence, if several components pay for their parameters."""
        return products_of_blocks(LeafData.alone(self.summary), self._variables)

    def exchangeable(self, config: LearnConfig) -> Candidate:
        """Return a leaf over the count of ones, of the law that has most evidence where that is what decides."""
        if not config.by_evidence:
            return super().exchangeable(config)
        return evidence_blocks_leaf(self._informed(config), self._variables, config.leaf_options)

    def _informed(self, config: LearnConfig) -> BinaryLeafData:
        """Return the slice together with the rows of the sum above it, from which its leaves borrow strength."""
        if self._context is None or self._data is None or config.shrinkage == 0:
            return LeafData.alone(self.summary)
        context = self._data.slice(self._context.index, self._columns)
        return LeafData.in_context(self.summary, context, self._context.weights, config.shrinkage)
