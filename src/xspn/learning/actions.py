"""Carry out what the policy decided: make a leaf, or the tasks below."""

from collections.abc import Callable, Sequence

import numpy as np

from xspn.learning.assembly import Record
from xspn.learning.clustering import Split
from xspn.learning.config import LearnConfig
from xspn.learning.fallback import Candidate
from xspn.learning.policy import Decision, Operation
from xspn.learning.slice import Slice
from xspn.learning.task import Task
from xspn.leaves.base import Leaf

Indicator = Callable[[int, int], Leaf]  # the leaf that has all its mass on one value of a variable


class Actions:
    """What can be done with a slice, wherever its rows are."""

    def __init__(self, config: LearnConfig, indicator: Indicator) -> None:
        self.config = config
        self.indicator = indicator

    def act(self, task: Task, slice: Slice, decision: Decision) -> Record:
        """Make a leaf of a task, or the tasks below it."""
        record = Record(task, decision.operation, decision.note, slice.total, decision.test)
        match decision.operation:
            case Operation.UNIVARIATE:
                self._end(record, slice, slice.univariate(self.config))
            case Operation.EXCHANGEABLE:
                self._end(record, slice, slice.exchangeable(self.config))
            case Operation.FEW_ROWS | Operation.CONSTANT:
                self._fall_back(record, slice)
            case Operation.CONSTANTS | Operation.INDEPENDENT:
                record.below = [
                    task.child(k, variables=task.variables[group], known=known)
                    for k, (group, known) in enumerate(zip(decision.groups, decision.kinds, strict=True))
                ]
            case _:
                self._cluster(record, slice)
        if self.config.prune and record.below:
            self._propose(record, slice)
        return record

    def _fall_back(self, record: Record, slice: Slice) -> None:
        found = slice.fallback(self.config)
        self._end(record, slice, found)
        record.detail = found.name

    def _propose(self, record: Record, slice: Slice) -> None:
        """Say what could stand in the place of all that is learned below."""
        leaves = [slice.fallback(self.config)]
        if record.test is not None:
            leaves.append(slice.exchangeable(self.config))
        record.leaf = max(leaves, key=slice.score)
        record.score_of_leaf = slice.score(record.leaf)

    def _end(self, record: Record, slice: Slice, leaf: Candidate) -> None:
        record.node = leaf.node
        if self.config.prune:
            record.score = slice.score(leaf)

    def _cluster(self, record: Record, slice: Slice) -> None:
        seed = record.task.seed if self.config.cluster_seed is None else self.config.cluster_seed
        split = slice.split(self.config, seed)
        if split is None:
            record.operation = Operation.NO_SPLIT
            self._fall_back(record, slice)
            return
        record.rule = split.rule
        if split.variable is not None and split.on_category:
            self._cut(record, split, split.variable)
        else:
            self._mix(record, split)

    def _mix(self, record: Record, split: Split) -> None:
        """Make a sum whose weights are the clusters' shares."""
        task = record.task
        parts = task.rows.clusters(split)
        record.weights = shares_of([part.total for part in parts])
        record.below = [task.child(k, rows=part) for k, part in enumerate(parts)]
        record.extra = [[] for _ in parts]
        record.detail = f"{len(parts)} clusters"
        if split.variable is not None:
            record.cut, record.conditions = int(task.variables[split.variable]), split.conditions
            record.detail = f"rows told apart by variable {record.cut}"

    def _cut(self, record: Record, split: Split, position: int) -> None:
        """Make a sum on the value of one variable: its smoothing is in the weights.

        In a cluster where the variable has one value, an indicator of it stands beside what is learned of the others.
        """
        task, alpha = record.task, self.config.smoothing
        variable = int(task.variables[position])
        rest = np.delete(task.variables, position)
        parts = task.rows.clusters(split)
        record.weights = shares_of([part.total for part in parts], alpha)
        for k, (part, condition) in enumerate(zip(parts, split.conditions, strict=True)):
            fixed = condition.relation == "="
            record.below.append(task.child(k, rows=part, variables=rest if fixed else task.variables))
            record.extra.append([self.indicator(variable, int(condition.value))] if fixed else [])
        record.detail = f"split on variable {variable}"
        record.cut, record.conditions = variable, split.conditions


def shares_of(totals: Sequence[float], smoothing: float = 0.0) -> list[float]:
    """Return the weights of a sum, from the weights of its clusters' rows."""
    masses = np.array(totals) + smoothing
    shares: list[float] = (masses / masses.sum()).tolist()
    return shares
