"""Real columns as one normal distribution: with covariances shrunk by their leave-one-out score, or exchangeable.

Exchangeable ones have one mean, one variance and one correlation.
"""

import numpy as np
from scipy.linalg import solve_triangular

from xspn.core.arrays import FloatArray, IntArray
from xspn.graph.nodes import Node, Product
from xspn.learning.leaf_learners.base import Candidate, LeafOptions, TableLeafData, without_atoms
from xspn.learning.leaf_learners.factorized import table_factorized_leaf
from xspn.learning.steps import step
from xspn.learning.table_summary import TableSummary
from xspn.leaves.exchangeable_gaussian import ExchangeableGaussian
from xspn.leaves.gaussian import LOG_2PI
from xspn.leaves.multivariate_gaussian import MultivariateGaussian

STRENGTHS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # rows that the target of the shrinkage counts for
EM_STEPS = 10
EM_STEPS_OF_BLOCK = 15
FOLDS = 5
NO_ROW = 1e-6  # less weight than this is rounding


def gaussian_leaf(data: TableLeafData, variables: IntArray, options: LeafOptions) -> Candidate | None:
    """Return a normal distribution of all real columns without atoms, beside univariate leaves for the others.

    None below two of them, or where no row has anything to say about them.
    """
    real = np.array([i for i in data.own.real.tolist() if not data.own.atom_weights(i).any()], dtype=np.int64)
    if len(real) < 2 or data.own.total == 0:
        return None
    leaf, leave_one_out = _normal(without_atoms(data.part(real)), variables[real])
    nodes: list[Node] = [leaf]
    rest = np.setdiff1d(np.arange(data.own.n), real)
    if len(rest):
        others = table_factorized_leaf(data.part(rest), variables[rest], options)
        nodes += others.node.children if isinstance(others.node, Product) else [others.node]
        leave_one_out = leave_one_out + others.leave_one_out
    return Candidate("gaussian", nodes[0] if len(nodes) == 1 else Product(nodes), leave_one_out)


class _Moments:
    """Weight, mean and scatter of rows."""

    def __init__(self, cells: FloatArray, weights: FloatArray) -> None:
        self.weight = float(weights.sum())
        self.mean = weights @ cells / self.weight
        away = cells - self.mean
        self.scatter = (away * weights[:, None]).T @ away

    @property
    def covariance(self) -> FloatArray:
        return self.scatter / self.weight


def _normal(data: TableLeafData, variables: IntArray) -> tuple[Node, FloatArray]:
    """Return the leaf and the leave-one-out log-density of each own row.

    The scatter is that of the own rows, or with those of the context (which adds the distance between clusters to the
    variances); it is shrunk towards independence. The best leave-one-out score decides.
    """
    own, pooled = data.own, data.pooled
    floors = np.array([column.floor for column in own.columns]) ** 2
    if not own.complete:
        spreads = np.array([column.spread for column in own.columns]) ** 2
        return _from_partial_rows(own, variables, floors, spreads)
    units = np.minimum(own.weights, 1.0)  # a row that belongs here in part is removed in part
    sources = [(_Moments(own.cells, own.weights), units)]
    if pooled is not own and pooled.complete:
        sources.append((_Moments(pooled.cells, pooled.weights), units + data.unit - 1.0))
    fits = []
    for moments, removed in sources:
        for kappa in STRENGTHS:
            covariance = _shrunk(moments, kappa, floors)
            fits.append((moments.mean, covariance, _leave_one_out(own.cells, moments, covariance, kappa, removed)))
    mean, covariance, leave_one_out = max(fits, key=lambda fit: float(own.weights @ fit[2]))
    return MultivariateGaussian(variables.tolist(), mean, covariance), leave_one_out


def _floored(covariance: FloatArray, floors: FloatArray) -> FloatArray:
    """Return a covariance matrix in which no variance is below its floor."""
    lacking = np.maximum(floors - np.diag(covariance), 0.0)
    return np.asarray((covariance + covariance.T) / 2 + np.diag(lacking))


def _shrunk(moments: _Moments, kappa: float, floors: FloatArray) -> FloatArray:
    """Return the covariance of the scatter, and the variances alone counting as κ rows."""
    target = np.diag(np.maximum(np.diag(moments.covariance), floors))
    return _floored((moments.scatter + kappa * target) / (moments.weight + kappa), floors)


def _leave_one_out(
    cells: FloatArray, moments: _Moments, covariance: FloatArray, kappa: float, removed: FloatArray
) -> FloatArray:
    """Return the leave-one-out log-density of each row, in closed form: a change of rank one.

    The target of the shrinkage stays as it is.
    """
    weight, n = moments.weight, cells.shape[1]
    factor = np.linalg.cholesky(covariance * (weight + kappa))
    whole = solve_triangular(factor, (cells - moments.mean).T, lower=True)
    lever = (whole**2).sum(axis=0)
    rest = np.maximum(weight - removed, 1e-6)
    less = np.maximum(1 - removed * weight / rest * lever, 1e-6)
    log_determinant = 2 * np.log(np.diag(factor)).sum() + np.log(less) - n * np.log(rest + kappa)
    quadratic = (rest + kappa) * (weight / rest) ** 2 * lever / less
    return np.asarray(-0.5 * (n * LOG_2PI + log_determinant + quadratic))


def _from_partial_rows(
    own: TableSummary, variables: IntArray, floors: FloatArray, spreads: FloatArray
) -> tuple[Node, FloatArray]:
    """Fit by EM; rows are scored by fits to the other folds."""
    strength = max(1.0, own.n / 2)
    leaf = _em(own.cells, own.weights, variables, strength, floors, spreads)
    leave_one_out = np.zeros(len(own.cells))
    fold = np.arange(len(own.cells)) % FOLDS
    for k in range(min(FOLDS, len(own.cells))):
        weights = np.where(fold == k, 0.0, own.weights)
        if weights.sum() > 0:
            other = _em(own.cells, weights, variables, strength, floors, spreads)
            leave_one_out[fold == k] = other.log_prob(own.cells[fold == k])
    return leaf, leave_one_out


def _em(
    cells: FloatArray,
    weights: FloatArray,
    variables: IntArray,
    strength: float,
    floors: FloatArray,
    spreads: FloatArray,
) -> MultivariateGaussian:
    n = cells.shape[1]
    seen = ~np.isnan(cells)
    mass = weights @ seen
    values = np.where(seen, cells, 0.0)
    mean = np.divide(weights @ values, mass, out=np.zeros(n), where=mass > 0)
    squares = weights @ np.where(seen, (values - mean) ** 2, 0.0)
    variance = np.maximum(np.divide(squares, mass, out=spreads.copy(), where=mass > 0), floors)
    leaf = MultivariateGaussian(variables.tolist(), mean, np.diag(variance))
    for _ in range(EM_STEPS):
        statistics = leaf.statistics(cells, weights)
        step()
        weight, first, second = float(statistics[0]), statistics[1 : n + 1], statistics[n + 1 :].reshape(n, n)
        if weight == 0:
            break
        shift = first / weight
        scatter = second - weight * np.outer(shift, shift)
        target = np.maximum(np.diag(scatter) / weight, floors)
        covariance = (scatter + strength * np.diag(target)) / (weight + strength)
        leaf = MultivariateGaussian(variables.tolist(), leaf.mean + shift, (covariance + covariance.T) / 2)
    return leaf


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
    for _ in range(EM_STEPS_OF_BLOCK if not own.complete else 1):
        leaf = prior.leaf(variables, leaf.mean, leaf.statistics(own.cells, own.weights))
    whole = leaf.statistics(own.cells, own.weights)
    each = leaf.row_statistics(data.own.cells)
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
