"""Leaves for slices with columns of any kinds."""

from xspn.learning.tables.fallback.auto import make_fallback
from xspn.learning.tables.fallback.base import TableLeafData
from xspn.learning.tables.fallback.exchangeable import exchangeable_leaf
from xspn.learning.tables.fallback.univariate import factorized_leaves

__all__ = ["TableLeafData", "exchangeable_leaf", "factorized_leaves", "make_fallback"]
