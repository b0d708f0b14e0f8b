"""Read a table from a file, by the ending of its name."""

import sys
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from xspn.core.checks import first_double, is_missing
from xspn.core.errors import DataError, MissingExtraError, ParameterError
from xspn.data.csv_text import MISSING, parse_csv
from xspn.data.table_file import TableFile

STDIN = "-"
PARQUET_ENDINGS = (".parquet", ".pq")
DAMAGE = (zipfile.BadZipFile, zlib.error, NotImplementedError, MemoryError)  # what a damaged archive may raise
PLAIN = "biufUS"  # kinds of arrays that are tables: truth values, numbers, texts
MOST_BYTES, MOST_PACKED = 1_000_000_000, 50  # a larger table that is packed more tightly than this is none
TABLES = "csv, tsv, txt, data, parquet, npz"


@dataclass(frozen=True)
class ReadOptions:
    """How text files are read; None is found by itself.

    Attributes:
        delimiter: What separates cells.
        header: Whether the first row holds names.
        missing: Further texts that stand for a missing cell.
        encoding: How bytes become text.
    """

    delimiter: str | None = None
    header: bool | None = None
    missing: Sequence[str] = ()
    encoding: str = "utf-8"


def read_table_file(path: str, options: ReadOptions | None = None) -> TableFile:
    """Return the table of a file: Parquet and npz by their endings, text otherwise; "-" is standard input."""
    own = options or ReadOptions()
    if path == STDIN:
        return _text(sys.stdin.buffer.read(), "standard input", own)
    file = Path(path)
    if file.is_dir():
        raise DataError(f"{path}: expected a file, found a folder")
    if file.suffix.lower() in PARQUET_ENDINGS:
        return _parquet(file)
    if file.suffix.lower() == ".npz":
        return _npz(file)
    return _text(file.read_bytes(), path, own)


def _text(content: bytes, source: str, options: ReadOptions) -> TableFile:
    if options.delimiter is not None and len(options.delimiter) != 1:
        raise ParameterError(f"--delimiter: expected one character, found {options.delimiter!r}")
    encoding = "utf-8-sig" if options.encoding.lower() in ("utf-8", "utf8") else options.encoding
    try:
        text = content.decode(encoding)
    except LookupError as error:
        raise ParameterError(f"--encoding: unknown encoding {options.encoding!r}") from error
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise DataError(
            f"{source}, line {line}: not {options.encoding} text (byte 0x{content[error.start]:02x}); "
            "say which it is, as in --encoding latin-1"
        ) from error
    except UnicodeError as error:  # of encodings that know no places
        raise DataError(f"{source}: not {options.encoding} text ({error!s:.100})") from error
    return parse_csv(text, source, options.delimiter, options.header, (*MISSING, *options.missing))


def _parquet(path: Path) -> TableFile:
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
    return TableFile(str(path), names, cells)


def _plain_arrays(stream: IO[bytes]) -> dict[str, Any]:
    """Return the arrays of an npz file, if unpacked they are not out of all proportion to the file."""
    import numpy as np

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


def _npz(path: Path) -> TableFile:

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
    own = [f"X{j}" for j in range(table.shape[1])] if names is None else [str(name) for name in names.tolist()]
    if 0 in table.shape:
        raise DataError(f"{path}: expected rows and columns, found shape {table.shape}")
    if len(own) != table.shape[1] or len(set(own)) != len(own):
        raise DataError(f"{path}: expected {table.shape[1]} different names, found {len(set(own))}")
    cells = tuple([None if is_missing(cell) else cell for cell in column.tolist()] for column in table.T)
    return TableFile(str(path), tuple(own), cells)
