"""Exchangeable real columns: one mean, one variance, one correlation."""

import numpy as np

from xspn.core.arrays import FloatArray, IntArray
from xspn.learning.leaf_learners.base import Candidate
from xspn.learning.tables.leaf_learners.base import TableLeafData
from xspn.leaves.exchangeable_gaussian import ExchangeableGaussian
from xspn.leaves.gaussian import LOG_2PI

EM_STEPS = 15
NO_ROW = 1e-6  # less weight than this is rounding


def exchangeable_normal(data: TableLeafData, variables: IntArray, alpha: float) -> Candidate:
    """Return the leaf of compound symmetry.

    The eigenvalues of its covariance, a (differences between columns) and b (their mean), are kept off zero by a prior
    of α rows with the cells' own variance, and above the columns' floor.
    """
    own, n = data.own, len(variables)
    seen = ~own.missing
    weights = own.weights[:, None] * seen
    mass = max(float(weights.sum()), 1e-300)
    values = np.where(seen, own.cells, 0.0)
    mean = float((weights * values).sum()) / mass
    floor = float(np.max([column.floor for column in own.columns])) ** 2
    variance = max(float((weights * (values - mean) ** 2).sum()) / mass, floor)
    prior = _Prior(max(alpha, 1e-3), variance, floor)
    leaf = ExchangeableGaussian(variables.tolist(), mean, float(np.sqrt(variance)), 0.0)
    for _ in range(EM_STEPS if not own.complete else 1):
        leaf = prior.leaf(variables, leaf.mean, leaf.statistics(own.cells, own.weights))
    whole = leaf.statistics(own.cells, own.weights)
    each = _row_statistics(leaf, data.own.cells)
    mean_without, a, b = prior.parameters(n, whole[:, None] - each)
    return Candidate("exchangeable", leaf, _log_density(data.own.cells, leaf.mean + mean_without, a, b))


class _Prior:
    """Keeps variances off zero."""

    def __init__(self, rows: float, variance: float, floor: float) -> None:
        self._rows, self._variance, self._floor = rows, variance, floor

    def parameters(self, n: int, statistics: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the shift of the mean, and the eigenvalues a and b, for statistics (4, …)."""
        # Without the only row, or one of which more is taken away than it counts, nothing but the prior is left.
        weight, first, squares, squared_sums = np.where(statistics[0] > NO_ROW, statistics, 0.0)
        shift = np.divide(first, weight * n, out=np.zeros_like(first), where=weight > 0)
        squares = squares - n * weight * shift**2
        along_mean = np.maximum(squared_sums / n - n * weight * shift**2, 0.0)
        apart = np.maximum(squares - along_mean, 0.0)
        b = (along_mean + self._rows * self._variance) / (weight + self._rows)
        a = (apart / (n - 1) + self._rows * self._variance) / (weight + self._rows)
        return shift, np.maximum(a, self._floor), np.maximum(b, self._floor)

    def leaf(self, variables: IntArray, mean: float, statistics: FloatArray) -> ExchangeableGaussian:
        """Return the leaf that statistics about `mean` give."""
        n = len(variables)
        shift, a, b = (float(value) for value in self.parameters(n, statistics))
        shared = (b - a) / n
        variance = a + shared
        return ExchangeableGaussian(variables.tolist(), mean + shift, float(np.sqrt(variance)), shared / variance)


def _row_statistics(leaf: ExchangeableGaussian, cells: FloatArray) -> FloatArray:
    """Return each row's (expected) statistics about the leaf's mean: (4, rows), as `leaf.statistics` sums them up."""
    n = cells.shape[1]
    missing = np.isnan(cells)
    k = (~missing).sum(axis=1)
    m = n - k
    away = np.where(missing, 0.0, cells - leaf.mean)
    apart = leaf.std**2 * (1 - leaf.correlation)
    shared = leaf.std**2 * leaf.correlation
    of_mean = apart + k * shared
    shift, left = shared * away.sum(axis=1) / of_mean, shared * apart / of_mean
    sums = away.sum(axis=1) + m * shift
    squares = (away**2).sum(axis=1) + m * (apart + left + shift**2)
    squared_sums = sums**2 + m * (apart + m * left)
    return np.where(k > 0, np.array([np.ones(len(cells)), sums, squares, squared_sums]), 0.0)


def _log_density(cells: FloatArray, mean: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the log-density of what was seen of each row, each under parameters of its own."""
    n = cells.shape[1]
    missing = np.isnan(cells)
    k = (~missing).sum(axis=1)
    away = np.where(missing, 0.0, cells - mean[:, None])
    of_mean = a + k * (b - a) / n
    mean_part = away.sum(axis=1) ** 2 / np.maximum(k, 1)
    quadratic = ((away**2).sum(axis=1) - mean_part) / a + mean_part / of_mean
    logs = -0.5 * (k * LOG_2PI + (k - 1) * np.log(a) + np.log(of_mean) + quadratic)
    return np.asarray(np.where(k > 0, logs, 0.0))
