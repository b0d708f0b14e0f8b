"""Choose settings on rows kept apart, then learn a bag with them, and mix it with other models refined by EM.

What is chosen is chosen by rows that no candidate has seen: those of `X_valid`, or a share of the training rows. Only
the choices are kept; the final circuits are learned from all training rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from xspn._core.random import child_seed
from xspn.circuit.graph import Graph
from xspn.circuit.summary import summarize
from xspn.learning.assembly import Learned
from xspn.learning.config import LearnConfig
from xspn.learning.data import BinaryData
from xspn.learning.ensemble import learn_bag
from xspn.learning.quality import copies, trees
from xspn.learning.quality.effort import Effort
from xspn.learning.quality.held_out import HeldOut, keep_apart
from xspn.learning.quality.mixing import mixed
from xspn.learning.quality.part import Part, Partner
from xspn.learning.source import TrainingData

Step = Callable[[int, int], None]  # (steps done, of how many)


@dataclass(frozen=True)
class Tried:
    """A setting, and what rows kept apart score with it.

    Attributes:
        config: The setting.
        single: The mean log-likelihood with one circuit; −inf if that was not tried.
        bag: That with a small bag; −inf if it did not get that far.
        both_kinds: Whether every other circuit of the bag was learned without exchangeable leaves.
    """

    config: LearnConfig
    single: float = -np.inf
    bag: float = -np.inf
    both_kinds: bool = False


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
        self.both_kinds = effort.both_kinds and config.conventional != config
        self.step, self.done = step, 0
        bags = 1 if held_out is not None else 2
        self.n_steps = len(self.settings) + self._most_pilots() + bags + copies.number_of_fits(effort)
        if self._bits() is not None:
            self.n_steps += trees.number_of_fits(effort, config, again=held_out is None)

    def run(self) -> LearnedWell:
        """Search, then learn."""
        found = self._found()
        if self.step is not None:  # what was too large to be tried counts as done
            self.step(self.n_steps, self.n_steps)
        return found

    def _found(self) -> LearnedWell:
        singles = [self._learned(self.train, config, 1).graph for config in self.settings]
        tried = [Tried(config, self.held_out.score(one)) for config, one in zip(self.settings, singles, strict=True)]
        best = max(tried, key=lambda one: one.single)
        if self.effort.pilots > 1:
            sizes = [summarize(one).parameters for one in singles]
            piloted = self._piloted(self._small_enough(tried, sizes))
            best, known = _best_bag(piloted), {one.config for one in piloted}
            tried = piloted + [one for one in tried if one.config not in known]
        setting = f"ρ {best.config.independence_threshold:g}, at least {best.config.min_instances} rows"
        if best.both_kinds:
            setting += ", both kinds"
        parts: tuple[Part, ...] = (Part("bag", self.effort.circuits, setting),)
        partners = self._partners(singles)
        if partners:
            bag = Partner(parts[0], self._bag(self.train, best), lambda rows: self._bag(rows, best))
            learned, parts = mixed([bag, *partners], self.held_out, None if self.train is self.data else self.data)
        else:
            learned = self._bag(self.data, best)
        return LearnedWell(learned.graph, learned.trace, Search(tuple(tried), best.config, parts))

    def _most_pilots(self) -> int:
        """Return how many small bags are learned at most."""
        if self.effort.pilots == 1:
            return 0
        least_rows = {config.min_instances for config in self.settings}
        return self.effort.finalists + len(self.effort.smoothings) - 1 + len(least_rows) - 1 + self.both_kinds

    def _small_enough(self, tried: list[Tried], sizes: list[int]) -> list[Tried]:
        """Return the settings whose bags are not too large; that of the smallest circuit if there are none."""
        largest = max(self.effort.bag_parameters / self.effort.circuits, min(sizes))
        return [one for one, size in zip(tried, sizes, strict=True) if size <= largest]

    def _piloted(self, tried: list[Tried]) -> list[Tried]:
        """Return small bags of the best settings, then of others near the best of these.

        The others have more smoothing, then smaller leaves, then circuits of one kind only.
        """
        singles = {one.config: one.single for one in tried}

        def piloted(config: LearnConfig, both_kinds: bool = self.both_kinds) -> Tried:
            return Tried(config, singles.get(config, -np.inf), self._pilot(config, both_kinds), both_kinds)

        finalists = sorted(tried, key=lambda one: -one.single)[: self.effort.finalists]
        found = [piloted(one.config) for one in finalists]
        found += [piloted(config) for config in self._smoother(_best_bag(found).config)]
        _add_finer(found, tried, piloted)
        if self.both_kinds:
            found.append(piloted(_best_bag(found).config, both_kinds=False))
        return found

    def _smoother(self, plain: LearnConfig) -> list[LearnConfig]:
        """Return a setting with other smoothing: a bag may want more of it, or less, than one circuit."""
        settings = (
            replace(plain, smoothing=alpha * plain.smoothing, shrinkage=around * plain.shrinkage)
            for alpha, around in self.effort.smoothings
        )
        return [config for config in dict.fromkeys(settings) if config != plain]

    def _pilot(self, config: LearnConfig, both_kinds: bool) -> float:
        """Return how good a small bag is."""
        return self.held_out.score(self._learned(self.train, config, self.effort.pilots, both_kinds).graph)

    def _bag(self, data: TrainingData, chosen: Tried) -> Learned:
        return self._learned(data, chosen.config, self.effort.circuits, chosen.both_kinds)

    def _learned(self, data: TrainingData, config: LearnConfig, n_circuits: int, both_kinds: bool = False) -> Learned:
        others = [config.conventional] if both_kinds else []
        found = learn_bag(data, config, child_seed(self.seed, 1), n_circuits, self.n_jobs, others=others)
        self._tick()
        return found

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


def _best_bag(tried: Sequence[Tried]) -> Tried:
    """Return the best; of equals the first, and rather of one kind of circuits than of both."""
    return max(tried, key=lambda one: (one.bag, not one.both_kinds))


def _add_finer(found: list[Tried], tried: list[Tried], piloted: Callable[[LearnConfig], Tried]) -> None:
    """Add small bags with ever smaller leaves than the best one has, as long as that gains.

    A bag averages out what small leaves get wrong, the more so with its own smoothing: the settings that are best for
    one circuit are too coarse for it.
    """
    best, known = _best_bag(found).config, {one.config for one in found}
    alike = (one.config for one in tried if one.config.independence_threshold == best.independence_threshold)
    for rows in sorted(
        (other.min_instances for other in alike if other.min_instances < best.min_instances), reverse=True
    ):
        config = replace(best, min_instances=rows)
        if config in known:  # and has lost
            break
        found.append(piloted(config))
        if _best_bag(found) is not found[-1]:
            break
