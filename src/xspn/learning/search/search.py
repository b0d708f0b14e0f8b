"""Choose settings on validation rows, learn a bagged ensemble with them, and mix it with models refined by EM.

Validation rows, which no candidate has seen, are those of `X_valid` or a random fraction of the training rows. In the
latter case the final circuits are refitted to all rows; which circuit is copied and which edges HCLTs have was chosen,
and stays.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from xspn.core.random import child_seed
from xspn.graph.graph import Graph
from xspn.learning.assembly import Learned
from xspn.learning.config import LearnConfig
from xspn.learning.ensemble import learn_ensemble
from xspn.learning.search import continuous, hclts, latent_classes, refinement
from xspn.learning.search.budget import SearchBudget, SearchContext, ValidationRows, validation_split
from xspn.learning.search.components import (
    Component,
    ComponentKind,
    ComponentSummary,
    mixture_of_components,
    worth_their_time,
)
from xspn.learning.search.ensembles import Ensembles, EnsembleTrial, best_ensemble
from xspn.learning.source import TrainingData
from xspn.learning.steps import Meter, Progress, heard


@dataclass(frozen=True)
class SearchReport:
    """What a search tried and chose.

    Attributes:
        trials: The settings that were tried.
        chosen: That of the ensemble, or of the better one of two; with circuits of both structures, that of every other
            one.
        components: What the circuit is a mixture of: ensembles, refined copies, HCLTs and classes, as far as they earn
            a weight.
    """

    trials: tuple[EnsembleTrial, ...]
    chosen: LearnConfig
    components: tuple[ComponentSummary, ...]

    @property
    def has_decoded_components(self) -> bool:
        """Whether a continuous mixture is part of the circuit."""
        return any(component.kind == "continuous" for component in self.components)


@dataclass(frozen=True, eq=False)
class SearchResult(Learned):
    """A learned circuit, and how its settings were chosen."""

    report: SearchReport


def search(
    data: TrainingData,
    config: LearnConfig,
    budget: SearchBudget,
    seed: int,
    n_jobs: int | None = None,
    validation: ValidationRows | None = None,
    progress: Progress | None = None,
    device: str | None = None,
) -> SearchResult:
    """Search for a good model; validation rows are split off the data unless they are given."""
    return _Search(data, config, budget, seed, n_jobs, validation, progress, device).run()


class _Search:
    def __init__(
        self,
        data: TrainingData,
        config: LearnConfig,
        budget: SearchBudget,
        seed: int,
        n_jobs: int | None,
        validation: ValidationRows | None,
        progress: Progress | None,
        device: str | None,
    ) -> None:
        refit = validation is None  # the chosen models are then learned once more, from all rows
        train, self.validation = (
            validation_split(data, child_seed(seed, 0)) if validation is None else (data, validation)
        )
        self.all_rows, self.seed = data if refit else None, seed
        self.settings = budget.settings(config, train)
        config = config.settled(evidence_serves=False)
        self.progress = progress
        self.context = context = SearchContext(train, self.validation, config, budget, n_jobs, self._on_step, device)
        self.ensembles = Ensembles(context, child_seed(seed, 1))
        ways = len({setting.by_evidence for setting in self.settings})  # of which each has a large ensemble
        self.n_steps = len(self.settings) + self.ensembles.most_trials(self.settings) + ways * (1 + refit)
        self.n_steps += refinement.number_of_fits(context, refit) + hclts.number_of_fits(context, refit)
        self.n_steps += continuous.number_of_fits(context, refit)
        self.n_steps += latent_classes.number_of_fits(context, refit)
        told = None if progress is None else lambda done, of: progress(min(done, of - 1), of)
        self.meter = Meter(told, self.n_steps)
        self.present = self.meter.begin(1)

    def run(self) -> SearchResult:
        """Search, then learn."""
        with nullcontext() if self.progress is None else heard(lambda weight: self.present.step(weight)):
            found = self._found()
        if self.progress is not None:  # what was too large to be tried counts as done
            self.progress(self.n_steps, self.n_steps)
        return found

    def _found(self) -> SearchResult:
        singles = [self._learned(config).graph for config in self.settings]
        tried = [
            EnsembleTrial(config, self.validation.score(one))
            for config, one in zip(self.settings, singles, strict=True)
        ]
        small = self.ensembles.small_enough(tried, singles)
        # Evidence and tests err in different ways: each has an ensemble, and validation rows weigh the two.
        ways = [[one for one in small if one.config.by_evidence == way] for way in (False, True)]
        chosen = [max(own, key=lambda one: one.single) for own in ways if own]
        if self.context.budget.trial_circuits > 1:
            several = [self.ensembles.trials(own) for own in ways if own]
            chosen = [best_ensemble(own) for own in several]
            trials = [one for own in several for one in own]
            known = {one.config for one in trials}
            tried = trials + [one for one in tried if one.config not in known]
        best = max(chosen, key=lambda one: (one.ensemble, one.single))
        others, chosen = self._other_components(singles, chosen)
        if others or len(chosen) > 1:
            parts = [*(self._ensemble(one) for one in chosen), *others]
            learned, components = mixture_of_components(parts, self.validation.weights, self.all_rows)
        else:
            learned = self.ensembles.large(chosen[0], self.context.data if self.all_rows is None else self.all_rows)
            components = (self._summary(chosen[0]),)
        return SearchResult(learned.graph, learned.trace, SearchReport(tuple(tried), best.config, components))

    def _ensemble(self, chosen: EnsembleTrial) -> Component:
        """Return the large ensemble with a setting, to be mixed with others."""
        ensemble = self.ensembles.large(chosen, self.context.data)
        scores = self.validation.row_scores(ensemble.graph)
        return Component(self._summary(chosen), ensemble, scores, lambda rows: self.ensembles.large(chosen, rows))

    def _summary(self, chosen: EnsembleTrial) -> ComponentSummary:
        kind: ComponentKind = "evidence" if chosen.config.by_evidence else "ensemble"
        return ComponentSummary(kind, self.context.budget.circuits, chosen.setting)

    def _learned(self, config: LearnConfig) -> Learned:
        found = learn_ensemble(self.context.data, config, self.ensembles.seed, n_jobs=self.context.n_jobs)
        self.ensembles.alone[config] = found
        self._on_step()
        return found

    def _other_components(
        self, singles: Sequence[Graph], chosen: Sequence[EnsembleTrial]
    ) -> tuple[list[Component], list[EnsembleTrial]]:
        """Return what may be mixed with the ensembles, and the ensembles that it gains by.

        Trial ensembles tell whether a large one is worth its time.
        """
        context = self.context
        with_trials = context.budget.trial_circuits > 1
        trials = [self.ensembles.extrapolated_scores(one) for one in chosen] if with_trials else []
        found = [
            refinement.best_copies(context, singles, child_seed(self.seed, 2)),
            latent_classes.best_latent_classes(context, child_seed(self.seed, 4)),
        ]
        for best, place in ((continuous.best_continuous, 5), (hclts.best_hclts, 3)):
            beside = [*trials, *(one.row_scores for one in found if one is not None)]
            found.append(best(context, child_seed(self.seed, place), beside))
        others = [component for component in found if component is not None]
        if not (with_trials and others):
            return others, list(chosen)
        worth = worth_their_time(trials, [one.row_scores for one in others], self.validation.weights)
        return others, [one for one, kept in zip(chosen, worth, strict=True) if kept]

    def _on_step(self) -> None:
        self.present.end()
        self.present = self.meter.begin(1)
