"""Which columns may share an exchangeable block: those that rows show to have one distribution.

That no test tells two columns apart is no evidence that they are alike: a slice of 25 rows cannot tell anything apart.
So the question is put to the whole table, once: columns that belong together there are a group (`groups_of_columns`).
A slice of few rows may pool columns of one group only, a slice of many rows also others that are alike in it.

Two columns are alike if they differ by no more than would matter, and if the evidence is for one distribution rather
than two: by BIC, with even odds for all pairs together. Location and spread are compared by paired differences, each
by moments and by signs (which no outlier can blur), and each can speak against the pair by itself.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import xlogy

from xspn.core.arrays import BoolArray, FloatArray, IntArray
from xspn.data.domain import Domain

ENOUGH_ROWS = 100.0  # of a slice, to be heard about columns that are not alike in the whole table
FARTHEST_MEANS = 0.5  # deviations
LARGEST_RATIO = 1.5  # of deviations
FARTHEST_FREQUENCIES = 0.25  # of a value
MOST_NAMES = 6  # longer scales are compared as numbers
PARTS = 4  # statistics of a pair of numbers
ROWS_AT_ONCE = 1 << 16
TINY = 1e-300


def groups_of_columns(cells: FloatArray, weights: FloatArray, domains: Sequence[Domain]) -> IntArray:
    """Number the groups of columns that have one distribution in the whole table; a column may be alone in its group.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> cells = rng.normal(size=(300, 4)) * [1, 1, 9, 1] + [0, 0, 0, 2]
        >>> groups_of_columns(cells, np.ones(300), [Domain.real()] * 4).tolist()
        [1, 1, 0, 2]
    """
    groups = np.zeros(len(domains), dtype=np.int64)
    for number, block in enumerate(blocks_of(alike(cells, weights, domains), cells, weights)):
        groups[block] = number
    return groups


def blocks_of(alike: BoolArray, cells: FloatArray, weights: FloatArray) -> list[IntArray]:
    """Partition the columns into blocks whose members are all alike, taking columns by their mean, not their place."""
    blocks: list[list[int]] = []
    fits = np.ones_like(alike)  # (blocks, columns): all members of the block are like the column
    for column in np.argsort(_means(cells, weights), kind="stable").tolist():
        found = np.flatnonzero(fits[: len(blocks), column])
        home = int(found[0]) if len(found) else len(blocks)
        if home == len(blocks):
            blocks.append([])
        blocks[home].append(column)
        fits[home] &= alike[:, column]
    return [np.sort(np.array(block, dtype=np.int64)) for block in blocks]


def alike(
    cells: FloatArray,
    weights: FloatArray,
    domains: Sequence[Domain],
    among: BoolArray | None = None,
    slack: float = 0.0,
) -> BoolArray:
    """Mark the pairs of columns that rows show to be alike: (n, n).

    Args:
        cells: The rows, NaN where a value is missing; a pair is compared over the rows that have both.
        weights: The weight of each row.
        domains: One for each column; columns of different domains are never alike.
        among: The pairs that are asked about, if not all.
        slack: How many standard errors two columns may differ by beyond what would matter.
    """
    n = len(domains)
    found = np.eye(n, dtype=np.bool_)
    asked = np.ones((n, n), dtype=np.bool_) if among is None else among
    for domain in dict.fromkeys(domains):
        own = np.array([v for v, other in enumerate(domains) if other == domain], dtype=np.int64)
        own = own[(asked[np.ix_(own, own)].sum(axis=1) > 1)]
        if len(own) < 2:
            continue
        part, places = cells if len(own) == n else cells[:, own], np.ix_(own, own)
        if domain.cardinality is not None and (domain.cardinality <= MOST_NAMES or not domain.ordered):
            pairs = _alike_names(part, weights, domain.cardinality, slack)
        else:
            pairs = _alike_numbers(part, weights, asked[places], slack)
        found[places] |= pairs & asked[places]
    return found


class _Pairs:
    """Sums over the rows that have both columns, for every two columns (n, n); additive over rows."""

    def __init__(self, n: int) -> None:
        self.rows, self.first, self.squares, self.products = (np.zeros((n, n)) for _ in range(4))

    def add(self, feature: FloatArray, seen: BoolArray, weights: FloatArray) -> None:
        """Add rows of a feature that is 0 where a cell is missing."""
        weighted = feature * weights[:, None]
        self.products += weighted.T @ feature
        if seen.all():
            self.rows += weights.sum()
            self.first += weighted.sum(axis=0)[:, None]
            self.squares += (weighted * feature).sum(axis=0)[:, None]
            return
        has = seen.astype(np.float64)
        self.rows += (has * weights[:, None]).T @ has
        self.first += weighted.T @ has  # Σ f_i over the rows that have j
        self.squares += (weighted * feature).T @ has

    def evidence(self) -> FloatArray:
        """Return by how many nats two means are more likely than one, for the paired differences of the feature."""
        rows = np.maximum(self.rows, TINY)
        mean = (self.first - self.first.T) / rows
        square = np.maximum((self.squares + self.squares.T - 2 * self.products) / rows, mean**2)
        explained = np.divide(mean**2, square, out=np.zeros_like(mean), where=square > 0)
        return np.asarray(-0.5 * rows * np.log(np.maximum(1 - explained, TINY)))


def _price(rows: FloatArray, questions: int) -> FloatArray:
    """Return what a second parameter must gain: half the logarithm of the rows, and even odds for all questions."""
    n = len(rows)
    return np.asarray(0.5 * np.log(np.maximum(rows, 1.0)) + np.log(max(n * (n - 1) / 2 * questions, 1.0)))


def _alike_names(cells: FloatArray, weights: FloatArray, n_values: int, slack: float) -> BoolArray:
    """Compare how often each value occurs."""
    n = cells.shape[1]
    good = np.ones((n, n), dtype=np.bool_)
    for value in range(n_values):
        sums = _Pairs(n)
        for rows in _in_blocks(cells):
            sums.add((cells[rows] == value).astype(np.float64), ~np.isnan(cells[rows]), weights[rows])
        total = np.maximum(sums.rows, 1.0)
        apart = np.abs(sums.first - sums.first.T) / total
        error = np.sqrt(np.maximum(sums.squares + sums.squares.T - 2 * sums.products, 0.0)) / total
        good &= (apart <= FARTHEST_FREQUENCIES + slack * error) & (sums.evidence() < _price(sums.rows, n_values))
    return good


def _alike_numbers(cells: FloatArray, weights: FloatArray, asked: BoolArray, slack: float) -> BoolArray:
    """Compare location and spread."""
    n = cells.shape[1]
    center = _means(cells, weights)
    middle = float(np.median(center))  # sums about a point between the columns: a million and a bit loses no digits
    unit = _unit(cells, middle)
    places, spreads = _Pairs(n), _Pairs(n)
    for rows in _in_blocks(cells):
        seen = ~np.isnan(cells[rows])
        places.add(np.where(seen, (cells[rows] - middle) / unit, 0.0), seen, weights[rows])
        spreads.add(np.where(seen, ((cells[rows] - center) / unit) ** 2, 0.0), seen, weights[rows])
    total = np.maximum(places.rows, 1.0)
    error = np.sqrt(1 / total)
    variances = spreads.first / total  # of i, in the rows that have j
    common = np.sqrt(np.maximum((variances + variances.T) / 2, 0.0))
    means = np.abs(places.first - places.first.T) / total
    good = (means <= (FARTHEST_MEANS + slack * np.sqrt(2) * error) * common) & asked
    good &= variances <= variances.T * (LARGEST_RATIO * np.exp(slack * error)) ** 2
    good &= good.T
    price = _price(places.rows, PARTS)
    good &= (places.evidence() < price) & (spreads.evidence() < price)
    good &= _evidence_of_signs(cells, weights, center, good) < price
    return np.asarray(good)


def _unit(cells: FloatArray, middle: float) -> float:
    """Return a power of two, so that no digit is lost, in which the cells' fourth powers are numbers too."""
    ends = np.array([end.reduce(cells, axis=0, initial=middle) for end in (np.fmin, np.fmax)])
    farthest = np.abs(ends - middle).max()
    return float(2.0 ** np.frexp(farthest)[1]) if farthest > 0 else 1.0


def _evidence_of_signs(cells: FloatArray, weights: FloatArray, center: FloatArray, asked: BoolArray) -> FloatArray:
    """Return by how many nats one column is rather above the other, or farther from their middle, than a coin toss."""
    n = len(center)
    counts = np.zeros((2, 2, n, n))  # (location or spread, above or below, i, j)
    for rows in _in_blocks(cells):
        own, block = weights[rows], cells[rows]
        for i in range(n - 1):
            js = i + 1 + np.flatnonzero(asked[i, i + 1 :])
            one, others, middle = block[:, [i]], block[:, js], (center[i] + center[js]) / 2
            for k, apart in enumerate((one - others, np.abs(one - middle) - np.abs(others - middle))):
                counts[k, 0, i, js] += own @ (apart > 0)  # what is missing is neither above nor below
                counts[k, 1, i, js] += own @ (apart < 0)
    total = np.maximum(counts.sum(axis=1, keepdims=True), TINY)
    evidence = xlogy(counts, 2 * counts / total).sum(axis=1).max(axis=0)
    return np.asarray(evidence + evidence.T)


def _means(cells: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the mean of each column; 0 where nothing is seen."""
    sums, mass = np.zeros(cells.shape[1]), np.zeros(cells.shape[1])
    for rows in _in_blocks(cells):
        seen = ~np.isnan(cells[rows])
        sums += weights[rows] @ np.where(seen, cells[rows], 0.0)
        mass += weights[rows] @ seen
    return np.asarray(sums / np.maximum(mass, TINY))


def _in_blocks(cells: FloatArray) -> list[slice]:
    return [slice(start, start + ROWS_AT_ONCE) for start in range(0, len(cells), ROWS_AT_ONCE)]
