"""Continuous mixtures for a search: what their components are made of is chosen on validation rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from xspn.core.arrays import FloatArray
from xspn.core.random import child_seed
from xspn.graph.graph import Graph
from xspn.graph.nodes import Sum
from xspn.learning.assembly import Learned
from xspn.learning.continuous import (
    BlockIndicators,
    ContinuousOptions,
    FittedContinuous,
    circuit_of,
    fit_continuous,
    row_scores,
)
from xspn.learning.data import BinaryData
from xspn.learning.hclt import CountedRows, chow_liu_tree, singleton_blocks
from xspn.learning.mevm.partition import BlockPartition
from xspn.learning.search.budget import SearchContext
from xspn.learning.search.components import (
    Component,
    ComponentSummary,
    averaged,
    doubled_while_it_gains,
    score_of_mixture,
)
from xspn.learning.search.hclts import tested_partitions
from xspn.learning.source import TrainingData
from xspn.learning.trace import Trace

MOST_COMPONENTS, FEWEST_COMPONENTS = 8192, 256
MOST_REPEATED = 3.0  # times as many passes where rows repeat


@dataclass(frozen=True, eq=False)
class _Job:
    """What a continuous mixture is fitted with: stopped by validation rows, or after the pass they have found best."""

    rows: CountedRows
    layout: BlockIndicators
    options: ContinuousOptions
    seed: int
    validation: CountedRows | None
    last_pass: int | None = None

    def run(self) -> tuple[FittedContinuous, FloatArray]:
        with threadpool_limits(1, user_api="blas"):  # sums come out the same everywhere
            fitted = fit_continuous(self.rows, self.layout, self.options, self.seed, self.validation, self.last_pass)
            return fitted, np.empty(0) if self.validation is None else row_scores(fitted, self.validation)


@dataclass(frozen=True, eq=False)
class _Structure:
    """What the components of a mixture are made of."""

    blocks: BlockPartition
    layout: BlockIndicators

    def __str__(self) -> str:
        if any(parent >= 0 for parent in self.layout.parents):
            return "trees"
        return f"{len(self.blocks)} independent blocks"


def number_of_fits(context: SearchContext, refit: bool) -> int:
    """Return how many mixtures are fitted at most; `refit` counts the final fits to all rows."""
    if not (context.budget.continuous and isinstance(context.data, BinaryData)):
        return 0
    structures = 3 if context.config.exchangeability is not None else 2
    return structures + context.budget.continuous * (1 + refit) - 1


def best_continuous(context: SearchContext, seed: int, beside: Sequence[FloatArray] = ()) -> Component | None:
    """Return continuous mixtures of the structure that one of them is best with; for bits only.

    How many there are depends on what they add to the other components, `beside`: the log-likelihoods of the validation
    rows by each.
    """
    data, validation, budget = context.data, context.validation, context.budget
    if not (budget.continuous and isinstance(data, BinaryData) and data.shape[1] > 1):
        return None

    def run_all(jobs: Sequence[_Job]) -> list[tuple[FittedContinuous, FloatArray]]:
        found = []
        for done in Parallel(n_jobs=context.n_jobs, return_as="generator")(delayed(job.run)() for job in jobs):
            found.append(done)
            context.on_step()
        return found

    cells = int(budget.continuous_parameters / data.shape[1])
    components = min(max(cells, FEWEST_COMPONENTS), MOST_COMPONENTS)
    # Rows that occur often say more than others, but a pass has no more steps for that.
    more_passes = min(np.sqrt(data.weights.mean()), MOST_REPEATED)
    options = ContinuousOptions(components, passes=round(budget.continuous_passes * max(more_passes, 1.0)))
    structures = _structures(context, data)
    jobs = [
        _Job(
            CountedRows.of(data.rows(), data.weights, own.blocks),
            own.layout,
            options,
            child_seed(seed, 0),
            CountedRows.of(validation.rows, validation.weights, own.blocks),
        )
        for own in structures
    ]
    first = run_all(jobs)
    best = max(range(len(jobs)), key=lambda k: first[k][0].score)
    structure, job = structures[best], jobs[best]
    seeds = [child_seed(seed, k) for k in range(budget.continuous)]

    def more(start: int, stop: int) -> list[tuple[FittedContinuous, FloatArray]]:
        return run_all([replace(job, seed=own) for own in seeds[start:stop]])

    def score(done: Sequence[tuple[FittedContinuous, FloatArray]]) -> float:
        return score_of_mixture([*beside, averaged([own for _, own in done])], validation.weights)

    done = doubled_while_it_gains([first[best], *more(1, 2)], budget.continuous, more, score)
    scores = averaged([own for _, own in done])

    def mixture(fitted: Sequence[FittedContinuous]) -> Learned:
        roots = [circuit_of(own, structure.blocks) for own in fitted]
        root = roots[0] if len(roots) == 1 else Sum(np.full(len(roots), 1.0 / len(roots)), roots)
        return Learned(Graph(root, data.shape[1]), Trace(()))

    def refit(rows: TrainingData) -> Learned:
        """Fit mixtures of the same structure, for as many passes, to all rows."""
        assert isinstance(rows, BinaryData)
        counted = CountedRows.of(rows.rows(), rows.weights, structure.blocks)
        again = [
            replace(job, rows=counted, seed=own, validation=None, last_pass=fitted.best_pass)
            for own, (fitted, _) in zip(seeds, done, strict=False)
        ]
        return mixture([fitted for fitted, _ in run_all(again)])

    setting = f"{structure}, {options.components:,} points of {options.dimensions} dimensions"
    summary = ComponentSummary("continuous", len(done), setting)
    return Component(summary, mixture([fitted for fitted, _ in done]), scores, refit)


def _structures(context: SearchContext, data: BinaryData) -> list[_Structure]:
    """Return what is tried: single variables along a tree, or independent; and exchangeable blocks, independent."""
    singles = singleton_blocks(data.shape[1])
    independent = _Structure(singles, BlockIndicators.of((1,) * len(singles)))
    if not (data.complete and not np.isnan(context.validation.rows).any()):
        return [independent]  # of a row with a cell less neither a tree nor a block tells its part
    tree = chow_liu_tree(CountedRows.of(data.rows(), data.weights, singles))
    found = [_Structure(singles, BlockIndicators.of((1,) * len(singles), tree)), independent]
    for tested in tested_partitions(data, context.config)[1:]:
        blocks = tuple(members for members, _ in tested)
        found.append(_Structure(blocks, BlockIndicators.of(tuple(map(len, blocks)))))
    return found
