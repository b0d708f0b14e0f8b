"""Numbers that stand for the values of a column in tests of exchangeability.

If columns are exchangeable, so are they after the same function is applied to all of them. A few values are told apart
by indicators. Real numbers, and long scales, are replaced by normal scores of their ranks among all cells: the score
tells of location and its square of spread, and no outlier can dominate a sum.
"""

import numpy as np
from scipy.special import ndtri

from xspn._core.arrays import FloatArray
from xspn.learning.tables.summary import TableSummary

MOST_INDICATORS = 5  # values beyond the first; the second order has a number for every two of them


def features(summary: TableSummary) -> FloatArray:
    """Return the features of every cell, NaN where it is missing: (features, rows, n)."""
    column = summary.columns[0]
    occurring = np.unique(summary.cells[~summary.missing])
    if not column.is_real and len(occurring) <= MOST_INDICATORS + 1:
        marks = (summary.cells[None] == occurring[1:, None, None]).astype(np.float64)
        return np.where(summary.missing[None], np.nan, marks)
    scores = _normal_scores(summary)
    return np.stack([scores, scores**2])


def _normal_scores(summary: TableSummary) -> FloatArray:
    """Return Φ⁻¹ of each cell's middle rank among all cells; equal values have equal scores."""
    seen = ~summary.missing
    weights = np.broadcast_to(summary.weights[:, None], summary.cells.shape)[seen]
    distinct, which = np.unique(summary.cells[seen], return_inverse=True)
    mass = np.bincount(which.reshape(-1), weights=weights, minlength=len(distinct))
    middle = (np.cumsum(mass) - mass / 2) / mass.sum()
    scores = np.full(summary.cells.shape, np.nan)
    scores[seen] = ndtri(middle)[which.reshape(-1)]
    return scores
