"""Tables in files that are not text: Parquet, npz and Excel, as named columns of cells."""

import gzip
import io
import zipfile
import zlib
from datetime import date, datetime, time
from pathlib import Path
from typing import IO, Any

import numpy as np

from xspn.core.checks import first_double, is_missing, suggestion
from xspn.core.errors import DataError, MissingExtraError, default_name

DAMAGE = (zipfile.BadZipFile, zlib.error, NotImplementedError, MemoryError)  # what a damaged archive may raise
PLAIN = "biufUS"  # kinds of arrays that are tables: truth values, numbers, texts
MOST_BYTES, MOST_PACKED = 1_000_000_000, 50  # a larger table that is packed more tightly than this is none
GZIP = b"\x1f\x8b"
EXCEL_ERRORS = ("#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!")
Columns = tuple[tuple[str, ...], tuple[list[Any], ...]]


def parquet_columns(path: Path) -> Columns:
    """Return the columns of a Parquet file."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError(f"{path}: Parquet needs pyarrow: pip install 'xspn[parquet]'") from error
    with path.open("rb") as stream:
        try:
            table = pyarrow.parquet.read_table(stream)
        except (pyarrow.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
            raise DataError(f"{path}: not a Parquet file ({str(error).splitlines()[0]})") from error
    names = tuple(str(name) for name in table.column_names)
    double = first_double(names)
    if double is not None:
        raise DataError(f"{path}: the name {double!r} occurs twice; give each column its own")
    cells = tuple([None if is_missing(cell) else cell for cell in column.to_pylist()] for column in table.columns)
    return names, cells


def _plain_arrays(stream: IO[bytes]) -> dict[str, Any]:
    """Return the arrays of an npz file, if unpacked they are not out of all proportion to the file."""
    with zipfile.ZipFile(stream) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
        packed = max(sum(entry.compress_size for entry in archive.infolist()), 1)
        if size > MOST_BYTES and size > MOST_PACKED * packed:
            raise ValueError(f"{size:,} bytes in {packed:,} packed ones; unpack it, or write it as Parquet")
        found = {}
        for entry in archive.infolist():
            if entry.filename.endswith(".npy"):
                with archive.open(entry) as member:
                    found[entry.filename.removesuffix(".npy")] = np.lib.format.read_array(member, allow_pickle=False)
    return found


def npz_columns(path: Path) -> Columns:
    """Return the columns of the one 2-D array of an npz file, or of the one that is named X."""
    with path.open("rb") as stream:
        try:
            arrays = _plain_arrays(stream)
        except (ValueError, TypeError, LookupError, OSError, EOFError, AttributeError, RuntimeError, *DAMAGE) as error:
            raise DataError(f"{path}: not an npz file of plain arrays ({error!s:.200})") from error
    tables = [name for name, array in arrays.items() if array.ndim == 2 and array.dtype.kind in PLAIN]
    chosen = "X" if "X" in tables else tables[0] if len(tables) == 1 else None
    if chosen is None:
        raise DataError(f"{path}: expected one 2-D array, or one named 'X', found {sorted(arrays) or 'none'}")
    table = arrays[chosen]
    names = next((arrays[key] for key in ("names", "feature_names") if key in arrays), None)
    if names is not None and names.ndim != 1:
        raise DataError(f"{path}: expected a list of names, found an array of shape {names.shape}")
    own = [default_name(j) for j in range(table.shape[1])] if names is None else [str(name) for name in names.tolist()]
    if 0 in table.shape:
        raise DataError(f"{path}: expected rows and columns, found shape {table.shape}")
    if len(own) != table.shape[1] or len(set(own)) != len(own):
        raise DataError(f"{path}: expected {table.shape[1]} different names, found {len(set(own))}")
    cells = tuple([None if is_missing(cell) else cell for cell in column.tolist()] for column in table.T)
    return tuple(own), cells


# -- Excel -------------------------------------------------------------------------------------------------------------


def excel_rows(path: Path, sheet: str | None = None) -> list[tuple[int, list[Any]]]:
    """Return the rows of a sheet that are not empty, each with its number: the first sheet, or the one of a name.

    Cells are what Excel shows a value for: numbers, truth values, texts, dates as text; None where one is empty or
    holds an error. Of a formula it is the value that was stored with it.
    """
    try:
        import openpyxl
    except ImportError as error:
        raise MissingExtraError(f"{path}: Excel files need openpyxl: pip install 'xspn[excel]'") from error
    with path.open("rb") as stream:
        refuse_tightly_packed(stream, str(path))
        try:
            book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
            names = book.sheetnames
            if sheet is not None and sheet not in names:
                shown = ", ".join(map(repr, names))
                raise DataError(f"{path}: there is no sheet {sheet!r}{suggestion(sheet, names)}; it has {shown}")
            own = book[names[0] if sheet is None else sheet]
            own.reset_dimensions()  # what a file says of its size need not be so
            rows = [(number, [_excel_cell(cell) for cell in row]) for number, row in enumerate(own.values, start=1)]
        except DataError:
            raise
        except Exception as error:  # openpyxl raises whatever a damaged part makes it stumble over
            raise DataError(f"{path}: not an Excel file of sheets ({type(error).__name__}: {error!s:.150})") from error
    full = [(number, row) for number, row in rows if any(cell is not None for cell in row)]
    if not full:
        raise DataError(f"{path}: the sheet {names[0] if sheet is None else sheet!r} is empty")
    width = max(place + 1 for _, row in full for place, cell in enumerate(row) if cell is not None)
    return [(number, [*row, *[None] * width][:width]) for number, row in full]


def _excel_cell(cell: Any) -> Any:
    """Return a cell as a plain value: errors are missing, dates are text."""
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat(sep=" ")
    if isinstance(cell, date | time):
        return cell.isoformat()
    if isinstance(cell, str):
        text = cell.strip()
        return None if not text or text in EXCEL_ERRORS else text
    return cell if cell is None or isinstance(cell, bool | int | float) else str(cell)


def refuse_tightly_packed(stream: IO[bytes], source: str) -> None:
    """Refuse an archive that is out of all proportion unpacked."""
    try:
        with zipfile.ZipFile(stream) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
            packed = max(sum(entry.compress_size for entry in archive.infolist()), 1)
    except (ValueError, OSError, *DAMAGE) as error:
        raise DataError(f"{source}: not an Excel file of sheets ({error!s:.100})") from error
    if size > MOST_BYTES and size > MOST_PACKED * packed:
        raise DataError(f"{source}: {size:,} bytes in {packed:,} packed ones; write it as CSV or Parquet")
    stream.seek(0)


def unpacked(content: bytes, source: str) -> bytes:
    """Return the content of a gzip file; anything else as it is."""
    if not content.startswith(GZIP):
        return content
    most = max(MOST_BYTES, MOST_PACKED * len(content))
    parts, size = [], 0
    try:
        with gzip.open(io.BytesIO(content)) as stream:
            while part := stream.read(1 << 20):
                size += len(part)
                if size > most:
                    raise DataError(f"{source}: more than {most:,} bytes in {len(content):,} packed ones; unpack it")
                parts.append(part)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{source}: a gzip file that is damaged or cut off ({error!s:.100})") from error
    return b"".join(parts)
