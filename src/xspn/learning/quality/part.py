"""What the final mixture is made of."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from xspn._core.arrays import FloatArray
from xspn.circuit.nodes import Node
from xspn.learning.source import TrainingData

Kind = Literal["bag", "copies", "trees"]
SMALLEST_SHARE = 0.02
PASSES = 200  # of EM over a few shares, which costs next to nothing


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


def best_shares(row_scores: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the shares of models that make rows most likely, by EM; none for one that earns next to nothing.

    A model that alone finds some row possible keeps its share, however small.

    Args:
        row_scores: The log-likelihood of each row by each model: (models, rows).
        weights: The weight of each row.

    Examples:
        >>> logs = np.log([[0.5, 0.5, 0.1], [0.1, 0.1, 0.9], [0.1, 0.1, 0.1]])
        >>> best_shares(logs, np.ones(3)).round(2).tolist()
        [0.67, 0.33, 0.0]
    """
    possible = np.isfinite(row_scores).any(axis=0)
    scores, own = row_scores[:, possible], weights[possible]
    kept = np.arange(len(scores))
    shares = _by_em(scores, own)
    while len(kept) > 1 and shares.min() < SMALLEST_SHARE:
        others = np.delete(kept, shares.argmin())
        if not np.isfinite(scores[others]).any(axis=0).all():
            break
        kept, shares = others, _by_em(scores[others], own)
    found = np.zeros(len(scores))
    found[kept] = shares
    return found


def _by_em(row_scores: FloatArray, weights: FloatArray) -> FloatArray:
    likelihoods = np.exp(row_scores - row_scores.max(axis=0))
    shares = np.full(len(row_scores), 1.0 / len(row_scores))
    for _ in range(PASSES if len(weights) else 0):
        shares = shares * (likelihoods @ (weights / (shares @ likelihoods)))
        shares /= shares.sum()
    return shares
