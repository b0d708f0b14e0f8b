"""Two clusters by the value of one variable, as cutset networks split: the resulting sum is deterministic."""

import numpy as np
from scipy.special import expit, xlogy

from xspn._core.arrays import FloatArray
from xspn.learning.clustering.base import Split, bic_penalty, clusterings, factorised_log_likelihood
from xspn.learning.summary import Summary

TINY = 1e-300


def variable_split(summary: Summary, seed: int) -> Split | None:
    """Return the split on the variable whose two clusters explain the others best; all variables are tried at once.

    Row i of G counts the ones among the rows where variable i is one, so the score of every split is n × n arithmetic.
    """
    n11, n10, n01, n00 = summary.pair_table()  # (split variable, variable)
    inside = np.array([n01, n11])  # (value, split variable, variable)
    sizes = np.array([summary.seen - summary.ones, summary.ones])  # (value, split variable)
    rows = sizes if summary.complete else np.array([n01 + n00, n11 + n10])
    split = factorised_log_likelihood(inside, rows).sum(axis=0)
    split += (xlogy(sizes, sizes) - xlogy(sizes, np.maximum(summary.seen, TINY))).sum(axis=0)
    gain = split - _unsplit(summary)
    gain[summary.constant()] = -np.inf
    best = int(np.argmax(gain))
    if np.isneginf(gain[best]):
        return None
    # Each cluster has its own n − 1 bits, plus the weight of the sum; unsplit there are n bits.
    score = float(gain[best]) - bic_penalty(summary.total, 2 * (summary.n - 1) + 1 - summary.n)
    shares = _shares(summary, best)
    labels = (shares > 0.5).astype(np.int64)
    return Split(labels, None if summary.complete else shares, variable=best, score=score)


def _unsplit(summary: Summary) -> FloatArray:
    """Return the log-likelihood without a split, for each split variable over the rows that have it."""
    if summary.complete:
        return factorised_log_likelihood(summary.ones, summary.total)
    return factorised_log_likelihood(summary.ones_where_seen.T, summary.seen_pairs)


def _shares(summary: Summary, best: int) -> FloatArray:
    """Return the value of the variable; P(one | the row's other values) where it is missing."""
    cells, _ = summary.rows()
    value = cells[:, best].astype(np.float64)
    unknown = np.isnan(value)
    if unknown.any():
        n11, n10, n01, n00 = (cell[best] for cell in summary.pair_table())
        rows = np.array([n01 + n00, n11 + n10])
        p = (np.array([n01, n11]) + 1) / (rows + 2)  # (value, variable)
        logs = np.array([np.log1p(-p), np.log(p)])  # (bit, value, variable)
        logs[:, :, best] = 0.0
        own = cells[unknown]
        scores = (own == 1).astype(np.float64) @ logs[1].T + (own == 0).astype(np.float64) @ logs[0].T
        scores += np.log(np.array([summary.seen[best] - summary.ones[best], summary.ones[best]]) + 1)
        value[unknown] = expit(scores[:, 1] - scores[:, 0])
    return value


clusterings.add("variable", variable_split)
