"""Write a table to a file, by the ending of its name, whole or not at all."""

import csv
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from xspn._core.errors import MissingExtraError, ParameterError
from xspn.io.files import write_bytes

STDOUT = "-"
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
    path: str | None, names: Sequence[str], columns: Sequence[Sequence[Any]], kind: str | None = None
) -> None:
    """Write columns of plain values; None and "-" are standard output.

    CSV has an empty cell for None, JSON (a list of objects, one for each row) null.
    """
    content = rendered(names, columns, kind or format_of(path))
    if path is None or path == STDOUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    write_bytes(Path(path), content)


def rendered(names: Sequence[str], columns: Sequence[Sequence[Any]], kind: str) -> bytes:
    r"""Return the content of a file.

    Examples:
        >>> rendered(["a", "b"], [[1, None], ["x", "y"]], "csv")
        b'a,b\n1,x\n,y\n'
    """
    if kind == "parquet":
        return _parquet(names, columns)
    rows = zip(*columns, strict=True)
    if kind == "json":
        lines = [json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) for row in rows]
        return ("[\n" + ",\n".join(lines) + "\n]\n").encode()
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter="\t" if kind == "tsv" else ",", lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return stream.getvalue().encode()


def _parquet(names: Sequence[str], columns: Sequence[Sequence[Any]]) -> bytes:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("Parquet needs pyarrow: pip install 'xspn[parquet]'") from error
    sink = pyarrow.BufferOutputStream()
    table = pyarrow.table({name: list(column) for name, column in zip(names, columns, strict=True)})
    pyarrow.parquet.write_table(table, sink)
    return bytes(sink.getvalue().to_pybytes())
