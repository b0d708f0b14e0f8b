"""Check that a table is one of zeros and ones."""

from typing import Any

import numpy as np

from xspn._core.arrays import AnyArray
from xspn._core.checks import Names, cell_name
from xspn._core.errors import DataError
from xspn.learning.data import Bits


def column_names(X: Any) -> Names | None:
    """Return the names of a DataFrame's columns, or None."""
    return tuple(str(name) for name in X.columns) if hasattr(X, "columns") else None


def binary_table(array: AnyArray, names: Names | None = None) -> Bits:
    """Return a numeric table as bytes, refusing empty tables and anything but 0 and 1.

    Examples:
        >>> binary_table(np.array([[0.0, 1.0]])).dtype
        dtype('uint8')
    """
    for count, kind in zip(array.shape, ("sample", "feature"), strict=True):
        if count == 0:
            raise DataError(f"X: found 0 {kind}(s) (shape={array.shape}) while a minimum of 1 is required.")
    if array.dtype.kind == "b":
        return np.ascontiguousarray(array).view(np.uint8)
    bad = ~((array == 0) | (array == 1))
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        value = array[row, column]
        if np.isnan(value):
            raise DataError(
                f"X: a value is missing (NaN) at {cell_name((row, column), names)}; learning needs complete rows "
                "(questions to a learned circuit do not)"
            )
        raise DataError(f"X: expected 0 or 1, found {value:g} at {cell_name((row, column), names)}")
    return np.ascontiguousarray(array, dtype=np.uint8)
