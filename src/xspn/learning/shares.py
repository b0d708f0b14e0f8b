"""The shares of given models in a mixture."""

import numpy as np

from xspn.core.arrays import FloatArray


def likeliest_shares(
    row_scores: FloatArray, weights: FloatArray, steps: int, prior_rows: float = 0.0, tolerance: float = 0.0
) -> FloatArray:
    """Return the shares that make rows most likely, by EM; rows that no model finds possible have no say.

    Args:
        row_scores: The log-likelihood of each row by each model: (models, rows).
        weights: The weight of each row.
        steps: The largest number of EM's steps.
        prior_rows: How many rows each model is given beforehand: with little data shares stay even.
        tolerance: Stop when no share changes by more.

    Examples:
        >>> likeliest_shares(np.log([[0.5, 0.5, 0.1], [0.1, 0.1, 0.9]]), np.ones(3), steps=50).round(2).tolist()
        [0.67, 0.33]
    """
    top = row_scores.max(axis=0)
    possible = np.isfinite(top)
    shares = np.full(len(row_scores), 1.0 / len(row_scores))
    if not possible.any():
        return shares
    likelihoods = np.exp(row_scores[:, possible] - top[possible])
    own = weights[possible]
    for _ in range(steps):
        previous = shares
        shares = shares * (likelihoods @ (own / (shares @ likelihoods))) + prior_rows
        shares /= shares.sum()
        if abs(shares - previous).max() < tolerance:
            break
    return shares
