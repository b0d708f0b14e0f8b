"""Read a table from a file, by the ending of its name: CSV and similar text, Parquet, npz.

In text, delimiter and header are found, missing values known, and every error has its line.
"""

import csv
import io
import os
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

from xspn.core.checks import first_double, is_missing
from xspn.core.errors import DataError, MissingExtraError, ParameterError
from xspn.core.memory import need_memory
from xspn.core.text import default_name
from xspn.data.out_of_core import PARQUET_ENDINGS
from xspn.data.table_file import NUMBER, TableFile

STDIN = "-"
DAMAGE = (zipfile.BadZipFile, zlib.error, NotImplementedError, MemoryError)  # what a damaged archive may raise
PLAIN = "biufUS"  # kinds of arrays that are tables: truth values, numbers, texts
MOST_BYTES, MOST_PACKED = 1_000_000_000, 50  # a larger table that is packed more tightly than this is none
DELIMITERS = (",", ";", "\t", "|")
MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "None")
LARGE = 1_000_000  # characters
BYTES_OF_CHARACTER = 18  # of memory, while cells are text; as measured
LOOKED_AT = 100  # rows, to find the delimiter and the header


@dataclass(frozen=True)
class ReadOptions:
    """How text files are read; None means that it is detected.

    Attributes:
        delimiter: What separates cells.
        header: Whether the first row holds names.
        missing: Further texts that stand for a missing value.
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


def read_path(path: str | os.PathLike[str], what: str) -> TableFile:
    """Return the table of a file that stands where a table may stand: what cannot be opened is no table."""
    try:
        return read_table_file(os.fspath(path))
    except OSError as error:
        raise DataError(f"{what}: {path!s}: {(error.strerror or str(error)).lower()}") from error


def _text(content: bytes, source: str, options: ReadOptions) -> TableFile:
    if options.delimiter is not None and len(options.delimiter) != 1:
        raise ParameterError(f"delimiter: expected one character, found {options.delimiter!r}")
    encoding = "utf-8-sig" if options.encoding.lower() in ("utf-8", "utf8") else options.encoding
    try:
        text = content.decode(encoding)
    except LookupError as error:
        raise ParameterError(f"encoding: unknown encoding {options.encoding!r}") from error
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        found = f"{source}, line {line}: not {options.encoding} text (byte 0x{content[error.start]:02x})"
        raise DataError(f"{found}; name its encoding, such as latin-1").with_remedy("encoding") from error
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
    own = [default_name(j) for j in range(table.shape[1])] if names is None else [str(name) for name in names.tolist()]
    if 0 in table.shape:
        raise DataError(f"{path}: expected rows and columns, found shape {table.shape}")
    if len(own) != table.shape[1] or len(set(own)) != len(own):
        raise DataError(f"{path}: expected {table.shape[1]} different names, found {len(set(own))}")
    cells = tuple([None if is_missing(cell) else cell for cell in column.tolist()] for column in table.T)
    return TableFile(str(path), tuple(own), cells)


# -- text -------------------------------------------------------------------------------------------------------------


def parse_csv(
    text: str,
    source: str,
    delimiter: str | None = None,
    header: bool | None = None,
    missing: Collection[str] = MISSING,
) -> TableFile:
    r"""Return the table of a text.

    Args:
        text: The content of the file.
        source: Its name, for error messages.
        delimiter: What separates cells; detected if None.
        header: Whether the first row holds names; detected if None.
        missing: What stands for a missing cell.

    Examples:
        >>> parse_csv("name;age\nann;4\nbob;?\n", "ages.csv")
        TableFile(source='ages.csv', names=('name', 'age'), cells=(['ann', 'bob'], ['4', None]), lines=[2, 3])
    """
    if not text.strip():
        raise DataError(f"{source}: the file is empty")
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise DataError(f"{source}, line {line}: a zero byte; this is no text file")
    if len(text) > LARGE:
        need_memory(
            BYTES_OF_CHARACTER * len(text),
            f"{source}: reading {len(text):,} characters of text",
            lambda available: (
                f"about {available // BYTES_OF_CHARACTER:,} would fit; take fewer rows or columns, or "
                "convert it to Parquet or npz"
            ),
        )
    used = delimiter or find_delimiter(text)
    rows = list(_rows(text, used, source))
    width = len(rows[0][1])
    for line, row in rows:
        if len(row) != width:
            raise DataError(
                f"{source}, line {line}: expected {_cells(width)} as in line {rows[0][0]}, found {len(row)} "
                f"(the delimiter is {used!r})"
            )
    has_header = looks_like_header([row for _, row in rows[:LOOKED_AT]], missing) if header is None else header
    names = tuple(rows[0][1]) if has_header else tuple(default_name(j) for j in range(width))
    _check_names(names, source, rows[0][0])
    body = rows[1:] if has_header else rows
    if not body:
        raise DataError(f"{source}: there is a header and nothing below it")
    unknown = frozenset(missing)
    cells = tuple([None if row[j] in unknown else row[j] for _, row in body] for j in range(width))
    return TableFile(source, names, cells, [line for line, _ in body])


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"


def _rows(text: str, delimiter: str, source: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each row that is not empty with the line that it begins in, cells stripped of spaces."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for row in reader:
            if row and (len(row) > 1 or row[0].strip()):
                yield line, [cell.strip() for cell in row]
            line = reader.line_num + 1
    except csv.Error as error:
        raise DataError(f"{source}, line {line}: {error}; is a quotation mark missing?") from error


def find_delimiter(text: str) -> str:
    """Return what separates cells: what cuts most rows into the same number of cells, the more the better."""
    best, best_score = ",", (0.0, 0)
    for delimiter in DELIMITERS:
        try:
            reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
            widths = Counter(len(row) for row in islice(reader, LOOKED_AT) if row)
        except csv.Error:
            continue
        if not widths:
            continue
        width, rows = widths.most_common(1)[0]
        score = (rows / widths.total(), width)
        if width > 1 and score > best_score:
            best, best_score = delimiter, score
    return best


def looks_like_header(rows: list[list[str]], missing: Collection[str]) -> bool:
    """Whether the first row holds names.

    None of them is a number or missing, and either there is a column of numbers below one, or no name is a value too.
    """
    first, below = rows[0], rows[1:]
    if any(cell in missing or NUMBER.fullmatch(cell) for cell in first):
        return False
    for j in range(len(first)):
        seen = [row[j] for row in below if row[j] not in missing]
        if seen and all(NUMBER.fullmatch(cell) for cell in seen):
            return True
    return len(set(first)) == len(first) and not any(cell == row[j] for row in below for j, cell in enumerate(first))


def _check_names(names: tuple[str, ...], source: str, line: int) -> None:
    for j, name in enumerate(names):
        if not name:
            raise DataError(f"{source}, line {line}: column {j + 1} has no name")
    double = first_double(names)
    if double is not None:
        raise DataError(f"{source}, line {line}: the name {double!r} occurs twice; give each column its own")
