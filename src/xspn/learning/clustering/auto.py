"""The better of a Bernoulli mixture and a split on one variable."""

from xspn.learning.clustering.base import Split, clusterings
from xspn.learning.clustering.bernoulli import bernoulli_split
from xspn.learning.clustering.variable import variable_split
from xspn.learning.summary import Summary


def best_split(summary: Summary, seed: int) -> Split | None:
    """Return the split of larger penalised gain."""
    found = [split for split in (variable_split(summary, seed), bernoulli_split(summary, seed)) if split is not None]
    return max(found, key=lambda split: split.score, default=None)


clusterings.add("auto", best_split)
