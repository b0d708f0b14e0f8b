"""Choose settings on rows kept apart, then learn a bag with them, and mix it with other models refined by EM.

What is chosen is chosen by rows that no candidate has seen: those of `X_valid`, or a share of the training rows. In the
latter case the final circuits are learned again, from all rows; which circuit is copied and which edges trees have was
chosen, and stays.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from xspn.core.random import child_seed
from xspn.graph.graph import Graph
from xspn.learning.assembly import Learned
from xspn.learning.config import LearnConfig
from xspn.learning.ensemble import learn_bag
from xspn.learning.quality import copies, trees
from xspn.learning.quality.bags import Bags, Tried, best_bag
from xspn.learning.quality.effort import Effort
from xspn.learning.quality.held_out import HeldOut, keep_apart
from xspn.learning.quality.mixing import mixed
from xspn.learning.quality.part import Part, Partner
from xspn.learning.quality.work import Work
from xspn.learning.source import TrainingData
from xspn.learning.steps import Meter, Progress, heard


@dataclass(frozen=True)
class Search:
    """How a circuit came about.

    Attributes:
        tried: The settings that were tried.
        chosen: That of the bag; if it has circuits of both kinds, that of every other one.
        parts: What the circuit is a mixture of: what earned a share of a bag, copies, and trees.
    """

    tried: tuple[Tried, ...]
    chosen: LearnConfig
    parts: tuple[Part, ...]


@dataclass(frozen=True, eq=False)
class LearnedWell(Learned):
    """A learned circuit, and how its settings were chosen."""

    search: Search


def learn_well(
    data: TrainingData,
    config: LearnConfig,
    effort: Effort,
    seed: int,
    n_jobs: int | None = None,
    held_out: HeldOut | None = None,
    step: Progress | None = None,
) -> LearnedWell:
    """Learn a circuit with more effort than one run of the learner."""
    return _Search(data, config, effort, seed, n_jobs, held_out, step).run()


class _Search:
    def __init__(
        self,
        data: TrainingData,
        config: LearnConfig,
        effort: Effort,
        seed: int,
        n_jobs: int | None,
        held_out: HeldOut | None,
        step: Progress | None,
    ) -> None:
        train, self.held_out = keep_apart(data, child_seed(seed, 0)) if held_out is None else (data, held_out)
        again = held_out is None  # what is chosen is then learned once more, from all rows
        self.all_rows, self.seed = data if again else None, seed
        self.settings = effort.settings(config)
        self.step = step
        self.work = work = Work(train, self.held_out, config, effort, n_jobs, self._tick)
        self.bags = Bags(work, child_seed(seed, 1))
        self.n_steps = len(self.settings) + self.bags.most_pilots(self.settings) + 1 + again
        self.n_steps += copies.number_of_fits(work, again) + trees.number_of_fits(work, again)
        self.meter = Meter(None if step is None else lambda done, of: step(min(done, of - 1), of), self.n_steps)
        self.present = self.meter.begin(1)

    def run(self) -> LearnedWell:
        """Search, then learn."""
        with nullcontext() if self.step is None else heard(lambda weight: self.present.step(weight)):
            found = self._found()
        if self.step is not None:  # what was too large to be tried counts as done
            self.step(self.n_steps, self.n_steps)
        return found

    def _found(self) -> LearnedWell:
        singles = [self._learned(config) for config in self.settings]
        tried = [Tried(config, self.held_out.score(one)) for config, one in zip(self.settings, singles, strict=True)]
        small = self.bags.small_enough(tried, singles)
        best = max(small, key=lambda one: one.single)
        if self.work.effort.pilots > 1:
            piloted = self.bags.piloted(small)
            best, known = best_bag(piloted), {one.config for one in piloted}
            tried = piloted + [one for one in tried if one.config not in known]
        parts: tuple[Part, ...] = (Part("bag", self.work.effort.circuits, best.setting),)
        partners = self._partners(singles)
        if partners:
            bag = self.bags.large(best, self.work.data)
            scores = self.held_out.row_scores(bag.graph)
            first = Partner(parts[0], bag, scores, lambda rows: self.bags.large(best, rows))
            learned, parts = mixed([first, *partners], self.held_out.weights, self.all_rows)
        else:
            learned = self.bags.large(best, self.work.data if self.all_rows is None else self.all_rows)
        return LearnedWell(learned.graph, learned.trace, Search(tuple(tried), best.config, parts))

    def _learned(self, config: LearnConfig) -> Graph:
        found = learn_bag(self.work.data, config, child_seed(self.seed, 1), n_jobs=self.work.n_jobs)
        self._tick()
        return found.graph

    def _partners(self, singles: Sequence[Graph]) -> list[Partner]:
        """Return what may be mixed with the bag."""
        found = (
            copies.best_copies(self.work, singles, child_seed(self.seed, 2)),
            trees.best_trees(self.work, child_seed(self.seed, 3)),
        )
        return [partner for partner in found if partner is not None]

    def _tick(self) -> None:
        self.present.end()
        self.present = self.meter.begin(1)
