"""LearnXSPN: a queue of tasks, each decided by the policy and carried out here."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

from xspn.core.arrays import IntArray
from xspn.learning.actions import Actions
from xspn.learning.assembly import Learned, Record, assemble
from xspn.learning.clustering.sklearn_clusters import without_convergence_warnings
from xspn.learning.config import LearnConfig
from xspn.learning.data import BinaryData
from xspn.learning.policy import decide
from xspn.learning.pruning import pruned
from xspn.learning.source import BinarySource, Source, TrainingData, source_of
from xspn.learning.steps import Meter, Progress
from xspn.learning.tables.data import TableData
from xspn.learning.task import Rows, Task

NEED_QUIET = ("gmm", "kmeans")
Open = tuple[Task, float]  # a task, and the share of the whole work that is expected of it


def learn(
    data: TrainingData, config: LearnConfig, seed: int = 0, n_jobs: int = 1, progress: Progress | None = None
) -> Learned:
    """Learn the structure and the parameters of a circuit.

    Tasks are taken in the order in which they came up, generation by generation, so that a generation can be shared out
    to threads: what a task becomes depends on its data and on its place in the tree alone. `progress` is told how much
    is done, of as many units as the data has cells.
    """
    n_rows, n_variables = data.shape
    root = Task(Rows(np.arange(n_rows), data.weights), np.arange(n_variables), seed)
    return assemble(_Learner(data, source_of(data), config, progress).learn(root, n_jobs), n_variables)


def learn_task(task: Task, data: BinaryData, variables: IntArray, config: LearnConfig) -> list[Record]:
    """Return what became of a task anywhere in the tree and of all tasks below it, parents before children.

    Args:
        task: The task; its variables are some of `variables`.
        data: A table of zeros and ones.
        variables: Which variables of the circuit the table's columns are.
        config: The choices.
    """
    return _Learner(data, BinarySource(data, variables), config).learn(task, n_jobs=1)


class _Learner:
    def __init__(
        self, data: TrainingData, source: Source, config: LearnConfig, progress: Progress | None = None
    ) -> None:
        self.data = data
        self.source = source
        self.config = config
        self.actions = Actions(config, self.source.indicator)
        n_rows, n_variables = data.shape
        self.meter = Meter(progress, n_rows * n_variables)

    def learn(self, root: Task, n_jobs: int) -> list[Record]:
        records: list[Record] = []
        # Each task with the record of the task above and the share of the whole work that is expected of it.
        generation: list[tuple[Task, int | None, float]] = [(root, None, float(len(root.rows) * len(root.variables)))]
        quiet = without_convergence_warnings() if self.config.clustering in NEED_QUIET else nullcontext()
        # Tables of any kind are many small problems: threads of linear algebra would only wait for each other.
        few_threads = threadpool_limits(1, "blas") if isinstance(self.data, TableData) else nullcontext()
        with quiet, few_threads, _workers(n_jobs) as run_all:
            while generation:
                done = run_all(self._carry_out, [(task, share) for task, _, share in generation])
                upcoming: list[tuple[Task, int | None, float]] = []
                for record, (task, parent, share) in zip(done, generation, strict=True):
                    if parent is not None:
                        records[parent].children.append(len(records))
                    sizes = [len(below.rows) * len(below.variables) * self._levels(below) for below in record.below]
                    left = (share - share / self._levels(task)) / max(sum(sizes), 1.0)
                    upcoming += [
                        (below, len(records), left * size) for below, size in zip(record.below, sizes, strict=True)
                    ]
                    records.append(record)
                generation = upcoming
        return pruned(records) if self.config.prune else records

    def _carry_out(self, task_and_share: Open) -> Record:
        """Decide what to do with a task, and do it."""
        start = perf_counter()
        task, share = task_and_share
        own = share / self._levels(task)
        with self.meter.part(own):
            slice = self.source.slice_of(task)
            decision = decide(slice, self.config, is_root=task.depth == 0, known=task.known)
            record = self.actions.act(task, slice, decision)
        record.seconds = perf_counter() - start
        if not record.below:
            self.meter.add(share - own)
        return record

    def _levels(self, task: Task) -> float:
        """Return on how many levels of the tree the cells of a task are expected to be looked at, its own included."""
        most = float(np.log2(max(task.rows.total / self.config.min_instances, 1.0)))
        return 1.0 + most / 2  # many a branch ends before rows are few


@contextmanager
def _workers(n_jobs: int) -> Iterator[Callable[[Callable[[Open], Record], list[Open]], list[Record]]]:
    """Provide a function that runs tasks, in this thread or in several, and returns the results in order."""
    if n_jobs == 1:
        yield lambda work, tasks: [work(task) for task in tasks]
        return
    with ThreadPoolExecutor(n_jobs) as pool:
        yield lambda work, tasks: list(pool.map(work, tasks))
