"""A task: the slice of the data that one node of the circuit is to be learned from."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xspn.core.arrays import FloatArray, IntArray
from xspn.core.random import child_seed
from xspn.learning.clustering.base import Split
from xspn.learning.policy import Dependence

SMALLEST_SHARE = 0.01


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows by index, each with a weight: less than its own where it belongs here only in part."""

    index: IntArray
    weights: FloatArray

    def __len__(self) -> int:
        return len(self.index)

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(self.weights.sum())

    def clusters(self, split: Split) -> "Sequence[Rows]":
        """Return the rows of each cluster: by label, or in shares where cells are missing."""
        if split.shares is not None:
            return [self.part(1 - split.shares), self.part(split.shares)]
        members = [split.labels == label for label in np.unique(split.labels)]
        return [Rows(self.index[own], self.weights[own]) for own in members]

    def part(self, shares: FloatArray) -> "Rows":
        """Return the rows that belong to a cluster, each in its share; shares that do not matter are left out."""
        keep = shares > SMALLEST_SHARE
        return Rows(self.index[keep], (self.weights * shares)[keep])


@dataclass(frozen=True, eq=False)
class Task:
    """Rows and variables by index, and all that the node's place in the tree decides.

    Attributes:
        rows: Which rows.
        variables: Which columns.
        seed: The seed of this place in the tree: the same for any order and number of workers.
        depth: How far below the root.
        known: What an independence test on these very rows has told of the variables.
        context: The rows of the sum above, from which these are a cluster; None above any sum.
    """

    rows: Rows
    variables: IntArray
    seed: int
    depth: int = 0
    known: Dependence = Dependence.UNKNOWN
    context: Rows | None = None

    def child(
        self,
        index: int,
        *,
        rows: Rows | None = None,
        variables: IntArray | None = None,
        known: Dependence = Dependence.UNKNOWN,
    ) -> "Task":
        """Return the task of child `index` with fewer rows or variables."""
        return Task(
            self.rows if rows is None else rows,
            self.variables if variables is None else variables,
            child_seed(self.seed, index),
            self.depth + 1,
            known,
            self.context if rows is None else self.rows,
        )
