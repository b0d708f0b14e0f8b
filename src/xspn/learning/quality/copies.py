"""A mixture of copies of one circuit that EM takes apart.

Structure learning finds what is exchangeable and what is independent *given the cluster*; a dependence that is too weak
for its tests is lost. Copies of the whole circuit, each refitted to rows weighted by chance, start EM off in different
places; what it then tells apart are components that share the structure. Leaves that hold counts are fitted to the
counts: clustering on the statistics that suffice, not on raw bits.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray
from xspn.graph.graph import Graph
from xspn.graph.nodes import Sum
from xspn.graph.summary import summarize
from xspn.learning.assembly import Learned
from xspn.learning.parameters import EMOptions, Fit, fit_parameters, refitted
from xspn.learning.quality.held_out import HeldOut
from xspn.learning.quality.part import Part, Partner
from xspn.learning.quality.work import Work
from xspn.learning.source import TrainingData
from xspn.learning.trace import Trace
from xspn.leaves.smoothing import Smoothing

SHAPE = 0.5  # of the gamma distribution that rows are weighted by: the smaller, the more the copies differ


@dataclass(frozen=True, eq=False)
class _Copies:
    """A circuit, how many copies of it EM took apart, with which smoothing, and what came of it."""

    of: Graph
    number: int
    smoothing: float
    fit: Fit

    @property
    def graph(self) -> Graph:
        return Graph(self.fit.root, self.of.n_variables)

    @property
    def score(self) -> float:
        return self.fit.valid_log_likelihoods[self.fit.best]


def number_of_fits(work: Work, again: bool) -> int:
    """Return how often copies are taken apart at most; at the end once more, from all rows, if that is asked for."""
    effort = work.effort
    if not effort.copies:
        return 0
    return effort.bases * len(effort.refined_smoothings) + len(effort.copies) - 1 + again


def best_copies(work: Work, circuits: Sequence[Graph], seed: int) -> Partner | None:
    """Return copies of the circuit, and as many of them, as are best for rows kept apart; None if all are too large."""
    data, held_out, effort = work.data, work.held_out, work.effort

    def refined(graph: Graph, number: int, smoothing: float) -> _Copies:
        options = em_options(smoothing, effort.passes)
        fit = taken_apart(graph, data.rows(), data.weights, number, options, seed, held_out)
        work.tick()
        return _Copies(graph, number, smoothing, fit)

    if not effort.copies:
        return None
    most = min(effort.refined_cells / data.shape[0], effort.refined_parameters)
    fewest, *more = effort.copies
    bases = _bases(circuits, held_out, most / fewest, effort.bases)
    found = [refined(graph, fewest, alpha) for graph, alpha in product(bases, effort.smoothings_of_em(work.config))]
    if not found:
        return None
    best = max(found, key=lambda copies: copies.score)
    for number in more:
        if summarize(best.of).parameters * number <= most:
            larger = refined(best.of, number, best.smoothing)
            best = larger if held_out.clearly_prefers(larger.graph, best.graph) else best

    def learned_again(rows: TrainingData) -> Learned:
        options = em_options(best.smoothing, best.fit.best, tolerance=0.0)
        again = taken_apart(best.of, rows.rows(), rows.weights, best.number, options, seed)
        work.tick()
        return Learned(replace(best, fit=again).graph, Trace(()))

    size = summarize(best.of).parameters
    setting = f"{size:,} parameter{'s' if size != 1 else ''} each, α {best.smoothing:g}"
    graph = best.graph
    scores = held_out.row_scores(graph)
    return Partner(Part("copies", best.number, setting), Learned(graph, Trace(())), scores, learned_again)


def _bases(circuits: Sequence[Graph], held_out: HeldOut, room: float, most: int) -> list[Graph]:
    """Return the best circuit with something to fit that is small enough, then the best of half its size, and so on."""
    found: list[Graph] = []
    for graph in sorted(circuits, key=held_out.score, reverse=True):
        size = summarize(graph).parameters
        if 0 < size <= room and len(found) < most:
            found.append(graph)
            room = size / 2
    return found


def taken_apart(
    graph: Graph,
    rows: AnyArray,
    weights: FloatArray,
    n_copies: int,
    options: EMOptions,
    seed: int,
    held_out: HeldOut | None = None,
) -> Fit:
    """Return the mixture after EM, stopped by rows kept apart if there are any."""
    rng = np.random.default_rng(seed)
    uneven = (weights * rng.gamma(SHAPE, 1.0 / SHAPE, size=len(weights)) for _ in range(n_copies))
    copies = list(refitted(graph, rows, uneven, options.smoothing))
    mixture = Graph(Sum(np.full(n_copies, 1.0 / n_copies), copies), graph.n_variables)
    if held_out is None:
        return fit_parameters(mixture, rows, options, weights)
    return fit_parameters(mixture, rows, options, weights, held_out.rows, valid_weight=held_out.weights)


def em_options(smoothing: float, passes: int, tolerance: float = 1e-5) -> EMOptions:
    """Return how copies are fitted: patiently, because EM creeps before it tells copies apart."""
    return EMOptions(n_iter=passes, smoothing=Smoothing(smoothing), tolerance=tolerance, patience=8)
