"""Rows as requests bring them (JSON, NDJSON, Arrow) become codes; the answers' columns become the same formats."""

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np
import orjson

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import suggestion
from xspn.core.errors import MissingExtraError, XSPNError, counted
from xspn.core.files import json_value
from xspn.data.domain import Domain, Labels
from xspn.data.schema import Schema
from xspn.data.table_file import TableFile
from xspn.service.problems import Problem, pointer, problem_of

JSON, NDJSON, ARROW = "application/json", "application/x-ndjson", "application/vnd.apache.arrow.stream"
FORMATS = (JSON, NDJSON, ARROW)
MOST_SHOWN = 80  # letters of a name that a message repeats

# A column of an answer: plain values, numbers, numbers in lists of one length (rows, k), or named columns in one.
Column = list[Any] | AnyArray | Mapping[str, AnyArray]
Body = bytes | memoryview


class RowReader:
    """Turns rows by column name into codes; what is absent or null is missing.

    One dictionary lookup a cell suffices for what is usual. Everything else goes the way of tables that the command
    line reads, so that both accept the same cells and refuse others in the same words.

    Args:
        schema: What is known of the model's columns.
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.names = schema.shown_names
        self.places = {name: j for j, name in enumerate(self.names)}
        self._usual = {name: (j, _usual_codes(schema, j)) for name, j in self.places.items()}
        self._nothing = [float("nan")] * len(schema)

    def of_rows(self, rows: Any, most: int) -> FloatArray:
        """Return the codes of a list of rows: (rows, columns)."""
        if not isinstance(rows, list):
            raise Problem(422, "invalid-input", f"rows: expected a list of rows, found {_kind(rows)}", pointer("rows"))
        refuse_too_many(len(rows), most)
        try:
            return np.array([self._usual_row(row) for row in rows], dtype=np.float64).reshape(
                len(rows), len(self.names)
            )
        except (LookupError, TypeError, AttributeError, OverflowError):
            return self._unusual_rows(rows)

    def _usual_row(self, row: dict[str, Any]) -> list[float]:
        found, usual = self._nothing.copy(), self._usual
        for name, value in row.items():
            if value is not None:
                column, codes = usual[name]
                found[column] = codes[value] if codes is not None else _finite(value)
        return found

    def _unusual_rows(self, rows: list[Any]) -> FloatArray:
        """Return the codes of rows in which some cell is unusual, or say which one cannot be used."""
        for i, row in enumerate(rows):
            if not isinstance(row, dict):
                detail = f"rows: expected an object of columns and values, found {_kind(row)} at row {i}"
                raise Problem(422, "invalid-input", detail, pointer("rows", i))
            for name in row:
                if name not in self.places:
                    raise self._unknown_column(name, pointer("rows", i, name), f", found at row {i}")
        cells = tuple([row.get(name) for row in rows] for name in self.names)
        return self._encoded(cells)

    def _encoded(self, cells: tuple[list[Any], ...]) -> FloatArray:
        try:
            return TableFile("rows", self.names, cells).encoded_by(self.schema)
        except XSPNError as error:
            raise problem_of(error, self._place_of_fault(cells)) from error

    def _place_of_fault(self, cells: tuple[list[Any], ...]) -> str | None:
        """Return the place of the first cell that cannot be used."""
        for j, (name, own) in enumerate(zip(self.names, cells, strict=True)):
            schema = self.schema.take([j])
            if _is_refused(schema, name, own):
                return pointer("rows", next(i for i, cell in enumerate(own) if _is_refused(schema, name, [cell])), name)
        return None

    def _unknown_column(self, name: str, place: str | None, where: str = "") -> Problem:
        shown = name if len(name) <= MOST_SHOWN else f"{name[:MOST_SHOWN]}…"
        detail = f"rows: there is no column {shown!r}{where}{suggestion(shown, self.names)}"
        return Problem(422, "unknown-column", detail, place)

    def of_ndjson(self, body: bytes, most: int) -> FloatArray:
        """Return the codes of rows that have a line each."""
        lines = [line for line in body.split(b"\n") if line.strip()]
        refuse_too_many(len(lines), most)
        try:
            rows = orjson.loads(b"[" + b",".join(lines) + b"]")
        except orjson.JSONDecodeError:
            rows = []
        if len(rows) != len(lines):  # some line is not one value
            rows = []
            for number, line in enumerate(lines):
                try:
                    rows.append(orjson.loads(line))
                except orjson.JSONDecodeError as error:
                    raise Problem(400, "malformed-json", f"row {number}: not a line of JSON: {error}") from error
        return self.of_rows(rows, most)

    def of_arrow(self, body: bytes, most: int) -> FloatArray:
        """Return the codes of an Arrow stream, whose columns go by their names; others than the model's are refused."""
        table = arrow_table(body, most)
        names = list(table.column_names)
        for name in names:
            if name not in self.places:
                raise self._unknown_column(name, None)
        if len(set(names)) < len(names):
            raise Problem(422, "invalid-input", "rows: a column of the Arrow stream occurs twice")
        out = np.full((table.num_rows, len(self.names)), np.nan)
        for name in names:
            j = self.places[name]
            own = _arrow_codes(table.column(name), self.schema, j)
            if own is None:  # in the words of the command line
                cells = tuple([] if k != j else table.column(name).to_pylist() for k in range(len(self.names)))
                filled = tuple(cell or [None] * table.num_rows for cell in cells)
                own = self._encoded(filled)[:, j]
            out[:, j] = own
        return out


def _usual_codes(schema: Schema, column: int) -> dict[Any, float] | None:
    """Return the code of each value of a discrete column; None for a real one."""
    domain, labels = schema.domains[column], schema.labels[column]
    if domain is None:
        return {}  # outside the circuit: as tables have it
    if domain.cardinality is None:
        return None
    return {label: float(code) for code, label in enumerate(_values(domain, labels))}


def _values(domain: Domain, labels: Labels | None) -> Sequence[Any]:
    return range(domain.cardinality or 0) if labels is None else labels


def _finite(value: Any) -> float:
    """Return a number as it is; what is none is unusual."""
    if type(value) is float or type(value) is int:
        found = float(value)
        if isfinite(found):
            return found
    raise TypeError


def _kind(value: Any) -> str:
    """Say what kind of JSON value something is."""
    words = {dict: "an object", list: "a list", str: "a text", bool: "a truth value", type(None): "nothing"}
    return words.get(type(value), "a number")


def _is_refused(schema: Schema, name: str, cells: list[Any]) -> bool:
    try:
        TableFile("rows", (name,), (cells,)).encoded_by(schema)
    except XSPNError:
        return True
    return False


def refuse_too_many(rows: int, most: int) -> None:
    """Refuse more rows than one request may have."""
    if rows > most:
        detail = f"{counted(rows, 'row')} in one request, of which at most {most:,} are answered; send several"
        raise Problem(413, "too-many-rows", detail)


# -- Arrow -------------------------------------------------------------------------------------------------------------


def need_arrow() -> Any:
    """Return pyarrow, or say what brings it."""
    try:
        import pyarrow as pa
        import pyarrow.ipc
    except ImportError as error:
        raise MissingExtraError("Arrow streams need the package pyarrow: pip install 'xspn[parquet]'") from error
    return pa


def arrow_table(body: bytes, most: int) -> Any:
    """Return the table of an Arrow stream, checked before it is read.

    Compressed streams are refused: their size says nothing of the memory that they take.
    """
    pa = need_arrow()
    try:
        rows = 0
        for message in pa.ipc.MessageReader.open_stream(body):
            length, compressed = _batch_facts(memoryview(message.metadata))
            if compressed:
                raise Problem(415, "compressed-arrow", "the Arrow stream is compressed; send it without compression")
            rows += length if message.type == "record batch" else 0
            refuse_too_many(max(rows, length), most)
        with pa.ipc.open_stream(body) as stream:
            table = stream.read_all()
        table.validate(full=True)
    except (pa.ArrowException, ValueError, IndexError, OSError, KeyError) as error:
        raise Problem(400, "malformed-arrow", f"not a stream of Arrow record batches: {error}") from error
    return table


def _batch_facts(metadata: memoryview) -> tuple[int, bool]:
    """Return the number of rows of a message's record batch, and whether it is compressed; (0, False) for others.

    The metadata are a flatbuffer: a table begins with the distance back to its list of fields, which has the place of
    each field within the table. A `Message` has the type of its header and the header as fields 1 and 2; a
    `DictionaryBatch` (2) holds its `RecordBatch` (3) as field 1; that has its length and compression as fields 0 and 3.
    """

    def number(place: int, size: int) -> int:
        if place < 0 or place + size > len(metadata):
            raise IndexError("a place outside of the message")
        return int.from_bytes(metadata[place : place + size], "little", signed=size == 4)

    def field(table: int, index: int) -> int:
        fields = table - number(table, 4)
        if 4 + 2 * index >= number(fields, 2):
            return 0
        offset = number(fields + 4 + 2 * index, 2) & 0xFFFF
        return table + offset if offset else 0

    def below(place: int) -> int:
        return place + number(place, 4)

    message = below(0)
    kind_place, header = field(message, 1), field(message, 2)
    kind = number(kind_place, 1) if kind_place else 0
    if kind not in (2, 3) or not header:
        return 0, False
    batch = below(header)
    if kind == 2:
        inner = field(batch, 1)
        if not inner:
            return 0, False
        batch = below(inner)
    length = field(batch, 0)
    return (number(length, 8) if length else 0), bool(field(batch, 3))


def _arrow_codes(column: Any, schema: Schema, variable: int) -> FloatArray | None:
    """Return the codes of an Arrow column without looking at single cells; None if there is something unusual."""
    pa, domain, labels = need_arrow(), schema.domains[variable], schema.labels[variable]
    kind = column.type
    if domain is None:
        return None
    if labels is None:
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
            return None
        own = _numbers(column)
        return None if domain.outside(own).any() or np.isinf(own).any() else own
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        column = column.dictionary_encode()
    elif not pa.types.is_dictionary(kind):
        return None
    codes = {label: float(code) for code, label in enumerate(labels)}
    parts = [np.empty(0)]
    for chunk in column.chunks:
        known = [codes.get(value, np.nan) for value in chunk.dictionary.to_pylist()]
        places = _numbers(chunk.indices)
        found = np.append(known, np.nan)[np.where(np.isnan(places), len(known), places).astype(np.int64)]
        if (np.isnan(found) & ~np.isnan(places)).any():
            return None
        parts.append(found)
    return np.concatenate(parts)


def _numbers(column: Any) -> FloatArray:
    """Return numbers or truth values as floats, NaN where they are null."""
    pa = need_arrow()
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    return np.asarray(
        column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column.to_numpy(), float
    )


# -- answers -----------------------------------------------------------------------------------------------------------


def to_json(value: Any, finite: bool = True) -> bytes:
    """Return a value as JSON; if not all numbers are finite, −∞ is "-inf" and what is not a number null."""
    return orjson.dumps(value if finite else json_value(value), option=orjson.OPT_SERIALIZE_NUMPY)


def dict_rows(columns: Mapping[str, Column]) -> Iterator[dict[str, Any]]:
    """Yield the rows of columns.

    Examples:
        >>> list(dict_rows({"p": np.array([0.25, 1.0]), "rain": {"no": np.array([0.5, 1]), "yes": np.array([0.5, 0])}}))
        [{'p': 0.25, 'rain': {'no': 0.5, 'yes': 0.5}}, {'p': 1.0, 'rain': {'no': 1.0, 'yes': 0.0}}]
    """
    names = list(columns)
    for row in zip(*(_cells(own) for own in columns.values()), strict=True):
        yield dict(zip(names, row, strict=True))


def _cells(column: Column) -> Sequence[Any]:
    if isinstance(column, Mapping):
        labels = list(column)
        parts = (np.asarray(own).tolist() for own in column.values())
        return [dict(zip(labels, row, strict=True)) for row in zip(*parts, strict=True)]
    return column if isinstance(column, list) else np.asarray(column).tolist()


def to_ndjson(columns: Mapping[str, Column]) -> bytes:
    """Return rows, one line each."""
    lines = [to_json(row, finite=False) for row in dict_rows(columns)]
    return b"\n".join([*lines, b""])


def to_arrow(columns: Mapping[str, Column]) -> memoryview:
    """Return columns as an Arrow stream; lists of one length as fixed-size lists, named columns as structs."""
    pa = need_arrow()
    table = pa.table({name: _arrow_array(pa, own) for name, own in columns.items()})
    size = pa.MockOutputStream()  # counts what is written: megabytes are not moved about while a buffer grows
    _write_stream(pa, table, size)
    found = np.empty(size.size(), dtype=np.uint8)  # in large pages, where an array of bytes would be in small ones
    _write_stream(pa, table, pa.FixedSizeBufferWriter(pa.py_buffer(found)))
    return memoryview(found)  # type: ignore[arg-type]


def _write_stream(pa: Any, table: Any, sink: Any) -> None:
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def _arrow_array(pa: Any, column: Column) -> Any:
    if isinstance(column, Mapping):
        return pa.StructArray.from_arrays([_arrow_array(pa, own) for own in column.values()], names=list(column))
    if isinstance(column, list):
        try:
            return pa.array(column)
        except (pa.ArrowException, TypeError):  # labels of several kinds
            return pa.array([None if cell is None else str(cell) for cell in column])
    own = np.ascontiguousarray(column)
    return pa.array(own) if own.ndim == 1 else pa.FixedSizeListArray.from_arrays(pa.array(own.ravel()), own.shape[1])
