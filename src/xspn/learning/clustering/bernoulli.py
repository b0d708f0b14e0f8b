"""Two clusters by EM for a mixture of products of Bernoullis."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from xspn.core.arrays import FloatArray
from xspn.learning.clustering.base import Rule, Split, clusterings, em_of_two_clusters, gain_of_labels
from xspn.learning.clustering.variable import variable_split
from xspn.learning.summary import BinarySummary

N_STARTS = 3
MAX_ITERATIONS = 30
PSEUDO_COUNT = 0.1  # keeps probabilities off 0 and 1 while EM runs


def bernoulli_split(summary: BinarySummary, seed: int) -> Split | None:
    """Return the split by the best of several EM runs, from the data's main direction and from random rows.

    Missing cells are passed over: a row belongs to the cluster that its seen cells speak for.
    """
    cells, weights = summary.rows()
    bits = _Bits.of(cells)
    rng = np.random.default_rng(seed)
    best, best_rule, best_ll = None, None, -np.inf
    for start in range(N_STARTS):
        second = _main_direction(summary, cells) if start == 0 else _two_rows(cells, weights, rng)
        ll, posterior, rule = _em(bits, weights, second)
        if ll > best_ll:
            best, best_rule, best_ll = posterior, rule, ll
    labels = (best > 0.5).astype(np.int64) if best is not None else np.zeros(len(cells), np.int64)
    if not 0 < labels.sum() < len(labels):
        return None
    responsibilities = None if summary.complete else best
    return Split(labels, responsibilities, score=gain_of_labels(summary, labels), rule=best_rule)


@dataclass(frozen=True, eq=False)
class _Bits:
    """Cells for matrix products: 1 where a bit is one, and 1 where it is seen (None if all are)."""

    ones: NDArray[np.float32]
    seen: NDArray[np.float32] | None

    @classmethod
    def of(cls, cells: NDArray[np.float32]) -> "_Bits":
        missing = np.isnan(cells)
        if not missing.any():
            return cls(cells, None)
        return cls(np.where(missing, np.float32(0), cells), (~missing).astype(np.float32))

    def counts(self, weights: FloatArray) -> tuple[FloatArray, FloatArray | float]:
        """Return how often each bit is one, and in how many rows it is seen."""
        narrow = weights.astype(np.float32)
        ones = (narrow @ self.ones).astype(np.float64)
        return ones, float(weights.sum()) if self.seen is None else (narrow @ self.seen).astype(np.float64)

    def log_likelihoods(self, p: FloatArray) -> FloatArray:
        """Return the log-probability of each row's seen bits for each row of probabilities: (rows, clusters)."""
        odds, zeros = (np.log(p) - np.log1p(-p)).astype(np.float32), np.log1p(-p)
        found = (self.ones @ odds.T).astype(np.float64)
        return found + (zeros.sum(axis=1) if self.seen is None else self.seen @ zeros.T.astype(np.float32))


def _main_direction(summary: BinarySummary, cells: NDArray[np.float32]) -> FloatArray:
    """Start from the side of the mean that each row is on, along the direction of largest variance."""
    times: Callable[[FloatArray], FloatArray]
    if summary.wide:
        mean, times = summary.means, summary.covariance_times
        direction = times(np.eye(1, summary.n, int(np.argmax(mean * (1 - mean))))[0])
    else:
        pairs = summary.as_if_complete()
        mean = np.diag(pairs) / summary.total
        covariance = pairs / summary.total - np.outer(mean, mean)
        times = partial(np.matmul, covariance)
        direction = covariance[int(np.argmax(np.diag(covariance)))]
    for _ in range(8):  # power iteration; a rough direction will do
        direction = times(direction)
        direction /= max(float(np.linalg.norm(direction)), 1e-300)
    if summary.complete:
        with np.errstate(invalid="ignore"):  # some BLAS kernels raise the flag on finite numbers (numpy issue 24067)
            along = cells @ direction.astype(np.float32)
        return np.asarray((along > mean @ direction).astype(np.float64))
    return np.asarray((np.nan_to_num(cells - mean.astype(np.float32)) @ direction > 0).astype(np.float64))


def _two_rows(cells: NDArray[np.float32], weights: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Start from the nearer of two random rows, the second one drawn by its distance from the first."""
    first = rng.choice(len(cells), p=weights / weights.sum())
    apart = _distances(cells, cells[first])
    chance = weights * apart
    if chance.sum() == 0:
        return np.zeros(len(cells))
    second = rng.choice(len(cells), p=chance / chance.sum())
    return np.asarray((_distances(cells, cells[second]) < apart).astype(np.float64))


def _distances(cells: NDArray[np.float32], row: NDArray[np.float32]) -> FloatArray:
    """Return in how many seen bits each row differs from one row."""
    return np.asarray(np.nansum(np.abs(cells - row), axis=1), dtype=np.float64)


def _em(bits: _Bits, weights: FloatArray, posterior: FloatArray) -> tuple[float, FloatArray, Rule]:
    """Run EM from a first assignment; return the log-likelihood, P(second cluster | row), and the rule behind it."""
    total = float(weights.sum())
    ones, seen = bits.counts(weights)
    p, log_sizes = np.empty(0), np.empty(0)  # of the last iteration

    def joint(posterior: FloatArray) -> FloatArray:
        nonlocal p, log_sizes
        own = weights * posterior
        n_second = float(own.sum())
        in_second, seen_in_second = bits.counts(own)
        counts = np.array([ones - in_second, in_second])
        rows = np.array([seen - seen_in_second, seen_in_second]).reshape(2, -1)
        sizes = np.array([total - n_second, n_second])
        p = (counts + PSEUDO_COUNT) / (rows + 2 * PSEUDO_COUNT)
        p = np.clip(p, 1e-6, 1 - 1e-6)  # float32 sums may stray below 0 by rounding
        log_sizes = np.log((sizes + PSEUDO_COUNT) / (total + 2 * PSEUDO_COUNT))
        return bits.log_likelihoods(p) + log_sizes

    log_likelihood, posterior = em_of_two_clusters(joint, weights, posterior, MAX_ITERATIONS)
    return log_likelihood, posterior, Rule.of_bernoullis(p, log_sizes)


def best_split(summary: BinarySummary, seed: int) -> Split | None:
    """Return the better of a Bernoulli mixture and a split on one variable, by penalized gain."""
    found = [split for split in (variable_split(summary, seed), bernoulli_split(summary, seed)) if split is not None]
    return max(found, key=lambda split: split.score, default=None)


clusterings.add("auto", best_split)
clusterings.add("bernoulli", bernoulli_split)
