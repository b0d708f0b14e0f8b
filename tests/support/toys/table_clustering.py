"""A toy clustering for all columns: the first column above its mean against the rest."""

import numpy as np

from xspn.learning.clustering.base import Split, clusterings
from xspn.learning.tables.clustering.base import table_clusterings


def _split(column):
    labels = (np.nan_to_num(column) > np.nanmean(column)).astype(np.int64)
    return [Split(labels)] if 0 < labels.sum() < len(labels) else []


clusterings.add("by_first", lambda summary, seed: next(iter(_split(summary.rows()[0][:, 0])), None))
table_clusterings.add("by_first", lambda summary, seed: _split(summary.cells[:, 0]))
