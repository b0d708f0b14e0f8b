"""Sums over rows of bits, and what pairs of variables tell of each other. Compiled by numba."""

from math import log
from typing import Any

import numpy as np

from xspn.core.compilation import kept

Array = Any


@kept(nogil=True)
def sums_of_columns(bits: Array, weights: Array) -> tuple[Array, Array]:
    """Return how often each variable is one, and the ones of these rows, squared: both tell columns from each other."""
    ones, beside = np.zeros(bits.shape[1]), np.zeros(bits.shape[1])
    for r in range(len(bits)):
        in_row = 0.0
        for j in range(bits.shape[1]):
            in_row += bits[r, j]
        heavy = weights[r] * in_row * in_row
        for j in range(bits.shape[1]):
            ones[j] += weights[r] * bits[r, j]
            beside[j] += heavy * bits[r, j]
    return ones, beside


@kept(nogil=True)
def sums_of_rows(bits: Array, ones: Array) -> tuple[Array, Array, Array]:
    """Return how many ones each row has, and how frequent their columns are: sums of `ones` and of its squares."""
    found, squares, number = np.zeros(len(bits)), np.zeros(len(bits)), np.zeros(len(bits))
    for r in range(len(bits)):
        for j in range(bits.shape[1]):
            if bits[r, j] == 1:
                number[r] += 1.0
                found[r] += ones[j]
                squares[r] += ones[j] * ones[j]
    return squares, found, number


@kept(nogil=True)
def information_with(pairs: Array, ones: Array, others: Array, total: float) -> Array:
    """Return the mutual information of each variable with all of some others together, in nats.

    Args:
        pairs: How often each is one together with each of the others: (variables, others).
        ones: How often each variable is one.
        others: Which variables the others are.
        total: The weight of all rows.
    """
    found, own = np.zeros(len(ones)), np.zeros(len(ones))
    for i in range(len(ones)):
        own[i] = _x_log_x(ones[i]) + _x_log_x(total - ones[i])
    for i in range(len(ones)):
        for k in range(len(others)):
            if others[k] != i:
                x, y, both = ones[i], ones[others[k]], pairs[i, k]
                found[i] += _x_log_x(both) + _x_log_x(x - both) + _x_log_x(y - both) + _x_log_x(total - x - y + both)
                found[i] -= own[i] + own[others[k]] - _x_log_x(total)
    return found / total


@kept(nogil=True)
def _x_log_x(x: float) -> float:
    return x * log(x) if x > 0.0 else 0.0


@kept(nogil=True)
def connect(leader: Array, pairs: Array, ones: Array, first: int, total: float, threshold: float) -> None:
    """Join the groups of variables that the G-test takes for dependent: those with a statistic of 2ρ or more.

    The statistic is at most 2N times the squared correlation, so that few logarithms are needed.

    Args:
        leader: The first variable of each variable's group, or one on the way to it; changed in place.
        pairs: Some rows of G = XᵀX.
        ones: How often each variable is one.
        first: The variable of the first of these rows.
        total: N.
        threshold: ρ.
    """
    least = 2.0 * threshold + 0.001
    own = np.empty(len(ones))
    for i in range(len(ones)):
        own[i] = _x_log_x(ones[i]) + _x_log_x(total - ones[i])
    for row in range(len(pairs)):
        i = first + row
        x = ones[i]
        for j in range(i):
            y, both = ones[j], pairs[row, j]
            spread = x * (total - x) * y * (total - y)
            if spread <= 0.0 or 2.0 * total * (both * total - x * y) ** 2 < least * spread:
                continue
            a, b = leader_of(leader, i), leader_of(leader, j)
            if a != b:
                found = _x_log_x(both) + _x_log_x(x - both) + _x_log_x(y - both) + _x_log_x(total - x - y + both)
                if 2.0 * (found - own[i] - own[j] + _x_log_x(total)) >= least:
                    leader[max(a, b)] = min(a, b)


@kept(nogil=True)
def equal_columns(bits: Array) -> Array:
    """Return the first of each run of equal columns: they belong together, and need not be compared."""
    label = np.arange(len(bits))
    for j in range(1, len(bits)):
        equal = True
        for r in range(bits.shape[1]):
            if bits[j, r] != bits[j - 1, r]:
                equal = False
                break
        if equal:
            label[j] = label[j - 1]
    return label


@kept(nogil=True)
def leader_of(leader: Array, i: int) -> int:
    """Return the first variable of a variable's group."""
    while leader[i] != i:
        i = leader[i]
    return i
