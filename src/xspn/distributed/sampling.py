"""Draw rows where they are: whether a row is drawn depends on its place and on a seed, and on nothing else.

Every worker that comes to a row decides alike, whenever it comes and however often: nothing needs to be remembered.
"""

import numpy as np
from numpy.typing import NDArray

from xspn.core.arrays import BoolArray, IntArray

ALL = 1 << 64
PARTITION_BITS = 40  # a partition has fewer rows than 2⁴⁰


def threshold(wanted: int, rows: float) -> int:
    """Return the bound below which a row's number must be, so that about `wanted` of so many rows are drawn."""
    return ALL if rows <= wanted else int(wanted / rows * ALL)


def drawn(partition: int, rows: IntArray, seed: int, bound: int) -> BoolArray:
    """Mark the rows of a partition, given by their places in it, that are drawn."""
    if bound >= ALL:
        return np.ones(len(rows), dtype=bool)
    places = rows.astype(np.uint64) + np.uint64(partition << PARTITION_BITS)
    return np.asarray(_scrambled(places ^ np.uint64(seed % ALL)) < np.uint64(bound))


def _scrambled(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers that look random: the finaliser of SplitMix64, twice because the seeds are near each other."""
    for _ in range(2):
        numbers = numbers + np.uint64(0x9E3779B97F4A7C15)
        numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        numbers = numbers ^ (numbers >> np.uint64(31))
    return numbers
