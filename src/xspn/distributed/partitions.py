"""A table in partitions: what Dask hands over or what lies in Parquet files, read in blocks of bits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import Names, table, weights_of_rows
from xspn.core.errors import ClusterError, DataError, XSPNError
from xspn.core.random import child_seed
from xspn.data.frames import is_collection, is_path
from xspn.data.table import binarized, binary_table
from xspn.distributed.parquet import Piece, batches_of, pieces_of
from xspn.learning.data import Bits

BLOCK_ROWS = 65_536  # what is turned into floating-point numbers at a time


@dataclass(frozen=True)
class TableLayout:
    """How the cells of every partition are read."""

    n_columns: int
    names: Names | None
    binarize: float | None = None


@dataclass(frozen=True, eq=False)
class Partition:
    """One part of a table.

    Attributes:
        source: What it is called in messages.
        rows: A piece of Parquet, or a Dask object that becomes an array or a DataFrame.
        weights: A Dask object that becomes the rows' weights; None if each row counts once.
        bootstrap: The seed of the bootstrap sample; None for the table's own rows.
    """

    source: str
    rows: Any
    weights: Any = None
    bootstrap: int | None = None


@dataclass(frozen=True, eq=False)
class PartitionedTable:
    """All parts, and how they are read."""

    layout: TableLayout
    partitions: tuple[Partition, ...]

    def resampled(self, seed: int) -> "PartitionedTable":
        """Return a bootstrap sample: each row counts as often as a Poisson variable of mean 1 says.

        With many rows this is equivalent to drawing rows with replacement, and each row is drawn independently.
        """
        own = (replace(part, bootstrap=child_seed(seed, k)) for k, part in enumerate(self.partitions))
        return replace(self, partitions=tuple(own))


@dataclass(frozen=True, eq=False)
class PartitionBlock:
    """Some consecutive rows of a partition."""

    first: int  # the position of the first row in its partition
    bits: Bits
    weights: FloatArray | None


def partitioned(X: Any, sample_weight: Any = None, binarize: float | None = None) -> PartitionedTable:
    """Return a Dask collection or the Parquet files of a path as partitions."""
    if is_path(X):
        if sample_weight is not None:
            raise DataError(
                "sample_weight: a Parquet path takes none; pass a Dask DataFrame and a Dask array of weights"
            )
        names, pieces = pieces_of(X)
        return PartitionedTable(
            TableLayout(len(names), names, binarize), tuple(Partition(piece.source, piece) for piece in pieces)
        )
    if X.ndim != 2:
        raise DataError(f"X: expected a 2-D table of rows and columns, found {X.ndim}-D")
    if hasattr(X, "columns"):
        found = [str(name) for name in X.columns]
        layout = TableLayout(len(found), tuple(found), binarize)
        parts = list(X.to_delayed())
    else:
        whole_rows = X.rechunk({1: -1})
        layout = TableLayout(int(X.shape[1]), None, binarize)
        parts = whole_rows.to_delayed()[:, 0].tolist()
    weights = partitions_of_weights(sample_weight, len(parts))
    return PartitionedTable(
        layout,
        tuple(Partition(f"partition {k}", part, own) for k, (part, own) in enumerate(zip(parts, weights, strict=True))),
    )


def partitions_of_weights(sample_weight: Any, n_partitions: int) -> Sequence[Any]:
    """Return the partitions of the rows' weights, one for each of the table's; None for each without weights."""
    if sample_weight is None:
        return [None] * n_partitions
    if not is_collection(sample_weight) or sample_weight.ndim != 1:
        raise DataError("sample_weight: expected a Dask array or Series beside a Dask table, one weight for each row")
    parts = np.ravel(sample_weight.to_delayed()).tolist()
    if len(parts) != n_partitions:
        raise DataError(
            f"sample_weight: expected {n_partitions} partitions as the table has, found {len(parts)}; rechunk them"
        )
    return list(parts)


def blocks_of_partition(partition: Partition, layout: TableLayout) -> Iterator[PartitionBlock]:
    """Yield a partition's rows in blocks; errors name the partition."""
    try:
        yield from _blocks(partition, layout)
    except XSPNError as error:
        raise DataError(f"{partition.source}: {error}") from error
    except Exception as error:
        raise ClusterError(f"{partition.source}: could not be read ({type(error).__name__}: {error})") from error


def _blocks(partition: Partition, layout: TableLayout) -> Iterator[PartitionBlock]:
    rows, weights = partition.rows, partition.weights
    chance = None if partition.bootstrap is None else np.random.default_rng(partition.bootstrap)
    arrays = batches_of(rows, BLOCK_ROWS) if isinstance(rows, Piece) else _slices(rows, layout)
    first = 0
    own: FloatArray | None = None
    if weights is not None:
        own = weights_of_rows(weights, len(rows))
    for array in arrays:
        if array.shape[1] != layout.n_columns:
            raise DataError(f"X: expected {layout.n_columns} columns, found {array.shape[1]}")
        after = first + len(array)
        try:
            bits = binary_table(binarized(array, layout.binarize), layout.names, allow_missing=True)
        except DataError as error:
            raise DataError(
                f"in the {len(array)} rows from row {first} on: {error}; tables that are not in memory must be binary"
            ) from error
        counts = None if own is None else own[first:after]
        if chance is not None:
            times = chance.poisson(1.0, len(array)).astype(np.float64)
            counts = times if counts is None else counts * times
        yield PartitionBlock(first, bits, counts)
        first = after


def _slices(rows: Any, layout: TableLayout) -> Iterator[AnyArray]:
    for first in range(0, len(rows), BLOCK_ROWS):
        own = rows.iloc[first : first + BLOCK_ROWS] if hasattr(rows, "iloc") else rows[first : first + BLOCK_ROWS]
        yield table(own, names=layout.names, what="X")
