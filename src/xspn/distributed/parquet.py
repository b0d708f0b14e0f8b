"""Parquet files in pieces: whole row groups, read in batches."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from xspn.core.arrays import AnyArray
from xspn.core.checks import Names
from xspn.core.errors import DataError, DataTypeError
from xspn.data.frames import dask_module

ROWS_PER_PIECE = 500_000  # row groups that are small are read together


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
