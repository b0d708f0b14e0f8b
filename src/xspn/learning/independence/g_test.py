"""The G-test of every two binary variables at once, and the groups that no dependence connects."""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import xlogy

from xspn._core.arrays import BoolArray, FloatArray, IntArray
from xspn.learning.summary import Summary


def g_statistics(summary: Summary) -> FloatArray:
    """Return G = 2 Σ O log(O / E) over the four cells of each pair: (n, n).

    E needs not be formed: Σ O log(O / E) is Σ O log O over the cells, less that over the margins, plus N log N.
    """
    own = xlogy(summary.ones, summary.ones) + xlogy(summary.total - summary.ones, summary.total - summary.ones)
    cells = sum(xlogy(np.maximum(cell, 0.0), np.maximum(cell, 0.0)) for cell in summary.pair_table())
    mutual = cells - own[:, None] - own[None, :] + xlogy(summary.total, summary.total)
    return np.asarray(2.0 * np.maximum(mutual, 0.0))


def dependent_pairs(summary: Summary, threshold: float) -> BoolArray:
    """Mark the pairs that are not independent: those with 2G ≥ 2 · dof · ρ + 0.001, where 2G is the statistic.

    A pair has one degree of freedom if both variables vary, none otherwise.
    """
    varies = ~summary.constant()
    dof = np.outer(varies, varies).astype(np.float64)
    dependent = g_statistics(summary) >= 2.0 * dof * threshold + 0.001
    np.fill_diagonal(dependent, False)
    return np.asarray(dependent)


def independent_groups(summary: Summary, threshold: float) -> list[IntArray]:
    """Return the connected components of the dependence graph, in the order of their first variable."""
    graph = csr_array(dependent_pairs(summary, threshold))
    count, labels = connected_components(graph, directed=False)
    return [np.flatnonzero(labels == k) for k in range(count)]
