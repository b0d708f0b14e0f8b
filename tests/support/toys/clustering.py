"""A toy clustering for bits: rows of many ones against rows of few. It gives no rule for rows that it was not shown."""

import numpy as np

from xspn.learning.clustering.base import Split, clusterings


def split_by_total(summary, seed):
    ones = np.nansum(summary.rows()[0], axis=1)
    labels = (ones > ones.mean()).astype(np.int64)
    return Split(labels) if 0 < labels.sum() < len(labels) else None


clusterings.add("by_total", split_by_total)
