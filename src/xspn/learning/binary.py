"""Check that a table is one of zeros and ones."""

from typing import Any

import numpy as np

from xspn.core.arrays import AnyArray
from xspn.core.checks import Names, cell_name
from xspn.core.errors import DataError, ParameterError
from xspn.learning.data import MISSING, Bits


def column_names(X: Any) -> Names | None:
    """Return the names of a DataFrame's columns, or None."""
    return tuple(str(name) for name in X.columns) if hasattr(X, "columns") else None


def binary_table(array: AnyArray, names: Names | None = None, allow_missing: bool = False) -> Bits:
    """Return a numeric table as bytes, refusing empty tables and anything but 0, 1 and, if they are allowed, NaN.

    Examples:
        >>> binary_table(np.array([[0.0, 1.0], [np.nan, 1.0]]), allow_missing=True).tolist()
        [[0, 1], [2, 1]]
    """
    for count, kind in zip(array.shape, ("sample", "feature"), strict=True):
        if count == 0:
            raise DataError(f"X: found 0 {kind}(s) (shape={array.shape}) while a minimum of 1 is required.")
    if array.dtype.kind == "b":
        return np.ascontiguousarray(array).view(np.uint8)
    missing = np.isnan(array) if array.dtype.kind == "f" else np.zeros(array.shape, dtype=bool)
    bad = ~((array == 0) | (array == 1) | (missing & allow_missing))
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        place = cell_name((row, column), names)
        if missing[row, column]:
            raise DataError(f"X: a value is missing (NaN) at {place}; this needs complete rows")
        raise DataError(f"X: expected 0 or 1, found {array[row, column]:g} at {place}")
    return np.ascontiguousarray(np.where(missing, MISSING, array), dtype=np.uint8)


def binarized(array: AnyArray, threshold: float | None) -> AnyArray:
    """Return 1 where a value is above the threshold, 0 elsewhere, NaN where missing; unchanged without threshold."""
    if threshold is None:
        return array
    if not isinstance(threshold, int | float | np.number) or isinstance(threshold, bool) or np.isnan(threshold):
        raise ParameterError(f"binarize: expected a number or None, found {threshold!r}")
    values = np.asarray(array, dtype=np.float64)
    if np.isinf(values).any():
        row, column = (int(i) for i in np.argwhere(np.isinf(values))[0])
        raise DataError(f"X: expected finite numbers, found an infinity (inf) at row {row}, column {column}")
    return np.where(np.isnan(values), np.nan, (values > threshold).astype(np.float64))


def cells_of(bits: Bits) -> AnyArray:
    """Return bytes as a table again: the bytes themselves, or numbers with NaN where a value is missing."""
    missing = bits == MISSING
    return np.where(missing, np.nan, bits) if missing.any() else bits
