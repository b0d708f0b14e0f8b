"""Leaf learners: leaves for slices that are not split any further."""

from xspn.learning.leaf_learners.base import (
    BinaryLeafData,
    Candidate,
    LeafData,
    LeafOptions,
    TableLeafData,
    leaf_learners,
)
from xspn.learning.leaf_learners.block_mixture import block_mixture_leaf, products_of_blocks
from xspn.learning.leaf_learners.blocks import blocks_leaf, evidence_blocks_leaf, table_evidence_blocks_leaf
from xspn.learning.leaf_learners.chow_liu import chow_liu_leaf
from xspn.learning.leaf_learners.exchangeable import exchangeable_leaf, table_exchangeable_leaf
from xspn.learning.leaf_learners.factorized import factorized_leaf, table_factorized_leaf
from xspn.learning.leaf_learners.mixed import best_candidate, stack

__all__ = [
    "BinaryLeafData",
    "Candidate",
    "LeafData",
    "LeafOptions",
    "TableLeafData",
    "best_candidate",
    "block_mixture_leaf",
    "blocks_leaf",
    "chow_liu_leaf",
    "evidence_blocks_leaf",
    "exchangeable_leaf",
    "factorized_leaf",
    "leaf_learners",
    "products_of_blocks",
    "stack",
    "table_evidence_blocks_leaf",
    "table_exchangeable_leaf",
    "table_factorized_leaf",
]
