"""Two clusters by EM for a mixture of products, missing cells passed over: of Bernoullis, or of the columns' families.

Or, for complete rows, of normal distributions of all real columns beside products of the others. "auto" compares these
mixtures with splits on one variable.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.exact import ROUNDING
from xspn.learning.clustering.base import Rule, Split, clusterings, em_of_two_clusters, gain_of_labels
from xspn.learning.clustering.products import PSEUDO_COUNT, Encoded, ProductSums
from xspn.learning.clustering.variable import variable_split, variable_splits
from xspn.learning.methods import Can, Method
from xspn.learning.summary import BinarySummary
from xspn.learning.table_summary import TableSummary
from xspn.leaves.gaussian import LOG_2PI

BIT_STARTS, BIT_ITERATIONS = 3, 30
N_STARTS, MAX_ITERATIONS = 4, 40  # for columns of any types
N_RANDOM_STARTS = 3  # of mixtures of normal distributions
SURE = 0.99  # a responsibility beyond it counts as 1
MOST_IN_DOUBLES = 1 << 22  # cells; of more the rounding of floats half as long is next to nothing


def best_split(summary: BinarySummary, seed: int) -> Split | None:
    """Return the better of a Bernoulli mixture and a split on one variable, by penalized gain."""
    found = [split for split in (variable_split(summary, seed), bernoulli_split(summary, seed)) if split is not None]
    return max(found, key=lambda split: split.score, default=None)


def auto_splits(summary: TableSummary, seed: int) -> list[Split]:
    """Propose a mixture of products, splits on one variable, and a mixture of normal distributions of real columns."""
    encoded = Encoded(summary)
    mixture = mixture_split(encoded, seed)
    found = [*([] if mixture is None else [mixture]), *variable_splits(encoded)]
    normal = gaussian_split(encoded, found, seed)
    return found if normal is None else [*found, normal]


# -- bits --------------------------------------------------------------------------------------------------------------


def bernoulli_split(summary: BinarySummary, seed: int) -> Split | None:
    """Return the split by the best of several EM runs, from the data's main direction and from random rows.

    Missing cells are passed over: a row belongs to the cluster that its seen cells speak for.
    """
    cells, weights = summary.rows()
    bits = _Bits.of(cells)
    rng = np.random.default_rng(seed)
    best, best_rule, best_ll = None, None, -np.inf
    for start in range(BIT_STARTS):
        second = _main_direction_of_bits(summary, bits) if start == 0 else _two_rows_of_bits(cells, weights, rng)
        ll, posterior, rule = _em_of_bits(bits, weights, second)
        if ll > best_ll + ROUNDING * (1.0 + abs(ll)):  # the same clusters in another order are no better
            best, best_rule, best_ll = posterior, rule, ll
    labels = (best > 0.5).astype(np.int64) if best is not None else np.zeros(len(cells), np.int64)
    if not 0 < labels.sum() < len(labels):
        return None
    responsibilities = None if summary.complete else best
    return Split(labels, responsibilities, score=gain_of_labels(summary, labels), rule=best_rule)


@dataclass(frozen=True, eq=False)
class _Bits:
    """Cells for matrix products: 1 where a bit is one, and 1 where it is seen (None if all are).

    In doubles: EM multiplies what rounding leaves, and where rows are few another kernel would find other clusters.
    """

    ones: AnyArray
    seen: AnyArray | None

    @classmethod
    def of(cls, cells: NDArray[np.float32]) -> "_Bits":
        kind = np.float64 if cells.size <= MOST_IN_DOUBLES else np.float32
        missing = np.isnan(cells)
        if not missing.any():
            return cls(cells.astype(kind, copy=False), None)
        return cls(np.where(missing, 0, cells).astype(kind), (~missing).astype(kind))

    def counts(self, weights: FloatArray) -> tuple[FloatArray, FloatArray | float]:
        """Return how often each bit is one, and in how many rows it is seen."""
        narrow = weights.astype(self.ones.dtype)
        ones = (narrow @ self.ones).astype(np.float64)
        return ones, float(weights.sum()) if self.seen is None else (narrow @ self.seen).astype(np.float64)

    def log_likelihoods(self, p: FloatArray) -> FloatArray:
        """Return the log-probability of each row's seen bits for each row of probabilities: (rows, clusters)."""
        odds, zeros = (np.log(p) - np.log1p(-p)).astype(self.ones.dtype), np.log1p(-p)
        found = (self.ones @ odds.T).astype(np.float64)
        found += zeros.sum(axis=1) if self.seen is None else self.seen @ zeros.T.astype(self.ones.dtype)
        return np.asarray(found)


def _main_direction_of_bits(summary: BinarySummary, bits: _Bits) -> FloatArray:
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
    direction, mean = direction.astype(bits.ones.dtype), mean.astype(bits.ones.dtype)
    with np.errstate(invalid="ignore"):  # some BLAS kernels raise the flag on finite numbers (numpy issue 24067)
        along = bits.ones @ direction
        middle = mean @ direction if bits.seen is None else bits.seen @ (mean * direction)
    return np.asarray((along - middle > ROUNDING).astype(np.float64))


def _two_rows_of_bits(cells: NDArray[np.float32], weights: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Start from the nearer of two random rows, the second one drawn by its distance from the first."""
    first = rng.choice(len(cells), p=weights / weights.sum())
    apart = _distances_of_bits(cells, cells[first])
    chance = weights * apart
    if chance.sum() == 0:
        return np.zeros(len(cells))
    second = rng.choice(len(cells), p=chance / chance.sum())
    return np.asarray((_distances_of_bits(cells, cells[second]) < apart).astype(np.float64))


def _distances_of_bits(cells: NDArray[np.float32], row: NDArray[np.float32]) -> FloatArray:
    """Return in how many seen bits each row differs from one row."""
    return np.asarray(np.nansum(np.abs(cells - row), axis=1), dtype=np.float64)


def _em_of_bits(bits: _Bits, weights: FloatArray, posterior: FloatArray) -> tuple[float, FloatArray, Rule]:
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

    log_likelihood, posterior = em_of_two_clusters(joint, weights, posterior, BIT_ITERATIONS)
    return log_likelihood, posterior, Rule.of_bernoullis(p, log_sizes)


# -- columns of any types ----------------------------------------------------------------------------------------------


def mixture_split(encoded: Encoded, seed: int) -> Split | None:
    """Return the split by the best of several EM runs, from the data's main direction and from random rows."""
    weights = encoded.summary.weights
    rng = np.random.default_rng(seed)
    best, best_ll = None, -np.inf
    for start in range(N_STARTS):
        second = _main_direction(encoded) if start == 0 else _two_rows(encoded, rng)
        found, posterior = _em_of_products(encoded, weights, second)
        if found > best_ll:
            best, best_ll = posterior, found
    return None if best is None else _split_by(best, encoded)


def _split_by(posterior: FloatArray, encoded: Encoded) -> Split | None:
    """Return the split by responsibilities, nearly sure ones rounded; None if a cluster is empty."""
    second = np.where(posterior > SURE, 1.0, np.where(posterior < 1 - SURE, 0.0, posterior))
    labels = (second > 0.5).astype(np.int64)
    if not 0 < labels.sum() < len(labels):
        return None
    return Split(labels, second, score=encoded.gain(second))


def _main_direction(encoded: Encoded) -> FloatArray:
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


def _two_rows(encoded: Encoded, rng: np.random.Generator) -> FloatArray:
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
    starts = [_main_direction(encoded), *(_two_rows(encoded, rng) for _ in range(N_RANDOM_STARTS))]
    starts += [split.labels.astype(np.float64) for split in others]
    runs = [_em_of_normals(encoded, first) for first in starts]
    return _split_by(max(runs, key=lambda run: run[0])[1], encoded)


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


ALL = Can.ANY_TYPE | Can.ANY_ROWS | Can.OUT_OF_CORE
clusterings.add("auto", Method(bits=best_split, tables=auto_splits, can=ALL))
clusterings.add(
    "bernoulli",
    Method(bits=bernoulli_split, tables=lambda summary, seed: mixture_split(Encoded(summary), seed), can=ALL),
)
