"""One exchangeable block of columns of one domain.

Of bits: a probability for each count, or a beta-binomial of few parameters for slices of few rows. Of other columns the
distribution of value counts is smoothed as a mixture of independent draws where that has a better leave-one-out score.
There may be hundreds of classes, and a frequency for each costs a parameter each. If the variables are part of a longer
exchangeable sequence, de Finetti's theorem says that their joint distribution is a mixture of independent draws. The
mixture (its most likely mixing distribution, on a grid) has few effective parameters. Where variables repel each other
it is wrong, and the frequencies themselves take over.
"""

from functools import lru_cache
from math import comb

import numpy as np

from xspn.core.arrays import BoolArray, FloatArray, IntArray
from xspn.core.logspace import log_binomials, logsumexp_quiet, safe_log
from xspn.learning.leaf_learners.base import TINY, BinaryLeafData, Candidate, LeafOptions, TableLeafData
from xspn.learning.leaf_learners.factorized import (
    expert_weights,
    factorized_leaf,
    ordered_probabilities,
    table_factorized_leaf,
)
from xspn.learning.leaf_learners.gaussian import exchangeable_normal
from xspn.learning.partial_rows import chances_given_total, seen_and_ones
from xspn.learning.steps import step
from xspn.learning.table_summary import row_blocks
from xspn.leaves.base import Smoothing
from xspn.leaves.beta_binomial import BetaBinomial
from xspn.leaves.exchangeable import Exchangeable
from xspn.statistics import Count, Statistic, Total, ValueCounts
from xspn.statistics.value_counts import compositions

LARGEST_GRID = 500
MOST_MIXED_CLASSES = 3000  # for the mixture of draws; beyond it there are frequencies only
MIXING_EM_STEPS = 60
MOST_CLASSES = 20_000  # of a leaf; value counts of many columns with many values have more
CLASSES_PER_ROW = 10  # beyond it nearly every row is the only one of its class
EM_STEPS = 20
LEAST = 1e-300  # that is divided by


def exchangeable_leaf(data: BinaryLeafData, variables: IntArray, options: LeafOptions) -> Candidate:
    """Return an exchangeable leaf over the count of ones (a Bernoulli leaf for a single variable)."""
    n = len(variables)
    if n == 1:
        return factorized_leaf(data, variables, options)
    leaf = Exchangeable.from_class_counts(variables.tolist(), data.pooled.totals, options.for_counts(n))
    cells, _ = data.own.rows()
    if data.own.complete:
        return Candidate(
            "exchangeable", leaf, leave_one_out_of_counts(data, options)[cells.sum(axis=1).astype(np.int64)]
        )
    keys, which = seen_and_ones(cells)
    return Candidate("exchangeable", leaf, leave_one_out_of_keys(data, options, keys)[which])


def leave_one_out_of_counts(data: BinaryLeafData, options: LeafOptions) -> FloatArray:
    """Return the leave-one-out score of a row with t ones, for t = 0..n."""
    n = data.own.n
    sizes = Count().log_class_size(n)
    total = data.pooled.total + options.for_counts(n).mass
    return np.asarray(data.leave_one_out(data.pooled.totals, options.for_counts(n).of_counts(n), total) - sizes)


def leave_one_out_of_keys(data: BinaryLeafData, options: LeafOptions, keys: IntArray) -> FloatArray:
    """Return the leave-one-out score of partial rows, for each pair (cells seen, ones among them).

    Each is removed from the counts by its responsibilities in EM.
    """
    n, counts = data.own.n, data.pooled.totals
    chances = chances_given_total(keys, n)
    joint = chances * counts
    posterior = joint / np.maximum(joint.sum(axis=1, keepdims=True), TINY)
    kept = np.maximum(counts - data.unit * posterior, 0.0) + options.for_counts(n).of_counts(n)
    kept /= kept.sum(axis=1, keepdims=True)
    # Each arrangement of the seen cells is as likely as any other: C(m, k) of them share the probability of (m, k).
    arrangements = np.array([log_binomials(m)[k] for m, k in keys.tolist()])
    return np.asarray(safe_log((kept * chances).sum(axis=1)) - arrangements)


def beta_binomial_leaf(data: BinaryLeafData, variables: IntArray, options: LeafOptions) -> Candidate:
    """Return a beta-binomial leaf; for two variables or one, the leaf that has no more parameters."""
    n = len(variables)
    if n <= 2:
        return exchangeable_leaf(data, variables, options)
    smoothing = Smoothing(2 * options.smoothing, "values")  # like a bit, which has two values
    counts, ones = data.pooled.totals + smoothing.of_counts(n), np.arange(n + 1.0)
    if not counts.any():  # every cell is missing, and there are no pseudo-rows: what those would say
        counts = Smoothing(1.0, "values").of_counts(n)
    total = float(counts.sum())
    mean = min(float(counts @ ones) / total, float(n))  # rounding
    leaf = BetaBinomial.from_moments(variables.tolist(), mean, float(counts @ (ones - mean) ** 2) / total)
    cells, _ = data.own.rows()
    if data.own.complete:
        own = leaf.log_weights[cells.sum(axis=1).astype(np.int64)]
    else:
        own = leaf.log_prob(cells.astype(np.float64))
    # Parameters that rest on N rows fit each of them better than a new one by 1/N nats a parameter (Akaike).
    return Candidate("beta-binomial", leaf, own - leaf.n_parameters / total)


# -- columns of any types ----------------------------------------------------------------------------------------------


def table_exchangeable_leaf(data: TableLeafData, variables: IntArray, options: LeafOptions) -> Candidate | None:
    """Return the exchangeable leaf of the best leave-one-out score; None if there is none that could be stored.

    Names by their value counts, ordered values by their total too; real numbers by one mean, variance and correlation.
    """
    column = data.own.columns[0]
    if len(variables) == 1 or column.n_values == 1:  # where one value is all that there is, nothing can be counted
        return table_factorized_leaf(data, variables, options)
    if column.is_real:
        return exchangeable_normal(data, variables, options.smoothing)
    n, k = len(variables), column.n_values
    statistics: list[Statistic] = []
    if comb(n + k - 1, k - 1) <= min(MOST_CLASSES, CLASSES_PER_ROW * data.own.total):
        statistics.append(ValueCounts(k))
    if column.domain.ordered:
        statistics.append(Total(k))
    found = [_by_statistic(data, variables, options.smoothing, statistic) for statistic in statistics]
    return max(found, key=lambda candidate: candidate.score(data.own.weights), default=None)


def _by_statistic(data: TableLeafData, variables: IntArray, alpha: float, statistic: Statistic) -> Candidate:
    n = len(variables)
    pooled, sizes = data.pooled, statistic.log_class_size(n)
    expected = _Expected(pooled.cells, statistic)
    counts = expected.likely_counts(pooled.weights)
    own = expected.own_counts(counts, data.own.weights)
    if isinstance(statistic, ValueCounts):
        p, without = class_probabilities(statistic, n, counts, own, alpha, data.unit)
    else:
        p, without = ordered_probabilities(counts, own, alpha, data.unit)
    leaf = Exchangeable(variables.tolist(), safe_log(p) - sizes, statistic)
    leave_one_out = expected.scores(safe_log(without) - sizes, len(data.own.cells))
    step()
    return Candidate("exchangeable", leaf, leave_one_out)


class _Expected:
    """The class of each row; where cells are missing, how many completions it has in each."""

    def __init__(self, cells: FloatArray, statistic: Statistic) -> None:
        self._size = statistic.size(cells.shape[1])
        self._log_sizes = statistic.log_class_size(cells.shape[1])
        self._partial: BoolArray = np.asarray(np.isnan(cells).any(axis=1))
        self._of = np.zeros(len(cells), dtype=np.int64)
        self._of[~self._partial] = statistic.of(cells[~self._partial])
        keys, which = statistic.distinct_keys(cells[self._partial])
        n = cells.shape[1]
        self._ways = np.array([statistic.completions_of_key(n, key) for key in keys]).reshape(len(keys), self._size)
        self._which = np.full(len(cells), -1, dtype=np.int64)
        self._which[self._partial] = which

    def likely_counts(self, weights: FloatArray) -> FloatArray:
        """Return how many rows are of each class: the maximum-likelihood estimate, by EM where cells are missing."""
        whole = np.bincount(self._of[~self._partial], weights=weights[~self._partial], minlength=self._size).astype(
            np.float64
        )
        if not self._partial.any():
            return whole
        of_key = np.bincount(self._which[self._partial], weights=weights[self._partial], minlength=len(self._ways))
        counts = np.full(self._size, float(weights.sum()) / self._size)
        for _ in range(EM_STEPS):
            counts = whole + of_key @ self._given(counts)
        return counts

    def _given(self, counts: FloatArray) -> FloatArray:
        """Return P(class | what was seen) for each key."""
        joint = self._ways + safe_log(counts) - self._log_sizes
        total = logsumexp_quiet(joint, axis=1)[:, None]
        return np.asarray(np.exp(joint - np.where(np.isneginf(total), 0.0, total)))

    def own_counts(self, counts: FloatArray, weights: FloatArray) -> FloatArray:
        """Return how many of the first rows, which have these weights, are of each class."""
        given = self._given(counts) if self._partial[: len(weights)].any() else None
        found = np.zeros(self._size)
        for block in row_blocks(len(weights), self._size):
            own, partial = weights[block], self._partial[: len(weights)][block]
            table = np.zeros((len(own), self._size))  # P(class | row)
            whole = np.flatnonzero(~partial)
            table[whole, self._of[block][whole]] = 1.0
            if given is not None:
                table[partial] = given[self._which[block][partial]]
            found += own @ table
        return found

    def scores(self, log_weights: FloatArray, rows: int) -> FloatArray:
        """Return the log-probability of what was seen of the first rows, if each assignment has its class's weight."""
        result = log_weights[self._of[:rows]]
        some = np.flatnonzero(self._partial[:rows])
        if len(some):
            result[some] = logsumexp_quiet(self._ways + log_weights, axis=1)[self._which[some]]
        return result


def class_probabilities(
    statistic: ValueCounts, n: int, counts: FloatArray, own: FloatArray, alpha: float, unit: float
) -> tuple[FloatArray, FloatArray]:
    """Return the probability of each class, and its leave-one-out probability.

    Args:
        statistic: The value counts.
        n: The number of variables.
        counts: How often each class occurs, the context's rows included.
        own: The same for the slice's own rows.
        alpha: The pseudo-count of each class.
        unit: The weight of one own row in `counts`.
    """
    size, total = len(counts), float(counts.sum())
    plain = (counts + alpha) / max(total + size * alpha, LEAST)
    kept = (np.maximum(counts - unit, 0.0) + alpha) / max(total - unit + size * alpha, LEAST)
    if size > MOST_MIXED_CLASSES or total <= unit:
        return plain, kept
    chances = _chances(n, statistic.cardinality)
    mixing = np.full(chances.shape[1], 1.0 / chances.shape[1])
    occurs = counts > 0
    for _ in range(MIXING_EM_STEPS):
        joint = chances[occurs] * mixing
        mixing = (counts[occurs] / joint.sum(axis=1)) @ joint / total
    smooth = chances @ mixing
    posterior = chances * mixing / np.maximum(smooth, LEAST)[:, None]
    smooth_kept = (chances * np.maximum(mixing * total - unit * posterior, 0.0)).sum(axis=1) / (total - unit)
    leave_one_out = np.array([kept, smooth_kept])
    weights = expert_weights(leave_one_out, own)
    mixed = weights @ np.array([plain, smooth])
    return mixed / mixed.sum(), np.asarray(weights @ leave_one_out)


@lru_cache(maxsize=16)
def _chances(n: int, k: int) -> FloatArray:
    """Return P(class | draws by p) for p on a grid over the simplex: (classes, grid points)."""
    steps = 2
    while comb(steps + k, k - 1) <= LARGEST_GRID:
        steps += 1
    grid = (compositions(steps, k) + 0.5) / (steps + 0.5 * k)
    T = ValueCounts(k)
    return np.exp(T.log_class_size(n)[:, None] + T.values(n) @ safe_log(grid).T)
