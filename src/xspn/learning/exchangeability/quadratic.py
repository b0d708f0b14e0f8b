"""Random vectors measured by their covariance, and the cumulants of sums over randomly permuted rows."""

from math import comb

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.learning.deviations import Cumulants

SMALLEST_EIGENVALUE = 1e-9  # beside those of all: directions in which nothing varies are excluded


def quadratic(vectors: FloatArray, covariance: FloatArray, whole: FloatArray | None = None) -> tuple[float, int]:
    """Return Σ vᵀ C⁺ v over rows v, and the rank of C; see `whitening`."""
    directions, scales = whitening(covariance, np.diag(covariance) if whole is None else whole)
    along = (vectors / scales) @ directions
    return float(np.vdot(along, along)), directions.shape[1]


def whitening(covariance: FloatArray, whole: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return directions, and scales by which vectors must be divided first, such that they have covariance I.

    What is tiny beside the whole variances, of which C is what is left after something was explained, is rounding.
    """
    scales = np.sqrt(np.maximum(whole, 0.0))
    scales = np.where(scales > 0, scales, 1.0)  # so that features of different size have the same chance to matter
    values, directions = np.linalg.eigh(covariance / np.outer(scales, scales))
    kept = values > SMALLEST_EIGENVALUE * len(values)
    return directions[:, kept] / np.sqrt(values[kept]), scales


def beyond(vectors: FloatArray, covariance: FloatArray, d: int) -> tuple[FloatArray, FloatArray]:
    """Return what the first d numbers of random vectors do not explain of the others, and its covariance."""
    explained = explaining(covariance, d)
    return vectors[:, d:] - vectors[:, :d] @ explained.T, covariance[d:, d:] - explained @ covariance[:d, d:]


def explaining(covariance: FloatArray, d: int) -> FloatArray:
    """Return the coefficients of the first d numbers of random vectors by which they explain the others."""
    inverse = np.linalg.pinv(covariance[:d, :d], rcond=SMALLEST_EIGENVALUE, hermitian=True)
    return np.asarray(covariance[d:, :d] @ inverse)


def possible(variances: FloatArray, whole: FloatArray) -> FloatArray:
    """Return variances, with 0 where they are but rounding beside the whole ones."""
    return np.where(variances > SMALLEST_EIGENVALUE * whole, variances, 0.0)


def cumulants_of_cells(effects: FloatArray, m: FloatArray | int, weights: FloatArray) -> Cumulants:
    """Return the cumulants of one column's sum, times n, if rows are randomly permuted.

    Args:
        effects: (rows, n), each row with mean 0 over its m seen cells, and 0 elsewhere.
        m: How many cells of each row are seen.
        weights: Those of the rows.
    """
    squares = effects * effects
    second, third, fourth = squares.sum(axis=1), _dots(squares, effects), _dots(squares, squares)
    excess = fourth - 3 * second**2 / np.maximum(m, 1)
    return float(weights @ second), float(weights @ third), float(weights @ excess)


def cumulants_of_pairs(
    one: FloatArray, other: FloatArray, sign: int, m: FloatArray | int, weights: FloatArray
) -> Cumulants:
    """Return the cumulants of φ_a(x_i) φ_b(x_j) ± φ_b(x_i) φ_a(x_j) summed over rows, times the number of pairs.

    What the two columns contribute on their own is neglected: it is of the order of 1/n.
    """
    a2, b2, ab = one * one, other * other, one * other
    sums = {  # Σ_i φ_aᵏ φ_bˡ within each row
        (2, 0): a2.sum(axis=1),
        (1, 1): ab.sum(axis=1),
        (0, 2): b2.sum(axis=1),
        (3, 0): _dots(a2, one),
        (2, 1): _dots(a2, other),
        (1, 2): _dots(b2, one),
        (0, 3): _dots(b2, other),
        (4, 0): _dots(a2, a2),
        (3, 1): _dots(a2, ab),
        (2, 2): _dots(ab, ab),
        (1, 3): _dots(b2, ab),
        (0, 4): _dots(b2, b2),
    }
    ab2 = ab * ab
    same = {2: sums[2, 2], 3: _dots(ab2, ab), 4: _dots(ab2, ab2)}  # the terms i = j, which are no pairs

    def over_pairs(order: int) -> FloatArray:
        """Return Σ_{i ≠ j} of the given power within each row."""
        found: FloatArray = -((1 + sign) ** order) * same[order]
        for k in range(order + 1):
            found = found + comb(order, k) * sign**k * sums[order - k, k] * sums[k, order - k]
        return found

    second, third, fourth = (over_pairs(order) for order in (2, 3, 4))
    excess = fourth - 3 * second**2 / np.maximum(m * (m - 1), 1)
    return float(weights @ second), float(weights @ third), float(weights @ excess)


def _dots(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the scalar products of rows."""
    return np.asarray(np.einsum("ri,ri->r", left, right))
