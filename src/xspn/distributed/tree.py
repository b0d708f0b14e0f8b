"""The tree as far as it has grown: what became of the tasks above, which are open, and learning those gathered."""

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from xspn.core.arrays import IntArray
from xspn.distributed.passes import Bundle, Packed, Route
from xspn.distributed.slice import RowsAbove
from xspn.learning.assembly import Record
from xspn.learning.config import LearnConfig
from xspn.learning.data import BinaryData
from xspn.learning.learner import fractions_of, learn_task
from xspn.learning.task import Dependence, Rows, Task

NO_ROWS = Rows(np.zeros(0, dtype=np.int64), np.zeros(0))
ROOT = -1  # the key of the first open task; open tasks have keys below 0, records are counted from 0


@dataclass(frozen=True, eq=False)
class OpenTask:
    """An open task: a node of the tree that is still to be learned.

    Attributes:
        variables: The variables.
        seed: The seed of this task.
        depth: How far below the root.
        known: What an independence test on these very rows has found.
        context: Some rows of the sum above; None above any sum.
        rows: How many rows there are, as far as is known.
        parent: The node above; None for the root.
        branch: Which child of it this is.
    """

    variables: IntArray
    seed: int
    depth: int = 0
    known: Dependence = Dependence.UNKNOWN
    context: RowsAbove | None = None
    rows: float = 0.0
    parent: int | None = None
    branch: int = 0

    def task(self, rows: Rows) -> Task:
        """Return the task for rows in memory."""
        return Task(rows, self.variables, self.seed, self.depth, self.known)


def learn_bundle(
    parts: Sequence[Bundle], open_tasks: dict[int, OpenTask], config: LearnConfig
) -> dict[int, list[Record]]:
    """Learn all slices of a bundle, given what each partition has of it."""
    return {
        key: _learn([own for part in parts for own in part.get(key, [])], open_task, config)
        for key, open_task in open_tasks.items()
    }


def _learn(packed: Sequence[Packed], open_task: OpenTask, config: LearnConfig) -> list[Record]:
    found = [part.rows() for part in packed]
    nothing = np.zeros((0, len(open_task.variables)), dtype=np.uint8)
    own = BinaryData(
        np.concatenate([nothing, *(bits for bits, _ in found)]), np.concatenate([[], *(w for _, w in found)])
    )
    if own.complete and config.merges_rows:  # rows of which nothing is seen here must stay
        own = BinaryData.of(own.bits, own.weights)
    task = open_task.task(Rows(np.arange(len(own.bits)), own.weights))
    data = own
    if open_task.context is not None:
        around = open_task.context.of(open_task.variables)
        data = BinaryData(np.concatenate([own.bits, around]), np.concatenate([own.weights, open_task.context.weights]))
        index = np.arange(len(own.bits), len(data.bits))
        task = replace(task, context=Rows(index, open_task.context.weights))
    return [without_rows(record) for record in learn_task(task, data, open_task.variables, config)]


def without_rows(record: Record) -> Record:
    """Return a record that no longer knows its rows: they would travel for nothing."""
    below = [replace(task, rows=NO_ROWS, context=None) for task in record.below]
    return replace(record, task=replace(record.task, rows=NO_ROWS, context=None), below=below)


@dataclass(eq=False)
class PartialTree:
    """Records and open tasks.

    Attributes:
        records: What became of open tasks; children are numbers of records, or keys of tasks that are still open.
        parents: The record above each record; None for the root.
        soft_sums: The sums whose rows may belong to both clusters in part.
        open: The open tasks.
        keys: How many keys of open tasks were given out.
    """

    records: list[Record] = field(default_factory=list)
    parents: list[int | None] = field(default_factory=list)
    soft_sums: set[int] = field(default_factory=set)
    open: dict[int, OpenTask] = field(default_factory=dict)
    keys: int = 0

    @classmethod
    def of(cls, root: OpenTask) -> "PartialTree":
        """Return a tree of one open task, the root."""
        return cls(open={ROOT: root}, keys=1)

    @property
    def root(self) -> int:
        """The number of the root: a record, or the first open task."""
        return 0 if self.records else ROOT

    def settle(self, key: int, record: Record, below: Sequence[OpenTask], soft: bool) -> None:
        """Take in what became of an open task, and the open tasks below it."""
        number = self._number(key)
        if soft:
            self.soft_sums.add(number)
        children = []
        for branch, open_task in enumerate(below):
            self.keys += 1
            children.append(-self.keys)
            self.open[-self.keys] = replace(open_task, parent=number, branch=branch)
        self.records.append(replace(record, children=children))

    def attach(self, key: int, records: Sequence[Record]) -> None:
        """Take in an open task that was learned as a whole, with all that is below it."""
        first = self._number(key)
        for offset, record in enumerate(records):
            self.records.append(replace(record, children=[first + child for child in record.children]))
            if offset:
                self.parents.append(None)  # of no use: nothing below is open

    def _number(self, key: int) -> int:
        """Return the number of the record that an open task becomes, and tell it to the record above."""
        open_task, number = self.open.pop(key), len(self.records)
        self.parents.append(open_task.parent)
        if open_task.parent is not None:
            self.records[open_task.parent].children[open_task.branch] = number
        return number

    def routes_to(self, keys: Collection[int]) -> tuple[Route, ...]:
        """Return the way of the rows from the root to some open tasks."""
        needed: set[int] = set()
        for key in keys:
            node = self.open[key].parent
            while node is not None and node not in needed:
                needed.add(node)
                node = self.parents[node]
        wanted = needed | set(keys)
        routes = []
        for node in sorted(needed):
            record = self.records[node]
            targets = tuple(child if child in wanted else None for child in record.children)
            routes.append(Route(node, targets, record.task.variables, record.rule, node in self.soft_sums))
        return tuple(routes)

    def finished(self, smoothing: float) -> list[Record]:
        """Return all records, generation by generation, the weights of sums from the rows that their children have.

        While a sum is made only a sample tells how large its clusters are; when its children are made all rows do.
        """
        order: list[int] = []
        waiting = deque([0])
        while waiting:
            number = waiting.popleft()
            order.append(number)
            waiting.extend(self.records[number].children)
        position = {number: k for k, number in enumerate(order)}
        found = []
        for number in order:
            record = self.records[number]
            weights = record.weights
            if weights is not None:
                totals = [self.records[child].total for child in record.children]
                weights = fractions_of(totals, smoothing if record.has_indicators else 0.0)
            found.append(replace(record, weights=weights, children=[position[child] for child in record.children]))
        return found
