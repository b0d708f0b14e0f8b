"""Randomness is a generator passed down; nothing reads or sets global state."""

import hashlib

import numpy as np

from xspn.core.errors import ParameterError

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
