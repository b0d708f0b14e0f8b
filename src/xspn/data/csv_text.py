"""CSV text as a table: delimiter and header found, missing cells known, every error with its line."""

import csv
import io
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import islice

from xspn.core.checks import first_double
from xspn.core.errors import DataError
from xspn.core.memory import need_memory
from xspn.data.table_file import NUMBER, TableFile

DELIMITERS = (",", ";", "\t", "|")
MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "None")
LARGE = 1_000_000  # characters
BYTES_OF_CHARACTER = 18  # of memory, while cells are text; as measured
LOOKED_AT = 100  # rows, to find the delimiter and the header


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
        delimiter: What separates cells; found by itself if None.
        header: Whether the first row holds names; found by itself if None.
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
    names = tuple(rows[0][1]) if has_header else tuple(f"X{j}" for j in range(width))
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
