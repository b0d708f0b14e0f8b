"""The mixture weights of given models, by EM."""

import numpy as np

from xspn.core.arrays import FloatArray


def fit_mixture_weights(
    row_scores: FloatArray, weights: FloatArray, steps: int, prior_rows: float = 0.0, tolerance: float = 0.0
) -> FloatArray:
    """Return the mixture weights that make rows most likely; rows that are impossible under all models are ignored.

    Args:
        row_scores: The log-likelihood of each row by each model: (models, rows).
        weights: The weight of each row.
        steps: The largest number of EM's steps.
        prior_rows: How many rows each model is given beforehand: with little data the weights stay even.
        tolerance: Stop when no weight changes by more.

    Examples:
        >>> fit_mixture_weights(np.log([[0.5, 0.5, 0.1], [0.1, 0.1, 0.9]]), np.ones(3), steps=50).round(2).tolist()
        [0.67, 0.33]
    """
    top = row_scores.max(axis=0)
    possible = np.isfinite(top)
    if not possible.any():
        return np.full(len(row_scores), 1.0 / len(row_scores))
    likelihoods = np.exp(row_scores[:, possible] - top[possible])
    return weights_of_likelihoods(likelihoods, weights[possible], steps, prior_rows, tolerance)


def weights_of_likelihoods(
    likelihoods: FloatArray, weights: FloatArray, steps: int, prior_rows: float = 0.0, tolerance: float = 0.0
) -> FloatArray:
    """Return the same for likelihoods, up to a factor for each row: (models, rows), each row possible under some model.

    Examples:
        >>> weights_of_likelihoods(np.array([[0.5, 0.1], [0.1, 0.9]]), np.array([2.0, 1.0]), steps=50).round(2).tolist()
        [0.67, 0.33]
    """
    found = np.full(len(likelihoods), 1.0 / len(likelihoods))
    for _ in range(steps):
        previous = found
        found = found * (likelihoods @ (weights / (found @ likelihoods))) + prior_rows
        found = found / found.sum()
        if abs(found - previous).max() < tolerance:
            break
    return found
