"""Ways to split rows with columns of any kinds into clusters."""

from xspn.learning.tables.clustering.auto import proposed_splits
from xspn.learning.tables.clustering.variable import category_apart

__all__ = ["category_apart", "proposed_splits"]
