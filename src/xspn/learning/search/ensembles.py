"""Bagged ensembles: small trial ensembles choose a setting, then a large one is learned with it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.graph.graph import Graph, summarize
from xspn.learning.assembly import Learned
from xspn.learning.config import LearnConfig
from xspn.learning.ensemble import Member, learn_ensemble, learn_members, mixture_of
from xspn.learning.search.budget import SearchContext
from xspn.learning.source import TrainingData


@dataclass(frozen=True)
class EnsembleTrial:
    """A setting, and the validation scores with it.

    Attributes:
        config: The setting.
        single: The mean log-likelihood with one circuit; −inf if that was not tried.
        ensemble: The score of a large ensemble, extrapolated from a small one; −inf if none was tried.
        both_structures: Whether every other circuit of the ensemble was learned without exchangeable leaves.
    """

    config: LearnConfig
    single: float = -np.inf
    ensemble: float = -np.inf
    both_structures: bool = False

    @property
    def setting(self) -> str:
        """The setting in words."""
        own = self.config
        by = "evidence" if own.by_evidence else f"ρ {own.independence_threshold:g}, at least {own.min_instances} rows"
        text = f"{by}, α {own.smoothing:g}"
        return f"{text}, both structures" if self.both_structures else text


class Ensembles:
    """Learns bagged ensembles.

    Trial ensembles begin with the same circuits as large ones: those of the best trial are kept and not learned again.
    """

    def __init__(self, context: SearchContext, seed: int) -> None:
        self.context, self.budget, self.seed = context, context.budget, seed
        self.both_structures = context.budget.both_structures and context.config.conventional != context.config
        self.alone: dict[LearnConfig, Learned] = {}  # circuits on all training rows: an ensemble of one
        self._best_trials: dict[bool, tuple[EnsembleTrial, list[Member]]] = {}  # by tests, and by evidence

    def most_trials(self, settings: Sequence[LearnConfig]) -> int:
        """Return how many trial ensembles are learned at most."""
        if self.budget.trial_circuits == 1:
            return 0
        tests = [config for config in settings if not config.by_evidence]
        smoother = len(self.budget.smoothings) - 1
        of_evidence = 1 + smoother if len(tests) < len(settings) else 0
        if not tests:
            return of_evidence
        smaller = len({config.min_instances for config in tests}) - 1
        return of_evidence + self.budget.finalists + smoother + smaller + self.both_structures

    def small_enough(self, tried: Sequence[EnsembleTrial], singles: Sequence[Graph]) -> list[EnsembleTrial]:
        """Return the settings whose ensembles are not too large; that of the smallest circuit if there are none."""
        sizes = [summarize(one).parameters for one in singles]
        largest = max(self.budget.ensemble_parameters / self.budget.circuits, min(sizes))
        return [one for one, size in zip(tried, sizes, strict=True) if size <= largest]

    def trials(self, tried: Sequence[EnsembleTrial]) -> list[EnsembleTrial]:
        """Return trial ensembles with the best settings, then with others near the best of these.

        The others have more smoothing, then smaller leaves, then circuits of one structure only.
        """
        single = {one.config: one.single for one in tried}

        # Circuits by evidence are mixed with those by tests, which are of both structures, afterwards.
        both = self.both_structures and not any(one.config.by_evidence for one in tried)

        def trial(config: LearnConfig, both_structures: bool = both) -> EnsembleTrial:
            return self._trial(EnsembleTrial(config, single.get(config, -np.inf), both_structures=both_structures))

        finalists = sorted(tried, key=lambda one: -one.single)[: self.budget.finalists]
        found = [trial(one.config) for one in finalists]
        found += [trial(config) for config in self._smoother(best_ensemble(found).config)]
        add_finer_leaves(found, tried, trial)
        if both:
            found.append(trial(best_ensemble(found).config, both_structures=False))
        return found

    def extrapolated_scores(self, chosen: EnsembleTrial) -> FloatArray:
        """Return the log-likelihoods of the validation rows by a trial ensemble, raised to the score of a large one."""
        members = self._best_trials[chosen.config.by_evidence][1]
        scores = self.context.validation.row_scores(mixture_of(members, self.context.data.shape[1]).graph)
        return np.asarray(scores + max(chosen.ensemble - self.context.validation.mean(scores), 0.0))

    def large(self, chosen: EnsembleTrial, data: TrainingData) -> Learned:
        """Return the large ensemble with a setting, learned from these rows or others."""
        best, members = self._best_trials.get(chosen.config.by_evidence, (None, []))
        known = members if data is self.context.data and best == chosen else []
        circuits, others, n_jobs = self.budget.circuits, _others(chosen), self.context.n_jobs
        if circuits == 1 and data is self.context.data and chosen.config in self.alone:
            self.context.on_step()
            return self.alone[chosen.config]
        learned = learn_ensemble(data, chosen.config, self.seed, circuits, n_jobs, others=others, known=known)
        self.context.on_step()
        return learned

    def _smoother(self, plain: LearnConfig) -> list[LearnConfig]:
        """Return a setting with other smoothing: an ensemble may do best with more or less than one circuit."""
        settings = (
            replace(plain, smoothing=alpha * plain.smoothing, shrinkage=around * plain.shrinkage)
            for alpha, around in self.budget.smoothings
        )
        return [config for config in dict.fromkeys(settings) if config != plain]

    def _trial(self, trial: EnsembleTrial) -> EnsembleTrial:
        """Learn a trial ensemble and score it."""
        numbers, others = range(self.budget.trial_circuits), _others(trial)
        members = learn_members(self.context.data, trial.config, self.seed, numbers, self.context.n_jobs, others=others)
        found = replace(trial, ensemble=self._extrapolated(members))
        known = self._best_trials.get(found.config.by_evidence)
        if known is None or best_ensemble([known[0], found]) is found:
            self._best_trials[found.config.by_evidence] = found, members
        self.context.on_step()
        return found

    def _extrapolated(self, members: Sequence[Member]) -> float:
        """Return the validation score of a large ensemble, extrapolated from the halves and the whole of a small one.

        The deficit of an ensemble of n circuits falls as 1/n, and it is larger where circuits vary more: by the score
        of the small ensemble itself too coarse circuits would be chosen.
        """
        middle, n_variables = len(members) // 2, self.context.data.shape[1]
        halves = [mixture_of(half, n_variables).graph for half in (members[:middle], members[middle:])]
        validation = self.context.validation
        rows = np.array([validation.row_scores(half) for half in halves])
        of_half = np.mean([validation.mean(own) for own in rows])
        of_whole = validation.mean(np.logaddexp(*rows) - np.log(2.0))
        if not np.isfinite(of_half):
            return of_whole
        return float(of_whole + (of_whole - of_half) * max(1.0 - len(members) / self.budget.circuits, 0.0))


def best_ensemble(tried: Sequence[EnsembleTrial]) -> EnsembleTrial:
    """Return the best trial; ties go to one structure rather than both, then to the first."""
    return max(tried, key=lambda one: (one.ensemble, not one.both_structures))


def _others(trial: EnsembleTrial) -> list[LearnConfig]:
    return [trial.config.conventional] if trial.both_structures else []


def add_finer_leaves(
    found: list[EnsembleTrial], tried: Sequence[EnsembleTrial], trial: Callable[[LearnConfig], EnsembleTrial]
) -> None:
    """Add trial ensembles with ever smaller leaves than the best one has, as long as that gains.

    An ensemble averages out the errors of small leaves, the more so with its own smoothing: the settings that are best
    for one circuit are too coarse for it.
    """
    best, known = best_ensemble(found).config, {one.config for one in found}
    if best.by_evidence:  # which finds by itself what is worth a leaf
        return
    alike = (one.config for one in tried if one.config.independence_threshold == best.independence_threshold)
    for rows in sorted(
        (other.min_instances for other in alike if other.min_instances < best.min_instances), reverse=True
    ):
        config = replace(best, min_instances=rows)
        if config in known:  # and has lost
            break
        found.append(trial(config))
        if best_ensemble(found) is not found[-1]:
            break
