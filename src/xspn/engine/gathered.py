"""Statistics that kernels have gathered, and how they read in the order of the program."""

from dataclasses import dataclass, field

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.engine.backend import Counts
from xspn.engine.bernoulli_block import BernoulliBlock
from xspn.engine.blocks import LeafBlock, LoopBlock
from xspn.engine.count_block import CountBlock
from xspn.engine.kernels.arrays import Arrays, Statistics
from xspn.engine.program import Program, SumStep
from xspn.engine.tape import Layout
from xspn.engine.tree_block import TreeBlock


def new_statistics(arrays: Arrays) -> Statistics:
    """Return zeros for the statistics of a tape."""
    return Statistics(
        sums=np.zeros(len(arrays.weight)),
        bernoulli=np.zeros((len(arrays.bernoulli_variable), 2)),
        whole=np.zeros(len(arrays.count_w)),
        partial=np.zeros(len(arrays.triangle)),
        tree=np.zeros((len(arrays.tree_variable), 4)),
    )


@dataclass
class Gathered:
    """The statistics of some rows, additive."""

    program: Program
    statistics: Statistics
    given: FloatArray = field(default_factory=lambda: np.empty(0))  # of the leaves of other families

    def __post_init__(self) -> None:
        others = [block for _, block in self.program.blocks if type(block) is LoopBlock]
        if others and not len(self.given):
            self.given = others[0].new_counts()

    def __add__(self, other: "Gathered") -> "Gathered":
        pairs = zip(self.statistics, other.statistics, strict=True)
        return Gathered(self.program, Statistics(*(a + b for a, b in pairs)), self.given + other.given)

    def counts(self, layout: Layout, log_prob: FloatArray) -> Counts:
        """Return them step by step and block by block."""
        leaves = [self._of_block(block, layout) for _, block in self.program.blocks]
        return Counts(self._of_sums(layout), leaves, log_prob)

    def _of_sums(self, layout: Layout) -> list[FloatArray]:
        steps = [step for step in self.program.steps if isinstance(step, SumStep)]
        flat = np.zeros(sum(step.children.size for step in steps))
        of_sum = layout.weight_source >= 0
        flat[layout.weight_source[of_sum]] = self.statistics.sums[of_sum]
        ends = np.cumsum([step.children.size for step in steps])
        parts = np.split(flat, ends[:-1]) if steps else []
        return [part.reshape(step.children.shape) for part, step in zip(parts, steps, strict=True)]

    def _of_block(self, block: LeafBlock, layout: Layout) -> FloatArray:
        found = self.statistics
        if isinstance(block, BernoulliBlock):
            counts = block.new_counts()
            np.add.at(counts, layout.bernoulli_leaf, found.bernoulli)
            return counts
        if isinstance(block, CountBlock):
            counts = block.new_counts()
            counts[: len(found.whole)] = found.whole
            counts[len(found.whole) : len(found.whole) + len(found.partial)] = found.partial
            return counts
        if isinstance(block, TreeBlock):
            counts = np.empty_like(found.tree)
            counts[layout.tree_source] = found.tree
            return counts.ravel()
        return self.given
