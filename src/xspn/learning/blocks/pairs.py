"""Sums over rows of bits, and what pairs of variables tell of each other. Compiled by numba."""

from math import log
from typing import Any

import numpy as np

from xspn.core.compilation import kept

Array = Any


@kept(nogil=True, error_model="numpy")
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


@kept(nogil=True, error_model="numpy")
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


@kept(nogil=True, error_model="numpy")
def telling_variable(bits: Array, weights: Array, others: Array) -> int:
    """Return the variable of most mutual information with all of some others together.

    Args:
        bits: Zeros and ones: (rows, variables).
        weights: The weight of each row.
        others: Which variables the others are.
    """
    n_rows, n = bits.shape
    total, ones, pairs = weights.sum(), np.zeros(n), np.zeros((n, len(others)))
    own = np.empty(n, np.int64)
    for r in range(n_rows):
        number, weight = 0, weights[r]
        for j in range(n):
            if bits[r, j] == 1:
                own[number] = j
                ones[j] += weight
                number += 1
        for k in range(len(others)):
            if bits[r, others[k]] == 1:
                for i in range(number):
                    pairs[own[i], k] += weight
    alone = np.empty(n)
    for i in range(n):
        alone[i] = _x_log_x(ones[i]) + _x_log_x(total - ones[i])
    best, most = 0, -np.inf
    for i in range(n):
        found, x = 0.0, ones[i]
        for k in range(len(others)):
            if others[k] != i:
                y, both = ones[others[k]], pairs[i, k]
                found += _x_log_x(both) + _x_log_x(x - both) + _x_log_x(y - both) + _x_log_x(total - x - y + both)
                found -= alone[i] + alone[others[k]] - _x_log_x(total)
        if found > most:
            best, most = i, found
    return best


@kept(nogil=True, error_model="numpy")
def _x_log_x(x: float) -> float:
    return x * log(x) if x > 0.0 else 0.0


@kept(nogil=True, error_model="numpy")
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


@kept(nogil=True, error_model="numpy")
def sorted_columns(bits: Array, ones: Array, beside: Array) -> tuple[Array, Array]:
    """Return columns as rows, from rare to frequent ones, and which they are; `sums_of_columns` tells them apart."""
    order = np.argsort(beside, kind="mergesort")
    order = order[np.argsort(ones[order], kind="mergesort")]
    columns = np.empty((bits.shape[1], bits.shape[0]), np.uint8)
    for j in range(len(order)):
        for r in range(len(bits)):
            columns[j, r] = bits[r, order[j]]
    return order, columns


@kept(nogil=True, error_model="numpy")
def ones_together(columns: Array, weights: Array) -> Array:
    """Return how often two variables are one together: (variables, variables).

    Columns are variables here. Sums are of whole rows in double precision, so that they do not depend on the linear
    algebra at hand. Of a variable that is mostly one the zeros are counted.
    """
    n, n_rows, total = len(columns), columns.shape[1], weights.sum()
    found, rare = np.zeros((n, n)), np.empty(n, np.int64)
    mostly_one = np.zeros(n, np.bool_)
    for j in range(n):
        number = 0
        for r in range(n_rows):
            number += columns[j, r]
        mostly_one[j] = 2 * number > n_rows
    for r in range(n_rows):
        k = 0
        for j in range(n):
            if (columns[j, r] == 1) != mostly_one[j]:
                rare[k] = j
                k += 1
        for a in range(k):
            row = found[rare[a]]
            for b in range(a + 1):
                row[rare[b]] += weights[r]
    ones = np.empty(n)
    for j in range(n):
        ones[j] = max(total - found[j, j], 0.0) if mostly_one[j] else found[j, j]
    for i in range(n):
        for j in range(i):
            both = found[i, j]
            if mostly_one[i] and mostly_one[j]:
                both += total - found[i, i] - found[j, j]
            elif mostly_one[i]:
                both = ones[j] - both
            elif mostly_one[j]:
                both = ones[i] - both
            found[i, j] = found[j, i] = max(both, 0.0)
    for j in range(n):
        found[j, j] = ones[j]
    return found


@kept(nogil=True, error_model="numpy")
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


@kept(nogil=True, error_model="numpy")
def leader_of(leader: Array, i: int) -> int:
    """Return the first variable of a variable's group."""
    while leader[i] != i:
        i = leader[i]
    return i
