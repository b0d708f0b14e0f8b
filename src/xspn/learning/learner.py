"""LearnXSPN: a queue of tasks, each decided by the policy and carried out here."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from time import perf_counter

import numpy as np

from xspn.learning.assembly import Learned, Record, assemble
from xspn.learning.clustering import Split
from xspn.learning.clustering.sklearn_clusters import without_convergence_warnings
from xspn.learning.config import LearnConfig
from xspn.learning.policy import Decision, Operation, decide
from xspn.learning.slice import Slice
from xspn.learning.source import TrainingData, source_of
from xspn.learning.task import Rows, Task

NEED_QUIET = ("gmm", "kmeans")
Progress = Callable[[int, int], None]  # (rows × variables settled, of how many)


def learn(
    data: TrainingData, config: LearnConfig, seed: int = 0, n_jobs: int = 1, progress: Progress | None = None
) -> Learned:
    """Learn the structure and the parameters of a circuit.

    Tasks are taken in the order in which they came up, generation by generation, so that a generation can be shared out
    to threads: what a task becomes depends on its data and on its place in the tree alone.
    """
    return _Learner(data, config, progress).learn(seed, n_jobs)


class _Learner:
    def __init__(self, data: TrainingData, config: LearnConfig, progress: Progress | None) -> None:
        self.data = data
        self.source = source_of(data)
        self.config = config
        self.progress = progress

    def learn(self, seed: int, n_jobs: int) -> Learned:
        n_rows, n_variables = self.data.shape
        root = Task(Rows(np.arange(n_rows), self.data.weights), np.arange(n_variables), seed)
        records: list[Record] = []
        generation: list[tuple[Task, int | None]] = [(root, None)]
        settled = 0
        quiet = without_convergence_warnings() if self.config.clustering in NEED_QUIET else nullcontext()
        with quiet, _workers(n_jobs) as run_all:
            while generation:
                done = run_all(self._carry_out, [task for task, _ in generation])
                upcoming: list[tuple[Task, int | None]] = []
                for record, (_, parent) in zip(done, generation, strict=True):
                    if parent is not None:
                        records[parent].children.append(len(records))
                    upcoming += [(below, len(records)) for below in record.below]
                    records.append(record)
                    settled += record.cells_settled()
                if self.progress is not None:
                    self.progress(settled, n_rows * n_variables)
                generation = upcoming
        return assemble(records, n_variables)

    def _carry_out(self, task: Task) -> Record:
        """Decide what to do with a task, and do it."""
        start = perf_counter()
        slice = self.source.slice_of(task)
        decision = decide(slice, self.config, is_root=task.depth == 0, known=task.known)
        record = self._act(task, slice, decision)
        record.seconds = perf_counter() - start
        return record

    def _act(self, task: Task, slice: Slice, decision: Decision) -> Record:
        record = Record(task, decision.operation, decision.note, slice.total, decision.test)
        match decision.operation:
            case Operation.UNIVARIATE:
                record.node = slice.univariate(self.config)
            case Operation.EXCHANGEABLE:
                record.node = slice.exchangeable(self.config)
            case Operation.FEW_ROWS | Operation.CONSTANT:
                self._fall_back(record, slice)
            case Operation.CONSTANTS | Operation.INDEPENDENT:
                record.below = [
                    task.child(k, variables=task.variables[group], known=known)
                    for k, (group, known) in enumerate(zip(decision.groups, decision.kinds, strict=True))
                ]
            case _:
                self._cluster(record, slice)
        return record

    def _fall_back(self, record: Record, slice: Slice) -> None:
        found = slice.fallback(self.config)
        record.node, record.detail = found.node, found.name

    def _cluster(self, record: Record, slice: Slice) -> None:
        seed = record.task.seed if self.config.cluster_seed is None else self.config.cluster_seed
        split = slice.split(self.config, seed)
        if split is None:
            record.operation = Operation.NO_SPLIT
            self._fall_back(record, slice)
        elif split.variable is not None and any(condition.relation == "=" for condition in split.conditions):
            self._cut(record, split, split.variable)
        else:
            self._mix(record, split)

    def _mix(self, record: Record, split: Split) -> None:
        """Make a sum whose weights are the clusters' shares."""
        task = record.task
        parts = _clusters(task.rows, split)
        weights = np.array([part.weights.sum() for part in parts])
        record.weights = (weights / weights.sum()).tolist()
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
        parts = _clusters(task.rows, split)
        masses = np.array([part.weights.sum() + alpha for part in parts])
        record.weights = (masses / masses.sum()).tolist()
        for k, (part, condition) in enumerate(zip(parts, split.conditions, strict=True)):
            fixed = condition.relation == "="
            record.below.append(task.child(k, rows=part, variables=rest if fixed else task.variables))
            record.extra.append([self.source.indicator(variable, int(condition.value))] if fixed else [])
        record.detail = f"split on variable {variable}"
        record.cut, record.conditions = variable, split.conditions


def _clusters(rows: Rows, split: Split) -> list[Rows]:
    """Return the rows of each cluster: by label, or in shares where cells are missing."""
    if split.shares is not None:
        return [rows.part(1 - split.shares), rows.part(split.shares)]
    members = [split.labels == label for label in np.unique(split.labels)]
    return [Rows(rows.index[own], rows.weights[own]) for own in members]


@contextmanager
def _workers(n_jobs: int) -> Iterator[Callable[[Callable[[Task], Record], list[Task]], list[Record]]]:
    """Provide a function that runs tasks, in this thread or in several, and returns the results in order."""
    if n_jobs == 1:
        yield lambda work, tasks: [work(task) for task in tasks]
        return
    with ThreadPoolExecutor(n_jobs) as pool:
        yield lambda work, tasks: list(pool.map(work, tasks))
