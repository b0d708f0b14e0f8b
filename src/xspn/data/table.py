"""`Table`: rows of codes and the schema that they are coded by, made once of whatever a user hands in."""

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xspn.core.arrays import AnyArray
from xspn.core.checks import Names, as_array, cell_name, column_index, table
from xspn.core.errors import DataError, ParameterError, TableWarning
from xspn.data.column_types import (
    ColumnSpec,
    ParsedColumn,
    Where,
    column_spec,
    parse_column,
    with_shared_labels,
)
from xspn.data.domain import Domain
from xspn.data.frames import Frame, gather_collection, has_huge_numbers, is_collection, labeled
from xspn.data.schema import STRICT, Schema, Tolerance, is_coded

Bits = NDArray[np.uint8]
CellPlace = Callable[[int, int], str]  # names the cell of a row and a column

MISSING = 2  # the byte of a missing value among bits
BINARY = (ColumnSpec(word="binary"), ColumnSpec(domain=Domain.binary()))
CELLS_AT_ONCE = 1 << 20  # that are compared in one go
SHARED = ("categorical", "ordinal")  # asked of all columns, these give them one scale
LARGEST_NUMBER = 1e100  # squares, and sums of them, must be numbers too
LEAST_RANGE = 1e-100


@dataclass(frozen=True, eq=False)
class Table:
    """A table after the door: nothing behind it reads, checks or converts cells again.

    Attributes:
        codes: (rows, columns): codes of discrete columns, numbers of real ones, NaN where a value is missing. A table
            of zeros and ones keeps the type that it came in.
        schema: What the columns are.
        template: The pandas DataFrame that it came as, without its rows; None for anything else.
    """

    codes: AnyArray
    schema: Schema
    template: Any = None

    @classmethod
    def of(cls, X: Any, domains: Any = None, binarize: float | None = None) -> "Table":
        """Return a training table with the schema that its cells ask for, by the rules of `xspn.data.column_types`.

        Args:
            X: An array, nested lists, a DataFrame (pandas, polars, pyarrow, …), the path of a file (CSV, TSV, Parquet,
                npz), a Dask collection that is small enough to be gathered, or a `Table`, which is taken as it is.
            domains: What the columns hold, where it shall not be inferred.
            binarize: Values above this number count as 1, others as 0; None takes values as they are.

        Examples:
            >>> found = Table.of([[0, 3, 0.5], [1, np.nan, 7]])
            >>> [domain.kind for domain in found.schema.domains]
            ['binary', 'ordinal', 'real']
            >>> found = Table.of([["no", "b"], ["yes", "a"]], domains=["binary", ["a", "b", "c"]])
            >>> found.schema.labels, found.codes.tolist()
            ((('no', 'yes'), ('a', 'b', 'c')), [[0.0, 1.0], [1.0, 0.0]])
        """
        refuse_unreadable(X)
        if is_collection(X):
            X = gather_collection(X)
        if isinstance(X, str | os.PathLike):
            from xspn.data.files import read_path

            X = _without_identifiers(read_path(X, "X"), domains if binarize is None else "binary")
        found = X if is_coded(X) else None
        if found is not None and not isinstance(found, Table):
            found = found.read(None if binarize is not None else domains)
        elif found is not None and domains is not None and not (domains == "binary" and found.schema.are_binary):
            raise ParameterError("domains: the columns of a `Table` are known already; say it when you make the table")
        if binarize is not None:
            return _binarized_table(X if found is None else found, binarize)
        return _read_frame_or_array(X, domains) if found is None else found

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.codes.shape[0], self.codes.shape[1]

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def domains(self) -> list[Domain]:
        """The domain of each column."""
        return [domain for domain in self.schema.domains if domain is not None]

    def rows(self, chosen: AnyArray) -> "Table":
        """Return some rows, by index or mask."""
        return replace(self, codes=self.codes[chosen])

    def columns(self, chosen: Sequence[int]) -> "Table":
        """Return some columns, in this order."""
        own = list(chosen)
        template = None if self.template is None else self.template.iloc[:, own]
        return Table(self.codes[:, own], self.schema.take(own), template)

    def bits(self, allow_missing: bool = False) -> Bits:
        """Return a binary table as bytes: 0, 1, and 2 where a value is missing, if that is allowed."""
        return binary_table(self.codes, self.schema.names, allow_missing)

    def with_attributes(self, source: Any, row_names: Sequence[str] | None = None) -> "Table":
        """Return the table with what is known of its columns; see `xspn.data.attributes.attributes_of`."""
        from xspn.data.attributes import attributes_of

        own = attributes_of(source, self.schema.shown_names, row_names)
        return replace(self, schema=replace(self.schema, attributes=own))

    def encoded_by(self, schema: Schema, tolerance: Tolerance = STRICT) -> AnyArray:
        """Return the rows as codes of another schema: as they are if it is the same, by their labels otherwise."""
        own = self.schema
        if (own.domains, own.labels) == (schema.domains, schema.labels):
            return self.codes
        if len(own) != len(schema):
            raise DataError(f"X: expected {len(schema)} columns, found {len(own)}")
        rows = np.asarray(self.codes, dtype=np.float64)
        cells = [rows[:, j] if labels is None else labeled(rows[:, j], labels) for j, labels in enumerate(own.labels)]
        return np.column_stack([schema.codes(j, column, tolerance=tolerance) for j, column in enumerate(cells)])

    def learnable(self) -> "Table":
        """Return the table, refusing real numbers that cannot be learned from: their squares overflow or vanish."""
        for j, domain in enumerate(self.schema.domains):
            if domain is None or domain.is_discrete:
                continue
            own = np.asarray(self.codes[:, j], dtype=np.float64)
            name = self.schema.name(j)
            large = np.abs(own) > LARGEST_NUMBER
            if large.any():
                row = int(np.argmax(large))
                raise DataError(
                    f"X: expected numbers of at most {LARGEST_NUMBER:g}, found {own[row]:g} at "
                    f"{cell_name((row, j), self.schema.names)}; divide column {name} by a constant"
                )
            seen = own[~np.isnan(own)]
            span = float(np.ptp(seen)) if len(seen) else 0.0
            if 0 < span < LEAST_RANGE:
                raise DataError(
                    f"X: the numbers of column {name} lie within {span:.3g} of each other, and deviations below "
                    f"{LEAST_RANGE:g} vanish when squared; multiply the column by a constant"
                )
        return self


def _without_identifiers(file: Any, domains: Any) -> Any:
    """Return a file's table without identifiers of rows that `domains` does not mention; a warning tells."""
    if domains is not None and not isinstance(domains, Mapping):
        return file
    found = file.without_identifiers([str(name) for name in domains or ()])
    for note in found.notes[len(file.notes) :]:
        warnings.warn(f"{note}; say what it holds by domains to keep it", TableWarning, stacklevel=4)
    return found


def refuse_unreadable(X: Any) -> None:
    """Refuse what can be no table of ours, and say what to pass instead."""
    if hasattr(X, "toarray"):
        raise DataError("X: sparse tables are not supported; pass X.toarray()")
    if getattr(getattr(X, "dtype", None), "kind", "") == "c":
        raise DataError("X: Complex data not supported; expected real numbers")


def table_of_cells(
    cells: Sequence[AnyArray],
    names: Names | None,
    dtypes: Sequence[str | None],
    domains: Any,
    what: str = "X",
    place: CellPlace | None = None,
    categories: Sequence[Any] | None = None,
    array: AnyArray | None = None,
    library: str | None = None,
) -> Table:
    """Return the table of cells that are at hand column by column.

    Args:
        cells: The cells of each column: numbers (NaN where missing) or objects (None where missing).
        names: The names of the columns.
        dtypes: The types that a DataFrame of them has.
        domains: What the user says of the columns.
        what: The name of the table, for error messages.
        place: Names a cell by row and column, for error messages.
        categories: What the type of each column says of its values, if anything.
        array: All cells as one array, if they came so.
        library: The library of the DataFrame.
    """
    if not cells or not len(cells[0]):
        raise DataError(f"{what}: found no {'rows' if cells else 'columns'}")

    def name_cell(row: int, column: int) -> str:
        return cell_name((row, column), names) if place is None else place(row, column)

    specs = _column_specs(domains, categories or [None] * len(cells), names)
    if all(spec in (None, *BINARY) for spec in specs) and all(map(_is_binary, cells if array is None else [array])):
        parsed = [ParsedColumn(Domain.binary(), None, own) for own in cells]
        array = np.column_stack(cells) if array is None else array
    else:
        shared = isinstance(domains, str) and domains in SHARED
        parsed = (_parsed_as_one if shared else _parsed)(cells, specs, names, what, name_cell)
        array = np.column_stack([column.codes for column in parsed])
    schema = Schema.of(
        [column.domain for column in parsed], names, [column.labels for column in parsed], dtypes, library
    )
    return Table(array, schema)


def binary_table(array: AnyArray, names: Names | None = None, allow_missing: bool = False) -> Bits:
    """Return a numeric table as bytes, refusing empty tables and anything but 0, 1 and, if they are allowed, NaN.

    Examples:
        >>> binary_table(np.array([[0.0, 1.0], [np.nan, 1.0]]), allow_missing=True).tolist()
        [[0, 1], [2, 1]]
    """
    _refuse_empty(array.shape)
    if array.dtype.kind == "b":
        return np.ascontiguousarray(array).view(np.uint8)
    missing = np.isnan(array) if array.dtype.kind == "f" else np.zeros(array.shape, dtype=bool)
    bad = ~((array == 0) | (array == 1) | (missing & allow_missing))
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        place = cell_name((row, column), names)
        if missing[row, column]:
            raise DataError(f"X: a value is missing (NaN) at {place}; this needs complete rows")
        raise DataError(f"X: expected 0 or 1, found {array[row, column]:g} at {place}")
    return np.ascontiguousarray(np.where(missing, MISSING, array), dtype=np.uint8)


def binarized(array: AnyArray, threshold: float | None) -> AnyArray:
    """Return 1 where a value is above the threshold, 0 elsewhere, NaN where missing; unchanged without threshold."""
    if threshold is None:
        return array
    if not isinstance(threshold, int | float | np.number) or isinstance(threshold, bool) or np.isnan(threshold):
        raise ParameterError(f"binarize: expected a number or None, found {threshold!r}")
    values = np.asarray(array, dtype=np.float64)
    if np.isinf(values).any():
        row, column = (int(i) for i in np.argwhere(np.isinf(values))[0])
        raise DataError(f"X: expected finite numbers, found an infinity (inf) at row {row}, column {column}")
    return np.where(np.isnan(values), np.nan, (values > threshold).astype(np.float64))


def _binarized_table(X: Any, threshold: float) -> Table:
    frame, names, template, library = Frame.of(X), None, None, None
    if isinstance(X, Table):
        if any(X.schema.labels):
            raise DataError("X: expected numbers to compare with the threshold of `binarize`, found labels")
        cells, names, template, library = X.codes, X.schema.names, X.template, X.schema.library
    elif frame is not None:
        names, template, library = frame.names, frame.template, frame.library
        columns = [frame.cells(j) for j in range(frame.shape[1])] if not frame.is_pandas else []
        cells = table(np.column_stack(columns) if columns else frame.native, names=names, what="X")
    else:
        cells = table(X, what="X")
    codes = binarized(cells, threshold)
    return Table(codes, Schema.of([Domain.binary()] * codes.shape[1], names, library=library), template)


def _read_frame_or_array(X: Any, domains: Any) -> Table:
    frame = Frame.of(X)
    if frame is None:
        array = as_array(X, "X")
        allows_text = domains is not None and array.dtype.kind in "OUS" and array.ndim == 2
        array = np.asarray(array, dtype=object) if allows_text else table(array, what="X")
        _refuse_empty(array.shape)
        return table_of_cells(list(array.T), None, [None] * array.shape[1], domains, array=array)
    names, n = frame.names, frame.shape[1]
    _refuse_empty(frame.shape)
    whole = frame.numbers()
    cells = [frame.cells(j) for j in range(n)] if whole is None else list(whole.T)
    dtypes = [None if names is None else frame.type_name(j) for j in range(n)]
    categories = [frame.categories(j) for j in range(n)]
    found = table_of_cells(cells, names, dtypes, domains, categories=categories, array=whole, library=frame.library)
    return replace(found, template=frame.template)


def _refuse_empty(shape: tuple[int, ...]) -> None:
    for count, kind in zip(shape, ("sample", "feature"), strict=True):
        if count == 0:
            raise DataError(f"X: found 0 {kind}(s) (shape={shape}) while a minimum of 1 is required.")


def _is_binary(array: AnyArray) -> bool:
    """Whether a table or a column holds zeros, ones and missing values only."""
    if array.dtype.kind == "b":
        return True
    if array.dtype.kind not in "iuf":
        return False
    step = max(CELLS_AT_ONCE * len(array) // max(array.size, 1), 1)
    some_rows = (array[start : start + step] for start in range(0, len(array), step))
    return all(bool(((rows == 0) | (rows == 1) | (rows != rows)).all()) for rows in some_rows)


def _column_specs(domains: Any, categories: Sequence[Any], names: Names | None) -> list[ColumnSpec | None]:
    """Return what is asked of each column: by the user, else by its type."""
    n = len(categories)
    if domains is None or isinstance(domains, str | Domain) or hasattr(domains, "categories"):
        entries = [domains] * n
    elif isinstance(domains, Mapping):
        by_column = {column_index(variable, n, names): own for variable, own in domains.items()}
        entries = [by_column.get(j) for j in range(n)]
    elif isinstance(domains, Sequence):
        if len(domains) != n:
            raise ParameterError(f"domains: expected one for each of the {n} columns, found {len(domains)}")
        entries = list(domains)
    else:
        raise ParameterError(f"domains: expected a word, a mapping or a list, found {domains!r}")
    specs = []
    for j, (entry, own) in enumerate(zip(entries, categories, strict=True)):
        name = j if names is None else repr(names[j])
        specs.append(column_spec(own if entry is None else entry, f"domains of column {name}"))
    return specs


def _parsed(
    cells: Sequence[AnyArray], specs: list[ColumnSpec | None], names: Names | None, what: str, place: CellPlace
) -> list[ParsedColumn]:
    parsed = []
    for j, (own, spec) in enumerate(zip(cells, specs, strict=True)):
        where = Where(what, repr(j if names is None else names[j]), lambda row, column=j: place(row, column))  # type: ignore[misc]
        parsed.append(parse_column(own, spec, where))
    return with_shared_labels(parsed)


def _parsed_as_one(
    cells: Sequence[AnyArray], specs: list[ColumnSpec | None], names: Names | None, what: str, place: CellPlace
) -> list[ParsedColumn]:
    """Parse all columns as if they were one below the other, so that they get one scale."""
    n_rows = len(cells[0])
    where = Where(what, "of the table", lambda row: place(row % n_rows, row // n_rows))
    if len({own.dtype for own in cells}) > 1 and any(own.dtype.kind in "iu" and has_huge_numbers(own) for own in cells):
        cells = [own.astype(object) for own in cells]  # as floats they would lose digits
    whole = parse_column(np.concatenate(cells), specs[0], where)
    return [replace(whole, codes=codes) for codes in np.split(whole.codes, len(cells))]
