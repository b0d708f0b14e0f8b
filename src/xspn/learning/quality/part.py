"""What the final mixture is made of."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from xspn.core.arrays import FloatArray
from xspn.learning.assembly import Learned
from xspn.learning.source import TrainingData

Kind = Literal["bag", "copies", "trees"]


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
        learned: The circuit, and why it is what it is.
        row_scores: The log-likelihoods of the rows kept apart.
        learned_again: Return the same for other rows, with nothing left to choose.
    """

    part: Part
    learned: Learned
    row_scores: FloatArray
    learned_again: Callable[[TrainingData], Learned]
