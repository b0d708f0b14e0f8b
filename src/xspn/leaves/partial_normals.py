"""Normal distributions asked about many rows with different patterns of missing values.

Of a normal distribution with precision Q, what is missing given the rest has precision Q_mm, the block of the missing
variables. So all that a row needs is a factor of that block, which is small where few cells are missing; the observed
part, however large, is a product of matrices for all rows at once.
"""

from typing import Any

import numpy as np

from xspn.core.arrays import BoolArray, FloatArray, IntArray
from xspn.core.compilation import kept

Array = Any
LOG_2PI = float(np.log(2 * np.pi))


def precision_of(covariance: FloatArray) -> tuple[FloatArray, float]:
    """Return the precision matrix and the log-determinant of a covariance matrix."""
    scale = np.sqrt(np.diag(covariance))
    factor = np.linalg.cholesky(covariance / np.outer(scale, scale))
    inverse = np.linalg.inv(factor) / scale
    return np.ascontiguousarray(inverse.T @ inverse), 2 * float(np.log(np.diag(factor) * scale).sum())


def missing_places(missing: BoolArray) -> tuple[IntArray, IntArray]:
    """Return where cells are missing: those of row i are places[starts[i] : starts[i + 1]]."""
    rows, places = np.nonzero(missing)
    return np.searchsorted(rows, np.arange(len(missing) + 1)), places


class PartialNormal:
    """A normal distribution and rows of which any cells are missing.

    Args:
        mean: The means.
        covariance: The covariance matrix; it must be far from singular, as its inverse is taken.
        x: The rows, NaN where a value is missing.

    Attributes:
        filled: The rows with what is missing at its mean given the rest.
        log_prob: The log-density of what is observed.

    Examples:
        >>> rows = PartialNormal(np.zeros(2), np.array([[1, 0.5], [0.5, 1]]), np.array([[2.0, np.nan]]))
        >>> rows.filled.tolist(), rows.variances().round(2).tolist()
        ([[2.0, 1.0]], [[0.0, 0.75]])
    """

    def __init__(self, mean: FloatArray, covariance: FloatArray, x: FloatArray) -> None:
        missing = np.isnan(x)
        self._precision, log_determinant = precision_of(covariance)
        self._places = missing_places(missing)
        away = np.where(missing, 0.0, x - mean)
        pull = away @ self._precision
        quadratic, of_missing = np.einsum("ij,ij->i", pull, away), np.zeros(len(x))
        fill_means(*self._places, self._precision, pull, away, quadratic, of_missing)
        seen = x.shape[1] - missing.sum(axis=1)
        logs = -0.5 * (seen * LOG_2PI + log_determinant + of_missing + np.maximum(quadratic, 0.0))
        self.log_prob: FloatArray = np.where(seen > 0, logs, 0.0)
        self.filled: FloatArray = np.where(missing, mean + away, x)

    def variances(self) -> FloatArray:
        """Return the variance of what is missing given the rest; 0 elsewhere."""
        found = np.zeros(self.filled.shape)
        _variances(*self._places, self._precision, found)
        return found

    def sample(self, noise: FloatArray) -> FloatArray:
        """Return the rows with what is missing drawn, from independent normal numbers: (rows, variables)."""
        found = self.filled.copy()
        _add_noise(*self._places, self._precision, noise, found)
        return found

    def left_over(self, weights: FloatArray) -> FloatArray:
        """Return the sum over rows of the weighted covariance of what is missing given the rest."""
        n = self.filled.shape[1]
        found = np.zeros((n, n))
        add_left_over(weights, *self._places, self._precision, found, 0.0)
        return found


@kept(nogil=True)
def _factor(precision: Array, own: Array, factor: Array) -> None:
    """Write the Cholesky factor of the block of a precision matrix that belongs to some variables."""
    for i in range(len(own)):
        for j in range(i + 1):
            value = precision[own[i], own[j]]
            for h in range(j):
                value -= factor[i, h] * factor[j, h]
            factor[i, j] = value / factor[j, j] if j < i else value**0.5


@kept(nogil=True)
def fill_means(
    starts: Array, places: Array, precision: Array, pull: Array, away: Array, quadratic: Array, of_missing: Array
) -> None:
    """Put missing cells at their means given the row, and change quadratic forms to those of what is observed."""
    most = 0
    for row in range(len(away)):
        most = max(most, starts[row + 1] - starts[row])
    factor, solved = np.zeros((most, most)), np.zeros(most)
    for row in range(len(away)):
        own = places[starts[row] : starts[row + 1]]
        m = len(own)
        if m == 0:
            continue
        _factor(precision, own, factor)
        log_determinant = 0.0
        for i in range(m):
            value = pull[row, own[i]]
            for h in range(i):
                value -= factor[i, h] * solved[h]
            solved[i] = value / factor[i, i]
            quadratic[row] -= solved[i] ** 2
            log_determinant += np.log(factor[i, i])
        for i in range(m - 1, -1, -1):
            value = solved[i]
            for h in range(i + 1, m):
                value -= factor[h, i] * solved[h]
            solved[i] = value / factor[i, i]
            away[row, own[i]] = -solved[i]
        of_missing[row] = 2.0 * log_determinant


@kept(nogil=True)
def add_left_over(
    weights: Array, starts: Array, places: Array, precision: Array, second: Array, negligible: float
) -> None:
    """Add the covariance of each row's missing cells given the rest, times the row's weight."""
    most = 0
    for row in range(len(weights)):
        most = max(most, starts[row + 1] - starts[row])
    factor, inverse = np.zeros((most, most)), np.zeros((most, most))
    for row in range(len(weights)):
        own = places[starts[row] : starts[row + 1]]
        m = len(own)
        if m == 0 or weights[row] < negligible:
            continue
        _factor(precision, own, factor)
        for j in range(m):  # the inverse of the factor, column by column
            for i in range(j, m):
                value = 1.0 if i == j else 0.0
                for h in range(j, i):
                    value -= factor[i, h] * inverse[h, j]
                inverse[i, j] = value / factor[i, i]
        for i in range(m):
            for j in range(i + 1):
                value = 0.0
                for h in range(i, m):
                    value += inverse[h, i] * inverse[h, j]
                second[own[i], own[j]] += weights[row] * value
                if j < i:
                    second[own[j], own[i]] += weights[row] * value


@kept(nogil=True)
def _variances(starts: Array, places: Array, precision: Array, out: Array) -> None:
    """Write the variances of each row's missing cells given the rest."""
    most = 0
    for row in range(len(out)):
        most = max(most, starts[row + 1] - starts[row])
    factor, solved = np.zeros((most, most)), np.zeros(most)
    for row in range(len(out)):
        own = places[starts[row] : starts[row + 1]]
        _factor(precision, own, factor)
        for j in range(len(own)):  # of the inverse of the factor column j, whose squares sum up to the variance
            total = 0.0
            for i in range(j, len(own)):
                value = 1.0 if i == j else 0.0
                for h in range(j, i):
                    value -= factor[i, h] * solved[h]
                solved[i] = value / factor[i, i]
                total += solved[i] ** 2
            out[row, own[j]] = total


@kept(nogil=True)
def _add_noise(starts: Array, places: Array, precision: Array, noise: Array, out: Array) -> None:
    """Add to each row's missing cells noise with the covariance that they have given the rest."""
    most = 0
    for row in range(len(out)):
        most = max(most, starts[row + 1] - starts[row])
    factor, solved = np.zeros((most, most)), np.zeros(most)
    for row in range(len(out)):
        own = places[starts[row] : starts[row + 1]]
        _factor(precision, own, factor)
        for i in range(len(own) - 1, -1, -1):
            value = noise[row, own[i]]
            for h in range(i + 1, len(own)):
                value -= factor[h, i] * solved[h]
            solved[i] = value / factor[i, i]
            out[row, own[i]] += solved[i]
