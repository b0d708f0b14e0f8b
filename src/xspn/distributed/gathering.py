"""Tables out of core that are small enough to be in memory."""

from typing import Any

import numpy as np

from xspn.core.errors import DataTypeError
from xspn.data.out_of_core import collection_shape, dask_module, gather_limit, is_path
from xspn.distributed.parquet import ROWS_PER_PIECE, pieces_of


def is_small(X: Any) -> bool:
    """Whether a table has at most as many cells as one place may gather (`xspn.gather_cells`)."""
    return n_rows(X) * n_columns(X) <= gather_limit()


def n_columns(X: Any) -> int:
    """Return the number of columns."""
    if is_path(X):
        return len(pieces_of(X)[0])
    return len(X.columns) if hasattr(X, "columns") else int(X.shape[1])


def n_rows(X: Any) -> int:
    """Return the number of rows; a collection that does not know it is computed for it, once."""
    return sum(piece.n_rows for piece in pieces_of(X)[1]) if is_path(X) else collection_shape(X)[0]


def gathered(X: Any) -> Any:
    """Return a table as it is in memory: an array, or a DataFrame."""
    return as_collection(X).compute()


def as_collection(X: Any) -> Any:
    """Return a Parquet path as a Dask DataFrame; a collection as it is.

    Bits take so little room in a file that Dask, which goes by the size of row groups there, would make millions of
    rows one partition.
    """
    if not is_path(X):
        return X
    groups = [size for piece in pieces_of(X)[1] for size in piece.group_sizes]
    together = max(1, ROWS_PER_PIECE // max(groups, default=1))
    return dask_module("dask.dataframe").read_parquet(X, split_row_groups=together)


def binary_template(X: Any) -> Any:
    """Return two rows, zeros and ones, as a table of the same columns and types; refuse types that hold neither."""
    collection = as_collection(X)
    if not hasattr(collection, "columns"):
        return np.outer([0, 1], np.ones(n_columns(X), dtype=np.int64))
    pandas = dask_module("pandas")
    columns = []
    for name, dtype in collection._meta.dtypes.items():
        if getattr(dtype, "kind", "O") not in "biufO" or hasattr(dtype, "categories") or "str" in str(dtype):
            raise DataTypeError(
                f"X: column {name!r} is of type {dtype}; tables that are not in memory must be binary, and only "
                f"those of at most {gather_limit():,} cells (xspn.gather_cells) are fetched"
            )
        columns.append(pandas.Series([0, 1]).astype(dtype))
    frame = pandas.concat(columns, axis=1)
    frame.columns = list(collection.columns)
    return frame
