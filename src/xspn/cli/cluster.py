"""Work on a cluster: the option, the connection, and which tables are read there rather than here."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from xspn.core.errors import DataError, ParameterError

PARQUET_ENDINGS = (".parquet", ".pq")


def add_cluster_option(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the address of a cluster."""
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help=f"{what} on a Dask cluster: its scheduler's address, or 'local' for processes of this machine",
    )


@contextmanager
def on_cluster(address: str | None) -> Iterator[None]:
    """Connect to a cluster while something is done, if one is named."""
    if address is None:
        yield
        return
    from xspn.distributed.cluster import connected

    with connected(address):
        yield


def stays_there(args: argparse.Namespace) -> bool:
    """Whether the table is one that the cluster reads: Parquet files, and a cluster is named."""
    return args.cluster is not None and is_parquet(args.table)


def is_parquet(path: str) -> bool:
    """Whether a path is one of Parquet files: by its ending, or a folder."""
    return path.endswith(PARQUET_ENDINGS) or Path(path).is_dir()


def refuse_options(args: argparse.Namespace, names: tuple[str, ...]) -> None:
    """Refuse options that have no meaning for a table that stays where it is."""
    for name in names:
        if getattr(args, name):
            option = "--" + name.replace("_", "-")
            raise ParameterError(f"{option}: not for Parquet files that a cluster reads; leave it or --cluster out")


def columns_of(collection: Any, names: tuple[str, ...] | None, n_columns: int, source: str) -> Any:
    """Return the columns of a lazy table that a model knows; by their order if they have no names."""
    if names is None:
        if len(collection.columns) != n_columns:
            raise DataError(f"{source}: expected {n_columns} columns, found {len(collection.columns)}")
        return collection
    lacking = [name for name in names if name not in collection.columns]
    if lacking:
        raise DataError(f"{source}: the model knows a column {lacking[0]!r} that the table has not")
    return collection[list(names)]
