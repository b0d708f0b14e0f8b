"""Read a table from a file, by the ending of its name: CSV and similar text, Excel, Parquet, npz; text also packed.

In text, delimiter, header, layout and decimal commas are found, missing values known, and every error has its line.
What is read is a `TableFile`, named columns of cells; it becomes a `Table` by the rules of `xspn.data.column_types`.
"""

import csv
import io
import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from xspn.core.checks import first_double, is_missing, one_of, whole_number
from xspn.core.errors import DataError, ParameterError, TableWarning, counted, default_name
from xspn.core.files import path_of
from xspn.core.memory import need_memory
from xspn.data.binary_files import excel_rows, npz_columns, parquet_columns, unpacked
from xspn.data.decimals import DECIMALS, NUMBER, is_comma_number, with_decimal_points
from xspn.data.frames import EXCEL_ENDINGS, PARQUET_ENDINGS, Frame
from xspn.data.layouts import (
    ABSENT,
    LAYOUTS,
    WHOLE,
    LongColumns,
    Pivoted,
    Rows,
    basket_table,
    certain_long_columns,
    long_table,
    looks_like_baskets,
    looks_long,
)
from xspn.data.table_file import TableFile

STDIN = "-"
JSON = re.compile(r'\s*(\[\s*)*\{\s*("|\})|\s*\[\s*\[')  # how objects, or lists of them or of lists, begin
DELIMITERS = (",", ";", "\t", "|")
MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "None")
LARGE = 1_000_000  # characters
BLOCK = 1 << 24  # bytes that are read at once
BYTES_OF_CHARACTER = 18  # of memory, while cells are text; as measured
DELIMITER, A_DELIMITER = re.compile(r'[^\r\n"]'), "one character, not one that ends lines or quotes cells"
NO_COLUMNS = LongColumns()
LOOKED_AT = 100  # rows, to find the delimiter and the header


@dataclass(frozen=True)
class ReadOptions:
    """How files are read; None means that it is detected.

    Attributes:
        delimiter: What separates cells, in text.
        header: Whether the first row holds names.
        missing: Further texts that stand for a missing value.
        encoding: How bytes become text.
        layout: "wide" is a row for each row and a column for each column; "baskets" has the items of a basket in each
            line; "long" has a line for each row and item. "auto" recognizes what is certain, and refuses what may be
            either.
        decimal: The decimal sign of numbers in text: "." or ",".
        sheet: The sheet of an Excel file; the first by default.
        long: Which columns of a long table say what; naming them makes the layout "long".
        absent: What a long table means by an item that a row does not list: "0" or "missing"; by default 0 where there
            are no values or quantities, else missing.
        min_support: Items that fewer rows list are left out.
    """

    delimiter: str | None = None
    header: bool | None = None
    missing: Sequence[str] = ()
    encoding: str = "utf-8"
    layout: str = "auto"
    decimal: str | None = None
    sheet: str | None = None
    long: LongColumns = NO_COLUMNS
    absent: str | None = None
    min_support: int = 1

    def __post_init__(self) -> None:
        one_of("layout", self.layout, LAYOUTS)
        if self.decimal is not None:
            one_of("decimal", self.decimal, DECIMALS)
        if self.absent is not None:
            one_of("absent", self.absent, ABSENT)
        whole_number("min_support", self.min_support, 1)
        if self.delimiter is not None and not DELIMITER.fullmatch(self.delimiter):
            raise ParameterError(f"delimiter: expected {A_DELIMITER}, found {self.delimiter!r}")
        if (self.long or self.absent is not None) and self.layout not in ("auto", "long"):
            raise ParameterError(f"layout: rows, items and values are named for a long table, not for {self.layout!r}")


def read_table(
    source: Any,
    *,
    layout: str = "auto",
    row: str | Sequence[str] = (),
    item: str | None = None,
    value: str | None = None,
    **options: Any,
) -> TableFile:
    r"""Return the table of a file, for `fit` and for every question that takes a table.

    Args:
        source: The path of a file: CSV and similar text (also .gz), Excel, Parquet or npz. Or a DataFrame, or lists of
            items, one for each basket.
        layout: "wide", "baskets" (the items of a basket in each line), "long" (a line for each row and item) or "auto".
        row: The columns of a long table that tell rows apart; naming columns makes the layout "long".
        item: The column of a long table whose values become columns.
        value: The column of a long table whose values become cells.
        **options: Those of `ReadOptions`: delimiter, header, missing, encoding, decimal, sheet, absent, min_support.

    Examples:
        >>> import tempfile
        >>> shop = Path(tempfile.mkdtemp()) / "shop.csv"
        >>> _ = shop.write_text("milk,bread\nbeer\nbread,milk,beer\n")
        >>> read_table(shop, layout="baskets").names
        ('milk', 'bread', 'beer')
        >>> read_table([["milk", "bread"], ["beer"], ["bread"]], layout="baskets").cells
        ([1, 0, 0], [1, 0, 1], [0, 1, 0])
    """
    long = LongColumns((row,) if isinstance(row, str) else tuple(row), item, value)
    try:
        chosen = ReadOptions(layout=layout, long=long, **options)
    except TypeError as error:
        raise ParameterError(f"read_table: {str(error).replace('ReadOptions.__init__() got an ', '')}") from error
    if isinstance(source, str | os.PathLike):
        return read_path(source, "table", chosen)
    frame = Frame.of(source)
    if frame is not None:
        columns = ([None if is_missing(cell) else cell for cell in frame.cells(j)] for j in range(frame.shape[1]))
        names = tuple(str(frame.name(j)) for j in range(frame.shape[1]))
        return _said(_laid_out(TableFile("table", names, tuple(columns)), chosen))
    if not isinstance(source, list | tuple) or not all(isinstance(own, list | tuple | set) for own in source):
        raise DataError(f"table: expected a path, a DataFrame or lists of items, found {type(source).__name__}")
    if chosen.layout != "baskets":
        raise ParameterError(f"layout: lists are read as 'baskets', not as {chosen.layout!r}; pass an array to fit")
    rows = [(number, list(own)) for number, own in enumerate(source)]
    return _pivoted(basket_table(rows, "table", (), False, chosen.min_support), "table", "baskets")


def read_table_file(path: str, options: ReadOptions | None = None) -> TableFile:
    """Return the table of a file: Excel, Parquet and npz by their endings, text otherwise; "-" is standard input."""
    own = options or ReadOptions()
    if path == STDIN:
        return _text(_content(sys.stdin.buffer, "standard input"), "standard input", own)
    file = Path(path)
    if file.is_dir():
        raise DataError(f"{path}: expected a file, found a folder")
    ending = file.suffix.lower()
    if ending in PARQUET_ENDINGS:
        return _laid_out(TableFile(path, *parquet_columns(file)), own)
    if ending == ".npz":
        return _laid_out(TableFile(path, *npz_columns(file)), own)
    if ending in EXCEL_ENDINGS:
        return _table_of_rows(excel_rows(file, own.sheet), path, own, (*MISSING, *own.missing))
    if ending == ".xls":
        raise DataError(f"{path}: an Excel file of before 2007; save it as .xlsx or CSV")
    with file.open("rb") as stream:
        return _text(_content(stream, path), path, own)


def read_path(path: str | os.PathLike[str], what: str, options: ReadOptions | None = None) -> TableFile:
    """Return the table of a file that stands where a table may stand: what cannot be opened is no table.

    What is recognized is told by a `TableWarning`.
    """
    try:
        found = read_table_file(str(path_of(path, what)), options)
    except OSError as error:
        raise DataError(f"{what}: {path!s}: {(error.strerror or str(error)).lower()}") from error
    return _said(found)


def _said(found: TableFile) -> TableFile:
    """Tell what was recognized in a table by warnings."""
    for note in found.notes:
        warnings.warn(note, TableWarning, stacklevel=4)
    return found


def _content(stream: BinaryIO, source: str) -> bytes:
    """Return the content of a file, or of what never ends, which is refused before it has taken all memory."""
    parts: list[bytes] = []
    size = told = 0
    while part := stream.read(BLOCK):
        parts.append(part)
        size += len(part)
        if size >= 2 * max(told, LARGE):
            told = size
            # No encoding takes more than four bytes for a character; the bytes themselves are joined, too.
            need_memory(
                (BYTES_OF_CHARACTER / 4 + 1) * size,
                f"{source}: reading {size:,} bytes of text and what follows",
                lambda available: "take fewer rows or columns, or convert it to Parquet or npz",
            )
    return b"".join(parts)


def _text(content: bytes, source: str, options: ReadOptions) -> TableFile:
    content = unpacked(content, source)
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
    return parse_csv(text, source, options)


# -- text -------------------------------------------------------------------------------------------------------------


def parse_csv(
    text: str, source: str, options: ReadOptions | None = None, missing: Collection[str] = MISSING
) -> TableFile:
    r"""Return the table of a text.

    Args:
        text: The content of the file.
        source: Its name, for error messages.
        options: How it is read.
        missing: What stands for a missing cell, beside what the options say.

    Examples:
        >>> parse_csv("name;age\nann;4\nbob;?\n", "ages.csv")
        TableFile(source='ages.csv', names=('name', 'age'), cells=(['ann', 'bob'], ['4', None]), lines=[2, 3])
        >>> parse_csv("milk,bread\nbeer\nbread,milk,beer\n", "shop.csv").cells
        ([1, 0, 1], [1, 0, 1], [0, 1, 1])
    """
    own = options or ReadOptions()
    if not text.strip():
        raise DataError(f"{source}: the file is empty")
    if JSON.match(text):
        raise DataError(f"{source}: JSON, or a model; tables are CSV and similar text, Excel, Parquet or npz")
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
    used = own.delimiter or find_delimiter(text)
    rows = list(_rows(text, used, source))
    if own.delimiter is None and own.layout in ("auto", "baskets") and _are_numbers_apart_by_spaces(rows):
        rows = [(line, row[0].split()) for line, row in rows]
    return _table_of_rows(rows, source, replace(own, delimiter=used), (*missing, *own.missing))


def _are_numbers_apart_by_spaces(rows: Rows) -> bool:
    """Whether lines are whole numbers with spaces between them, as files of baskets without names are."""
    return all(len(row) == 1 and all(map(WHOLE.fullmatch, row[0].split())) for _, row in rows) and any(
        " " in row[0] for _, row in rows
    )


def _table_of_rows(rows: Rows, source: str, options: ReadOptions, missing: Collection[str]) -> TableFile:
    """Return the table of rows of cells, in whatever layout they are."""
    layout = "long" if options.long or options.absent is not None else options.layout
    unknown = frozenset(missing)
    if layout == "baskets" or (layout == "auto" and _are_baskets(rows, unknown)):
        return _pivoted(basket_table(rows, source, unknown, options.header, options.min_support), source, layout)
    width = len(rows[0][1])
    for line, row in rows:
        if len(row) != width:
            raise DataError(
                f"{source}, line {line}: expected {_cells(width)} as in line {rows[0][0]}, found {len(row)} "
                f"(the delimiter is {options.delimiter!r})"
            ).with_remedy("ragged")
    first = [[_text_of(cell) for cell in row] for _, row in rows[:LOOKED_AT]]
    has_header = looks_like_header(first, missing) if options.header is None else options.header
    names = tuple(first[0]) if has_header else tuple(default_name(j) for j in range(width))
    _check_names(names, source, rows[0][0])
    body = rows[1:] if has_header else rows
    if not body:
        raise DataError(f"{source}: there is a header and nothing below it")
    cells = tuple([None if row[j] is None or row[j] in unknown else row[j] for _, row in body] for j in range(width))
    found = TableFile(source, names, cells, [line for line, _ in body])
    plain, changed = with_decimal_points(cells, options.decimal, source, found.place)
    note = f"{source}: decimal commas in {counted(changed, 'column')}"
    notes = (note,) if changed and options.decimal is None else ()
    return _laid_out(replace(found, cells=plain, notes=notes), options)


def _text_of(cell: Any) -> str:
    return "" if cell is None else str(cell)


def _are_baskets(rows: Rows, missing: Collection[str]) -> bool:
    """Whether rows are certainly baskets: lines of different lengths, or padded with empty cells and not of numbers."""
    if len({len(row) for _, row in rows}) > 1:
        return looks_like_baskets(rows, missing)
    cells = (cell for _, row in rows for cell in row[1:] if cell is not None and cell not in missing)
    if len(rows[0][1]) < 3 or any(not isinstance(cell, str) or NUMBER.fullmatch(cell) for cell in cells):
        return False  # the first cell may be the number of items
    return looks_like_baskets(rows, missing)


def _laid_out(found: TableFile, options: ReadOptions) -> TableFile:
    """Return a table of columns as it is, or made wide if it is a long one."""
    columns: LongColumns | None = options.long
    if options.layout == "baskets":
        rows = list(enumerate(zip(*found.cells, strict=True)))
        pivoted = basket_table(rows, found.source, (), header=False, min_support=options.min_support)
        return _pivoted(pivoted, found.source, options.layout, found.notes)
    if options.layout == "wide":
        return found
    if options.layout == "auto" and not options.long and options.absent is None:
        columns = certain_long_columns(found.names, found.cells)
        if columns is None:
            if looks_long(found.names, found.cells):
                first, second = found.names[:2]
                raise DataError(
                    f"{found.source}: looks like a long table, a line for each {first!r} and {second!r} (no pair "
                    "occurs twice); say whether its layout is 'long' or 'wide'"
                ).with_remedy("layout")
            return found
    made = long_table(found.names, found.cells, found.lines, found.source, columns, options.absent, options.min_support)
    return _pivoted(made, found.source, "auto" if columns is not options.long else "long", found.notes)


def _pivoted(made: Pivoted, source: str, layout: str, notes: tuple[str, ...] = ()) -> TableFile:
    """Return the table of what was made wide; it is said if it was recognized rather than asked for."""
    if layout == "auto" or made.is_news:
        notes = (*notes, f"{source}: {made.note}")
    return TableFile(
        source,
        made.names,
        made.cells,
        made.lines,
        is_listed=True,
        absent=made.absent,
        row_names=made.row_names,
        row_heading=made.row_heading,
        notes=notes,
    )


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
        if score[0] == 1.0 and width > 1 and delimiter != "," and _has_comma_numbers(text, delimiter):
            return delimiter  # the commas are inside of numbers
        if width > 1 and score > best_score:
            best, best_score = delimiter, score
    return best


def _has_comma_numbers(text: str, delimiter: str) -> bool:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    return any(is_comma_number(cell.strip()) for row in islice(reader, LOOKED_AT) for cell in row)


def looks_like_header(rows: list[list[str]], missing: Collection[str]) -> bool:
    """Whether the first row holds names.

    None of them is a number or missing, and either there is a column of numbers below one, or no name is a value too.
    """
    first, below = rows[0], rows[1:]
    if any(cell in missing or _is_number(cell) for cell in first):
        return False
    for j in range(len(first)):
        seen = [row[j] for row in below if row[j] not in missing]
        if seen and all(map(_is_number, seen)):
            return True
    return len(set(first)) == len(first) and not any(cell == row[j] for row in below for j, cell in enumerate(first))


def _is_number(cell: str) -> bool:
    return NUMBER.fullmatch(cell) is not None or is_comma_number(cell)


def _check_names(names: tuple[str, ...], source: str, line: int) -> None:
    for j, name in enumerate(names):
        if not name:
            raise DataError(f"{source}, line {line}: column {j + 1} has no name")
    double = first_double(names)
    if double is not None:
        raise DataError(f"{source}, line {line}: the name {double!r} occurs twice; give each column its own")
