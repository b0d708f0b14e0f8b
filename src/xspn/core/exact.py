"""Sums and choices that do not hang on rounding, and so not on which kernels of linear algebra a machine has."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np

from xspn.core.arrays import FloatArray, IntArray

ROUNDING = 1e-9  # of a value: what differs by less is the same, added up in another order
BITS = 52  # of a double's fraction

T = TypeVar("T")


def in_steps(weights: FloatArray, total: float) -> FloatArray:
    """Round weights to multiples of 2⁻⁵² or so of their sum, so that all sums and differences of them are exact.

    Examples:
        >>> thirds = in_steps(np.array([1 / 3, 1 / 3, 1 / 3, 1e-20]), 1.0)
        >>> bool(thirds.sum() == thirds[::-1].sum()), float(thirds[3])
        (True, 0.0)
    """
    step = 2.0 ** (np.ceil(np.log2(total)) - BITS)
    return np.asarray(np.round(weights / step) * step)


def first_of_largest(values: FloatArray) -> int:
    """Return where the largest value is; of values that are equal but for rounding the first.

    Examples:
        >>> first_of_largest(np.array([0.0, 0.3, 0.1 + 0.2]))
        1
    """
    most = float(values.max())
    return int(np.argmax(values >= most - ROUNDING * (1.0 + abs(most)))) if np.isfinite(most) else int(values.argmax())


def nearest(distances: FloatArray) -> IntArray:
    """Return which distance of each column is the least; of those that are equal but for rounding the first.

    Examples:
        >>> nearest(np.array([[0.3, 2.0], [0.1 + 0.2, 1.0], [0.1 + 0.2 - 1e-16, 3.0]])).tolist()
        [0, 1]
    """
    least = distances.min(axis=0)
    return np.asarray(np.argmax(distances <= least + ROUNDING * (1.0 + np.abs(least)), axis=0))


def best_of(found: Iterable[T], value: Callable[[T], float]) -> T:
    """Return what has the largest value; of those that are equal but for rounding the first.

    Examples:
        >>> best_of([(1, 0.3), (2, 0.1 + 0.2)], value=lambda pair: pair[1])
        (1, 0.3)
    """
    all_found = list(found)
    return all_found[first_of_largest(np.array([value(one) for one in all_found]))]
