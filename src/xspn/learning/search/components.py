"""The components of the final mixture, and their mixture weights."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.graph.graph import Graph
from xspn.graph.nodes import Sum
from xspn.learning.assembly import Learned
from xspn.learning.em import fit_mixture_weights
from xspn.learning.ensemble import joined_trace
from xspn.learning.source import TrainingData

SMALLEST_WEIGHT = 0.02
PASSES = 200  # of EM over a few weights, which costs next to nothing
LEAST_GAIN_OF_MORE = 0.01  # nats per validation row, for an ensemble, or for twice as many members of a component

Member = TypeVar("Member")

ComponentKind = Literal["ensemble", "evidence", "copies", "hclts", "continuous", "classes"]


@dataclass(frozen=True)
class ComponentSummary:
    """What a component of the final mixture is.

    Attributes:
        kind: A bagged "ensemble" of circuits, one of circuits learned by "evidence", EM-refined perturbed "copies" of
            one circuit, "hclts", which are hidden Chow-Liu trees over exchangeable blocks, "continuous" mixtures of
            trees or blocks, or mixtures of "classes" in which columns are independent.
        number: How many of them.
        setting: The setting that validation rows chose for them, in words.
        weight: The mixture weight of all of them together.
    """

    kind: ComponentKind
    number: int
    setting: str
    weight: float = 1.0

    def __str__(self) -> str:
        return f"{self.weight:.0%} {self.kind} ({self.number}; {self.setting})"


@dataclass(frozen=True, eq=False)
class Component:
    """A component as it was learned from the training rows alone.

    Attributes:
        summary: What it is.
        learned: The circuit, and why it is what it is.
        row_scores: The log-likelihoods of the validation rows.
        refit: Learn the same from other rows, with nothing left to choose.
    """

    summary: ComponentSummary
    learned: Learned
    row_scores: FloatArray
    refit: Callable[[TrainingData], Learned]


def mixture_of_components(
    components: Sequence[Component], weights: FloatArray, all_rows: TrainingData | None
) -> tuple[Learned, tuple[ComponentSummary, ...]]:
    """Return the mixture of all components that earn a weight, and what it is made of.

    Args:
        components: The components.
        weights: Those of the validation rows.
        all_rows: The rows to refit the components to once their weights are known; None if they need not be refitted.
    """
    mixture_weights = best_mixture_weights(np.array([one.row_scores for one in components]), weights)
    kept = [(one, weight) for one, weight in zip(components, mixture_weights.tolist(), strict=True) if weight > 0]
    summaries = tuple(replace(one.summary, weight=weight) for one, weight in kept)
    models = [one.learned if all_rows is None else one.refit(all_rows) for one, _ in kept]
    if len(models) == 1:
        return models[0], summaries
    roots = [model.graph.root for model in models]
    whole = Graph(Sum([weight for _, weight in kept], roots), models[0].graph.n_variables)
    return Learned(whole, joined_trace(whole, roots, [model.trace for model in models])), summaries


def score_of_mixture(row_scores: Sequence[FloatArray], weights: FloatArray) -> float:
    """Return the mean log-likelihood of the validation rows by the best mixture of some models."""
    scores = np.array(row_scores)
    mixture_weights = best_mixture_weights(scores, weights)
    kept = mixture_weights > 0
    logs = np.logaddexp.reduce(scores[kept] + np.log(mixture_weights[kept])[:, None], axis=0)
    return float(np.average(logs, weights=weights))


def worth_their_time(trials: Sequence[FloatArray], others: Sequence[FloatArray], weights: FloatArray) -> list[bool]:
    """Return which models the best mixture with others would miss, each of them in turn; those before it stay away.

    Args:
        trials: The log-likelihoods of the validation rows by what is to be judged.
        others: The same of what is there anyway; at least one.
        weights: The weight of each row.

    Examples:
        >>> logs = np.log([[0.5, 0.5, 0.1], [0.1, 0.1, 0.9], [0.1, 0.1, 0.1]])
        >>> worth_their_time([logs[1], logs[2]], [logs[0]], np.ones(3))
        [True, False]
    """
    kept = list(range(len(trials)))
    for k in range(len(trials)):
        without = [trials[j] for j in kept if j != k]
        gain = score_of_mixture([trials[j] for j in kept] + list(others), weights)
        if gain - score_of_mixture([*without, *others], weights) < LEAST_GAIN_OF_MORE:
            kept.remove(k)
    return [k in kept for k in range(len(trials))]


def averaged(row_scores: Sequence[FloatArray]) -> FloatArray:
    """Return the log-likelihoods of rows by an even mixture; its circuit would be slower at that."""
    scores: FloatArray = np.logaddexp.reduce(row_scores, axis=0) - np.log(len(row_scores))
    return scores


def doubled_while_it_gains(
    members: list[Member],
    most: int,
    more: Callable[[int, int], list[Member]],
    score: Callable[[Sequence[Member]], float],
) -> list[Member]:
    """Return a component's members, twice as many of them as long as its mixture with the others gains by that.

    What n members lack of infinitely many falls about as 1/n, so twice as many gain half of what they gained on half
    as many.

    Args:
        members: The first ones.
        most: The largest number.
        more: Returns members from one number to another.
        score: How good the mixture is with some of the members.
    """
    found = members
    while len(found) < most and score(found) - score(found[: len(found) // 2]) > 2.0 * LEAST_GAIN_OF_MORE:
        found = found + more(len(found), min(2 * len(found), most))
    return found


def best_mixture_weights(row_scores: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the mixture weights that make rows most likely, by EM; 0 for a model that earns next to nothing.

    A model that alone finds some row possible keeps its weight, however small.

    Args:
        row_scores: The log-likelihood of each row by each model: (models, rows).
        weights: The weight of each row.

    Examples:
        >>> logs = np.log([[0.5, 0.5, 0.1], [0.1, 0.1, 0.9], [0.1, 0.1, 0.1]])
        >>> best_mixture_weights(logs, np.ones(3)).round(2).tolist()
        [0.67, 0.33, 0.0]
    """
    possible = np.isfinite(row_scores).any(axis=0)
    scores, own = row_scores[:, possible], weights[possible]
    kept = np.arange(len(scores))
    found = fit_mixture_weights(scores, own, PASSES)
    while len(kept) > 1 and found.min() < SMALLEST_WEIGHT:
        others = np.delete(kept, found.argmin())
        if not np.isfinite(scores[others]).any(axis=0).all():
            break
        kept, found = others, fit_mixture_weights(scores[others], own, PASSES)
    mixture_weights = np.zeros(len(scores))
    mixture_weights[kept] = found
    return mixture_weights
