"""Tables out of core: Dask collections and Parquet paths, recognized without importing Dask."""

import os
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from xspn.core.errors import DataError, MissingExtraError
from xspn.core.options import whole_number

PARQUET_ENDINGS = (".parquet", ".pq")
OTHER_ENDINGS = (".csv", ".tsv", ".txt", ".data", ".npz")
GATHER_CELLS = 10_000_000  # of a collection that is gathered, unless Dask is configured otherwise (`xspn.gather_cells`)
PATTERN = "*?["  # what a path has that stands for several files


def is_collection(X: Any) -> bool:
    """Whether a table is a Dask array or a Dask DataFrame.

    Examples:
        >>> is_collection([[0, 1]])
        False
    """
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "__dask_graph__")


def is_path(X: Any) -> bool:
    """Whether a table is given by its path."""
    return isinstance(X, str | os.PathLike)


def is_parquet(path: str | os.PathLike[str]) -> bool:
    """Whether a path is one of Parquet files: by its ending, or a folder, or a pattern such as `sales/*`.

    Examples:
        >>> [is_parquet(path) for path in ("sales.parquet", "sales/*", "sales[1].csv")]
        [True, True, False]
    """
    text = os.fspath(path)
    if text.lower().endswith((*PARQUET_ENDINGS, *OTHER_ENDINGS)):
        return text.lower().endswith(PARQUET_ENDINGS)
    return any(sign in text for sign in PATTERN) or Path(text).is_dir()


def is_out_of_core(X: Any) -> bool:
    """Whether a table is read by partitions, where its rows are, rather than at once.

    Examples:
        >>> is_out_of_core("sales.parquet"), is_out_of_core("sales.csv"), is_out_of_core([[0, 1]])
        (True, False, False)
    """
    return is_parquet(X) if is_path(X) else is_collection(X)


def dask_module(name: str) -> Any:
    """Return a module of Dask (or one that comes with it), or say how to get it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError(f"tables out of core need Dask ({error}): pip install 'xspn[dask]'") from error


def gather_limit() -> int:
    """Return how many cells a collection may have that is gathered."""
    limit: int = dask_module("dask").config.get("xspn.gather_cells", GATHER_CELLS)
    whole_number("xspn.gather_cells", limit, 1)
    return limit


def collection_shape(X: Any) -> tuple[int, int]:
    """Return the numbers of rows and columns; a collection that does not know its rows is computed for it, once."""
    if not hasattr(X, "columns") and not np.isnan(X.shape[0]):
        return int(X.shape[0]), int(X.shape[1])
    parts = X.to_delayed() if hasattr(X, "columns") else X.to_delayed()[:, 0].tolist()
    dask = dask_module("dask")
    n_rows = int(sum(dask.compute(*(dask.delayed(len)(part) for part in parts))))
    return n_rows, len(X.columns) if hasattr(X, "columns") else int(X.shape[1])


def gather_collection(X: Any, what: str = "X") -> Any:
    """Return a Dask collection that is small enough as a table in memory: an array, or a DataFrame."""
    if X.ndim != 2:
        raise DataError(f"{what}: expected a 2-D table of rows and columns, found {X.ndim}-D")
    rows, columns = collection_shape(X)
    if rows * columns > gather_limit():
        raise DataError(
            f"{what}: {rows:,} rows of {columns:,} columns are too many to be gathered here (xspn.gather_cells); take "
            "fewer rows, as X.sample(frac=0.1) does"
        )
    return X.compute()
