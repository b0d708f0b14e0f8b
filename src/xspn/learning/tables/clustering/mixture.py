"""Two clusters by EM for a mixture of products of the columns' own families, missing cells passed over.

Or, for complete rows, of normal distributions of all real columns beside products of the others.
"""

from collections.abc import Sequence

import numpy as np
from scipy.linalg import solve_triangular

from xspn.core.arrays import FloatArray
from xspn.learning.clustering.base import Split, em_of_two_clusters
from xspn.learning.tables.clustering.product import PSEUDO_COUNT, Encoded, ProductSums
from xspn.leaves.gaussian import LOG_2PI

N_STARTS = 4
MAX_ITERATIONS = 40
N_RANDOM_STARTS = 3
SURE = 0.99  # a responsibility beyond it counts as 1


def mixture_split(encoded: Encoded, seed: int) -> Split | None:
    """Return the split by the best of several EM runs, from the data's main direction and from random rows."""
    weights = encoded.summary.weights
    rng = np.random.default_rng(seed)
    best, best_ll = None, -np.inf
    for start in range(N_STARTS):
        second = main_direction(encoded) if start == 0 else two_rows(encoded, rng)
        found, posterior = _em_of_products(encoded, weights, second)
        if found > best_ll:
            best, best_ll = posterior, found
    return None if best is None else split_by(best, encoded)


def split_by(posterior: FloatArray, encoded: Encoded) -> Split | None:
    """Return the split by responsibilities, nearly sure ones rounded; None if a cluster is empty."""
    second = np.where(posterior > SURE, 1.0, np.where(posterior < 1 - SURE, 0.0, posterior))
    labels = (second > 0.5).astype(np.int64)
    if not 0 < labels.sum() < len(labels):
        return None
    return Split(labels, second, score=encoded.gain(second))


def main_direction(encoded: Encoded) -> FloatArray:
    """Start from the side of the mean that each row is on, along the direction of largest variance."""
    weights, total = encoded.summary.weights, encoded.summary.total
    sums = encoded.whole
    mean = np.concatenate([sums.counts, sums.first]) / total

    def centered(rows: slice) -> FloatArray:
        own = encoded.matrices(rows)
        return np.hstack([own.marks, own.values]) - mean

    covariance = np.zeros((len(mean), len(mean)))
    for rows in encoded.blocks:
        matrix = centered(rows)
        covariance += (matrix * weights[rows, None]).T @ matrix
    covariance /= total
    direction = covariance[int(np.argmax(np.diag(covariance)))]
    for _ in range(8):  # power iteration; a rough direction will do
        direction = covariance @ direction
        direction /= max(float(np.linalg.norm(direction)), 1e-300)
    return np.concatenate([(centered(rows) @ direction > 0).astype(np.float64) for rows in encoded.blocks])


def two_rows(encoded: Encoded, rng: np.random.Generator) -> FloatArray:
    """Start from the nearer of two random rows, the second one drawn by its distance from the first."""
    weights = encoded.summary.weights
    first = int(rng.choice(len(weights), p=weights / weights.sum()))
    apart = _distances(encoded, first)
    chance = weights * apart
    if chance.sum() == 0:
        return np.zeros(len(weights))
    second = int(rng.choice(len(weights), p=chance / chance.sum()))
    return np.asarray((_distances(encoded, second) < apart).astype(np.float64))


def _distances(encoded: Encoded, row: int) -> FloatArray:
    """Return how far each row is from one row: squared, over the cells that both have."""
    one, found = encoded.matrices(slice(row, row + 1)), []
    for rows in encoded.blocks:
        m = encoded.matrices(rows)
        differ = np.abs(m.marks - one.marks).sum(axis=1) / 2
        found.append(differ + (m.seen * one.seen * (m.values - one.values) ** 2).sum(axis=1))
    return np.concatenate(found)


def _em_of_products(encoded: Encoded, weights: FloatArray, posterior: FloatArray) -> tuple[float, FloatArray]:
    total = float(weights.sum())

    def joint(posterior: FloatArray) -> FloatArray:
        second = encoded.sums(weights * posterior)
        both = _stacked(encoded.whole.less(second), second)
        return encoded.log_densities(both) + np.log((both.mass + PSEUDO_COUNT) / (total + 2 * PSEUDO_COUNT))

    return em_of_two_clusters(joint, weights, posterior, MAX_ITERATIONS)


def _stacked(one: ProductSums, other: ProductSums) -> ProductSums:
    return ProductSums(
        np.stack([one.mass, other.mass]),
        np.stack([one.counts, other.counts]),
        np.stack([one.seen, other.seen]),
        np.stack([one.first, other.first]),
        np.stack([one.second, other.second]),
    )


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
    runs = [_em_of_normals(encoded, first) for first in starts]
    return split_by(max(runs, key=lambda run: run[0])[1], encoded)


def _em_of_normals(encoded: Encoded, posterior: FloatArray) -> tuple[float, FloatArray]:
    weights, total = encoded.summary.weights, encoded.summary.total
    others = Encoded(encoded.summary.part(encoded.summary.discrete)) if len(encoded.summary.discrete) else None

    def joint(posterior: FloatArray) -> FloatArray:
        logs = np.empty((len(weights), 2))
        for k, own in enumerate((weights * (1 - posterior), weights * posterior)):
            weight = (own.sum() + PSEUDO_COUNT) / (total + 2 * PSEUDO_COUNT)
            logs[:, k] = _log_normal(encoded.values, own, encoded.floor) + np.log(weight)
            if others is not None:
                logs[:, k] += others.log_densities(others.sums(own[None, :]))[:, 0]
        return logs

    return em_of_two_clusters(joint, weights, posterior, MAX_ITERATIONS)


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
