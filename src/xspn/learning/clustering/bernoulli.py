"""Two clusters by EM for a mixture of products of Bernoullis."""

import numpy as np
from numpy.typing import NDArray

from xspn._core.arrays import FloatArray
from xspn.learning.clustering.base import Split, clusterings, gain_of_labels
from xspn.learning.summary import Summary

N_STARTS = 3
MAX_ITERATIONS = 30
TOLERANCE = 1e-3  # nats per row
PSEUDO_COUNT = 0.1  # keeps probabilities off 0 and 1 while EM runs


def bernoulli_split(summary: Summary, seed: int) -> Split | None:
    """Return the split by the best of several EM runs, from the data's main direction and from random rows."""
    cells, weights = summary.rows()
    rng = np.random.default_rng(seed)
    best, best_ll = None, -np.inf
    for start in range(N_STARTS):
        second = _main_direction(summary, cells) if start == 0 else _two_rows(cells, weights, rng)
        ll, posterior = _em(cells, weights, second)
        if ll > best_ll:
            best, best_ll = posterior, ll
    labels = (best > 0.5).astype(np.int64) if best is not None else np.zeros(len(cells), np.int64)
    if not 0 < labels.sum() < len(labels):
        return None
    return Split(labels, score=gain_of_labels(summary, labels))


def _main_direction(summary: Summary, cells: NDArray[np.float32]) -> FloatArray:
    """Start from the side of the mean that each row is on, along the direction of largest variance."""
    mean = summary.ones / summary.total
    covariance = summary.pairs / summary.total - np.outer(mean, mean)
    direction = covariance[int(np.argmax(np.diag(covariance)))]
    for _ in range(8):  # power iteration; a rough direction will do
        direction = covariance @ direction
        direction /= max(float(np.linalg.norm(direction)), 1e-300)
    return np.asarray((cells @ direction.astype(np.float32) > mean @ direction).astype(np.float64))


def _two_rows(cells: NDArray[np.float32], weights: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Start from the nearer of two random rows, the second one drawn by its distance from the first."""
    first = rng.choice(len(cells), p=weights / weights.sum())
    apart = np.abs(cells - cells[first]).sum(axis=1).astype(np.float64)
    chance = weights * apart
    if chance.sum() == 0:
        return np.zeros(len(cells))
    second = rng.choice(len(cells), p=chance / chance.sum())
    return np.asarray((np.abs(cells - cells[second]).sum(axis=1) < apart).astype(np.float64))


def _em(cells: NDArray[np.float32], weights: FloatArray, posterior: FloatArray) -> tuple[float, FloatArray]:
    """Run EM from a first assignment; return the log-likelihood and P(second cluster | row)."""
    total = float(weights.sum())
    ones = (weights.astype(np.float32) @ cells).astype(np.float64)
    previous = -np.inf
    for _ in range(MAX_ITERATIONS):
        own = weights * posterior
        n_second = float(own.sum())
        in_second = (own.astype(np.float32) @ cells).astype(np.float64)
        counts = np.array([ones - in_second, in_second])
        sizes = np.array([total - n_second, n_second])
        p = (counts + PSEUDO_COUNT) / (sizes[:, None] + 2 * PSEUDO_COUNT)
        p = np.clip(p, 1e-6, 1 - 1e-6)  # float32 sums may stray below 0 by rounding
        odds = (np.log(p) - np.log1p(-p)).astype(np.float32)
        offset = np.log1p(-p).sum(axis=1) + np.log((sizes + PSEUDO_COUNT) / (total + 2 * PSEUDO_COUNT))
        logs = (cells @ odds.T).astype(np.float64) + offset
        row_ll = np.logaddexp(logs[:, 0], logs[:, 1])
        posterior = np.exp(logs[:, 1] - row_ll)
        current = float(weights @ row_ll)
        if current - previous < TOLERANCE * total:
            break
        previous = current
    return current, posterior


clusterings.add("bernoulli", bernoulli_split)
