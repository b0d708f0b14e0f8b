"""Binary training data: one byte a cell, distinct rows with weights, sliced by index."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.data.table import MISSING, Bits

__all__ = ["MISSING", "BinaryData", "Bits"]


@dataclass(frozen=True, eq=False)
class BinaryData:
    """Rows of zeros, ones and missing values, each with a weight (how often it occurs)."""

    bits: Bits  # (rows, variables)
    weights: FloatArray  # (rows,)

    @classmethod
    def of(cls, bits: Bits, weights: FloatArray | None = None, merge_equal_rows: bool = True) -> "BinaryData":
        """Return the data, equal rows merged into one with the sum of their weights.

        Rows of weight 0, and rows of which nothing was seen, say nothing and are dropped.

        Examples:
            >>> data = BinaryData.of(np.array([[0, 1], [1, 1], [0, 1]], dtype=np.uint8))
            >>> data.bits.tolist(), data.weights.tolist()
            ([[0, 1], [1, 1]], [2.0, 1.0])
        """
        own = np.ones(len(bits)) if weights is None else weights
        keep = (own > 0) & ~(bits == MISSING).all(axis=1)
        if not keep.all():
            bits, own = bits[keep], own[keep]
        if not merge_equal_rows or len(bits) == 0:
            return cls(np.ascontiguousarray(bits), own)
        first, own = merged(equal_bits(bits), own)
        return cls(np.ascontiguousarray(bits if len(first) == len(bits) else bits[first]), own)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and variables."""
        return self.bits.shape[0], self.bits.shape[1]

    @cached_property
    def complete(self) -> bool:
        """Whether no cell is missing."""
        return not (self.bits == MISSING).any()

    @property
    def discrete(self) -> bool:
        """Whether no column is real."""
        return True

    def rows(self) -> AnyArray:
        """Return the rows as inference takes them: bytes, or numbers with NaN where a value is missing."""
        return self.bits if self.complete else np.where(self.bits == MISSING, np.nan, self.bits)

    def with_rows(self, rows: AnyArray, weights: FloatArray) -> "BinaryData":
        """Return other rows of the same variables."""
        return BinaryData.of(rows.astype(np.uint8), weights)

    def with_weights(self, weights: FloatArray) -> "BinaryData":
        """Return the same rows with other weights; those of weight 0 are dropped."""
        return BinaryData.of(self.bits, weights, merge_equal_rows=False)

    def repeated(self) -> "BinaryData":
        """Return rows as often as their weights say, for a clustering that takes no weights."""
        bits = np.repeat(self.bits, self.weights.astype(np.int64), axis=0)
        return BinaryData(bits, np.ones(len(bits)))

    def slice(self, rows: IntArray, variables: IntArray) -> NDArray[np.float32]:
        """Return some cells as float32, which is what matrix products want; NaN where a value is missing."""
        whole_rows = len(variables) == self.bits.shape[1]
        bits = self.bits[rows] if whole_rows else self.bits[rows[:, None], variables]
        cells = bits.astype(np.float32)
        if not self.complete:
            cells[bits == MISSING] = np.nan
        return cells


def equal_bits(bits: Bits) -> AnyArray:
    """Return a key for each row, equal if and only if the rows are: an integer if it fits, which sorts faster."""
    complete = not (bits == MISSING).any()
    cells = np.packbits(bits, axis=1) if complete else bits
    n_rows, width = cells.shape
    size = next((n for n in (1, 2, 4, 8) if n >= width), width)
    padded = np.zeros((n_rows, size), dtype=np.uint8)
    padded[:, :width] = cells
    return padded.view(np.dtype(f"u{size}" if size <= 8 else (np.void, size))).ravel()


def merged(keys: AnyArray, weights: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the first row of each key, in order of appearance, and the sum of the weights of its rows.

    Examples:
        >>> first, weights = merged(np.array([7, 3, 7]), np.array([1.0, 2.0, 3.0]))
        >>> first.tolist(), weights.tolist()
        ([0, 1], [4.0, 2.0])
    """
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    if len(first) == len(keys):
        return np.arange(len(keys)), weights
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return first[order], np.asarray(np.bincount(place[which.ravel()], weights=weights), dtype=np.float64)


def different_rows(rows: AnyArray, weights: FloatArray) -> tuple[AnyArray, FloatArray]:
    """Return each row once, in order of appearance, with the sum of the weights of all that are equal to it.

    Examples:
        >>> rows, weights = different_rows(np.array([[0.0, np.nan], [1.0, 1.0], [0.0, np.nan]]), np.ones(3))
        >>> rows.tolist(), weights.tolist()
        ([[0.0, nan], [1.0, 1.0]], [2.0, 1.0])
    """
    if rows.size == 0:
        return rows, weights
    whole = np.ascontiguousarray(rows)
    first, own = merged(whole.view(np.dtype((np.void, whole.itemsize * whole.shape[1]))).ravel(), weights)
    return whole[first], own
