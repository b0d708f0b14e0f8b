"""LearnXSPN on a table in partitions: one pass over the partitions for all places that are open."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from xspn.core.errors import DataError
from xspn.distributed.limits import Limits
from xspn.distributed.partitions import PartitionedTable
from xspn.distributed.passes import Outcome, inspected, run_pass
from xspn.distributed.sampling import threshold
from xspn.distributed.scheduler import n_workers
from xspn.distributed.slice import Context, RemoteSlice, SampledRows
from xspn.distributed.subtrees import EQUAL_ROWS_MATTER, Place, without_rows
from xspn.distributed.summary import RemoteSummary
from xspn.distributed.survey import Facts, Plan, Sample, Target
from xspn.distributed.tree import Tree
from xspn.learning.actions import Actions
from xspn.learning.assembly import Learned, Record, assemble
from xspn.learning.config import LearnConfig
from xspn.learning.data import BinaryData
from xspn.learning.policy import decide
from xspn.learning.steps import Progress
from xspn.learning.task import Task
from xspn.leaves.bernoulli import Bernoulli

FEWEST_SAMPLED = 1000
BUNDLES_PER_WORKER = 2


@dataclass(frozen=True)
class PassReport:
    """What one pass over the partitions did.

    Attributes:
        level: How far below the root the uppermost of its places are.
        measured: How many places were summarised where their rows are.
        gathered: How many were gathered and learned to the end.
        seconds: How long it took.
    """

    level: int
    measured: int
    gathered: int
    seconds: float


Saver = Callable[[Tree], None]


class Growth:
    """Grows a tree, pass by pass.

    Args:
        table: The partitions.
        facts: What the first pass over them told.
        config: The choices.
        limits: How much may be in one place.
    """

    def __init__(self, table: PartitionedTable, facts: Facts, config: LearnConfig, limits: Limits) -> None:
        self.table = table
        self.facts = facts
        self.config = config
        self.limits = limits
        self.actions = Actions(config, lambda variable, value: Bernoulli(variable, p=float(value)))
        self.reports: list[PassReport] = []

    def seedling(self, seed: int) -> Tree:
        """Return the tree that nothing is known of."""
        return Tree.of(Place(np.arange(self.table.layout.n_columns), seed, rows=float(self.facts.rows)))

    def grow(self, tree: Tree, save: Saver | None = None, progress: Progress | None = None) -> Learned:
        """Grow until no place is open; save after each pass."""
        cells = self.facts.rows * self.table.layout.n_columns
        while tree.open:
            self._advance(tree)
            if save is not None:
                save(tree)
            if progress is not None:
                left = sum(place.rows * len(place.variables) for place in tree.open.values())
                progress(max(cells - int(left), 0), cells)
        return assemble(tree.finished(self.config.smoothing), self.table.layout.n_columns)

    def _advance(self, tree: Tree) -> None:
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

    def _chosen(self, tree: Tree) -> tuple[list[int], list[dict[int, Place]]]:
        """Return the places to measure in the next pass and those to gather, as many as the limits allow."""
        measured: list[int] = []
        small: list[int] = []
        workers = n_workers()
        space, room = float(self.limits.statistics_bytes), float(self.limits.gather_bytes * workers)
        for key, place in sorted(tree.open.items(), key=lambda item: (item[1].depth, -item[0])):
            n = len(place.variables)
            rows = self._different_rows(place)
            if rows * n <= self.limits.gather_cells:
                needs = rows * (n / 8 if self.facts.complete else n)
                if needs <= room or not small:
                    small.append(key)
                    room -= needs
            else:
                needs = 8.0 * n * n * (1 if self.facts.complete else 7)
                if needs <= space or not measured:
                    measured.append(key)
                    space -= needs
        bundles: list[dict[int, Place]] = [{} for _ in range(min(len(small), BUNDLES_PER_WORKER * workers))]
        loads = np.zeros(len(bundles))
        work = {key: self._different_rows(tree.open[key]) * len(tree.open[key].variables) for key in small}
        for key in sorted(small, key=lambda key: -work[key]):
            lightest = int(np.argmin(loads))
            bundles[lightest][key] = tree.open[key]
            loads[lightest] += work[key]
        return measured, bundles

    def _different_rows(self, place: Place) -> float:
        """Return how many rows are to be gathered at most: of few variables there are few, however long the table."""
        if not self.facts.complete or self.config.clustering in EQUAL_ROWS_MATTER:
            return place.rows
        return min(place.rows, 2.0 ** len(place.variables))

    def _plan(self, tree: Tree, measured: list[int], gathered: dict[int, int], n_bundles: int) -> Plan:
        columns = sum(len(tree.open[key].variables) for key in measured)
        fitting = self.limits.gather_bytes // max(columns, 1)
        size = min(self.limits.sample_rows, max(fitting, FEWEST_SAMPLED))
        targets = {}
        for key in measured:
            place = tree.open[key]
            targets[key] = Target(place.variables, place.seed, threshold(size, place.rows))
        for key, bundle in gathered.items():
            place = tree.open[key]
            targets[key] = Target(place.variables, bundle=bundle, merged=self._different_rows(place) < place.rows)
        return Plan(
            self.table.layout,
            self.facts.complete,
            self.facts.step,
            tree.root,
            tree.steps_to(targets),
            targets,
            n_bundles,
            count_assignments=self.config.exchangeability == "full",
        )

    def _settle(self, tree: Tree, key: int, outcome: Outcome) -> None:
        """Decide what becomes of a place of which sums and a sample are known."""
        start = perf_counter()
        place, sums = tree.open[key], outcome.told.sums[key]
        sample = outcome.told.sample(key)
        own = BinaryData(sample.bits, sample.weights)
        cells = own.slice(np.arange(len(own.bits)), np.arange(len(place.variables)))
        summary = RemoteSummary(sums, cells, sample.weights)
        slice = RemoteSlice(summary, place.variables, place.context)
        task = place.task(SampledRows(np.arange(len(cells)), summary.rows()[1]))
        decision = decide(slice, self.config, is_root=place.depth == 0, known=place.known)
        record = self.actions.act(task, slice, decision)
        record.seconds = perf_counter() - start
        below = self._places(record, place, sums.rows, sample, summary)
        tree.settle(key, without_rows(record), below, in_shares=not summary.complete and record.weights is not None)

    def _places(self, record: Record, place: Place, rows: int, sample: Sample, summary: RemoteSummary) -> list[Place]:
        """Return the places below: factors keep the context, clusters get the sample as theirs."""
        if record.weights is None:
            return [_below(task, place.context, float(rows)) for task in record.below]
        most = self.limits.context_rows
        weights = summary.rows()[1][:most]
        around = Context(place.variables, sample.bits[:most], weights * (summary.total / max(weights.sum(), 1e-300)))
        whole = max(len(sample.bits), 1)
        return [_below(task, around, rows * len(task.rows) / whole) for task in record.below]


def _below(task: Task, context: Context | None, rows: float) -> Place:
    return Place(task.variables, task.seed, task.depth, task.known, context, rows)


def facts_for_learning(table: PartitionedTable) -> Facts:
    """Read the table once; refuse one without rows."""
    facts = inspected(table)
    if facts.rows == 0:
        raise DataError("X: found 0 sample(s) with a weight above 0 and a cell that is not missing; expected some")
    return facts
