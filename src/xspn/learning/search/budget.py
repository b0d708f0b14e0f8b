"""What a search may try, the validation rows that choose, and what all of its steps work with.

Nothing is learned from validation rows; they are used to choose settings and mixture weights.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from math import inf

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.errors import DataError
from xspn.engine import Automatic, compile_graph
from xspn.graph.graph import Graph
from xspn.learning.config import LearnConfig
from xspn.learning.data import BinaryData, different_rows
from xspn.learning.learner import evidence_serves
from xspn.learning.source import TrainingData

LEAST_SMOOTHING = 1e-3
VALIDATION_FRACTION = 0.15
MOST_UNITS = 1e9  # of which a sample can be drawn


@dataclass(frozen=True)
class SearchBudget:
    """What is tried, and how often.

    Attributes:
        thresholds: Values of ρ to try beside the one that was asked for.
        min_instances: Values of `min_instances` to try beside the one that was asked for.
        evidence_cells: The largest number of cells of whole rows of bits from which circuits are learned by evidence,
            too, unless tests are asked for: as a rule they predict better, but they take longer. If there is no
            largest, all tables are that one circuit would be learned from by evidence.
        finalists: How many of these settings, the best ones for a single circuit, are tried as a small ensemble.
        trial_circuits: The number of circuits of such a trial ensemble, an even one (or 1 for none). An ensemble does
            best with smaller leaves than a single circuit, so the best setting is tried again with smaller ones.
        circuits: The number of circuits of the final bagged ensemble.
        ensemble_parameters: The largest number of parameters of that ensemble, judged by a single circuit: settings
            with larger circuits are not tried as ensembles.
        smoothings: Multiples of α and of the shrinkage with which the best trial ensemble is tried again.
        leaf_learner: The leaf learner, if none was asked for: circuits that are mixed with many others need no mixtures
            in their leaves.
        both_structures: Whether every other circuit of an ensemble may be learned without exchangeable leaves: the two
            structures err in different ways, and a mixture is often better than either. Trial ensembles decide.
        em_smoothings: Multiples of α with which EM fits perturbed copies and HCLTs; validation rows choose one.
        bases: How many circuits, the best one and smaller ones, are copied for EM to refine.
        copies: How many perturbed copies: first so many of each base, then more of the best one, if clearly better.
        em_passes: The largest number of EM's passes over the copies.
        em_cells: The largest number of parameters times rows that EM is asked to work on.
        em_parameters: The largest number of parameters, for tables of few rows.
        hclt_states: Numbers of latent states to try for each block of an HCLT.
        hclts: How many HCLTs are mixed, with the number of latent states that is best.
        most_hclts: How many at most: twice as many are tried as long as the mixture with the other components promises
            to gain by it on validation rows.
        hclt_cells: The largest number of entries of all transition matrices, times rows, of an HCLT.
        hclts_cells: The same of all HCLTs together, where more than `hclts` are tried.
        continuous: How many continuous mixtures are fitted at most, for bits.
        continuous_parameters: The largest number of parameters of each, about.
        continuous_passes: The number of passes over the rows that each is fitted in.
        classes: Numbers of classes to try for mixtures of independent columns, for bits.
        class_starts: How many of these mixtures, from different starts, are averaged.
    """

    thresholds: tuple[float, ...]
    min_instances: tuple[int, ...]
    finalists: int
    trial_circuits: int
    circuits: int
    evidence_cells: float = 3e5
    ensemble_parameters: float = 2e6
    smoothings: tuple[tuple[float, float], ...] = ((1.0, 1.0),)
    leaf_learner: str = "auto"
    both_structures: bool = False
    em_smoothings: tuple[float, ...] = (1.0, 5.0)
    bases: int = 2
    copies: tuple[int, ...] = ()
    em_passes: int = 200
    em_cells: float = 2e9
    em_parameters: int = 200_000
    hclt_states: tuple[int, ...] = ()
    hclts: int = 1
    most_hclts: int = 1
    hclt_cells: float = 1e10
    hclts_cells: float = 1.6e11
    continuous: int = 0
    continuous_parameters: float = 2e6
    continuous_passes: int = 20
    classes: tuple[int, ...] = ()
    class_starts: int = 4

    def settings(self, config: LearnConfig, data: TrainingData) -> list[LearnConfig]:
        """Return the settings to try: evidence where it serves, the tests that were asked for, and all of the grid."""
        if config.by_evidence:
            return [config]
        evidence = config.settled(evidence_serves(data) and self._in_time(data))
        config = config.settled(evidence_serves=False)
        if config.leaf_learner == "auto":
            config = replace(config, leaf_learner=self.leaf_learner)
        thresholds = dict.fromkeys([config.independence_threshold, *self.thresholds])
        rows = dict.fromkeys([config.min_instances, *self.min_instances])
        tests = [replace(config, independence_threshold=t, min_instances=m) for t, m in product(thresholds, rows)]
        return [evidence, *tests] if evidence.by_evidence else tests

    def _in_time(self, data: TrainingData) -> bool:
        if self.evidence_cells == inf:
            return True
        return isinstance(data, BinaryData) and data.complete and data.shape[0] * data.shape[1] <= self.evidence_cells

    def smoothings_of_em(self, config: LearnConfig) -> list[float]:
        """Return the values of α to try with EM; never 0, which could make validation rows impossible."""
        return list(dict.fromkeys(max(k * config.smoothing, LEAST_SMOOTHING) for k in self.em_smoothings))


BUDGETS = {
    "mixed": SearchBudget((), (), finalists=1, trial_circuits=1, circuits=1, evidence_cells=inf, classes=(8, 16, 32)),
    "balanced": SearchBudget(
        (5.0, 15.0), (20, 200), finalists=1, trial_circuits=1, circuits=8, hclt_states=(8, 32), hclts=2
    ),
    "best": SearchBudget(
        (3.0, 5.0, 15.0),
        (20, 60, 200, 600),
        finalists=3,
        trial_circuits=10,
        circuits=80,
        smoothings=((1.0, 1.0), (5.0, 1.0), (5.0, 5.0)),
        leaf_learner="sparse",
        both_structures=True,
        copies=(10, 40),
        hclt_states=(8, 16, 32, 64),
        hclts=2,
        most_hclts=32,
        continuous=4,
    ),
}


@dataclass(frozen=True, eq=False)
class ValidationRows:
    """Rows that nothing was learned from, with their weights."""

    rows: AnyArray
    weights: FloatArray

    @classmethod
    def of(cls, rows: AnyArray) -> "ValidationRows":
        """Return rows that count once each; equal ones are one row of their number."""
        return cls(*different_rows(rows, np.ones(len(rows))))

    def row_scores(self, graph: Graph) -> FloatArray:
        """Return the log-likelihood of each row."""
        return Automatic(compile_graph(graph)).log_likelihood(self.rows)

    def score(self, graph: Graph) -> float:
        """Return the mean log-likelihood."""
        return self.mean(self.row_scores(graph))

    def clearly_prefers(self, larger: Graph, smaller: Graph) -> bool:
        """Whether the larger of two models is better by more than a standard error of the difference.

        A smaller gain is noise, and not worth additional parameters.
        """
        scores = np.array([self.row_scores(larger), self.row_scores(smaller)])
        finite = np.isfinite(scores)
        compared = finite.any(axis=0)
        if not finite[:, compared].all():
            return bool(finite[0, compared].all())  # then the smaller one finds something impossible
        gains, weights = scores[0, compared] - scores[1, compared], self.weights[compared]
        n_others = weights.sum() - 1
        if n_others <= 0:
            return False
        gain = np.average(gains, weights=weights)
        variance = np.average((gains - gain) ** 2, weights=weights)
        return bool(gain > np.sqrt(variance / n_others))

    def mean(self, row_scores: FloatArray) -> float:
        """Return the weighted mean of the rows' scores."""
        return float(np.average(row_scores, weights=self.weights))


def validation_split(data: TrainingData, seed: int) -> tuple[TrainingData, ValidationRows]:
    """Split off a random fraction of the rows; return the remaining training rows and the validation rows.

    A row that stands for several equal ones is as many units, of which some may become validation rows and others not.
    Below a weight of two it is one unit, and never on both sides.
    """
    total = float(data.weights.sum())
    if total >= MOST_UNITS:
        raise DataError(
            f"sample_weight: adds up to {total:.3g} rows, too many to draw validation rows from; "
            "scale it to the number of rows, or give X_valid"
        )
    units = np.maximum(np.floor(data.weights), 1.0).astype(np.int64)
    n_units = int(units.sum())
    if n_units < 2:
        raise DataError(
            f"X: too few rows with a value ({n_units}) to split off validation rows, which are used to choose "
            "settings; quality 'fast' needs none"
        )
    n_validation = min(max(round(VALIDATION_FRACTION * n_units), 1), n_units - 1)
    drawn = np.random.default_rng(seed).multivariate_hypergeometric(units, n_validation, method="marginals")
    of_unit = data.weights / units
    validation, rest = of_unit * drawn, of_unit * (units - drawn)
    return data.with_weights(rest), ValidationRows(data.rows()[validation > 0], validation[validation > 0])


@dataclass(frozen=True, eq=False)
class SearchContext:
    """What ensembles, refined copies and HCLTs are learned from and compared by.

    Attributes:
        data: The training rows.
        validation: The validation rows.
        config: The settings that were asked for.
        budget: What is tried.
        n_jobs: The number of workers.
        on_step: Called after each step of the search.
        device: The device of torch that EM computes on; None for the library's own kernels.
    """

    data: TrainingData
    validation: ValidationRows
    config: LearnConfig
    budget: SearchBudget
    n_jobs: int | None
    on_step: Callable[[], None]
    device: str | None = None
