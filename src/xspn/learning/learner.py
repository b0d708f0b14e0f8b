"""LearnXSPN: a queue of tasks, each decided by the policy and carried out here: a leaf, or the tasks below."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from time import perf_counter

import numpy as np
from scipy.special import xlogy
from threadpoolctl import threadpool_limits

from xspn.core.arrays import IntArray
from xspn.core.errors import ParameterError
from xspn.graph.nodes import Sum
from xspn.learning import sampling
from xspn.learning.assembly import Learned, Record, assemble, priced, pruned
from xspn.learning.clustering import Split, clusterings
from xspn.learning.clustering.numeric import without_convergence_warnings
from xspn.learning.completion import fitted_by_em, learn_completed
from xspn.learning.config import LearnConfig
from xspn.learning.data import BinaryData
from xspn.learning.exchangeability import tests
from xspn.learning.leaf_learners import Candidate, leaf_learners
from xspn.learning.long_tables import LongRows, LongTable, fitted_to_all
from xspn.learning.policy import Decision, Operation, decide
from xspn.learning.sampling import Draw
from xspn.learning.scales import ColumnScale, in_own_units, on_scales
from xspn.learning.slice import Slice
from xspn.learning.source import BinarySource, Source, TrainingData, source_of
from xspn.learning.steps import Meter, Progress
from xspn.learning.table_data import TableData
from xspn.learning.task import Dependence, Rows, Task
from xspn.learning.trace import Trace
from xspn.leaves.base import Leaf

WIDEST_BY_EVIDENCE = 6_000  # columns of bits, of which all pairs are counted
WIDEST_TABLE = 600  # columns of other types or with missing cells, unless evidence is asked for: it takes minutes
LONGEST_SCALE = 10  # steps of ordered values, unless evidence is asked for
NEED_QUIET = ("gmm", "kmeans")
OF_SAMPLE, OF_ALL_ROWS = 0.05, 0.35  # of the work with a long table: drawing rows, and fitting to all of them
Job = tuple[Task, float]  # a task, and the part of the whole work that is expected of it
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
                _finish(record, slice, slice.univariate(self.config))
            case Operation.EXCHANGEABLE:
                self._hold_together(record, slice)
            case Operation.FEW_ROWS | Operation.CONSTANT:
                self._learn_leaf(record, slice)
            case Operation.CONSTANTS | Operation.INDEPENDENT:
                blocks = decision.blocks
                record.below = [
                    task.child(
                        k,
                        variables=task.variables[group],
                        known=known,
                        blocks=None if blocks is None else blocks[group],
                    )
                    for k, (group, known) in enumerate(zip(decision.groups, decision.known, strict=True))
                ]
                if decision.operation is Operation.INDEPENDENT and self.config.by_evidence:
                    pairs = zip(decision.groups, decision.known, strict=True)
                    connected = [group for group, known in pairs if known is not Dependence.INDEPENDENT]
                    _offer(record, slice, slice.instead_of_product(self.config, connected))
            case Operation.SPLIT:
                self._cluster(record, slice, slice.split_in_two)
            case _:
                self._cluster(record, slice, slice.split)
        return record

    def _hold_together(self, record: Record, slice: Slice) -> None:
        """Make one exchangeable leaf; by evidence, unless several contexts, or a Chow-Liu tree, have more."""
        leaf, task = slice.exchangeable(self.config), record.task
        by_evidence = self.config.by_evidence and task.known is not Dependence.ONE_CONTEXT
        split = slice.contexts(task.seed) if by_evidence else None
        if split is None:
            other = slice.leaf(self.config) if self.config.by_evidence and slice.tree_has_more_evidence() else leaf
            if priced(slice.score(other), other) > priced(slice.score(leaf), leaf):
                record.operation, record.detail, leaf = Operation.NO_SPLIT, other.name, other
            _finish(record, slice, leaf)
            return
        record.operation = Operation.CLUSTER
        _offer(record, slice, leaf)
        self._mix(record, split)

    def _learn_leaf(self, record: Record, slice: Slice) -> None:
        found = slice.leaf(self.config)
        _finish(record, slice, found)
        record.detail = found.name

    def _cluster(self, record: Record, slice: Slice, find: Callable[[LearnConfig, int], Split | None]) -> None:
        seed = record.task.seed if self.config.cluster_seed is None else self.config.cluster_seed
        split = find(self.config, seed)
        if split is None:
            record.operation = Operation.NO_SPLIT
            self._learn_leaf(record, slice)
            return
        record.rule = split.rule
        if self.config.by_evidence:
            _offer(record, slice, slice.leaf(self.config))
            _offer(record, slice, slice.block_mixture(self.config))
        if split.variable is not None and split.on_category:
            self._cut(record, split, split.variable)
        else:
            self._mix(record, split)

    def _mix(self, record: Record, split: Split) -> None:
        """Make a sum whose weights are the clusters' fractions of the rows."""
        task = record.task
        parts = task.rows.clusters(split)
        record.weights = fractions_of([part.total for part in parts])
        contexts = split.responsibilities is not None and split.responsibilities.ndim == 2
        known = Dependence.ONE_CONTEXT if contexts else Dependence.UNKNOWN
        blocks = split.blocks or [None] * len(parts)
        record.below = [
            task.child(k, rows=part, known=known, blocks=own)
            for k, (part, own) in enumerate(zip(parts, blocks, strict=True))
        ]
        record.extra = [[] for _ in parts]
        record.detail = f"{len(parts)} clusters"
        if contexts:
            own = split.responsibilities
            record.score = -float(task.rows.weights @ xlogy(own, own).sum(axis=1))
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
        record.weights = fractions_of([part.total for part in parts], alpha)
        for k, (part, condition) in enumerate(zip(parts, split.conditions, strict=True)):
            fixed = condition.relation == "="
            record.below.append(task.child(k, rows=part, variables=rest if fixed else task.variables))
            record.extra.append([self.indicator(variable, int(condition.value))] if fixed else [])
        record.detail = f"split on variable {variable}"
        record.cut, record.conditions = variable, split.conditions


def _finish(record: Record, slice: Slice, leaf: Candidate) -> None:
    record.node, record.score = leaf.node, slice.score(leaf)


def _offer(record: Record, slice: Slice, leaf: Candidate | None) -> None:
    """Keep a leaf that may take the place of what is grown below: the best one that was offered."""
    if leaf is None:
        return
    score = slice.score(leaf)
    if record.instead is None or priced(score, leaf) > priced(record.instead_score, record.instead):
        record.instead, record.instead_score = leaf, score


def fractions_of(totals: Sequence[float], smoothing: float = 0.0) -> list[float]:
    """Return the weights of a sum, from the weights of its clusters' rows."""
    masses = np.array(totals) + smoothing
    fractions: list[float] = (masses / masses.sum()).tolist()
    return fractions


def learn(
    data: TrainingData | LongRows,
    config: LearnConfig,
    seed: int = 0,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> Learned:
    """Learn the structure and the parameters of a circuit.

    Tasks are taken in the order in which they came up, generation by generation, so that threads can work on a
    generation: what a task becomes depends on its data and on its place in the tree alone. `progress` is told how much
    is done, of as many units as the data has cells. From long rows a circuit is learned by evidence.
    """
    config = config.settled(evidence_serves(data))
    if not isinstance(data, BinaryData | TableData):
        return learn_long(data, config, seed, n_jobs, progress)
    if config.by_evidence and len(data.weights) > sampling.MOST_ROWS:
        return learn_long(LongTable.of(data), config, seed, n_jobs, progress)
    _refuse_unsupported(data, config)
    if not config.by_evidence:
        return _grown(data, config, seed, n_jobs, progress)
    scaled, scales = _on_scales(data)
    found = _learned(scaled, config, seed, n_jobs, progress)
    return _in_own_units(found, scales)


def learn_long(
    rows: LongRows, config: LearnConfig, seed: int = 0, n_jobs: int = 1, progress: Progress | None = None
) -> Learned:
    """Learn by evidence from a table of any length: the structure from a sample of its rows, the parameters from all.

    What is learned depends on the rows, their order and the seed, not on where they are nor on how many workers there
    are: the structure not at all, the parameters up to the rounding of sums. A table of few different rows needs no
    sample: they are learned from with their numbers.
    """
    size = float(rows.statistics.rows * len(rows.domains))
    meter = Meter(progress, size)
    with meter.part(OF_SAMPLE * size):
        sample = rows.summed(Draw(seed, rows.domains, rows.statistics, sampling.MOST_ROWS))
        data = sample.data()
    _refuse_unsupported(data, config)
    scaled, scales = _on_scales(data)
    if sample.is_whole:
        return _in_own_units(_learned(scaled, config, seed, n_jobs, _rest(progress, OF_SAMPLE, 1.0, size)), scales)
    # Where nothing is smoothed, what the sample lacks would be impossible, and no pass over all rows could change that.
    of_sample = config if config.smoothing > 0 else replace(config, smoothing=LearnConfig.smoothing)
    found = _learned(scaled, of_sample, seed, n_jobs, _rest(progress, OF_SAMPLE, 1 - OF_ALL_ROWS, size))
    meter.add((1 - OF_ALL_ROWS - OF_SAMPLE) * size)
    found = fitted_to_all(found, scaled, scales, rows, config, meter, OF_ALL_ROWS * size)
    entries = (replace(entry, rows=entry.rows * rows.statistics.rows / sampling.MOST_ROWS) for entry in found.trace)
    return _in_own_units(replace(found, trace=Trace(tuple(entries))), scales)


def _rest(progress: Progress | None, start: float, end: float, size: float) -> Progress | None:
    """Return the progress of a part of the work, as a fraction of the whole."""
    return None if progress is None else lambda done, of: progress(size * (start + (end - start) * done / of), size)


def _on_scales(data: TrainingData) -> tuple[TrainingData, dict[int, ColumnScale]]:
    return (data, {}) if isinstance(data, BinaryData) else on_scales(data)


def _in_own_units(learned: Learned, scales: dict[int, ColumnScale]) -> Learned:
    return replace(learned, graph=in_own_units(learned.graph, scales)) if scales else learned


def _learned(data: TrainingData, config: LearnConfig, seed: int, n_jobs: int, progress: Progress | None) -> Learned:
    """Learn a circuit by evidence, on the scales that the columns have."""
    if not data.complete:
        return learn_completed(
            data, config, seed, lambda rows, own, part: _grown(rows, own, seed, n_jobs, part), progress
        )
    grown = _grown(data, config, seed, n_jobs, progress)
    mixed = any(isinstance(node, Sum) for node in grown.graph.nodes)  # without sums each leaf has its own rows already
    return fitted_by_em(grown, data, config) if mixed and data.discrete else grown


def _grown(data: TrainingData, config: LearnConfig, seed: int, n_jobs: int, progress: Progress | None) -> Learned:
    """Grow a circuit from the root down."""
    n_rows, n_variables = data.shape
    root = Task(Rows(np.arange(n_rows), data.weights), np.arange(n_variables), seed)
    records = _Learner(data, source_of(data), config, progress).learn(root, n_jobs)
    return assemble(pruned(records) if config.by_evidence else records, n_variables)


def _refuse_unsupported(data: TrainingData, config: LearnConfig) -> None:
    """Refuse a clustering, a leaf learner or a test that is for bits only, or for whole rows, where the data is not."""
    only_bits = _has_only_bits(data)
    if config.by_evidence and data.shape[1] > WIDEST_BY_EVIDENCE:
        raise ParameterError(
            f"exchangeability='evidence' is for at most {WIDEST_BY_EVIDENCE} columns, found {data.shape[1]}; 'global' "
            "takes more"
        )
    if not only_bits:
        clusterings.for_tables(config.clustering)
        leaf_learners.for_tables(config.leaf_learner)
        if config.exchangeability is not None and not config.by_evidence:
            tests.for_tables(config.exchangeability)


def _has_only_bits(data: TrainingData | LongRows) -> bool:
    return isinstance(data, BinaryData) or all(domain.cardinality == 2 for domain in data.domains)


def evidence_serves(data: TrainingData | LongRows) -> bool:
    """Whether blocks and contexts of best evidence are what is learned where nothing else is asked for.

    The laws of categories do not know that neighbors on a long scale are alike; where most columns are such scales,
    tests predict better.
    """
    domains = () if isinstance(data, BinaryData) else data.domains
    long = sum(domain.ordered and (domain.cardinality or 0) > LONGEST_SCALE for domain in domains)
    if isinstance(data, BinaryData | TableData):
        n, complete = data.shape[1], data.complete
        seen = complete or not np.isnan(data.rows()).all(axis=0).any()
    else:
        n, complete, seen = len(domains), data.statistics.complete, bool(data.statistics.seen.all())
    widest = WIDEST_BY_EVIDENCE if complete and _has_only_bits(data) else WIDEST_TABLE
    return n <= widest and 2 * long <= n and seen


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
        # Each task with the record of the task above and the part of the whole work that is expected of it.
        generation: list[tuple[Task, int | None, float]] = [(root, None, float(len(root.rows) * len(root.variables)))]
        quiet = without_convergence_warnings() if self.config.clustering in NEED_QUIET else nullcontext()
        # These are many small problems: threads of linear algebra would only wait for each other.
        small = isinstance(self.data, TableData) or self.config.by_evidence
        few_threads = threadpool_limits(1, "blas") if small else nullcontext()
        with quiet, few_threads, _workers(n_jobs) as run_all:
            while generation:
                done = run_all(self._carry_out, [(task, work) for task, _, work in generation])
                upcoming: list[tuple[Task, int | None, float]] = []
                for record, (task, parent, work) in zip(done, generation, strict=True):
                    if parent is not None:
                        records[parent].children.append(len(records))
                    sizes = [len(below.rows) * len(below.variables) * self._levels(below) for below in record.below]
                    left = (work - work / self._levels(task)) / max(sum(sizes), 1.0)
                    upcoming += [
                        (below, len(records), left * size) for below, size in zip(record.below, sizes, strict=True)
                    ]
                    records.append(record)
                generation = upcoming
        return records

    def _carry_out(self, job: Job) -> Record:
        """Decide what to do with a task, and do it."""
        start = perf_counter()
        task, work = job
        own = work / self._levels(task)
        with self.meter.part(own):
            slice = self.source.slice_of(task)
            decision = decide(slice, self.config, is_root=task.depth == 0, known=task.known)
            record = self.actions.act(task, slice, decision)
        record.seconds = perf_counter() - start
        if not record.below:
            self.meter.add(work - own)
        return record

    def _levels(self, task: Task) -> float:
        """Return on how many levels of the tree the cells of a task are expected to be looked at, its own included."""
        most = float(np.log2(max(task.rows.total / self.config.min_instances, 1.0)))
        return 1.0 + most / 2  # many a branch ends before rows are few


@contextmanager
def _workers(n_jobs: int) -> Iterator[Callable[[Callable[[Job], Record], list[Job]], list[Record]]]:
    """Provide a function that runs tasks, in this thread or in several, and returns the results in order."""
    if n_jobs == 1:
        yield lambda run, tasks: [run(task) for task in tasks]
        return
    with ThreadPoolExecutor(n_jobs) as pool:
        yield lambda run, tasks: list(pool.map(run, tasks))
