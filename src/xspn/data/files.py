"""Read a table from a file, by the ending of its name: CSV and similar text, Parquet, npz.

In text, delimiter and header are found, missing values known, and every error has its line. What is read is a
`TableFile`, named columns of cells; it becomes a `Table` by the rules of `xspn.data.column_types`.
"""

import csv
import io
import os
import re
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from xspn.core.arrays import AnyArray
from xspn.core.checks import first_double, is_missing, nearest, place_of, suggestion
from xspn.core.errors import DataError, DataTypeError, MissingExtraError, ParameterError, default_name
from xspn.core.memory import need_memory
from xspn.data.domain import EXACT_WHOLE
from xspn.data.frames import PANDAS, PARQUET_ENDINGS, has_huge_numbers
from xspn.data.schema import STRICT, Schema, Tolerance
from xspn.data.table import Table, table_of_cells

# Digits, a point, an exponent. Texts with leading zeros are names (007, postal codes), not numbers.
NUMBER = re.compile(r"[+-]?((?!0\d)\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
LONGEST = 1000  # letters of a number; what is longer stays a text
MOSTLY = 0.5  # a column with a larger fraction of numbers than this is one of numbers, and any text in it a mistake
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
class TableFile:
    """Columns of cells; None is a missing one, and cells of text files are text.

    Attributes:
        source: The name of the file, for error messages.
        names: The names of the columns, each of them once.
        cells: The cells of each column.
        lines: The line that each row began in, for text files.
    """

    source: str
    names: tuple[str, ...]
    cells: tuple[list[Any], ...]
    lines: Sequence[int] | None = None

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.cells[0]) if self.cells else 0

    def index(self, name: str) -> int:
        """Return the place of a column, or suggest the nearest name."""
        place = place_of(name, self.names)
        if place is not None:
            return place
        raise DataError(f"{self.source}: there is no column {name!r}{suggestion(name, self.names)}")

    def without(self, names: Iterable[str]) -> "TableFile":
        """Return the table without some columns."""
        dropped = {self.index(name) for name in names}
        kept = [j for j in range(len(self.names)) if j not in dropped]
        if not kept:
            raise DataError(f"{self.source}: no column is left")
        return self._columns(kept)

    def only(self, names: Iterable[str]) -> "TableFile":
        """Return some columns, in this order."""
        return self._columns([self.index(name) for name in names])

    def _columns(self, kept: Sequence[int]) -> "TableFile":
        return replace(self, names=tuple(self.names[j] for j in kept), cells=tuple(self.cells[j] for j in kept))

    def rows(self, chosen: Sequence[int]) -> "TableFile":
        """Return some rows."""
        cells = tuple([own[i] for i in chosen] for own in self.cells)
        lines = None if self.lines is None else [self.lines[i] for i in chosen]
        return replace(self, cells=cells, lines=lines)

    def place(self, row: int, column: int) -> str:
        """Name a cell for an error message."""
        line = f"row {row}" if self.lines is None else f"line {self.lines[row]}"
        return f"{line}, column {self.names[column]!r}"

    # -- from cells to codes -------------------------------------------------------------------------------------------

    def read(self, domains: Any = None) -> Table:
        """Return the training table, by the rules of `xspn.data.column_types`.

        A column in which most values are numbers is one of numbers; text in it is refused unless `domains` says that
        the column holds labels.
        """
        wanted = domains if isinstance(domains, dict) else {}
        by_all = domains if isinstance(domains, str) else None
        typed, dtypes = [], []
        for j, name in enumerate(self.names):
            is_text = wanted.get(name, by_all) == "categorical" or isinstance(wanted.get(name), list | tuple)
            cells, dtype = self._typed(j, text_is_meant=is_text)
            typed.append(cells)
            dtypes.append(dtype)
        return table_of_cells(typed, self.names, dtypes, domains, self.source, self.place, library=PANDAS)

    def _typed(self, column: int, text_is_meant: bool) -> tuple[AnyArray, str]:
        """Return a column's cells as numbers where they are numbers, and the type of a DataFrame's column for them."""
        cells = self.cells[column]
        seen = [cell for cell in cells if cell is not None]
        texts = [cell for cell in seen if isinstance(cell, str)]
        numeric = [NUMBER.fullmatch(cell) is not None for cell in texts]
        if not texts or all(numeric):
            return _numbers(cells, seen)
        if sum(numeric) > MOSTLY * len(seen) and not text_is_meant:
            odd = texts[numeric.index(False)]
            found = f"{self.source}: expected a number, found {odd!r} at {self.place(cells.index(odd), column)}"
            advice = "say so if it marks missing values, or if the column holds labels (categorical)"
            raise DataTypeError(f"{found}; {advice}").with_remedy("text among numbers")
        out = np.empty(len(cells), dtype=object)
        out[:] = cells
        return out, "str"

    def typed_cells(self, column: int, text_is_meant: bool) -> list[Any]:
        """Return a column's cells as values: numbers where all observed cells are numbers, whole ones exactly."""
        cells = self.cells[column]
        texts = [cell for cell in cells if isinstance(cell, str)]
        if text_is_meant or not texts or not all(len(cell) < LONGEST and NUMBER.fullmatch(cell) for cell in texts):
            return list(cells)
        whole = all(map(_is_whole, texts))
        return [(int(cell) if whole else float(cell)) if isinstance(cell, str) else cell for cell in cells]

    def encoded_by(
        self, schema: Schema, tolerance: Tolerance = STRICT, absent_is_missing: Iterable[str] = ()
    ) -> AnyArray:
        """Return the rows as codes of a schema's columns, found by their names; other columns are passed over.

        Columns without names are X0, X1, …, or go by their order if there are as many as in the table.

        Args:
            schema: That of the circuit.
            tolerance: Whether columns may be absent, and values unknown.
            absent_is_missing: Columns that the table need not have.
        """
        names = self.names if schema.names is None and len(schema) == len(self.names) else schema.shown_names
        places = {name: column for column, name in enumerate(self.names)}
        some_known = tolerance.columns and any(name in places for name in names)
        optional = set(names if some_known else absent_is_missing)
        lacking = [n for n in names if n not in places and n not in optional]
        if lacking:
            known = set(names)
            spare = [name for name in self.names if name not in known]
            near = nearest(lacking[0], spare)
            hint = "" if near is None else f"; did you mean {lacking[0]!r} by {near!r}?"
            raise DataError(f"{self.source}: the table lacks the column {lacking[0]!r} that the model knows{hint}")
        out = np.full((self.n_rows, len(schema)), np.nan)
        for j, name in enumerate(names):
            if name in places:
                out[:, j] = self._codes(schema, j, places[name], tolerance)
        return out

    def _codes(self, schema: Schema, variable: int, column: int, tolerance: Tolerance) -> AnyArray:
        def place(row: int) -> str:
            return self.place(row, column)

        labels = schema.labels[variable]
        cells = np.empty(self.n_rows, dtype=object)
        if labels is not None and all(isinstance(label, str) for label in labels):
            cells[:] = [None if cell is None else str(cell) for cell in self.cells[column]]
        else:
            cells[:] = [number_or_text(cell) for cell in self.cells[column]]
        codes = schema.codes(variable, cells, self.source, place, tolerance)
        domain = schema.domains[variable]
        bad = np.zeros(len(codes), dtype=bool) if domain is None else domain.outside(codes)
        if domain is not None and bad.any() and not tolerance.values:
            row = int(np.argmax(bad))
            raise DataError(f"{self.source}: expected {domain.describe()}, found {codes[row]:g} at {place(row)}")
        return codes


def number_or_text(cell: Any) -> Any:
    """Return a text as the number that it says, with all digits of a whole one; anything else as it is."""
    if not isinstance(cell, str) or not NUMBER.fullmatch(cell):
        return cell
    number = float(cell)
    return int(cell) if abs(number) >= EXACT_WHOLE and len(cell) < LONGEST and _is_whole(cell) else number


def _is_whole(cell: Any) -> bool:
    return isinstance(cell, int | np.integer) or (isinstance(cell, str) and cell.strip("+-").isdigit())


def _numbers(cells: list[Any], seen: list[Any]) -> tuple[AnyArray, str]:
    """Return numbers (and truth values) with NaN where they are missing, and their type in a DataFrame."""
    missing = len(seen) < len(cells)
    if seen and all(isinstance(cell, bool | np.bool_) for cell in seen):
        values = np.array([np.nan if cell is None else float(cell) for cell in cells])
        return values, "boolean" if missing else "bool"
    if any(not isinstance(cell, str | bool | int | float | np.number) for cell in seen):
        out = np.empty(len(cells), dtype=object)
        out[:] = cells
        return out, "object"
    whole = all(map(_is_whole, seen))
    values = np.array([np.nan if is_missing(cell) else float(cell) for cell in cells])
    if whole and has_huge_numbers(values):
        values = np.array([number_or_text(cell) for cell in cells], dtype=object)
    return values, ("Int64" if missing else "int64") if whole and seen else "float64"


# -- reading -----------------------------------------------------------------------------------------------------------


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
