"""Columns cut into a few bins by rank, so that any two columns can be compared by a table of counts.

What is independent stays so under any binning of each column on its own, so a test on bins holds its level whatever
the distributions are, without assuming normality, and it sees dependence of any shape that is coarse enough (a rank
correlation would see monotone dependence only). Ties stay together: equal values are never told apart.
"""

import numpy as np

from xspn.core.arrays import FloatArray, IntArray
from xspn.data.domain import Domain

ROWS_PER_CELL = 5.0  # expected in each cell of a table of two binned columns
MOST_BINS = 6
FEWEST_IN_BIN = 5.0  # rows; rarer categories are counted as one


def rank_bins(values: FloatArray, weights: FloatArray, domain: Domain, total: float) -> IntArray:
    """Return the bin of each value, 0, 1, …; −1 where it is missing.

    Names with few rows are counted together. Numbers, and scales of more steps than bins, are cut where equal parts of
    the rows end.

    Examples:
        >>> rank_bins(np.array([5.0, 1, 2, 9, np.nan]), np.ones(5), Domain.real(), 20.0).tolist()
        [1, 0, 0, 1, -1]
        >>> rank_bins(np.repeat([0.0, 1, 2, 3], [10, 1, 9, 2]), np.ones(22), Domain(4), 22.0)[[0, 10, 11, 20]].tolist()
        [0, 1, 2, 1]
    """
    most = int(np.clip(np.sqrt(total / ROWS_PER_CELL), 2, MOST_BINS))
    seen = ~np.isnan(values)
    bins = np.full(len(values), -1, dtype=np.int64)
    if not seen.any():
        return bins
    if domain.cardinality is None or (domain.ordered and domain.cardinality > most):
        bins[seen] = _cut_by_rank(values[seen], weights[seen], most)
    else:
        bins[seen] = _common_values(values[seen].astype(np.int64), weights[seen])
    return bins


def _cut_by_rank(values: FloatArray, weights: FloatArray, most: int) -> IntArray:
    """Give each distinct value the bin that the middle of its ranks falls into; empty bins are skipped."""
    distinct, which = np.unique(values, return_inverse=True)
    mass = np.bincount(which, weights=weights)
    middle = (np.cumsum(mass) - mass / 2) / mass.sum()
    bins = np.minimum((middle * most).astype(np.int64), most - 1)
    if len(distinct) > 1 and bins[0] == bins[-1]:  # nearly all rows have one value: it against the others
        bins = (np.arange(len(distinct)) != int(np.argmax(mass))).astype(np.int64)
    return np.unique(bins, return_inverse=True)[1].reshape(-1)[which.reshape(-1)]


def _common_values(codes: IntArray, weights: FloatArray) -> IntArray:
    """Number the values that occur; all that are rare share a number."""
    mass = np.bincount(codes, weights=weights)
    occurring = np.flatnonzero(mass > 0)
    rare = occurring[mass[occurring] < FEWEST_IN_BIN]
    common = occurring[mass[occurring] >= FEWEST_IN_BIN]
    if len(occurring) - len(rare) < 2 and len(rare) <= 1:
        rare, common = rare[:0], occurring
    number = np.zeros(len(mass), dtype=np.int64)
    first_of_rare = int(rare[0]) if len(rare) else -1
    kept = np.sort(np.append(common, first_of_rare)) if len(rare) else common
    number[kept] = np.arange(len(kept))
    if len(rare):
        number[rare] = number[first_of_rare]
    return number[codes]
