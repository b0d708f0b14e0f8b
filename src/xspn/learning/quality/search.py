"""Choose settings on rows kept apart, then learn a bag with them, and mix it with other models refined by EM.

What is chosen is chosen by rows that no candidate has seen: those of `X_valid`, or a share of the training rows. In the
latter case the final circuits are learned again, from all rows; which circuit is copied and which edges trees have was
chosen, and stays.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xspn._core.random import child_seed
from xspn.circuit.graph import Graph
from xspn.learning.assembly import Learned
from xspn.learning.config import LearnConfig
from xspn.learning.data import BinaryData
from xspn.learning.ensemble import learn_bag
from xspn.learning.quality import copies, trees
from xspn.learning.quality.bags import Bags, Tried, best_bag
from xspn.learning.quality.effort import Effort
from xspn.learning.quality.held_out import HeldOut, keep_apart
from xspn.learning.quality.mixing import mixed
from xspn.learning.quality.part import Part, Partner
from xspn.learning.source import TrainingData

Step = Callable[[int, int], None]  # (steps done, of how many)


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
    step: Step | None = None,
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
        step: Step | None,
    ) -> None:
        self.data, self.config, self.effort, self.seed, self.n_jobs = data, config, effort, seed, n_jobs
        if held_out is None:
            self.train, self.held_out = keep_apart(data, child_seed(seed, 0))
        else:
            self.train, self.held_out = data, held_out
        self.settings = effort.settings(config)
        self.step, self.done = step, 0
        self.bags = Bags(self.train, self.held_out, config, effort, child_seed(seed, 1), n_jobs, self._tick)
        again = held_out is None  # what is chosen is then learned once more, from all rows
        self.n_steps = len(self.settings) + self.bags.most_pilots(self.settings) + 1 + again
        self.n_steps += copies.number_of_fits(effort, again)
        if self._bits() is not None:
            self.n_steps += trees.number_of_fits(effort, config, again)

    def run(self) -> LearnedWell:
        """Search, then learn."""
        found = self._found()
        if self.step is not None:  # what was too large to be tried counts as done
            self.step(self.n_steps, self.n_steps)
        return found

    def _found(self) -> LearnedWell:
        singles = [self._learned(config) for config in self.settings]
        tried = [Tried(config, self.held_out.score(one)) for config, one in zip(self.settings, singles, strict=True)]
        small = self.bags.small_enough(tried, singles)
        best = max(small, key=lambda one: one.single)
        if self.effort.pilots > 1:
            piloted = self.bags.piloted(small)
            best, known = best_bag(piloted), {one.config for one in piloted}
            tried = piloted + [one for one in tried if one.config not in known]
        parts: tuple[Part, ...] = (Part("bag", self.effort.circuits, best.setting),)
        partners = self._partners(singles)
        if partners:
            bag = self.bags.large(best, self.train)
            scores = self.held_out.row_scores(bag.graph)
            first = Partner(parts[0], bag, scores, lambda rows: self.bags.large(best, rows))
            all_rows = None if self.train is self.data else self.data
            learned, parts = mixed([first, *partners], self.held_out.weights, all_rows)
        else:
            learned = self.bags.large(best, self.data)
        return LearnedWell(learned.graph, learned.trace, Search(tuple(tried), best.config, parts))

    def _learned(self, config: LearnConfig) -> Graph:
        found = learn_bag(self.train, config, child_seed(self.seed, 1), n_jobs=self.n_jobs)
        self._tick()
        return found.graph

    def _partners(self, singles: Sequence[Graph]) -> list[Partner]:
        """Return what may be mixed with the bag."""
        found: list[Partner | None] = []
        seed = child_seed(self.seed, 2)
        found.append(copies.best_copies(singles, self.train, self.held_out, self.config, self.effort, seed, self._tick))
        bits = self._bits()
        if bits is not None:
            seed = child_seed(self.seed, 3)
            found.append(trees.best_trees(bits, self.held_out, self.config, self.effort, seed, self.n_jobs, self._tick))
        return [partner for partner in found if partner is not None]

    def _bits(self) -> BinaryData | None:
        """Return the rows if they are bits, which is what hidden trees are made for."""
        return self.train if isinstance(self.train, BinaryData) else None

    def _tick(self) -> None:
        self.done += 1
        if self.step is not None:
            self.step(min(self.done, self.n_steps - 1), self.n_steps)
