"""What the final mixture is made of."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from xspn._core.arrays import FloatArray
from xspn.circuit.nodes import Node
from xspn.learning.source import TrainingData

Kind = Literal["bag", "copies", "trees"]
PASSES = 200


@dataclass(frozen=True)
class Part:
    """A part of the final mixture.

    Attributes:
        kind: A "bag" of circuits on bootstrap samples, "copies" of one circuit that EM took apart, or "trees" of hidden
            states.
        number: How many of them.
        setting: What rows kept apart chose for them, in words.
        share: The weight of all of them together.
    """

    kind: Kind
    number: int
    setting: str
    share: float = 1.0

    def __str__(self) -> str:
        return f"{self.share:.0%} {self.kind} ({self.number}; {self.setting})"


@dataclass(frozen=True, eq=False)
class Partner:
    """A part as it was learned while some rows were kept apart.

    Attributes:
        part: What it is.
        root: The circuit.
        learned_again: Return the circuit for other rows, with nothing left to choose.
    """

    part: Part
    root: Node
    learned_again: Callable[[TrainingData], Node]


def best_shares(row_scores: FloatArray, weights: FloatArray, least: float) -> FloatArray:
    """Return the shares of models that make rows most likely, by EM; none for a model that earns less than `least`.

    Args:
        row_scores: The log-likelihood of each row by each model: (models, rows).
        weights: The weight of each row.
        least: The smallest share.

    Examples:
        >>> logs = np.log([[0.5, 0.5, 0.1], [0.1, 0.1, 0.9], [0.1, 0.1, 0.1]])
        >>> best_shares(logs, np.ones(3), 0.02).round(2).tolist()
        [0.67, 0.33, 0.0]
    """
    kept = np.arange(len(row_scores))
    while True:
        shares = _by_em(row_scores[kept], weights)
        if len(kept) == 1 or shares.min() >= least:
            break
        kept = np.delete(kept, shares.argmin())
    found = np.zeros(len(row_scores))
    found[kept] = shares
    return found


def _by_em(row_scores: FloatArray, weights: FloatArray) -> FloatArray:
    top = row_scores.max(axis=0)
    possible = np.isfinite(top)
    likelihoods = np.exp(row_scores[:, possible] - top[possible])
    own = weights[possible]
    shares = np.full(len(row_scores), 1.0 / len(row_scores))
    for _ in range(PASSES):
        shares = shares * (likelihoods @ (own / (shares @ likelihoods)))
        shares /= shares.sum()
    return shares
