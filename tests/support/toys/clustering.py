"""A toy clustering for bits and for columns of any types: rows of large totals against rows of small ones.

It gives no rule for rows that it was not shown.
"""

import numpy as np

from xspn.learning.clustering.base import Split, clusterings
from xspn.learning.methods import Can, Method


def split_by_total(summary, seed):
    totals = np.nansum(summary.rows()[0], axis=1)
    labels = (totals > totals.mean()).astype(np.int64)
    return Split(labels) if 0 < labels.sum() < len(labels) else None


clusterings.add("by_total", Method(bits=split_by_total, tables=split_by_total, can=Can.ANY_TYPE | Can.ANY_ROWS))
