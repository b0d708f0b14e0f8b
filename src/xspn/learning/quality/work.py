"""What every part of the search works with."""

from collections.abc import Callable
from dataclasses import dataclass

from xspn.learning.config import LearnConfig
from xspn.learning.quality.effort import Effort
from xspn.learning.quality.held_out import HeldOut
from xspn.learning.source import TrainingData


@dataclass(frozen=True, eq=False)
class Work:
    """What bags, copies and trees are learned from, chosen by, and how.

    Attributes:
        data: The rows to learn from.
        held_out: The rows to choose by.
        config: What was asked for.
        effort: What is tried.
        n_jobs: How many workers share the work.
        tick: Called after each step of it.
    """

    data: TrainingData
    held_out: HeldOut
    config: LearnConfig
    effort: Effort
    n_jobs: int | None
    tick: Callable[[], None]
