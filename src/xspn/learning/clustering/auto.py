"""The better of a Bernoulli mixture and a split on one variable."""

import numpy as np

from xspn.learning.clustering.base import Split, clusterings
from xspn.learning.clustering.bernoulli import bernoulli_split
from xspn.learning.clustering.variable import variable_split
from xspn.learning.summary import Summary


def best_split(summary: Summary, rng: np.random.Generator) -> Split | None:
    """Return the split of larger penalised gain."""
    found = [split for split in (variable_split(summary, rng), bernoulli_split(summary, rng)) if split is not None]
    return max(found, key=lambda split: split.score, default=None)


clusterings.add("auto", best_split)
