"""Assign rows to training, validation and test at random."""

import numpy as np

from xspn.core.arrays import IntArray
from xspn.core.errors import ParameterError
from xspn.core.random import RandomState, generator

Share = int | float


def random_splits(
    n_rows: int, n_valid: Share = 0.15, n_test: Share = 0.15, random_state: RandomState = 0
) -> tuple[IntArray, IntArray, IntArray]:
    """Return the rows of training, validation and test, each in their old order.

    Args:
        n_rows: The number of rows.
        n_valid: The number of validation rows, or their share if it is below 1.
        n_test: The number of test rows, or their share if it is below 1.
        random_state: The seed.

    Examples:
        >>> [len(part) for part in random_splits(720, n_valid=100, n_test=120)]
        [500, 100, 120]
        >>> [len(part) for part in random_splits(20)]
        [14, 3, 3]
    """
    valid, test = _count(n_valid, n_rows, "n_valid"), _count(n_test, n_rows, "n_test")
    if valid + test >= n_rows:
        raise ParameterError(
            f"n_valid, n_test: expected to leave some of the {n_rows} rows for training, found {valid} and {test}"
        )
    order = generator(random_state).permutation(n_rows)
    return np.sort(order[valid + test :]), np.sort(order[:valid]), np.sort(order[valid : valid + test])


def _count(share: Share, n_rows: int, what: str) -> int:
    if isinstance(share, bool) or not isinstance(share, int | float | np.number) or not share >= 0:
        raise ParameterError(f"{what}: expected a number of rows or a share of them, found {share!r}")
    if share >= 1 and share != int(share):
        raise ParameterError(f"{what}: expected a whole number of rows or a share below 1, found {share!r}")
    return round(n_rows * share) if share < 1 else int(share)
