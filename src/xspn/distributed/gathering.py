"""How much may be in one process at a time, and gathering out-of-core tables that are small enough."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from xspn.core.checks import whole_number
from xspn.core.errors import DataTypeError
from xspn.data.frames import GATHER_CELLS, collection_shape, dask_module, is_path
from xspn.distributed.partitions import ROWS_PER_PIECE, pieces_of


@dataclass(frozen=True)
class GatherLimits:
    """Bounds that decide what is gathered and what is summarized where it is.

    They are read from Dask's configuration, where they can be changed: `dask.config.set({"xspn.gather_cells": 10**8})`.

    Attributes:
        gather_cells: A slice of at most so many cells (rows × variables) is gathered and learned in one process; a
            table of at most so many cells is learned like one in memory.
        gather_bytes: So many bytes of rows are gathered for each worker in one pass; further slices wait for the next.
        sample_rows: So many rows of a slice are drawn, for what sums do not determine: mixtures and mixed leaves.
        context_rows: So many rows represent those of the sum above a slice, toward which its leaves are shrunk.
        statistics_bytes: What the summaries of all slices of one pass may take.
    """

    gather_cells: int = GATHER_CELLS
    gather_bytes: int = 400_000_000
    sample_rows: int = 50_000
    context_rows: int = 4_096
    statistics_bytes: int = 64_000_000

    def __post_init__(self) -> None:
        for field in fields(self):
            whole_number(f"xspn.{field.name}", getattr(self, field.name), 1)

    @classmethod
    def configured(cls) -> "GatherLimits":
        """Return the limits of Dask's configuration."""
        config = dask_module("dask").config
        return cls(**{field.name: config.get(f"xspn.{field.name}", field.default) for field in fields(cls)})


def may_be_gathered(X: Any) -> bool:
    """Whether a table has at most as many cells as one process may gather (`xspn.gather_cells`)."""
    return n_rows(X) * n_columns(X) <= GatherLimits.configured().gather_cells


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

    Bits are so small in a file that Dask, which goes by the size of row groups, would put millions of rows into one
    partition.
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
                f"X: column {name!r} is of type {dtype}; tables that are not in memory must be binary unless they are "
                "learned by evidence, or have at most "
                f"{GatherLimits.configured().gather_cells:,} cells (xspn.gather_cells)"
            )
        columns.append(pandas.Series([0, 1]).astype(dtype))
    frame = pandas.concat(columns, axis=1)
    frame.columns = list(collection.columns)
    return frame
