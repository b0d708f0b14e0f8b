"""Two clusters by EM for a mixture of normal distributions of all real columns, beside products of the others."""

from collections.abc import Sequence

import numpy as np
from scipy.linalg import solve_triangular

from xspn.core.arrays import FloatArray
from xspn.learning.clustering.base import Split
from xspn.learning.tables.clustering.mixture import main_direction, split_by, two_clusters, two_rows
from xspn.learning.tables.clustering.product import PSEUDO_COUNT, Encoded
from xspn.leaves.gaussian import LOG_2PI

N_RANDOM_STARTS = 3


def gaussian_split(encoded: Encoded, others: Sequence[Split], seed: int) -> Split | None:
    """Return the best of several EM runs: from the data's main direction, random rows and the clusters of other splits.

    Real columns that depend on each other in every cluster are no product, and a mixture of products would spend its
    clusters on that. Needs complete rows and at least two real columns; None otherwise.
    """
    if encoded.values.shape[1] < 2 or not encoded.summary.complete:
        return None
    rng = np.random.default_rng(seed)
    starts = [main_direction(encoded), *(two_rows(encoded, rng) for _ in range(N_RANDOM_STARTS))]
    starts += [split.labels.astype(np.float64) for split in others]
    runs = [_em(encoded, first) for first in starts]
    return split_by(max(runs, key=lambda run: run[0])[1], encoded)


def _em(encoded: Encoded, posterior: FloatArray) -> tuple[float, FloatArray]:
    weights, total = encoded.summary.weights, encoded.summary.total
    others = Encoded(encoded.summary.part(encoded.summary.discrete)) if len(encoded.summary.discrete) else None

    def joint(posterior: FloatArray) -> FloatArray:
        logs = np.empty((len(weights), 2))
        for k, own in enumerate((weights * (1 - posterior), weights * posterior)):
            share = (own.sum() + PSEUDO_COUNT) / (total + 2 * PSEUDO_COUNT)
            logs[:, k] = _log_normal(encoded.values, own, encoded.floor) + np.log(share)
            if others is not None:
                logs[:, k] += others.log_densities(others.sums(own[None, :]))[:, 0]
        return logs

    return two_clusters(joint, weights, posterior)


def _log_normal(values: FloatArray, weights: FloatArray, floor: FloatArray) -> FloatArray:
    """Return the log-density of all rows under the normal distribution that weighted rows give, shrunk a little."""
    n = values.shape[1]
    mass = max(float(weights.sum()), 1e-300)
    mean = weights @ values / mass
    away = values - mean
    scatter = (away * weights[:, None]).T @ away
    target = np.maximum(np.diag(scatter) / mass, floor)
    strength = 1.0 + 0.5 * n
    covariance = (scatter + strength * np.diag(0.5 * target + 0.5 * floor + 1e-3)) / (mass + strength)
    factor = np.linalg.cholesky(covariance)
    whole = solve_triangular(factor, away.T, lower=True)
    return np.asarray(-0.5 * (n * LOG_2PI + (whole**2).sum(axis=0)) - np.log(np.diag(factor)).sum())
