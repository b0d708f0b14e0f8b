"""Ways to split rows into clusters."""

from xspn.learning.clustering.base import Condition, Rule, Split, clusterings
from xspn.learning.clustering.contexts import contexts_split
from xspn.learning.clustering.mixture import bernoulli_split, best_split
from xspn.learning.clustering.numeric import gmm_split, kmeans_split
from xspn.learning.clustering.variable import variable_split

__all__ = [
    "Condition",
    "Rule",
    "Split",
    "bernoulli_split",
    "best_split",
    "clusterings",
    "contexts_split",
    "gmm_split",
    "kmeans_split",
    "variable_split",
]
