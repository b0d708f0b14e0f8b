"""What the search for a partition knows: blocks, their counts in each row, their evidence. Compiled by numba."""

from math import log
from typing import Any, NamedTuple

import numpy as np

from xspn.core.compilation import kept
from xspn.learning.blocks.laws import evidence_with

Array = Any
IMPOSSIBLE = -1e300


class BlockState(NamedTuple):
    """Variables in blocks; blocks are numbered as variables are, and an empty one has size 0."""

    bits: Array  # (variables, rows)
    mostly_one: Array  # whether a variable is one in more than half of the rows
    odd_from: Array  # where the rows start in which each variable has its rarer value
    odd: Array  # these rows
    weights: Array  # (rows,)
    total: float  # of the weights
    pairs: Array  # how often two variables are one together
    alone: Array  # the evidence of each variable on its own
    log_factorials: Array  # log t! at [t]
    of_total: float  # log Γ(N + 1), N being the total
    of_none: Array  # log Γ(1 / (n + 1)) at [n]
    of_draws: Array  # log Γ(n N + 1) at [n]
    label: Array  # the block of each variable
    size: Array  # of each block
    count: Array  # the number of ones of each block in each row: (blocks, rows)
    evidence: Array  # of each block
    ones: Array  # the weight of all ones of each block
    clock: Array  # how many times a variable has been moved
    changed: Array  # when each block was last changed, by the clock
    looked: Array  # when each variable was last looked at
    histogram: Array  # a workspace


@kept(nogil=True, error_model="numpy")
def rarer_rows(bits: Array) -> tuple[Array, Array, Array]:
    """Return which variables are mostly one, where the rows start in which each has its rarer value, and these rows."""
    n, n_rows = bits.shape
    mostly_one, start = np.zeros(n, np.bool_), np.zeros(n + 1, np.int64)
    for j in range(n):
        number = 0
        for r in range(n_rows):
            number += bits[j, r]
        mostly_one[j] = 2 * number > n_rows
        start[j + 1] = start[j] + (n_rows - number if mostly_one[j] else number)
    odd = np.empty(start[n], np.int32)
    for j in range(n):
        at = start[j]
        for r in range(n_rows):
            if (bits[j, r] == 1) != mostly_one[j]:
                odd[at] = r
                at += 1
    return mostly_one, start, odd


@kept(nogil=True, error_model="numpy")
def evidence_of_block(blocks: BlockState, b: int) -> float:
    """Return the evidence of a block."""
    m = blocks.size[b]
    histogram = np.zeros(m + 1)
    for r in range(len(blocks.weights)):
        histogram[blocks.count[b, r]] += blocks.weights[r]
    return evidence_of_histogram(blocks, histogram, m)


@kept(nogil=True, error_model="numpy")
def evidence_of_histogram(blocks: BlockState, histogram: Array, m: int) -> float:
    """Return the evidence of a block of m variables whose counts have this histogram."""
    none, draws = blocks.of_none[m], blocks.of_draws[m]
    found, _ = evidence_with(histogram, m, blocks.log_factorials, blocks.of_total, none, draws)
    return float(found)


@kept(nogil=True, error_model="numpy")
def may_be_one(total: float, x1: float, y1: float, xx: float, yy: float, xy: float) -> bool:
    """Whether two blocks may be one: not if means differ more than any dependence could make up for."""
    return likeness_of(total, x1, y1, xx, yy, xy) > IMPOSSIBLE


@kept(nogil=True, error_model="numpy")
def likeness_of(total: float, x1: float, y1: float, xx: float, yy: float, xy: float) -> float:
    """Return how much better two blocks might do as one, roughly, from moments that are not divided by N.

    IMPOSSIBLE, if means differ more than any dependence could make up for.
    """
    if total <= 0.0:  # no rows: nothing tells them apart
        return 0.0
    spread = xx + yy - 2.0 * xy
    against = 0.5 * (x1 - y1) ** 2 / spread if spread > 1e-12 * total else 0.0
    dependence, x_spread, y_spread = 0.0, xx - x1 * x1 / total, yy - y1 * y1 / total
    if x_spread > 0.0 and y_spread > 0.0:
        squared = min((xy - x1 * y1 / total) ** 2 / (x_spread * y_spread), 1.0 - 1e-9)
        if against < 6.0:
            return 0.5 * total * squared - against
        dependence = -0.5 * total * log(1.0 - squared)
    if against >= 6.0 and 2.0 * dependence + log(total + 1.0) + 6.0 <= against:
        return IMPOSSIBLE
    return dependence - against
