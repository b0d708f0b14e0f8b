"""Read the rows of a CSV file that has a header."""

import csv
import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from xspn.core.errors import DataError, DatasetMissingError
from xspn.paper.datasets.download import download
from xspn.paper.datasets.places import SCHEMES, AnyPath


def rows_of(source: AnyPath, required: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield each row's line number and its cells by column name, after checking that the columns are there.

    Args:
        source: A path, or an address that begins with https://, http:// or file://.
        required: The columns that must be there.
    """
    reader = csv.DictReader(io.StringIO(_text(source), newline=""))
    found = reader.fieldnames or []
    missing = [column for column in required if column not in found]
    if missing:
        raise DataError(
            f"{os.fspath(source)}: expected a header with the columns {', '.join(required)}; missing "
            f"{', '.join(missing)}, found {', '.join(found) or 'nothing'}"
        )
    for row in reader:
        short = next((column for column in required if row[column] is None), None)
        if short is not None:
            raise DataError(f"{os.fspath(source)}, line {reader.line_num}: the row ends before column {short!r}")
        yield reader.line_num, row


def _text(source: AnyPath) -> str:
    name = os.fspath(source)
    if name.startswith(SCHEMES):
        content = download(name)
    else:
        try:
            content = Path(name).read_bytes()
        except FileNotFoundError as error:
            raise DatasetMissingError(f"{name}: there is no such file") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{name}: expected a CSV file in UTF-8, found other bytes at position {error.start}") from error
