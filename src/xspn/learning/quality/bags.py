"""Bags of circuits: small ones, by which a setting is chosen, then a large one with that setting."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from xspn.graph.graph import Graph
from xspn.graph.summary import summarize
from xspn.learning.assembly import Learned
from xspn.learning.config import LearnConfig
from xspn.learning.ensemble import Member, learn_bag, learn_members, mixture_of
from xspn.learning.quality.work import Work
from xspn.learning.source import TrainingData


@dataclass(frozen=True)
class Tried:
    """A setting, and what rows kept apart score with it.

    Attributes:
        config: The setting.
        single: The mean log-likelihood with one circuit; −inf if that was not tried.
        bag: What a small bag tells about that with a large one; −inf if it did not get that far.
        both_kinds: Whether every other circuit of the bag was learned without exchangeable leaves.
    """

    config: LearnConfig
    single: float = -np.inf
    bag: float = -np.inf
    both_kinds: bool = False

    @property
    def setting(self) -> str:
        """The setting in words."""
        own = self.config
        said = f"ρ {own.independence_threshold:g}, at least {own.min_instances} rows, α {own.smoothing:g}"
        return f"{said}, both kinds" if self.both_kinds else said


class Bags:
    """Learns bags.

    Small bags begin as large ones do: of the best of them the circuits are kept, and not learned again.
    """

    def __init__(self, work: Work, seed: int) -> None:
        self.work, self.effort, self.seed = work, work.effort, seed
        self.both_kinds = work.effort.both_kinds and work.config.conventional != work.config
        self._best_pilot: tuple[Tried, list[Member]] | None = None

    def most_pilots(self, settings: Sequence[LearnConfig]) -> int:
        """Return how many small bags are learned at most."""
        if self.effort.pilots == 1:
            return 0
        least_rows = {config.min_instances for config in settings}
        return self.effort.finalists + len(self.effort.smoothings) - 1 + len(least_rows) - 1 + self.both_kinds

    def small_enough(self, tried: Sequence[Tried], singles: Sequence[Graph]) -> list[Tried]:
        """Return the settings whose bags are not too large; that of the smallest circuit if there are none."""
        sizes = [summarize(one).parameters for one in singles]
        largest = max(self.effort.bag_parameters / self.effort.circuits, min(sizes))
        return [one for one, size in zip(tried, sizes, strict=True) if size <= largest]

    def piloted(self, tried: Sequence[Tried]) -> list[Tried]:
        """Return small bags of the best settings, then of others near the best of these.

        The others have more smoothing, then smaller leaves, then circuits of one kind only.
        """
        single = {one.config: one.single for one in tried}

        def pilot(config: LearnConfig, both_kinds: bool = self.both_kinds) -> Tried:
            return self._pilot(Tried(config, single.get(config, -np.inf), both_kinds=both_kinds))

        finalists = sorted(tried, key=lambda one: -one.single)[: self.effort.finalists]
        found = [pilot(one.config) for one in finalists]
        found += [pilot(config) for config in self._smoother(best_bag(found).config)]
        _add_finer(found, tried, pilot)
        if self.both_kinds:
            found.append(pilot(best_bag(found).config, both_kinds=False))
        return found

    def large(self, chosen: Tried, data: TrainingData) -> Learned:
        """Return the bag with a setting, of these rows or of others."""
        known: list[Member] = []
        if data is self.work.data and self._best_pilot is not None and self._best_pilot[0] == chosen:
            known = self._best_pilot[1]
        circuits, others = self.effort.circuits, _others(chosen)
        learned = learn_bag(data, chosen.config, self.seed, circuits, self.work.n_jobs, others=others, known=known)
        self.work.tick()
        return learned

    def _smoother(self, plain: LearnConfig) -> list[LearnConfig]:
        """Return a setting with other smoothing: a bag may want more of it, or less, than one circuit."""
        settings = (
            replace(plain, smoothing=alpha * plain.smoothing, shrinkage=around * plain.shrinkage)
            for alpha, around in self.effort.smoothings
        )
        return [config for config in dict.fromkeys(settings) if config != plain]

    def _pilot(self, tried: Tried) -> Tried:
        """Return how good a small bag is."""
        numbers, others = range(self.effort.pilots), _others(tried)
        members = learn_members(self.work.data, tried.config, self.seed, numbers, self.work.n_jobs, others=others)
        found = replace(tried, bag=self._foreseen(members))
        if self._best_pilot is None or best_bag([self._best_pilot[0], found]) is found:
            self._best_pilot = found, members
        self.work.tick()
        return found

    def _foreseen(self, members: Sequence[Member]) -> float:
        """Return what a large bag is to score, as far as the halves of a small one and the whole of it tell.

        What a bag of n circuits lacks falls as 1/n, and falls further where circuits vary more: with the score of the
        small bag itself too coarse circuits would be chosen.
        """
        middle, n_variables = len(members) // 2, self.work.data.shape[1]
        halves = [mixture_of(half, n_variables).graph for half in (members[:middle], members[middle:])]
        held_out = self.work.held_out
        rows = np.array([held_out.row_scores(half) for half in halves])
        of_half = np.mean([held_out.mean(own) for own in rows])
        of_whole = held_out.mean(np.logaddexp(*rows) - np.log(2.0))
        if not np.isfinite(of_half):
            return of_whole
        return float(of_whole + (of_whole - of_half) * max(1.0 - len(members) / self.effort.circuits, 0.0))


def best_bag(tried: Sequence[Tried]) -> Tried:
    """Return the best; of equals the first, and rather of one kind of circuits than of both."""
    return max(tried, key=lambda one: (one.bag, not one.both_kinds))


def _others(tried: Tried) -> list[LearnConfig]:
    return [tried.config.conventional] if tried.both_kinds else []


def _add_finer(found: list[Tried], tried: Sequence[Tried], pilot: Callable[[LearnConfig], Tried]) -> None:
    """Add small bags with ever smaller leaves than the best one has, as long as that gains.

    A bag averages out what small leaves get wrong, the more so with its own smoothing: the settings that are best for
    one circuit are too coarse for it.
    """
    best, known = best_bag(found).config, {one.config for one in found}
    alike = (one.config for one in tried if one.config.independence_threshold == best.independence_threshold)
    for rows in sorted(
        (other.min_instances for other in alike if other.min_instances < best.min_instances), reverse=True
    ):
        config = replace(best, min_instances=rows)
        if config in known:  # and has lost
            break
        found.append(pilot(config))
        if best_bag(found) is not found[-1]:
            break
