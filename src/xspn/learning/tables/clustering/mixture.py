"""Two clusters by EM for a mixture of products of the columns' own families; missing cells are passed over."""

from collections.abc import Callable

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.core.logspace import logsumexp_quiet
from xspn.learning.clustering.base import Split
from xspn.learning.steps import step
from xspn.learning.tables.clustering.product import PSEUDO_COUNT, Encoded, Sums

N_STARTS = 4
MAX_ITERATIONS = 40
TOLERANCE = 1e-3  # nats per row
SURE = 0.99  # a share beyond it counts as all


def mixture_split(encoded: Encoded, seed: int) -> Split | None:
    """Return the split by the best of several EM runs, from the data's main direction and from random rows."""
    weights = encoded.summary.weights
    rng = np.random.default_rng(seed)
    best, best_ll = None, -np.inf
    for start in range(N_STARTS):
        second = main_direction(encoded) if start == 0 else two_rows(encoded, rng)
        found, posterior = _em(encoded, weights, second)
        if found > best_ll:
            best, best_ll = posterior, found
    return None if best is None else split_by(best, encoded)


def split_by(posterior: FloatArray, encoded: Encoded) -> Split | None:
    """Return the split in which each row belongs to both clusters in its shares; None if one of them is empty."""
    shares = np.where(posterior > SURE, 1.0, np.where(posterior < 1 - SURE, 0.0, posterior))
    labels = (shares > 0.5).astype(np.int64)
    if not 0 < labels.sum() < len(labels):
        return None
    return Split(labels, shares, score=encoded.gain(shares))


def main_direction(encoded: Encoded) -> FloatArray:
    """Start from the side of the mean that each row is on, along the direction of largest variance."""
    weights, total = encoded.summary.weights, encoded.summary.total
    sums = encoded.whole
    mean = np.concatenate([sums.counts, sums.first]) / total

    def centred(rows: slice) -> FloatArray:
        own = encoded.matrices(rows)
        return np.hstack([own.marks, own.values]) - mean

    covariance = np.zeros((len(mean), len(mean)))
    for rows in encoded.blocks:
        matrix = centred(rows)
        covariance += (matrix * weights[rows, None]).T @ matrix
    covariance /= total
    direction = covariance[int(np.argmax(np.diag(covariance)))]
    for _ in range(8):  # power iteration; a rough direction will do
        direction = covariance @ direction
        direction /= max(float(np.linalg.norm(direction)), 1e-300)
    return np.concatenate([(centred(rows) @ direction > 0).astype(np.float64) for rows in encoded.blocks])


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


def _em(encoded: Encoded, weights: FloatArray, posterior: FloatArray) -> tuple[float, FloatArray]:
    total = float(weights.sum())

    def joint(posterior: FloatArray) -> FloatArray:
        second = encoded.sums(weights * posterior)
        both = _stacked(encoded.whole.less(second), second)
        return encoded.log_densities(both) + np.log((both.mass + PSEUDO_COUNT) / (total + 2 * PSEUDO_COUNT))

    return two_clusters(joint, weights, posterior)


def two_clusters(
    joint: Callable[[FloatArray], FloatArray], weights: FloatArray, posterior: FloatArray
) -> tuple[float, FloatArray]:
    """Run EM from a first assignment; return the log-likelihood and P(second cluster | row).

    Args:
        joint: From P(second cluster | row) to log P(row, cluster) under the clusters fitted to it: (rows, 2).
        weights: The weight of each row.
        posterior: The first assignment.
    """
    total = float(weights.sum())
    previous = current = -np.inf
    for _ in range(MAX_ITERATIONS):
        logs = joint(posterior)
        row_ll = logsumexp_quiet(logs, axis=1)
        posterior = np.exp(logs[:, 1] - row_ll)
        current = float(weights @ row_ll)
        step()
        if current - previous < TOLERANCE * total:
            break
        previous = current
    return current, posterior


def _stacked(one: Sums, other: Sums) -> Sums:
    return Sums(
        np.stack([one.mass, other.mass]),
        np.stack([one.counts, other.counts]),
        np.stack([one.seen, other.seen]),
        np.stack([one.first, other.first]),
        np.stack([one.second, other.second]),
    )
