"""Leaves for slices that are not split any further."""

from xspn.learning.fallback.auto import conventional_fallbacks
from xspn.learning.fallback.base import Candidate, LeafData, LeafOptions, fallbacks
from xspn.learning.fallback.blocks import blocks_leaf
from xspn.learning.fallback.chow_liu import chow_liu_leaf
from xspn.learning.fallback.exchangeable import exchangeable_leaf
from xspn.learning.fallback.factorized import factorized_leaf

__all__ = [
    "Candidate",
    "LeafData",
    "LeafOptions",
    "blocks_leaf",
    "chow_liu_leaf",
    "conventional_fallbacks",
    "exchangeable_leaf",
    "factorized_leaf",
    "fallbacks",
]
