"""HCLTs over exchangeable blocks: their blocks, latent states and smoothing chosen on validation rows."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from xspn.core.arrays import FloatArray
from xspn.core.random import child_seed
from xspn.graph.graph import Graph
from xspn.graph.nodes import Sum
from xspn.learning.assembly import Learned
from xspn.learning.config import LearnConfig
from xspn.learning.data import BinaryData
from xspn.learning.exchangeability.groups import TestedBlock, binary_partition
from xspn.learning.hclt import (
    BlockTree,
    CountedRows,
    FittedHCLT,
    HCLTOptions,
    chow_liu_tree,
    fit_hclt,
    hclt_circuit,
    row_scores,
    sampled_chow_liu_tree,
    singleton_blocks,
)
from xspn.learning.mevm.partition import BlockPartition
from xspn.learning.policy import Operation
from xspn.learning.search.budget import SearchBudget, SearchContext, ValidationRows
from xspn.learning.search.components import (
    Component,
    ComponentSummary,
    averaged,
    doubled_while_it_gains,
    score_of_mixture,
)
from xspn.learning.source import TrainingData
from xspn.learning.summary import BinarySummary
from xspn.learning.trace import Trace, TraceEntry


@dataclass(frozen=True, eq=False)
class _Blocks:
    """What HCLTs over the same blocks have in common."""

    tested: tuple[TestedBlock, ...]
    rows: CountedRows

    @classmethod
    def of(cls, data: BinaryData, tested: tuple[TestedBlock, ...]) -> "_Blocks":
        return cls(tested, CountedRows.of(data.rows(), data.weights, _partition_of(tested)))


@dataclass(frozen=True, eq=False)
class _Job:
    """What an HCLT is fitted with: stopped by validation rows, or after the pass that they have found best."""

    blocks: _Blocks
    tree: BlockTree
    options: HCLTOptions
    seed: int
    validation: CountedRows | None
    last_pass: int | None = None

    @property
    def batch(self) -> tuple[int, int, int, int]:
        """What jobs that a device does together have in common."""
        return id(self.blocks), id(self.validation), self.options.states, self.options.passes

    def run(self) -> tuple[FittedHCLT, FloatArray]:
        """Fit the HCLT, and return it with the log-likelihoods of the validation rows."""
        with threadpool_limits(1, user_api="blas"):  # messages are small, and sums come out the same everywhere
            fitted = fit_hclt(self.blocks.rows, self.tree, self.options, self.seed, self.validation, self.last_pass)
            return fitted, np.empty(0) if self.validation is None else row_scores(fitted, self.validation)


def _run_on_device(jobs: Sequence[_Job], device: str) -> Iterator[tuple[FittedHCLT, FloatArray]]:
    """Yield what `_Job.run` returns for each; neighbors that fit the same rows with as many states go together."""
    from xspn.learning.hclt.torch_fit import TreeTask, fit_hclts  # takes torch along

    for _, together in groupby(jobs, key=lambda job: job.batch):
        own = list(together)
        tasks = [TreeTask(job.tree, job.options, job.seed, job.last_pass) for job in own]
        yield from fit_hclts(own[0].blocks.rows, tasks, own[0].validation, device)


@dataclass(frozen=True, eq=False)
class _Done:
    """A fitted HCLT, its job, and the log-likelihoods of the validation rows, if there were any."""

    job: _Job
    fitted: FittedHCLT
    row_scores: FloatArray


def number_of_fits(context: SearchContext, refit: bool) -> int:
    """Return how many HCLTs are fitted at most; `refit` counts the final fits to all rows."""
    budget = context.budget
    if not (budget.hclt_states and isinstance(context.data, BinaryData)):
        return 0
    partitions = 1 if context.config.exchangeability is None else 2
    chosen = partitions * len(budget.hclt_states) + len(budget.em_smoothings) - 1
    most = max(budget.hclts, budget.most_hclts)
    others = most if most > 1 else 0  # the second one is fitted twice: with the same and other edges
    return chosen + others + (most if refit else 0)


def best_hclts(context: SearchContext, seed: int, beside: Sequence[FloatArray] = ()) -> Component | None:
    """Return a mixture of HCLTs with the best of the settings that are tried; None if all would be too large.

    HCLTs are for bits only. Those over blocks of variables that the global test finds exchangeable compete with those
    over single variables. How many there are depends on what they add to the other components, `beside`: the
    log-likelihoods of the validation rows by each.
    """
    data, validation, budget = context.data, context.validation, context.budget
    if not isinstance(data, BinaryData):
        return None

    def run_all(jobs: Sequence[_Job]) -> list[_Done]:
        if context.device is None:
            results = Parallel(n_jobs=context.n_jobs, return_as="generator")(delayed(job.run)() for job in jobs)
        else:
            results = _run_on_device(jobs, context.device)
        found = []
        for job, (fitted, scores) in zip(jobs, results, strict=True):
            found.append(_Done(job, fitted, scores))
            context.on_step()
        return found

    def best_of(found: Iterable[_Done]) -> _Done:
        return max(found, key=lambda one: one.fitted.score)

    alphas = budget.smoothings_of_em(context.config)
    jobs = []
    for tested in tested_partitions(data, context.config) if budget.hclt_states else ():
        states = [k for k in budget.hclt_states if _is_small_enough(data, len(tested), k, budget)]
        if states:
            blocks = _Blocks.of(data, tested)
            tree = chow_liu_tree(blocks.rows)
            counted = CountedRows.of(validation.rows, validation.weights, _partition_of(tested))
            jobs += [_Job(blocks, tree, HCLTOptions(k, alphas[0]), child_seed(seed, 0), counted) for k in states]
    if not jobs:
        return None
    best = best_of(run_all(jobs))
    jobs = [replace(best.job, options=replace(best.job.options, smoothing=alpha)) for alpha in alphas[1:]]
    best = best_of([best, *run_all(jobs)])
    most = int(budget.hclts_cells / _cells(data, len(best.job.blocks.tested), best.job.options.states))
    numbers = budget.hclts, max(min(budget.most_hclts, most), budget.hclts)
    done = _with_others(best, validation, numbers, seed, run_all, beside)
    job = done[0].job
    setting = f"{job.options.states} latent states, {len(job.blocks.tested)} blocks, α {job.options.smoothing:g}"
    if any(one.job.tree != job.tree for one in done):
        setting += ", different edges"

    def refit(rows: TrainingData) -> Learned:
        """Fit HCLTs of the same edges, for as many passes, to all rows."""
        assert isinstance(rows, BinaryData)
        blocks = _Blocks.of(rows, job.blocks.tested)
        again = [replace(one.job, blocks=blocks, validation=None, last_pass=one.fitted.best_pass) for one in done]
        return _mixture(run_all(again))

    return Component(ComponentSummary("hclts", len(done), setting), _mixture(done), _mean_scores(done), refit)


def _with_others(
    best: _Done,
    validation: ValidationRows,
    numbers: tuple[int, int],
    seed: int,
    run_all: Callable[[Sequence[_Job]], list[_Done]],
    beside: Sequence[FloatArray],
) -> list[_Done]:
    """Return an HCLT and others like it, so many at least and at most.

    The others start from other parameters. Whether they also have other edges is decided with the first of them: such
    ones are worse alone, but their errors differ more. Whether several are better than one is not tested: the first was
    the best of many on the validation rows, which would favor it.
    """

    def score(done: Sequence[_Done]) -> float:
        return score_of_mixture([*beside, _mean_scores(done)], validation.weights)

    def others(first: int, last: int, other_edges: bool) -> list[_Job]:
        jobs = [replace(best.job, seed=child_seed(seed, index)) for index in range(first, last)]
        rows = best.job.blocks.rows
        return [replace(one, tree=sampled_chow_liu_tree(rows, one.seed)) for one in jobs] if other_edges else jobs

    number, most = numbers
    if number == 1:
        return [best]
    same, other = ([best, one] for one in run_all([*others(1, 2, False), *others(1, 2, True)]))
    other_edges = validation.mean(_mean_scores(other)) > validation.mean(_mean_scores(same))
    done = (other if other_edges else same) + run_all(others(2, number, other_edges))
    return doubled_while_it_gains(done, most, lambda first, last: run_all(others(first, last, other_edges)), score)


def tested_partitions(data: BinaryData, config: LearnConfig) -> list[tuple[TestedBlock, ...]]:
    """Return all variables as single blocks, and what the global test finds exchangeable, if anything."""
    n = data.shape[1]
    singletons = tuple((block, None) for block in singleton_blocks(n))
    if config.exchangeability is None:
        return [singletons]
    cells = data.slice(np.arange(len(data.bits)), np.arange(n))
    found = tuple(binary_partition(BinarySummary.of(cells, data.weights), config.significance))
    return [singletons] if len(found) == n else [singletons, found]


def _partition_of(tested: tuple[TestedBlock, ...]) -> BlockPartition:
    return tuple(members for members, _ in tested)


def _is_small_enough(data: BinaryData, n_blocks: int, states: int, budget: SearchBudget) -> bool:
    """Whether each entry of a transition matrix has a row to be learned from, and the work is not too much."""
    if n_blocks == 1 or states**2 > data.weights.sum():
        return False
    return _cells(data, n_blocks, states) <= budget.hclt_cells


def _cells(data: BinaryData, n_blocks: int, states: int) -> int:
    """Return the entries of all transition matrices, times rows; rows that are equal cost no more than one."""
    return n_blocks * states**2 * data.shape[0]


def _mean_scores(done: Sequence[_Done]) -> FloatArray:
    return averaged([one.row_scores for one in done])


def _mixture(done: list[_Done]) -> Learned:
    """Return HCLTs as one circuit, with the tests of the blocks that all of them have in common."""
    blocks = done[0].job.blocks
    roots = [hclt_circuit(one.fitted, _partition_of(blocks.tested)) for one in done]
    root = roots[0] if len(roots) == 1 else Sum(np.full(len(roots), 1.0 / len(roots)), roots)
    graph, rows = Graph(root), float(blocks.rows.weights.sum())
    node = graph.id_of(root)
    tested = ((tuple(own.tolist()), test) for own, test in blocks.tested if test is not None)
    decisions = (
        TraceEntry(node, Operation.EXCHANGEABLE, "block of an HCLT", rows, own, 0, test, 0.0, None)
        for own, test in tested
    )
    return Learned(graph, Trace(tuple(decisions)))
