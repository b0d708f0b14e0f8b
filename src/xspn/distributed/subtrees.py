"""Slices that have become small: learned in one place, as if the table had been there all along."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from xspn.core.arrays import IntArray
from xspn.distributed.slice import Context
from xspn.distributed.survey import Bundle, Packed
from xspn.learning.assembly import Record
from xspn.learning.config import LearnConfig
from xspn.learning.data import BinaryData
from xspn.learning.learner import learn_task
from xspn.learning.policy import Dependence
from xspn.learning.task import Rows, Task

NO_ROWS = Rows(np.zeros(0, dtype=np.int64), np.zeros(0))
EQUAL_ROWS_MATTER = ("gmm",)  # clusterings that cannot take weights


@dataclass(frozen=True, eq=False)
class Place:
    """A place in the tree where something is still to be learned.

    Attributes:
        variables: The variables.
        seed: The seed of this place.
        depth: How far below the root.
        known: What an independence test on these very rows has told.
        context: Some rows of the sum above; None above any sum.
        rows: How many rows there are, as far as is known.
        parent: The node above; None for the root.
        branch: Which child of it this is.
    """

    variables: IntArray
    seed: int
    depth: int = 0
    known: Dependence = Dependence.UNKNOWN
    context: Context | None = None
    rows: float = 0.0
    parent: int | None = None
    branch: int = 0

    def task(self, rows: Rows) -> Task:
        """Return the task of this place for rows that are at hand."""
        return Task(rows, self.variables, self.seed, self.depth, self.known)


def learn_bundle(parts: Sequence[Bundle], places: dict[int, Place], config: LearnConfig) -> dict[int, list[Record]]:
    """Learn all slices of a bundle, given what each partition has of it."""
    return {
        key: _learn([own for part in parts for own in part.get(key, [])], place, config)
        for key, place in places.items()
    }


def _learn(packed: Sequence[Packed], place: Place, config: LearnConfig) -> list[Record]:
    found = [part.rows() for part in packed]
    nothing = np.zeros((0, len(place.variables)), dtype=np.uint8)
    own = BinaryData(
        np.concatenate([nothing, *(bits for bits, _ in found)]), np.concatenate([[], *(w for _, w in found)])
    )
    if own.complete and config.clustering not in EQUAL_ROWS_MATTER:  # rows of which nothing is seen here must stay
        own = BinaryData.of(own.bits, own.weights)
    task = place.task(Rows(np.arange(len(own.bits)), own.weights))
    data = own
    if place.context is not None:
        around = place.context.of(place.variables)
        data = BinaryData(np.concatenate([own.bits, around]), np.concatenate([own.weights, place.context.weights]))
        index = np.arange(len(own.bits), len(data.bits))
        task = replace(task, context=Rows(index, place.context.weights))
    return [without_rows(record) for record in learn_task(task, data, place.variables, config)]


def without_rows(record: Record) -> Record:
    """Return a record that no longer knows its rows: they would travel for nothing."""
    below = [replace(task, rows=NO_ROWS, context=None) for task in record.below]
    return replace(record, task=replace(record.task, rows=NO_ROWS, context=None), below=below)
