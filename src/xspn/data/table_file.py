"""`TableFile`: named columns of cells as a file has them, made codes by the rules of `xspn.data.column_types`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from xspn.core.arrays import AnyArray
from xspn.core.checks import is_missing, nearest_name, place_of, suggestion
from xspn.core.errors import DataError, DataTypeError, default_name
from xspn.data.column_types import identifier
from xspn.data.decimals import NUMBER
from xspn.data.domain import EXACT_WHOLE
from xspn.data.frames import PANDAS, has_huge_numbers
from xspn.data.schema import STRICT, Schema, Tolerance
from xspn.data.table import Table, table_of_cells

LONGEST = 1000  # letters of a number; what is longer stays a text
MOSTLY = 0.5  # a column with a larger fraction of numbers than this is one of numbers, and any text in it a mistake


@dataclass(frozen=True)
class TableFile:
    """Columns of cells; None is a missing one, and cells of text files are text.

    Attributes:
        source: The name of the file, for error messages.
        names: The names of the columns, each of them once.
        cells: The cells of each column.
        lines: The line that each row began in, for text files.
        is_listed: Whether the columns are items that rows list: a column that the table lacks is one that no row lists.
        absent: What stands where a row does not list an item: 0, or None for a missing value.
        row_names: What the rows of a long table are called.
        row_heading: What these names are names of, such as "voter".
        notes: What was recognized, and should be said.
    """

    source: str
    names: tuple[str, ...]
    cells: tuple[list[Any], ...]
    lines: Sequence[int] | None = None
    is_listed: bool = field(default=False, repr=False)
    absent: int | None = field(default=None, repr=False)
    row_names: Sequence[str] | None = field(default=None, repr=False)
    row_heading: str = field(default="row", repr=False)
    notes: tuple[str, ...] = field(default=(), repr=False)

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
        names = None if self.row_names is None else [self.row_names[i] for i in chosen]
        return replace(self, cells=cells, lines=lines, row_names=names)

    def answers(self, names: Sequence[str], columns: Sequence[Sequence[Any]]) -> "dict[str, Sequence[Any]]":
        """Return columns about the rows by their names, with what the rows are called first, if they have names."""
        known = {} if self.row_names is None or self.row_heading in names else {self.row_heading: self.row_names}
        return {**known, **dict(zip(names, columns, strict=True))}

    def row_called(self, row: int) -> str:
        """Return what a row is called: its name, the line that it began in, or its number."""
        if self.row_names is not None:
            return str(self.row_names[row])
        return f"row {row}" if self.lines is None else f"line {self.lines[row]}"

    def without_identifiers(self, kept: Iterable[str] = ()) -> "TableFile":
        """Return the table without columns that look like identifiers of its rows, and a note for each of them.

        Args:
            kept: Columns that stay whatever they look like.
        """
        known = set(kept)
        found = {name: why for name, own in zip(self.names, self.cells, strict=True) if (why := identifier(name, own))}
        left_out = {name: why for name, why in found.items() if name not in known}
        if not left_out or len(left_out) == len(self.names):
            return self
        notes = tuple(
            f"{self.source}: column {name!r} is left out: it looks like a row identifier ({why})"
            for name, why in left_out.items()
        )
        return replace(self.without(left_out), notes=(*self.notes, *notes))

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
            row = cells.index(texts[numeric.index(False)])
            found = f"{self.source}: expected a number, found {cells[row]!r} at {self.place(row, column)}"
            if row == 0 and self.lines is not None and self.names[column] == default_name(column):
                raise DataTypeError(f"{found}; say so if the first line holds names").with_remedy("header")
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
        some_known = (tolerance.columns or self.is_listed) and any(name in places for name in names)
        optional = set(names if some_known else absent_is_missing)
        lacking = [n for n in names if n not in places and n not in optional]
        if lacking:
            known = set(names)
            spare = [name for name in self.names if name not in known]
            near = nearest_name(lacking[0], spare)
            hint = "" if near is None else f"; did you mean {lacking[0]!r} by {near!r}?"
            message = f"{self.source}: the table lacks the column {lacking[0]!r} that the model knows{hint}"
            error = DataError(message)
            raise error if any(name in places for name in names) else error.with_remedy("layout")
        out = np.full((self.n_rows, len(schema)), np.nan)
        for j, name in enumerate(names):
            if name in places:
                out[:, j] = self._codes(schema, j, places[name], tolerance)
            elif self.absent is not None:
                out[:, j] = schema.codes(j, np.array([self.absent], dtype=object), self.source)[0]
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
