"""Random vectors measured by their covariance."""

import numpy as np

from xspn._core.arrays import FloatArray

SMALLEST_EIGENVALUE = 1e-9  # beside those of all: directions in which nothing varies are left out


def quadratic(vectors: FloatArray, covariance: FloatArray, whole: FloatArray | None = None) -> tuple[float, int]:
    """Return Σ vᵀ C⁺ v over rows v, and the rank of C.

    What is tiny beside the whole covariance, of which C is what is left after something was explained, is rounding.
    """
    scale = np.sqrt(np.maximum(np.diag(covariance if whole is None else whole), 0.0))
    scale = np.where(scale > 0, scale, 1.0)  # so that features of different size have the same chance to matter
    values, directions = np.linalg.eigh(covariance / np.outer(scale, scale))
    kept = values > SMALLEST_EIGENVALUE * len(values)
    along = (vectors / scale) @ directions[:, kept]
    return float((along**2 / values[kept]).sum()), int(kept.sum())


def beyond(vectors: FloatArray, covariance: FloatArray, d: int) -> tuple[FloatArray, FloatArray]:
    """Return what the first d numbers of random vectors do not explain of the others, and its covariance."""
    explained = covariance[d:, :d] @ np.linalg.pinv(covariance[:d, :d], rcond=SMALLEST_EIGENVALUE, hermitian=True)
    return vectors[:, d:] - vectors[:, :d] @ explained.T, covariance[d:, d:] - explained @ covariance[:d, d:]
