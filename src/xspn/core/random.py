"""Randomness is a generator passed down; nothing reads or sets global state.

Rows that are drawn from a circuit have random numbers of their own (`RowRandom`): each is a hash of the seed, the row,
the node that asks and how many it has asked for before. So no row depends on what is drawn beside it, nor on how rows
are cut into blocks and given to threads. `xspn.engine.kernels.choose` has the same hash for kernels.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.core.errors import ParameterError

STEP, NODE_STEP = 0x9E3779B97F4A7C15, 0xD1342543DE82EF95  # odd: multiples of them visit all numbers of 64 bits
FIRST_FACTOR, SECOND_FACTOR = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB  # of SplitMix64
FRACTION = 2.0**-53

RandomState = int | np.integer | np.random.Generator | np.random.SeedSequence | np.random.RandomState | None


def generator(random_state: RandomState) -> np.random.Generator:
    """Return a generator for a seed, a generator (used as it is), or None (fresh entropy).

    Examples:
        >>> bool(generator(0).integers(100) == generator(0).integers(100))
        True
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"random_state: expected None, a non-negative integer or a Generator, found {random_state!r}"
        ) from error


def child_seed(seed: int, index: int) -> int:
    """Return the seed of child `index` of a tree node with `seed`.

    A seed depends on the node's path alone, so every worker gets the same one, whenever it comes to the node.

    Examples:
        >>> child_seed(7, 0) == child_seed(7, 0), child_seed(7, 0) == child_seed(7, 1)
        (True, False)
    """
    digest = hashlib.blake2b(f"{seed}/{index}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def mixed(numbers: AnyArray) -> AnyArray:
    """Return 64-bit numbers of which each bit depends on all bits of the given ones: the finalizer of SplitMix64."""
    with np.errstate(over="ignore"):  # that products wrap around is the point
        z = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(FIRST_FACTOR)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(SECOND_FACTOR)
        return np.asarray(z ^ (z >> np.uint64(31)))


def row_keys(rng: np.random.Generator, n_rows: int) -> AnyArray:
    """Return what tells the random numbers of one row from those of all others: (rows,)."""
    seed = np.uint64(rng.integers(1 << 64, dtype=np.uint64))
    with np.errstate(over="ignore"):
        return mixed(seed + np.arange(1, n_rows + 1, dtype=np.uint64) * np.uint64(STEP))


@dataclass(frozen=True)
class RowRandom:
    """The random numbers of some rows, for the nodes of a circuit.

    Attributes:
        keys: What tells rows apart, see `row_keys`.
        first_node: What is added to the numbers of nodes.
    """

    keys: AnyArray
    first_node: int = 0

    def beyond(self, first_node: int) -> "RowRandom":
        """Return the same for nodes that are counted from another one on."""
        return RowRandom(self.keys, self.first_node + first_node)

    def at(self, node: int | IntArray, rows: Any = slice(None)) -> "NodeRandom":
        """Return the random numbers of one node for some of the rows, or of one node for each of them."""
        with np.errstate(over="ignore"):
            steps = (np.asarray(node + self.first_node + 1)).astype(np.uint64) * np.uint64(NODE_STEP)
            return NodeRandom(self.keys[rows] + steps)


class NodeRandom:
    """Random numbers for the rows of an array, as a leaf needs them to sample.

    It has methods of `numpy.random.Generator`, in which the first axis stands for rows: what a row gets depends on its
    own key and on what was asked for before.

    Examples:
        >>> keys = row_keys(np.random.default_rng(0), 5)
        >>> all_rows, last = NodeRandom(keys), NodeRandom(keys[4:])
        >>> bool((all_rows.random((5, 3))[4] == last.random((1, 3))[0]).all())
        True
    """

    def __init__(self, keys: AnyArray) -> None:
        self._keys = keys
        self._taken = 0

    def random(self, size: int | tuple[int, ...]) -> FloatArray:
        """Return numbers from 0 to just below 1, uniformly distributed."""
        return np.asarray(self._integers(size) * FRACTION)

    def normal(
        self, loc: FloatArray | float = 0.0, scale: FloatArray | float = 1.0, size: int | tuple[int, ...] | None = None
    ) -> FloatArray:
        """Return normally distributed numbers."""
        return np.asarray(
            loc + scale * ndtri((self._integers(len(self._keys) if size is None else size) + 0.5) * FRACTION)
        )

    def integers(self, low: int, high: int | None = None, size: int | tuple[int, ...] | None = None) -> IntArray:
        """Return whole numbers from low to high − 1, or from 0 to low − 1."""
        first, stop = (0, low) if high is None else (low, high)
        u = self.random(len(self._keys) if size is None else size)
        return first + (u * (stop - first)).astype(np.int64)

    def choice(self, a: int, size: int | tuple[int, ...] | None = None, p: AnyArray | None = None) -> IntArray:
        """Return whole numbers from 0 to a − 1, by their probabilities if they are given."""
        if p is None:
            return self.integers(a, size=size)
        ends = np.cumsum(p)
        u = self.random(len(self._keys) if size is None else size)
        return np.asarray(np.searchsorted(ends, u * ends[-1], side="right"))

    def _integers(self, size: int | tuple[int, ...]) -> AnyArray:
        """Return numbers of 53 bits."""
        shape = (size,) if isinstance(size, int | np.integer) else tuple(size)
        if not shape or shape[0] != len(self._keys):
            raise ParameterError(
                f"random numbers of {len(self._keys)} rows: expected a first axis of that length, found {shape}"
            )
        n = int(np.prod(shape[1:], dtype=np.int64))
        places = np.arange(self._taken + 1, self._taken + n + 1, dtype=np.uint64)
        self._taken += n
        with np.errstate(over="ignore"):
            found = mixed(self._keys[:, None] + places * np.uint64(STEP)) >> np.uint64(11)
        return found.reshape(shape)


Rng = np.random.Generator | NodeRandom  # what leaves and statistics draw with
