"""A task: the slice of the data that one node of the circuit is to be learned from."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from xspn.core.arrays import FloatArray, IntArray
from xspn.core.random import child_seed
from xspn.learning.clustering.base import Split
from xspn.learning.summary import KnownBlocks

SMALLEST_RESPONSIBILITY = 0.01


class Dependence(Enum):
    """What is known of the variables of a slice."""

    UNKNOWN = "nothing"
    CONNECTED = "one component of dependent variables"
    INDEPENDENT = "each independent of all others"
    ONE_CONTEXT = "evidence speaks against further contexts"


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
        """Return the rows of each cluster: by label, or by responsibilities if rows belong to several in part."""
        if split.responsibilities is not None:
            own = split.responsibilities
            return [self.part(of_one) for of_one in (own.T if own.ndim == 2 else (1 - own, own))]
        members = [split.labels == label for label in np.unique(split.labels)]
        return [Rows(self.index[own], self.weights[own]) for own in members]

    def part(self, responsibilities: FloatArray) -> "Rows":
        """Return the rows of a cluster, weighted by its responsibilities; negligible ones are dropped."""
        keep = responsibilities > SMALLEST_RESPONSIBILITY
        return Rows(self.index[keep], (self.weights * responsibilities)[keep])


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
        blocks: The exchangeable blocks of the variables, as far as they are known.
    """

    rows: Rows
    variables: IntArray
    seed: int
    depth: int = 0
    known: Dependence = Dependence.UNKNOWN
    context: Rows | None = None
    blocks: KnownBlocks | None = None

    def child(
        self,
        index: int,
        *,
        rows: Rows | None = None,
        variables: IntArray | None = None,
        known: Dependence = Dependence.UNKNOWN,
        blocks: IntArray | None = None,
    ) -> "Task":
        """Return the task of child `index` with fewer rows or variables, whose blocks may be known."""
        return Task(
            self.rows if rows is None else rows,
            self.variables if variables is None else variables,
            child_seed(self.seed, index),
            self.depth + 1,
            known,
            self.context if rows is None else self.rows,
            None if blocks is None else KnownBlocks(np.unique(blocks, return_inverse=True)[1], rows is None),
        )
