"""Choose settings on rows kept apart, then learn a bag with them, and mix it with copies refined by EM.

What is chosen is chosen by rows that no candidate has seen: those of `X_valid`, or a share of the training rows. Only
the choices are kept; the final circuits are learned from all training rows.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from xspn._core.arrays import FloatArray
from xspn._core.random import child_seed
from xspn.circuit.graph import Graph
from xspn.circuit.nodes import Node, Sum
from xspn.circuit.summary import summarize
from xspn.learning.assembly import Learned
from xspn.learning.config import LearnConfig
from xspn.learning.ensemble import learn_bag
from xspn.learning.parameters import Fit
from xspn.learning.quality.copies import em_options, taken_apart
from xspn.learning.quality.effort import Effort
from xspn.learning.quality.held_out import HeldOut, keep_apart
from xspn.learning.source import TrainingData
from xspn.learning.trace import Trace

Step = Callable[[int, int], None]  # (steps done, of how many)
SMALLEST_SHARE = 0.02


@dataclass(frozen=True)
class Tried:
    """A setting, and what rows kept apart score with it.

    Attributes:
        config: The setting.
        single: The mean log-likelihood with one circuit; −inf if that was not tried.
        bag: That with a small bag; −inf if it did not get that far.
    """

    config: LearnConfig
    single: float = -np.inf
    bag: float = -np.inf


@dataclass(frozen=True, eq=False)
class LearnedWell(Learned):
    """A learned circuit, and how its settings were chosen.

    Attributes:
        tried: The settings that were tried.
        chosen: That of the final bag.
        n_copies: How many copies of one circuit EM has taken apart; 0 if they earned no share.
        copies_share: Their share in the final mixture.
    """

    tried: tuple[Tried, ...]
    chosen: LearnConfig
    n_copies: int = 0
    copies_share: float = 0.0


def learn_well(
    data: TrainingData,
    config: LearnConfig,
    effort: Effort,
    seed: int,
    n_jobs: int | None = None,
    held_out: HeldOut | None = None,
    step: Step | None = None,
) -> LearnedWell:
    """Learn a circuit with more effort than one run of the learner."""
    return _Search(data, config, effort, seed, n_jobs, held_out, step).run()


@dataclass(frozen=True, eq=False)
class _Copies:
    """A circuit, how many copies of it EM took apart, with which smoothing, and what came of it."""

    of: Graph
    number: int
    smoothing: float
    seed: int
    fit: Fit

    @property
    def score(self) -> float:
        return self.fit.valid_log_likelihoods[self.fit.best]


class _Search:
    def __init__(
        self,
        data: TrainingData,
        config: LearnConfig,
        effort: Effort,
        seed: int,
        n_jobs: int | None,
        held_out: HeldOut | None,
        step: Step | None,
    ) -> None:
        self.data, self.config, self.effort, self.seed, self.n_jobs = data, config, effort, seed, n_jobs
        if held_out is None:
            self.train, self.held_out = keep_apart(data, child_seed(seed, 0))
        else:
            self.train, self.held_out = data, held_out
        self.settings = effort.settings(config)
        self.step, self.done = step, 0
        pilots = effort.finalists * len(effort.smoothings) if effort.pilots > 1 else 0
        refined = len(self.settings) + effort.bases * len(effort.copy_smoothings) + len(effort.copies) - 1
        self.n_steps = len(self.settings) + pilots + 1 + (refined if effort.copies else 0)

    def run(self) -> LearnedWell:
        """Search, then learn."""
        found = self._found()
        if self.step is not None:  # what was too large to be tried counts as done
            self.step(self.n_steps, self.n_steps)
        return found

    def _found(self) -> LearnedWell:
        singles = [self._learned(self.train, config, 1).graph for config in self.settings]
        tried = [Tried(config, self.held_out.score(one)) for config, one in zip(self.settings, singles, strict=True)]
        tried = self._piloted(tried)
        best = max(tried, key=lambda one: one.bag if self.effort.pilots > 1 else one.single).config
        bag = self._learned(self.data, best, self.effort.circuits)
        copies = self._copies()
        if copies is None:
            return LearnedWell(bag.graph, bag.trace, tuple(tried), best)
        rival = bag if self.train is self.data else self._learned(self.train, best, self.effort.circuits)
        share = self._share_of(copies, rival.graph)
        if share < SMALLEST_SHARE:
            return LearnedWell(bag.graph, bag.trace, tuple(tried), best)
        learned = _mixed(bag, self._on_all_rows(copies), share)
        return LearnedWell(learned.graph, learned.trace, tuple(tried), best, copies.number, share)

    def _piloted(self, tried: list[Tried]) -> list[Tried]:
        """Return what was tried with the scores of small bags of the best settings, other smoothings added."""
        if self.effort.pilots == 1:
            return tried
        order = sorted(range(len(tried)), key=lambda k: -tried[k].single)
        for k, (alpha, around) in product(order[: self.effort.finalists], self.effort.smoothings):
            plain = tried[k].config
            config = replace(plain, smoothing=alpha * plain.smoothing, shrinkage=around * plain.shrinkage)
            bag = self.held_out.score(self._learned(self.train, config, self.effort.pilots).graph)
            if config == plain:
                tried[k] = replace(tried[k], bag=bag)
            else:
                tried.append(Tried(config, bag=bag))
        return tried

    def _learned(self, data: TrainingData, config: LearnConfig, n_circuits: int) -> Learned:
        found = learn_bag(data, config, child_seed(self.seed, 1), n_circuits, self.n_jobs)
        self._tick()
        return found

    def _copies(self) -> "_Copies | None":
        """Return the copies that are best for rows kept apart."""
        if not self.effort.copies:
            return None
        most = min(self.effort.refined_cells / self.train.shape[0], self.effort.refined_parameters)
        fewest, *more = self.effort.copies
        smoothings = [factor * self.config.smoothing for factor in self.effort.copy_smoothings]
        found = [self._refined(graph, fewest, alpha) for graph, alpha in product(self._bases(most), smoothings)]
        if not found:
            return None
        best = max(found, key=lambda copies: copies.score)
        for number in more:
            if summarize(best.of).parameters * number <= most:
                best = max(best, self._refined(best.of, number, best.smoothing), key=lambda copies: copies.score)
        return best

    def _refined(self, graph: Graph, number: int, smoothing: float) -> "_Copies":
        """Take copies of a circuit apart."""
        options, seed = em_options(smoothing, self.effort.passes), child_seed(self.seed, 2)
        fit = taken_apart(graph, self.train.rows(), self.train.weights, number, options, seed, self.held_out)
        self._tick()
        return _Copies(graph, number, smoothing, seed, fit)

    def _bases(self, most: float) -> list[Graph]:
        """Return the best circuit of which a few copies can be refined, then the best of half its size, and so on.

        Leaves need not be mixtures where copies of them will be mixed.
        """
        settings = [
            replace(config, fallback="sparing") if config.fallback == "auto" else config for config in self.settings
        ]
        graphs = [self._learned(self.train, config, 1).graph for config in settings]
        found: list[Graph] = []
        room = most / min(self.effort.copies)
        for graph in sorted(graphs, key=self.held_out.score, reverse=True):
            size = summarize(graph).parameters
            if size <= room and len(found) < self.effort.bases:
                found.append(graph)
                room = size / 2
        return found

    def _share_of(self, copies: "_Copies", bag: Graph) -> float:
        """Return the share that the copies earn beside the bag."""
        scores = self.held_out.row_scores(Graph(copies.fit.root, bag.n_variables))
        return _best_share(self.held_out.row_scores(bag), scores, self.held_out.weights)

    def _on_all_rows(self, copies: "_Copies") -> Node:
        """Return the copies fitted to all training rows, by as many passes as were best for rows kept apart."""
        if self.train is self.data:
            return copies.fit.root
        options = em_options(copies.smoothing, copies.fit.best, tolerance=0.0)
        fit = taken_apart(copies.of, self.data.rows(), self.data.weights, copies.number, options, copies.seed)
        return fit.root

    def _tick(self) -> None:
        self.done += 1
        if self.step is not None:
            self.step(min(self.done, self.n_steps - 1), self.n_steps)


def _best_share(first: FloatArray, second: FloatArray, weights: FloatArray, passes: int = 200) -> float:
    """Return the share of the second of two models that makes the rows most likely, by EM."""
    share = 0.5
    for _ in range(passes):
        top = np.maximum(first, second)
        a, b = (1 - share) * np.exp(first - top), share * np.exp(second - top)
        share = float(np.average(b / (a + b), weights=weights))
    return share


def _mixed(bag: Learned, copies: Node, share: float) -> Learned:
    """Return bag and copies as one mixture; the trace is the bag's."""
    whole = Graph(Sum([1 - share, share], [bag.graph.root, copies]), bag.graph.n_variables)
    moved = (replace(entry, node=whole.id_of(bag.graph.nodes[entry.node])) for entry in bag.trace)
    return Learned(whole, Trace(tuple(moved)))
