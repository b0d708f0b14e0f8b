"""LearnXSPN on an out-of-core table: one pass over its partitions, as a Dask graph, for all open tasks."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from xspn.core.checks import MOST_MODELS, whole_number
from xspn.core.errors import DataError, ParameterError
from xspn.core.random import child_seed
from xspn.data.frames import dask_module
from xspn.distributed.checkpoint import Checkpoint, identity
from xspn.distributed.cluster import compute, merge_tree, n_workers
from xspn.distributed.gathering import GatherLimits
from xspn.distributed.partitions import PartitionedTable, partitioned
from xspn.distributed.passes import (
    PassPlan,
    PassResult,
    Sample,
    TableStatistics,
    Target,
    merged_results,
    merged_statistics,
    partition_statistics,
    read_partition,
    threshold,
)
from xspn.distributed.slice import RemoteSlice, RowsAbove, StandInRows
from xspn.distributed.summary import RemoteSummary
from xspn.distributed.tree import OpenTask, PartialTree, learn_bundle, without_rows
from xspn.learning.assembly import Learned, Record, assemble
from xspn.learning.config import LearnConfig
from xspn.learning.data import BinaryData
from xspn.learning.ensemble import Member, mixture_of
from xspn.learning.learner import Actions
from xspn.learning.policy import decide
from xspn.learning.steps import Progress
from xspn.learning.task import Task
from xspn.leaves.bernoulli import Bernoulli

FEWEST_SAMPLED = 1000
BUNDLES_PER_WORKER = 2


@dataclass(frozen=True, eq=False)
class PassOutcome:
    """What a pass brought: sums and samples of slices, and what was learned of those that were gathered."""

    result: PassResult
    learned: dict[int, list[Record]]


def read_statistics(table: PartitionedTable) -> TableStatistics:
    """Read all partitions once and return the statistics of the table."""
    delayed = dask_module("dask").delayed
    parts = [delayed(partition_statistics, pure=False)(own, table.layout) for own in table.partitions]
    statistics: TableStatistics = compute([merge_tree(parts, merged_statistics)], parts, _sources(table))[0]
    return statistics


def run_pass(
    table: PartitionedTable, plan: PassPlan, bundles: Sequence[dict[int, OpenTask]], config: LearnConfig
) -> PassOutcome:
    """Read all partitions once, for all open tasks of the plan; learn what is gathered as soon as it arrives."""
    delayed = dask_module("dask").delayed
    shared = delayed(plan, traverse=False)  # one object for all tasks, which is sent to each worker once
    parts = [
        delayed(read_partition, pure=False, nout=1 + plan.n_bundles)(number, own, shared)
        for number, own in enumerate(table.partitions)
    ]
    outputs = [merge_tree([part[0] for part in parts], merged_results)]
    for which, open_tasks in enumerate(bundles):
        gathered = [part[1 + which] for part in parts]
        outputs.append(
            delayed(learn_bundle, pure=False, traverse=True)(gathered, delayed(open_tasks, traverse=False), config)
        )
    result, *found = compute(outputs, [part[0] for part in parts], _sources(table))
    learned: dict[int, list[Record]] = {}
    for own in found:
        learned |= own
    return PassOutcome(result, learned)


def _sources(table: PartitionedTable) -> list[str]:
    return [own.source for own in table.partitions]


@dataclass(frozen=True)
class PassReport:
    """What one pass over the partitions did.

    Attributes:
        level: How far below the root the uppermost of its open tasks are.
        measured: How many open tasks were summarized where their rows are.
        gathered: How many were gathered and learned to the end.
        seconds: How long it took.
    """

    level: int
    measured: int
    gathered: int
    seconds: float


Saver = Callable[[PartialTree], None]


class Growth:
    """Grows a tree, pass by pass.

    Args:
        table: The partitions.
        statistics: What the first pass over them found.
        config: The choices.
        limits: How much may be in one process.
    """

    def __init__(
        self, table: PartitionedTable, statistics: TableStatistics, config: LearnConfig, limits: GatherLimits
    ) -> None:
        self.table = table
        self.statistics = statistics
        self.config = config
        self.limits = limits
        self.actions = Actions(config, lambda variable, value: Bernoulli(variable, p=float(value)))
        self.reports: list[PassReport] = []

    def root_tree(self, seed: int) -> PartialTree:
        """Return the tree that nothing is known of."""
        return PartialTree.of(OpenTask(np.arange(self.table.layout.n_columns), seed, rows=float(self.statistics.rows)))

    def grow(self, tree: PartialTree, save: Saver | None = None, progress: Progress | None = None) -> Learned:
        """Grow until no task is open; save after each pass."""
        cells = self.statistics.rows * self.table.layout.n_columns
        while tree.open:
            self._advance(tree)
            if save is not None:
                save(tree)
            if progress is not None:
                left = sum(open_task.rows * len(open_task.variables) for open_task in tree.open.values())
                progress(max(cells - int(left), 0), cells)
        return assemble(tree.finished(self.config.smoothing), self.table.layout.n_columns)

    def _advance(self, tree: PartialTree) -> None:
        start = perf_counter()
        measured, bundles = self._chosen(tree)
        gathered = {key: which for which, bundle in enumerate(bundles) for key in bundle}
        level = min(tree.open[key].depth for key in [*measured, *gathered])
        outcome = run_pass(self.table, self._plan(tree, measured, gathered, len(bundles)), bundles, self.config)
        for key in measured:
            self._settle(tree, key, outcome)
        for key in gathered:
            tree.attach(key, outcome.learned[key])
        self.reports.append(PassReport(level, len(measured), len(gathered), perf_counter() - start))

    def _chosen(self, tree: PartialTree) -> tuple[list[int], list[dict[int, OpenTask]]]:
        """Return the open tasks to measure in the next pass and those to gather, as many as the limits allow."""
        measured: list[int] = []
        small: list[int] = []
        workers = n_workers()
        space, room = float(self.limits.statistics_bytes), float(self.limits.gather_bytes * workers)
        for key, open_task in sorted(tree.open.items(), key=lambda item: (item[1].depth, -item[0])):
            n = len(open_task.variables)
            rows = self._different_rows(open_task)
            if rows * n <= self.limits.gather_cells:
                needs = rows * (n / 8 if self.statistics.complete else n)
                if needs <= room or not small:
                    small.append(key)
                    room -= needs
            else:
                needs = 8.0 * n * n * (1 if self.statistics.complete else 7)
                if needs <= space or not measured:
                    measured.append(key)
                    space -= needs
        bundles: list[dict[int, OpenTask]] = [{} for _ in range(min(len(small), BUNDLES_PER_WORKER * workers))]
        loads = np.zeros(len(bundles))
        work = {key: self._different_rows(tree.open[key]) * len(tree.open[key].variables) for key in small}
        for key in sorted(small, key=lambda key: -work[key]):
            lightest = int(np.argmin(loads))
            bundles[lightest][key] = tree.open[key]
            loads[lightest] += work[key]
        return measured, bundles

    def _different_rows(self, open_task: OpenTask) -> float:
        """Return how many rows are to be gathered at most: of few variables there are few, however long the table."""
        if not self.statistics.complete or not self.config.merges_rows:
            return open_task.rows
        return min(open_task.rows, 2.0 ** len(open_task.variables))

    def _plan(self, tree: PartialTree, measured: list[int], gathered: dict[int, int], n_bundles: int) -> PassPlan:
        columns = sum(len(tree.open[key].variables) for key in measured)
        fitting = self.limits.gather_bytes // max(columns, 1)
        size = min(self.limits.sample_rows, max(fitting, FEWEST_SAMPLED))
        targets = {}
        for key in measured:
            open_task = tree.open[key]
            targets[key] = Target(open_task.variables, open_task.seed, threshold(size, open_task.rows))
        for key, bundle in gathered.items():
            open_task = tree.open[key]
            targets[key] = Target(
                open_task.variables, bundle=bundle, merged=self._different_rows(open_task) < open_task.rows
            )
        return PassPlan(
            self.table.layout,
            self.statistics.complete,
            self.statistics.weight_unit,
            tree.root,
            tree.routes_to(targets),
            targets,
            n_bundles,
            count_assignments=self.config.exchangeability == "full",
        )

    def _settle(self, tree: PartialTree, key: int, outcome: PassOutcome) -> None:
        """Decide what becomes of an open task of which sums and a sample are known."""
        start = perf_counter()
        open_task, sums = tree.open[key], outcome.result.sums[key]
        sample = outcome.result.sample(key)
        own = BinaryData(sample.bits, sample.weights)
        cells = own.slice(np.arange(len(own.bits)), np.arange(len(open_task.variables)))
        summary = RemoteSummary(sums, cells, sample.weights)
        slice = RemoteSlice(summary, open_task.variables, open_task.context)
        task = open_task.task(StandInRows(np.arange(len(cells)), summary.rows()[1]))
        decision = decide(slice, self.config, is_root=open_task.depth == 0, known=open_task.known)
        record = self.actions.act(task, slice, decision)
        record.seconds = perf_counter() - start
        below = self._open_tasks(record, open_task, sums.rows, sample, summary)
        tree.settle(key, without_rows(record), below, soft=not summary.complete and record.weights is not None)

    def _open_tasks(
        self, record: Record, open_task: OpenTask, rows: int, sample: Sample, summary: RemoteSummary
    ) -> list[OpenTask]:
        """Return the open tasks below: factors keep the context, clusters get the sample as theirs."""
        if record.weights is None:
            return [_below(task, open_task.context, float(rows)) for task in record.below]
        most = self.limits.context_rows
        weights = summary.rows()[1][:most]
        around = RowsAbove(
            open_task.variables, sample.bits[:most], weights * (summary.total / max(weights.sum(), 1e-300))
        )
        whole = max(len(sample.bits), 1)
        return [_below(task, around, rows * len(task.rows) / whole) for task in record.below]


def _below(task: Task, context: RowsAbove | None, rows: float) -> OpenTask:
    return OpenTask(task.variables, task.seed, task.depth, task.known, context, rows)


def statistics_for_learning(table: PartitionedTable) -> TableStatistics:
    """Read the table once; refuse one without rows."""
    statistics = read_statistics(table)
    if statistics.rows == 0:
        raise DataError("X: found 0 sample(s) with a weight above 0 and a cell that is not missing; expected some")
    return statistics


# -- learning ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Grown:
    """A learned circuit, and what each pass over the data did."""

    learned: Learned
    passes: tuple[PassReport, ...]


@dataclass(frozen=True)
class OutOfCoreTable:
    """An out-of-core table, and how its cells are read."""

    table: Any
    sample_weight: Any = None
    binarize: float | None = None


def learn_out_of_core(
    source: OutOfCoreTable,
    config: LearnConfig,
    seed: int,
    n_circuits: int = 1,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    limits: GatherLimits | None = None,
) -> Grown:
    """Learn from a Dask collection or a Parquet path of zeros, ones and missing cells.

    Args:
        source: The table.
        config: The choices.
        seed: The seed of the root.
        n_circuits: How many circuits to learn, one after the other, on bootstrap samples of the rows, and to mix.
        checkpoint: A file to save the tree to after each pass, and to go on from if it is there; with several circuits
            one for each, with its number at the end.
        progress: Called with how much is done, and of how much.
        limits: How much may be in one process; those of Dask's configuration by default.
    """
    whole_number("n_estimators", n_circuits, 1, MOST_MODELS)
    config = config.settled(evidence_serves=False)
    if config.by_evidence:
        raise ParameterError(
            "exchangeability='evidence' learns one circuit of an out-of-core table; use n_estimators=1, or 'global'"
        )
    own_limits = GatherLimits.configured() if limits is None else limits
    table = partitioned(source.table, source.sample_weight, source.binarize)
    if n_circuits == 1:
        return _grown(table, config, seed, own_limits, checkpoint, progress)
    members: list[Member] = []
    passes: list[PassReport] = []
    for index in range(n_circuits):
        own_seed = child_seed(seed, index)
        path = None if checkpoint is None else f"{os.fspath(checkpoint)}.{index}"
        grown = _grown(table.resampled(own_seed), config, own_seed, own_limits, path, None)
        members.append((list(grown.learned.graph.records()), grown.learned.trace))
        passes += grown.passes
        if progress is not None:
            progress(index + 1, n_circuits)
    return Grown(mixture_of(members, table.layout.n_columns), tuple(passes))


def _grown(
    table: PartitionedTable,
    config: LearnConfig,
    seed: int,
    limits: GatherLimits,
    checkpoint: str | os.PathLike[str] | None,
    progress: Progress | None,
) -> Grown:
    """Grow one tree, or go on growing it."""
    statistics = statistics_for_learning(table)
    growth = Growth(table, statistics, config, limits)
    tree, save = growth.root_tree(seed), None
    if checkpoint is not None:
        saved = Checkpoint.at(checkpoint, identity(statistics, table.layout, config, seed, limits))
        tree, save = saved.load(tree.open[tree.root]) or tree, saved.save
    learned = growth.grow(tree, save, progress)
    return Grown(learned, tuple(growth.reports))
