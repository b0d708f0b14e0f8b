"""Binary training data: one byte a cell, distinct rows with weights, sliced by index."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from xspn._core.arrays import FloatArray, IntArray

Bits = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class BinaryData:
    """Rows of zeros and ones, each with a weight (how often it occurs)."""

    bits: Bits  # (rows, variables)
    weights: FloatArray  # (rows,)

    @classmethod
    def of(cls, bits: Bits, weights: FloatArray | None = None, merge_equal_rows: bool = True) -> "BinaryData":
        """Return the data, equal rows merged into one with the sum of their weights; rows of weight 0 are dropped.

        Examples:
            >>> data = BinaryData.of(np.array([[0, 1], [1, 1], [0, 1]], dtype=np.uint8))
            >>> data.bits.tolist(), data.weights.tolist()
            ([[0, 1], [1, 1]], [2.0, 1.0])
        """
        own = np.ones(len(bits)) if weights is None else weights
        keep = own > 0
        if not keep.all():
            bits, own = bits[keep], own[keep]
        if not merge_equal_rows or len(bits) == 0:
            return cls(np.ascontiguousarray(bits), own)
        packed = np.ascontiguousarray(np.packbits(bits, axis=1))
        keys = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        if len(first) == len(bits):
            return cls(np.ascontiguousarray(bits), own)
        order = np.argsort(first)  # keep the order of first appearance
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        merged = np.bincount(place[which.ravel()], weights=own)
        return cls(np.ascontiguousarray(bits[first[order]]), np.asarray(merged, dtype=np.float64))

    def slice(self, rows: IntArray, variables: IntArray) -> NDArray[np.float32]:
        """Return some cells as float32, which is what matrix products want."""
        if len(variables) == self.bits.shape[1]:
            return self.bits[rows].astype(np.float32)
        return self.bits[rows[:, None], variables].astype(np.float32)
