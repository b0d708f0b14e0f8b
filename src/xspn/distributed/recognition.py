"""Tell tables that are out of core (Dask collections, Parquet paths) from tables in memory, without importing Dask."""

import os
from importlib import import_module
from pathlib import Path
from typing import Any

from xspn.core.errors import MissingExtraError
from xspn.data.files import PARQUET_ENDINGS

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
    """Whether a path is one of Parquet files: by its ending, or a folder, or a pattern such as `sales/*`."""
    text = os.fspath(path)
    return text.lower().endswith(PARQUET_ENDINGS) or any(sign in text for sign in PATTERN) or Path(text).is_dir()


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
