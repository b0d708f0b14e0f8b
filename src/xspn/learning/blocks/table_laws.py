"""The evidence of a block of discrete columns, or of real ones: its parameters are integrated out in closed form.

Discrete columns of one domain are told apart by how often each value occurs in a row. The laws, all equally likely
beforehand, are those of bits (`learning/blocks/laws.py`) for any number of values:

- a *histogram* has a probability for each vector of counts, with a Dirichlet prior of one row's mass spread evenly;
- a *Pólya* law (Dirichlet-multinomial) has a mean and a dispersion; its evidence is the likelihood at the moments'
  estimate, less ½ log N for each of its parameters;
- *draws*: all columns on their own, with one distribution, and a Dirichlet prior of one row's mass;
- a histogram of *totals*, for ordered values.

Real columns with one mean, one variance and one correlation (compound symmetry): the mean of a row and its contrasts
are independent normals, each with a normal–inverse-gamma prior on the scale of the whole table; a single column may
have one value instead, and the scale of its rounding. Several real columns with any covariance matrix: a
normal–inverse-Wishart prior, whose margins are the priors of single columns.
"""

from math import lgamma, log, pi
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, multigammaln

from xspn.core.arrays import FloatArray, IntArray
from xspn.core.compilation import kept
from xspn.core.logspace import log_factorials, log_sum_counts

Array = Any
HISTOGRAM, POLYA, DRAWS, TOTALS = 0, 1, 2, 3
PRIOR_MASS = 1.0
LEAST_CORRELATION, LARGEST_CORRELATION = 1e-4, 0.98
MEAN_ROWS = 0.05  # what the prior of a mean counts for: it is within a few deviations of the table's
POINTS = 0.05  # the prior probability that a single column has but one value, up to rounding
VARIANCE_ROWS = 1.0  # what the prior of a variance counts for, with the column's variance in the whole table


class Classes(NamedTuple):
    """The vectors of value counts that rows have over some columns of one domain.

    Attributes:
        of: The class of each row.
        counts: How often each value occurs in each class: (classes, values).
        log_sizes: The logarithm of the number of assignments in each class.
        totals: The total of each class, for ordered values; empty otherwise.
        log_sizes_of_totals: The logarithm of the number of assignments with each total.
        n: The number of columns.
        log_number: The logarithm of the number of classes, seen or not.
        can_count: Whether a leaf could have a parameter for each class.
    """

    of: IntArray
    counts: FloatArray
    log_sizes: FloatArray
    totals: IntArray
    log_sizes_of_totals: FloatArray
    n: int
    log_number: float
    can_count: bool

    def of_rows(self, rows: Any) -> "Classes":
        """Return the same for some of the rows."""
        return self._replace(of=self.of[rows])


def classes_of(codes: Array, n_values: int, ordered: bool, most: float) -> Classes:
    """Return the classes of rows.

    Args:
        codes: Codes of columns of one domain: (columns, rows).
        n_values: The number of values.
        ordered: Whether values are ordered.
        most: The largest number of classes that a leaf may have parameters for.

    Examples:
        >>> found = classes_of(np.array([[0, 1, 2], [1, 0, 2]]), 3, False, 10)
        >>> found.of.tolist(), found.counts.tolist()
        ([0, 0, 1], [[1.0, 1.0, 0.0], [0.0, 0.0, 2.0]])
    """
    n = len(codes)
    of, first = _numbered(np.ascontiguousarray(codes), _keys(n_values))
    some = codes[:, first]
    counts = np.stack([(some == value).sum(axis=0) for value in range(n_values)], axis=1)
    logs = log_factorials(n)
    log_sizes = np.asarray(logs[n] - logs[counts].sum(axis=1), dtype=np.float64)
    log_number = lgamma(n + n_values) - lgamma(n + 1) - lgamma(n_values)
    totals = counts @ np.arange(n_values) if ordered and n_values > 2 and n > 1 else np.zeros(0, dtype=np.int64)
    of_totals = log_sum_counts(n, n_values) if len(totals) else np.zeros(0)
    can_count = n == 1 or log_number <= log(max(most, 1.0)) + 1e-9
    return Classes(of, counts.astype(np.float64), log_sizes, totals, of_totals, n, log_number, can_count)


def _keys(n_values: int) -> Array:
    """Return a random number for each value: the sum over a row's cells tells its counts (modulo 2^64)."""
    return np.random.default_rng(n_values).integers(0, 2**64, size=n_values, dtype=np.uint64)


@kept(nogil=True)
def _numbered(codes: Array, keys: Array) -> tuple[Array, Array]:
    """Number rows by the sum of their keys, in order of appearance; return the numbers and the first row of each."""
    n_rows = codes.shape[1]
    size = 16
    while size < 2 * n_rows:
        size *= 2
    slot = np.full(size, -1, np.int64)
    own = np.zeros(n_rows, np.uint64)
    for j in range(len(codes)):
        for r in range(n_rows):
            own[r] += keys[codes[j, r]]
    of, first, found = np.empty(n_rows, np.int64), np.empty(n_rows, np.int64), 0
    for r in range(n_rows):
        place = np.int64(own[r] & np.uint64(size - 1))
        while slot[place] >= 0 and own[first[slot[place]]] != own[r]:
            place = (place + 1) % size
        if slot[place] < 0:
            slot[place] = found
            first[found] = r
            found += 1
        of[r] = slot[place]
    return of, first[:found].copy()


def evidence_of_classes(classes: Classes, weights: FloatArray) -> tuple[float, int]:
    """Return the log-evidence of a block of discrete columns under its best law, and the law."""
    found = evidence_of_laws(classes, weights)
    law = int(np.argmax(found))
    return float(found[law]), law


def evidence_of_laws(classes: Classes, weights: FloatArray) -> FloatArray:
    """Return the log-evidence of a block under each law, their even prior included; −∞ for what no leaf can hold."""
    mass = np.bincount(classes.of, weights=weights, minlength=len(classes.counts))
    return np.asarray(_evidence_of_laws(mass, *classes[1:]))


def log_probabilities(classes: Classes, weights: FloatArray, law: int) -> FloatArray:
    """Return the log-probability of a single assignment of each class, under a law fitted to weighted rows."""
    mass = np.bincount(classes.of, weights=weights, minlength=len(classes.counts))
    total, n, k = float(mass.sum()), classes.n, classes.counts.shape[1]
    if law == HISTOGRAM:
        each = PRIOR_MASS * np.exp(-classes.log_number)
        return np.asarray(np.log((mass + each) / (total + PRIOR_MASS)) - classes.log_sizes)
    if law == TOTALS:
        histogram = np.bincount(classes.totals, weights=mass, minlength=len(classes.log_sizes_of_totals))
        each = PRIOR_MASS / len(histogram)
        table = np.log((histogram + each) / (total + PRIOR_MASS)) - classes.log_sizes_of_totals
        return np.asarray(table[classes.totals])
    if law == DRAWS:
        p = (mass @ classes.counts + PRIOR_MASS / k) / (total * n + PRIOR_MASS)
        return np.asarray(classes.counts @ np.log(p))
    p, dispersion = _moments(mass, classes.counts, n)
    steps = np.arange(n)
    urn = np.concatenate([np.zeros((1, k)), np.cumsum(np.log(p + dispersion * steps[:, None]), axis=0)])
    drawn = urn[classes.counts.astype(np.int64), np.arange(k)].sum(axis=1)
    return np.asarray(drawn - np.log1p(dispersion * steps).sum())


@kept(nogil=True)
def _moments(mass: Array, counts: Array, n: int) -> tuple[Array, float]:
    """Return the mean and the dispersion of the Pólya law with the moments of the counts."""
    total, k = mass.sum(), counts.shape[1]
    p = np.empty(k)
    spread, alone = 0.0, 0.0
    for v in range(k):
        first, second = 0.0, 0.0
        for c in range(len(mass)):
            first += mass[c] * counts[c, v]
            second += mass[c] * counts[c, v] ** 2
        p[v] = (first + PRIOR_MASS / k) / (total * n + PRIOR_MASS)
        spread += max(second / total - (first / total) ** 2, 0.0)
        alone += n * p[v] * (1.0 - p[v])
    correlation = (spread / alone - 1.0) / (n - 1) if alone > 0.0 else 0.0  # one value, or one that all others drown in
    correlation = min(max(correlation, LEAST_CORRELATION), LARGEST_CORRELATION)
    return p, correlation / (1.0 - correlation)


@kept(nogil=True)
def _evidence_of_laws(
    mass: Array,
    counts: Array,
    log_sizes: Array,
    totals: Array,
    log_sizes_of_totals: Array,
    n: int,
    log_number: float,
    can_count: bool,
) -> Array:
    k, total = counts.shape[1], mass.sum()
    found = np.full(4, -np.inf)
    if total <= 0.0 or n == 0:
        found[HISTOGRAM] = 0.0
        return found
    n_laws = 1 if n == 1 else 1 + 2 * int(can_count) + int(len(totals) > 0)
    start = lgamma(PRIOR_MASS) - lgamma(total + PRIOR_MASS) - log(float(n_laws))
    if can_count:
        each = PRIOR_MASS * np.exp(-log_number)
        found[HISTOGRAM] = start
        for c in range(len(mass)):
            if mass[c] > 0.0:
                found[HISTOGRAM] += lgamma(mass[c] + each) - lgamma(each) - mass[c] * log_sizes[c]
    if n == 1:
        return found
    draws, each = lgamma(PRIOR_MASS) - lgamma(total * n + PRIOR_MASS) - log(float(n_laws)), PRIOR_MASS / k
    for v in range(k):
        times = 0.0
        for c in range(len(mass)):
            times += mass[c] * counts[c, v]
        draws += lgamma(times + each) - lgamma(each)
    found[DRAWS] = draws
    if len(totals) > 0:
        each = PRIOR_MASS / len(log_sizes_of_totals)
        histogram = np.zeros(len(log_sizes_of_totals))
        for c in range(len(mass)):
            histogram[totals[c]] += mass[c]
        found[TOTALS] = start
        for t in range(len(histogram)):
            if histogram[t] > 0.0:
                found[TOTALS] += (
                    lgamma(histogram[t] + each) - lgamma(each) - histogram[t] * log_sizes_of_totals[t]
                )  # fmt: skip
    if can_count:
        found[POLYA] = _of_urn(mass, counts, n) - 0.5 * k * log(total + 1.0) - log(float(n_laws))
    return found


@kept(nogil=True)
def _of_urn(mass: Array, counts: Array, n: int) -> float:
    """Return the log-likelihood of a Pólya law at the moments' estimate: an urn's, draw by draw."""
    p, dispersion = _moments(mass, counts, n)
    k, total, found = counts.shape[1], mass.sum(), 0.0
    times = np.zeros((n + 1, k))  # of each value, how many rows have it so often
    for c in range(len(mass)):
        for v in range(k):
            times[int(counts[c, v]), v] += mass[c]
    for v in range(k):
        above = 0.0
        for j in range(n - 1, -1, -1):
            above += times[j + 1, v]
            if above > 0.0:
                found += above * log(p[v] + j * dispersion)
    for j in range(n):
        found -= total * log(1.0 + j * dispersion)
    return found


class RowMoments(NamedTuple):
    """Sums of weighted rows of real columns, each about its own center, and what the priors know of the columns.

    Attributes:
        total: The weight of the rows.
        first: The sum of each column: (columns,).
        second: The sums of products of every two: (columns, columns).
        centers: The centers.
        variances: The variance of each column in the whole table.
        floors: The variance that a number has because it is rounded.
        atoms: The weight of the rows with each atom of each column; sums leave these rows out.
        widths: The intervals that the atoms stand for.
    """

    total: float
    first: FloatArray
    second: FloatArray
    centers: FloatArray
    variances: FloatArray
    floors: FloatArray
    atoms: tuple[FloatArray, ...] = ()
    widths: tuple[FloatArray, ...] = ()

    def of_atoms(self, column: int) -> float:
        """Return the weight of the rows in which a column has an atom."""
        return float(self.atoms[column].sum()) if len(self.atoms) else 0.0

    def spread_out(self, column: int) -> float:
        """Return the weight of the other rows."""
        return max(self.total - self.of_atoms(column), 0.0)


@kept(nogil=True)
def _log_normal(total: float, scatter: float, prior: float) -> float:
    """Return the log-evidence of so many normal numbers of mean 0 whose squares sum up to `scatter`.

    The variance has an inverse-gamma prior: that of `VARIANCE_ROWS` rows whose squares sum up to `prior`.
    """
    half, own = 0.5 * VARIANCE_ROWS, 0.5 * (VARIANCE_ROWS + total)
    found = lgamma(own) - lgamma(half) - 0.5 * total * log(pi)
    return found + half * log(prior) - own * log(prior + scatter)


@kept(nogil=True)
def symmetric_sums(
    members: Array, total: float, first: Array, second: Array, centers: Array, variances: Array, floors: Array
) -> tuple[float, float, float, float]:
    """Return what the evidence of real columns as one block depends on, about the middle of their centers.

    The sum and the sum of squares of √m times the mean of a row, the sum of squares of the contrasts, and the variance
    of the prior. The variance of rounding is included.
    """
    m, middle, variance, floor = len(members), 0.0, 0.0, 0.0
    for i in members:
        middle += centers[i] / m
        variance += variances[i] / m
        floor = max(floor, floors[i])
    along, squares, of_mean = 0.0, 0.0, 0.0
    for i in members:
        away = centers[i] - middle
        of_mean += first[i]
        squares += second[i, i] + 2.0 * away * first[i] + total * away * away
        for j in members:
            along += second[i, j]
    along /= m
    contrasts = max(squares - along, 0.0) + total * (m - 1) * floor
    return of_mean / m**0.5, along + total * floor, contrasts, variance


@kept(nogil=True)
def _evidence_of_symmetric(
    members: Array, total: float, first: Array, second: Array, centers: Array, variances: Array, floors: Array
) -> tuple[float, bool]:
    of_mean, along, contrasts, variance = symmetric_sums(members, total, first, second, centers, variances, floors)
    about = max(along - of_mean**2 / (total + MEAN_ROWS), 0.0)
    found = _log_normal(total, about, VARIANCE_ROWS * variance)
    of_prior = 0.5 * log(MEAN_ROWS / (total + MEAN_ROWS))
    if len(members) > 1:
        return found + of_prior + _log_normal(total * (len(members) - 1), contrasts, VARIANCE_ROWS * variance), False
    spread = found + log(1.0 - POINTS)
    point = _log_normal(total, about, VARIANCE_ROWS * floors[members[0]]) + log(POINTS)
    return of_prior + max(spread, point), bool(point > spread)


def evidence_of_normal_block(members: Array, sums: RowMoments) -> float:
    """Return the log-evidence of real columns as one exchangeable block: one mean, variance and correlation.

    A column with atoms is a block of its own: how often each atom occurs has a Dirichlet prior of half a row each.
    """
    column = int(members[0])
    rest = sums.spread_out(column)
    found = float(_evidence_of_symmetric(members, rest, *sums[1:6])[0])
    return found + _evidence_of_atoms(column, rest, sums) if len(sums.atoms) and len(sums.atoms[column]) else found


def _evidence_of_atoms(column: int, rest: float, sums: RowMoments) -> float:
    counts = np.append(sums.atoms[column], rest)
    each = 0.5
    found = lgamma(each * len(counts)) - lgamma(sums.total + each * len(counts))
    found += float((gammaln(counts + each) - gammaln(each)).sum())
    return found - float(sums.atoms[column] @ np.log(sums.widths[column]))


def has_one_value(column: int, sums: RowMoments) -> bool:
    """Whether a column rather has one value than a spread like that in the whole table."""
    return bool(_evidence_of_symmetric(np.array([column]), sums.spread_out(column), *sums[1:6])[1])


def evidence_of_normals(members: IntArray, sums: RowMoments) -> float:
    """Return the log-evidence of real columns as one normal distribution with any covariance matrix."""
    n, total = len(members), sums.total
    prior = VARIANCE_ROWS * sums.variances[members]
    degrees = n - 1 + VARIANCE_ROWS
    _, log_determinant = np.linalg.slogdet(np.diag(prior) + scatter_of(members, sums))
    found = multigammaln((degrees + total) / 2, n) - multigammaln(degrees / 2, n) - 0.5 * total * n * log(pi)
    found += 0.5 * degrees * np.log(prior).sum() - 0.5 * (degrees + total) * log_determinant
    return float(found + 0.5 * n * log(MEAN_ROWS / (total + MEAN_ROWS)))


def scatter_of(members: IntArray, sums: RowMoments) -> FloatArray:
    """Return the sums of products about the mean, which the prior draws a little towards the center."""
    first, second = sums.first[members], sums.second[np.ix_(members, members)]
    about = second - np.outer(first, first) / (sums.total + MEAN_ROWS)
    return np.asarray(about + np.diag(sums.total * sums.floors[members]))
