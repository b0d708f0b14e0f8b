"""Ways to split rows with columns of any types into clusters."""

from xspn.learning.tables.clustering.base import mixture_splits, table_clustering, table_clusterings
from xspn.learning.tables.clustering.variable import categories_apart

__all__ = ["categories_apart", "mixture_splits", "table_clustering", "table_clusterings"]
