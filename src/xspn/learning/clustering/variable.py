"""Two clusters by the value of one variable, as cutset networks split: the resulting sum is deterministic."""

import numpy as np
from scipy.special import xlogy

from xspn.learning.clustering.base import Split, bic_penalty, clusterings, factorised_log_likelihood
from xspn.learning.summary import Summary


def variable_split(summary: Summary, seed: int) -> Split | None:
    """Return the split on the variable whose two clusters explain the others best; all variables are tried at once.

    Row i of G counts the ones among the rows where variable i is one, so the score of every split is n × n arithmetic.
    """
    ones, total, n = summary.ones, summary.total, summary.n
    inside = np.array([ones[None, :] - summary.pairs, summary.pairs])  # (value, split variable, variable)
    sizes = np.array([total - ones, ones])  # (value, split variable)
    split = factorised_log_likelihood(inside, sizes).sum(axis=0) + xlogy(sizes, sizes / total).sum(axis=0)
    gain = split - factorised_log_likelihood(ones, total)
    gain[summary.constant()] = -np.inf
    best = int(np.argmax(gain))
    if np.isneginf(gain[best]):
        return None
    cells, _ = summary.rows()
    # Each cluster has its own n − 1 bits, plus the weight of the sum; unsplit there are n bits.
    score = float(gain[best]) - bic_penalty(total, 2 * (n - 1) + 1 - n)
    return Split(cells[:, best].astype(np.int64), variable=best, score=score)


clusterings.add("variable", variable_split)
