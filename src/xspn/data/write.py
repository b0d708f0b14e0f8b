"""Write a table to a file, by the ending of its name, whole or not at all."""

import csv
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from xspn.core.errors import DataError, MissingExtraError, ParameterError
from xspn.core.files import json_value, write_bytes
from xspn.data.decimals import NUMBER

STDOUT = "-"
FORMULAS = ("=", "+", "-", "@", "\t", "\r")  # what a text begins with that spreadsheets compute
FORMATS = {".csv": "csv", ".tsv": "tsv", ".txt": "csv", ".json": "json", ".parquet": "parquet", ".pq": "parquet"}


def format_of(path: str | None) -> str:
    """Return the format that a file's name asks for; CSV for standard output."""
    if path is None or path == STDOUT:
        return "csv"
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise ParameterError(f"{path}: expected a name ending in {', '.join(FORMATS)}, found {ending or 'none'}")
    return FORMATS[ending]


def write_table_file(
    path: str | None,
    names: Sequence[str],
    columns: Sequence[Sequence[Any]],
    kind: str | None = None,
    escape_formulas: bool = False,
) -> None:
    """Write columns of plain values; None and "-" are standard output.

    CSV has an empty cell for None, JSON (a list of objects, one for each row) null. Text is written as it is, so that
    it is the same when it is read again; with `escape_formulas`, text in CSV that a spreadsheet would take for a
    formula has an apostrophe before it.
    """
    content = rendered(names, columns, kind or format_of(path), escape_formulas)
    if path is None or path == STDOUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    write_bytes(Path(path), content)


def rendered(names: Sequence[str], columns: Sequence[Sequence[Any]], kind: str, escape_formulas: bool = False) -> bytes:
    r"""Return the content of a file.

    Examples:
        >>> rendered(["a", "b"], [[1, None], ["x", "y"]], "csv")
        b'a,b\n1,x\n,y\n'
        >>> rendered(["a"], [["=cmd()", "-1"]], "csv", escape_formulas=True)
        b"a\n'=cmd()\n-1\n"
    """
    if kind == "parquet":
        return _parquet(names, columns)
    rows = zip(*columns, strict=True)
    if kind == "json":
        values = (json_value(dict(zip(names, row, strict=True))) for row in rows)
        lines = [json.dumps(value, ensure_ascii=False, allow_nan=False) for value in values]
        return ("[\n" + ",\n".join(lines) + "\n]\n").encode("utf-8", "backslashreplace")
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter="\t" if kind == "tsv" else ",", lineterminator="\n")
    for row in (names, *rows):
        writer.writerow([_without_formula(cell) for cell in row] if escape_formulas else row)
    return stream.getvalue().encode("utf-8", "backslashreplace")


def _without_formula(cell: Any) -> Any:
    """Return a text that no spreadsheet computes; numbers are none."""
    is_formula = isinstance(cell, str) and cell.startswith(FORMULAS) and not NUMBER.fullmatch(cell)
    return f"'{cell}" if is_formula else cell


def _parquet(names: Sequence[str], columns: Sequence[Sequence[Any]]) -> bytes:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("Parquet needs pyarrow: pip install 'xspn[parquet]'") from error
    sink = pyarrow.BufferOutputStream()
    arrays = []
    for name, column in zip(names, columns, strict=True):
        try:
            arrays.append(pyarrow.array(list(column)))
        except (pyarrow.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise DataError(f"Parquet: column {name!r} holds values of several types; write csv or json") from error
    pyarrow.parquet.write_table(pyarrow.table(arrays, names=list(names)), sink)
    return bytes(sink.getvalue().to_pybytes())
