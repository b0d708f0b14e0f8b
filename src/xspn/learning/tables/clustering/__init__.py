"""Ways to split rows with columns of any kinds into clusters."""

from xspn.learning.tables.clustering.auto import proposed_splits

__all__ = ["proposed_splits"]
