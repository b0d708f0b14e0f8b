"""Leaf learners for slices with columns of any types."""

from xspn.learning.tables.leaf_learners.base import TableLeafData, table_leaf_learner, table_leaf_learners
from xspn.learning.tables.leaf_learners.blocks import evidence_blocks_leaf
from xspn.learning.tables.leaf_learners.exchangeable import exchangeable_leaf
from xspn.learning.tables.leaf_learners.mixed import mixed_by
from xspn.learning.tables.leaf_learners.univariate import factorized_leaves

__all__ = [
    "TableLeafData",
    "evidence_blocks_leaf",
    "exchangeable_leaf",
    "factorized_leaves",
    "mixed_by",
    "table_leaf_learner",
    "table_leaf_learners",
]
