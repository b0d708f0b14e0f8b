"""A table in partitions, read in blocks of bits: what Dask hands over, or Parquet files in pieces of row groups."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import Names, table, weights_of_rows
from xspn.core.errors import ClusterError, DataError, DataTypeError, XSPNError
from xspn.core.random import child_seed
from xspn.data.frames import dask_module, is_collection, is_path
from xspn.data.table import binarized, binary_table
from xspn.learning.data import Bits

BLOCK_ROWS = 65_536  # what is turned into floating-point numbers at a time
ROWS_PER_PIECE = 500_000  # row groups that are small are read together


# -- Parquet files -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Piece:
    """Some row groups of one file.

    Attributes:
        files: The file system, which knows how to open the path on any machine that can see it.
        path: The file.
        row_groups: Which of its row groups.
        group_sizes: How many rows each of them has.
        names: The columns.
    """

    files: Any
    path: str
    row_groups: tuple[int, ...]
    group_sizes: tuple[int, ...]
    names: Names

    @property
    def n_rows(self) -> int:
        """How many rows they have."""
        return sum(self.group_sizes)

    @property
    def source(self) -> str:
        """What the piece is called in messages."""
        first, last = self.row_groups[0], self.row_groups[-1]
        which = f"row group {first}" if first == last else f"row groups {first} to {last}"
        return f"{self.path}, {which}"


def pieces_of(path: Any) -> tuple[Names, list[Piece]]:
    """Return the columns and the pieces of a Parquet file, of a folder of them, or of a pattern."""
    parquet = dask_module("pyarrow.parquet")
    files, paths = _files(os.fspath(path))
    names: Names | None = None
    pieces: list[Piece] = []
    for own in paths:
        try:
            with files.open(own, "rb") as stream:
                metadata = parquet.ParquetFile(stream).metadata
                found = tuple(parquet.ParquetFile(stream).schema_arrow.names)
        except (OSError, ValueError) as error:
            raise DataError(f"{own}: not a Parquet file that can be read ({str(error).splitlines()[0]})") from error
        if names is not None and found != names:
            raise DataError(f"{own}: expected the columns of {paths[0]}, found others or another order")
        names = found
        groups: dict[int, int] = {}
        for group in range(metadata.num_row_groups):
            groups[group] = metadata.row_group(group).num_rows
            if sum(groups.values()) >= ROWS_PER_PIECE or group == metadata.num_row_groups - 1:
                pieces.append(Piece(files, own, tuple(groups), tuple(groups.values()), names))
                groups = {}
    return names or (), pieces


def _files(path: str) -> tuple[Any, list[str]]:
    """Return the file system and the files that a path stands for, in order."""
    files, location = dask_module("fsspec.core").url_to_fs(path)
    found = files.glob(location) if any(mark in location for mark in "*?[") else [location]
    if len(found) == 1 and files.isdir(found[0]):
        folder = found[0].rstrip("/")
        found = [own for own in files.find(folder) if own.endswith((".parquet", ".pq"))]
        if not found:
            raise DataError(f"{path}: the folder holds no file whose name ends in .parquet or .pq")
    if not found or not files.exists(found[0]):
        raise FileNotFoundError(2, "no such Parquet file or folder", path)
    return files, sorted(found)


def batches_of(piece: Piece, n_rows: int) -> Iterator[AnyArray]:
    """Yield the piece's rows as arrays of at most so many rows; NaN where a cell is null."""
    parquet = dask_module("pyarrow.parquet")
    with piece.files.open(piece.path, "rb") as stream:
        file = parquet.ParquetFile(stream)
        for batch in file.iter_batches(n_rows, row_groups=list(piece.row_groups), use_threads=False):
            yield _array(batch, piece.names)


def _array(batch: Any, names: Names) -> AnyArray:
    columns = []
    for name, column in zip(names, batch.columns, strict=True):
        values = column.to_numpy(zero_copy_only=False)
        if values.dtype.kind == "O":
            values = _from_objects(values, name)
        if values.dtype.kind not in "biuf":
            raise DataTypeError(f"column {name!r}: expected zeros and ones, found {column.type}")
        columns.append(values)
    kind = np.result_type(*columns)
    whole = np.empty((len(columns), batch.num_rows), dtype=kind)  # one column after the other, as they come
    for k, values in enumerate(columns):
        whole[k] = values
    return np.ascontiguousarray(whole.T)


def _from_objects(values: AnyArray, name: str) -> AnyArray:
    """Return truth values as numbers, NaN where they are missing."""
    try:
        return np.array([np.nan if value is None else float(value) for value in values])
    except (TypeError, ValueError) as error:
        raise DataTypeError(f"column {name!r}: expected zeros and ones, found {error}") from error


# -- partitions --------------------------------------------------------------------------------------------------------


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
