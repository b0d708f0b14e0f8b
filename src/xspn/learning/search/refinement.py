"""An EM-refined mixture of perturbed copies of one circuit.

Structure learning finds what is exchangeable and what is independent *given the cluster*; a dependence that is too weak
for its tests is lost. Copies of the whole circuit, each refitted to randomly weighted rows, start EM at different
points; it then separates them into components that share the structure. Leaves that hold counts are fitted to the
counts: clustering on sufficient statistics, not on raw bits.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray
from xspn.graph.graph import Graph, summarize
from xspn.graph.nodes import Sum
from xspn.learning.assembly import Learned
from xspn.learning.em import EMFit, EMOptions, fit_parameters, refitted
from xspn.learning.search.budget import SearchContext, ValidationRows
from xspn.learning.search.components import Component, ComponentSummary
from xspn.learning.source import TrainingData
from xspn.learning.trace import Trace
from xspn.leaves.base import Smoothing

SHAPE = 0.5  # of the gamma distribution of the rows' weights: the smaller, the more the copies differ


@dataclass(frozen=True, eq=False)
class _Refined:
    """A circuit, how many perturbed copies of it EM refined, with which smoothing, and the result."""

    base: Graph
    number: int
    smoothing: float
    fit: EMFit

    @property
    def graph(self) -> Graph:
        return Graph(self.fit.root, self.base.n_variables)

    @property
    def score(self) -> float:
        return self.fit.valid_log_likelihoods[self.fit.best]


def number_of_fits(context: SearchContext, refit: bool) -> int:
    """Return how often copies are refined at most; `refit` counts the final fit to all rows."""
    budget = context.budget
    if not budget.copies:
        return 0
    return budget.bases * len(budget.em_smoothings) + len(budget.copies) - 1 + refit


def best_copies(context: SearchContext, circuits: Sequence[Graph], seed: int) -> Component | None:
    """Return the refined copies with the best validation score; None if all circuits are too large."""
    data, validation, budget = context.data, context.validation, context.budget

    def refined(graph: Graph, number: int, smoothing: float) -> _Refined:
        options = em_options(smoothing, budget.em_passes)
        fit = refined_copies(graph, data.rows(), data.weights, number, options, seed, validation, context.device)
        context.on_step()
        return _Refined(graph, number, smoothing, fit)

    if not budget.copies:
        return None
    most = min(budget.em_cells / data.shape[0], budget.em_parameters)
    fewest, *more = budget.copies
    bases = _bases(circuits, validation, most / fewest, budget.bases)
    found = [refined(graph, fewest, alpha) for graph, alpha in product(bases, budget.smoothings_of_em(context.config))]
    if not found:
        return None
    best = max(found, key=lambda one: one.score)
    for number in more:
        if summarize(best.base).parameters * number <= most:
            larger = refined(best.base, number, best.smoothing)
            best = larger if validation.clearly_prefers(larger.graph, best.graph) else best

    def refit(rows: TrainingData) -> Learned:
        options = em_options(best.smoothing, best.fit.best, tolerance=0.0)
        again = refined_copies(best.base, rows.rows(), rows.weights, best.number, options, seed, device=context.device)
        context.on_step()
        return Learned(replace(best, fit=again).graph, Trace(()))

    size = summarize(best.base).parameters
    setting = f"{size:,} parameter{'s' if size != 1 else ''} each, α {best.smoothing:g}"
    graph = best.graph
    scores = validation.row_scores(graph)
    return Component(ComponentSummary("copies", best.number, setting), Learned(graph, Trace(())), scores, refit)


def _bases(circuits: Sequence[Graph], validation: ValidationRows, largest: float, most: int) -> list[Graph]:
    """Return the best circuit with something to fit that is small enough, then the best of half its size, and so on."""
    found: list[Graph] = []
    for graph in sorted(circuits, key=validation.score, reverse=True):
        size = summarize(graph).parameters
        if 0 < size <= largest and len(found) < most:
            found.append(graph)
            largest = size / 2
    return found


def refined_copies(
    graph: Graph,
    rows: AnyArray,
    weights: FloatArray,
    n_copies: int,
    options: EMOptions,
    seed: int,
    validation: ValidationRows | None = None,
    device: str | None = None,
) -> EMFit:
    """Return the mixture of perturbed copies after EM, stopped early by validation rows if there are any."""
    rng = np.random.default_rng(seed)
    uneven = (weights * rng.gamma(SHAPE, 1.0 / SHAPE, size=len(weights)) for _ in range(n_copies))
    copies = list(refitted(graph, rows, uneven, options.smoothing, device))
    mixture = Graph(Sum(np.full(n_copies, 1.0 / n_copies), copies), graph.n_variables)
    if validation is None:
        return fit_parameters(mixture, rows, options, weights, device=device)
    return fit_parameters(
        mixture, rows, options, weights, validation.rows, valid_weight=validation.weights, device=device
    )


def em_options(smoothing: float, passes: int, tolerance: float = 1e-5) -> EMOptions:
    """Return how copies are fitted: patiently, because EM is slow before it separates the copies."""
    return EMOptions(n_iter=passes, smoothing=Smoothing(smoothing), tolerance=tolerance, patience=8)
