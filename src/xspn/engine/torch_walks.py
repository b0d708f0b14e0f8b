"""Rows on their way down a program on a device of torch: what completes them, and their random numbers.

These are those of `xspn.core.random`, bit for bit: signed numbers wrap around as unsigned ones do.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from xspn.core.arrays import AnyArray
from xspn.core.random import FIRST_FACTOR, FRACTION, NODE_STEP, SECOND_FACTOR, STEP
from xspn.engine.kernels.arrays import MISSING

A, B, OF_NUMBER, OF_NODE = np.array([FIRST_FACTOR, SECOND_FACTOR, STEP, NODE_STEP], np.uint64).view(np.int64).tolist()


def row_keys_on(device: torch.device, keys: AnyArray) -> Tensor:
    """Return what the random numbers of rows come from, on a device."""
    return torch.as_tensor(np.array(keys).view(np.int64), device=device)


def uniform(keys: Tensor, place: Tensor | int) -> Tensor:
    """Return one of the random numbers of each node key: from 0 to just below 1."""
    places = place if isinstance(place, Tensor) else torch.full_like(keys, place)
    z = keys + (places + 1) * OF_NUMBER
    z = (z ^ _shifted(z, 30)) * A
    z = (z ^ _shifted(z, 27)) * B
    z = z ^ _shifted(z, 31)
    return _shifted(z, 11).double() * FRACTION


def _shifted(z: Tensor, bits: int) -> Tensor:
    """Shift to the right, with zeros from the left."""
    return (z >> bits) & ((1 << (64 - bits)) - 1)


def in_lists(lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return which list each item of some lists is in, one list after the other, and its place there."""
    which = torch.repeat_interleave(lengths)
    return which, torch.arange(len(which), device=which.device) - (lengths.cumsum(dim=0) - lengths)[which]


@dataclass(frozen=True)
class Walkers:
    """Rows that go down to one child of a sum and to all children of a product, and are completed at the leaves.

    Attributes:
        codes: 0, 1, or 2 for missing; completed on the way: (variables, walkers).
        values: What the pass up gave, (slots, rows), or None where nothing is known.
        column: The row whose values each walker goes by.
        keys: What the random numbers of each come from, or None where the best is taken.
    """

    codes: Tensor
    values: Tensor | None
    column: Tensor
    keys: Tensor | None

    def keys_at(self, slots: Tensor, walkers: Tensor) -> Tensor:
        """Return what the random numbers of some walkers come from, each at a node."""
        assert self.keys is not None
        found: Tensor = self.keys[walkers] + (slots + 1) * OF_NODE
        return found

    def uniform(self, slots: Tensor, walkers: Tensor, place: Tensor | int) -> Tensor:
        """Return a random number for each of some walkers, each at a node."""
        return uniform(self.keys_at(slots, walkers), place)

    def fill(self, variables: Tensor, walkers: Tensor, is_one: Tensor) -> None:
        """Write bits into cells, if they are missing."""
        seen = self.codes[variables, walkers]
        self.codes[variables, walkers] = torch.where(seen == MISSING, is_one.to(seen.dtype), seen)
