"""Tell out-of-core tables (Dask collections, Parquet paths) from tables in memory, without importing Dask."""

import os
from importlib import import_module
from typing import Any

from xspn.core.errors import MissingExtraError


def is_collection(X: Any) -> bool:
    """Whether a table is a Dask array or a Dask DataFrame.

    Examples:
        >>> is_collection([[0, 1]])
        False
    """
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "__dask_graph__")


def is_path(X: Any) -> bool:
    """Whether a table is said by where it is: a Parquet file, a folder of them, a pattern such as `sales/*.parquet`."""
    return isinstance(X, str | os.PathLike)


def is_out_of_core(X: Any) -> bool:
    """Whether a table is not in this process's memory.

    Examples:
        >>> is_out_of_core("sales.parquet"), is_out_of_core([[0, 1]])
        (True, False)
    """
    return is_path(X) or is_collection(X)


def dask_module(name: str) -> Any:
    """Return a module of Dask (or one that comes with it), or say how to get it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError(f"tables outside memory need Dask ({error}): pip install 'xspn[dask]'") from error
