"""Work on a cluster: the option, the connection, and which tables are read out of core."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from xspn.core.errors import DataError, ParameterError


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


def stays_out_of_core(args: argparse.Namespace) -> bool:
    """Whether the table is one that the cluster reads: Parquet files, and a cluster is named."""
    from xspn.data.out_of_core import is_parquet

    return args.cluster is not None and is_parquet(args.table)


def refuse_options(args: argparse.Namespace, names: tuple[str, ...]) -> None:
    """Refuse options that have no meaning for a table out of core."""
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
        raise DataError(f"{source}: the table lacks the column {lacking[0]!r} that the model knows")
    return collection[list(names)]
