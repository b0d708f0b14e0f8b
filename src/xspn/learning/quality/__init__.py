"""More than one circuit's worth of work: settings chosen on rows kept apart, bags, and mixtures refined by EM."""

from xspn.learning.quality.effort import EFFORTS, Effort
from xspn.learning.quality.held_out import HeldOut
from xspn.learning.quality.search import LearnedWell, Search, learn_well

__all__ = ["EFFORTS", "Effort", "HeldOut", "LearnedWell", "Search", "learn_well"]
