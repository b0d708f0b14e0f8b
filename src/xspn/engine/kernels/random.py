"""The random numbers of `xspn.core.random`, bit for bit."""

from typing import Any

import numpy as np
from numba import njit

from xspn.core.random import FIRST_FACTOR, FRACTION, NODE_STEP, SECOND_FACTOR, STEP

A, B = np.uint64(FIRST_FACTOR), np.uint64(SECOND_FACTOR)
OF_NUMBER, OF_NODE, ONE = np.uint64(STEP), np.uint64(NODE_STEP), np.uint64(1)
FIRST, SECOND, THIRD, DROPPED = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


@njit(nogil=True)
def _mixed(z: Any) -> Any:
    z = (z ^ (z >> FIRST)) * A
    z = (z ^ (z >> SECOND)) * B
    return z ^ (z >> THIRD)


@njit(nogil=True)
def node_key(key: Any, slot: int) -> Any:
    """Return what the random numbers of one row at one node come from."""
    return key + (np.uint64(slot) + ONE) * OF_NODE


@njit(nogil=True)
def uniform(key: Any, place: int) -> float:
    """Return one of a node's random numbers: from 0 to just below 1."""
    return np.float64(_mixed(key + (np.uint64(place) + ONE) * OF_NUMBER) >> DROPPED) * FRACTION
