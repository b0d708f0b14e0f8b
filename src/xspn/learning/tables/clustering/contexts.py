"""Contexts by evidence: clusters of rows in each of which the columns form exchangeable blocks."""

from typing import TYPE_CHECKING

import numpy as np

from xspn.learning.clustering.base import Split
from xspn.learning.table_summary import TableSummary
from xspn.learning.task import SMALLEST_RESPONSIBILITY

if TYPE_CHECKING:
    from xspn.learning.blocks.table_contexts import Mixture


def contexts_split(summary: TableSummary, seed: int) -> Split | None:
    """Return the contexts of best evidence, as many as there are, with their responsibilities for each row."""
    from xspn.learning.blocks.table_contexts import find_contexts  # takes numba along

    return _split_by(find_contexts(summary, seed), summary)


def two_contexts_split(summary: TableSummary, seed: int) -> Split | None:
    """Return the two contexts of best evidence, even if one has more."""
    from xspn.learning.blocks.table_contexts import find_two_contexts  # takes numba along

    found = find_two_contexts(summary, seed)
    return None if found is None else _split_by(found, summary)


def _split_by(found: "Mixture", summary: TableSummary) -> Split | None:
    own = np.where(found.responsibilities < SMALLEST_RESPONSIBILITY, 0.0, found.responsibilities)
    own /= own.sum(axis=1, keepdims=True)
    own = own[:, summary.weights @ own > 0]
    return Split(np.argmax(own, axis=1), own) if own.shape[1] > 1 else None
