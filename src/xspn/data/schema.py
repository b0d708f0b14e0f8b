"""`Schema`: names, domains, labels and types of a table's columns; it turns tables into codes and back."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import (
    Names,
    as_array,
    cell_name,
    column_index,
    first_double,
    is_text,
    numbers_of,
    same_columns,
    table,
)
from xspn.core.errors import DataError, QueryError, StructureError, default_name
from xspn.data.domain import EXACT_WHOLE, Domain, Labels, Place, checked_labels, codes_of, means_no_and_yes
from xspn.data.frames import (
    Frame,
    built,
    gather_collection,
    is_collection,
    labeled,
    narwhals_type,
    need_pandas,
    pandas_column,
)

Attributes = tuple[tuple[str, tuple[str | None, ...]], ...]  # names, and a value or None for each column


@dataclass(frozen=True)
class Tolerance:
    """What a table may differ in from the one that a model was learned from.

    Attributes:
        columns: DataFrames and files may have their columns in any order, and lack some, which are missing then.
        values: A value that a discrete column did not have counts as missing.
    """

    columns: bool = False
    values: bool = False


STRICT = Tolerance()


@dataclass(frozen=True)
class Schema:
    """What is known of each column of a table.

    Attributes:
        domains: What values it may take; None outside the circuit's scope.
        names: The names, if there are any.
        labels: What the codes 0..k−1 stand for, or None where they stand for themselves.
        dtypes: The type of a DataFrame's column, or None where the table was not one.
        attributes: What is known of the columns themselves, such as the party of a member; see `xspn.data.attributes`.
        library: The library whose DataFrames tables are decoded to, "pandas", "polars", …; None if there was none.
    """

    domains: tuple[Domain | None, ...]
    names: Names | None
    labels: tuple[Labels | None, ...]
    dtypes: tuple[str | None, ...]
    library: str | None = field(default=None, compare=False)  # how tables are shown, not what they hold
    attributes: Attributes = field(default=(), compare=False)

    @classmethod
    def of(
        cls,
        domains: Sequence[Domain | None],
        names: Sequence[str] | None = None,
        labels: Mapping[Any, Iterable[Any]] | Sequence[Iterable[Any] | None] | None = None,
        dtypes: Sequence[str | None] | None = None,
        library: str | None = None,
        attributes: Attributes = (),
    ) -> "Schema":
        """Return the schema after checking that names, labels, types and attributes fit the domains."""
        own = tuple(domains)
        checked = _checked_names(names, len(own))
        types = (None,) * len(own) if dtypes is None else tuple(dtypes)
        if len(types) != len(own):
            raise StructureError(f"circuit: {len(own)} columns need as many types, found {len(types)}")
        for name, values in attributes:
            if len(values) != len(own):
                raise StructureError(f"circuit: {len(own)} columns need as many of {name!r}, found {len(values)}")
        return cls(own, checked, _checked_labels(labels, own, checked), types, library, attributes)

    def over(self, domains: Sequence[Domain | None]) -> "Schema":
        """Return the schema of another circuit for the same tables; which values are ordered, leaves do not know."""
        kept = [
            known if known is not None and domain == Domain(known.cardinality) else domain
            for known, domain in zip(self.domains, domains, strict=True)
        ]
        return replace(self, domains=tuple(kept))

    def with_class(self, labels: Sequence[Any] | None, n_classes: int) -> "Schema":
        """Return the schema with one more column for a class, under a name that no other column has."""
        name = "class"
        while self.names is not None and name in self.names:
            name += "_"
        names = None if self.names is None else [*self.names, name]
        domains = [*self.domains, Domain(n_classes)]
        attributes = tuple((own, (*values, None)) for own, values in self.attributes)
        return Schema.of(domains, names, [*self.labels, labels], [*self.dtypes, None], self.library, attributes)

    def take(self, order: Sequence[int]) -> "Schema":
        """Return the schema of some columns, in this order."""
        return Schema(
            tuple(self.domains[j] for j in order),
            None if self.names is None else tuple(self.names[j] for j in order),
            tuple(self.labels[j] for j in order),
            tuple(self.dtypes[j] for j in order),
            self.library,
            tuple((name, tuple(values[j] for j in order)) for name, values in self.attributes),
        )

    def with_codes(self, column: int, codes: Sequence[int]) -> "Schema":
        """Return the schema for tables in which a discrete column has only these of its codes, renumbered from 0."""
        own = [self.label(column, code) for code in codes]
        plain = self.labels[column] is None and own == list(range(len(own)))
        domains, labels = list(self.domains), list(self.labels)
        domains[column], labels[column] = Domain(len(codes)), None if plain else tuple(own)
        return Schema.of(domains, self.names, labels, self.dtypes, self.library, self.attributes)

    def __len__(self) -> int:
        return len(self.domains)

    @property
    def are_binary(self) -> bool:
        """Whether every column has two values."""
        return all(domain is not None and domain.cardinality == 2 for domain in self.domains)

    @property
    def shown_names(self) -> Names:
        """The names of the columns; X0, X1, … where they have none."""
        return self.names or tuple(map(self.shown_name, range(len(self))))

    def shown_name(self, variable: int) -> str:
        """Return the name of a column; X0, X1, … where they have none."""
        return default_name(variable) if self.names is None else self.names[variable]

    @property
    def meanings(self) -> tuple[Labels | None, ...]:
        """What the codes of each column stand for; None where they are numbers, or mean no and yes in any words."""
        return tuple(None if own is None or means_no_and_yes(own) else own for own in self.labels)

    def index(self, variable: int | str) -> int:
        """Return the column of a variable given by index or by name."""
        return column_index(variable, len(self), self.names)

    def indices(self, variables: Iterable[int | str]) -> list[int]:
        """Return the columns of several variables."""
        if isinstance(variables, str) or not isinstance(variables, Iterable):
            raise DataError(f"expected a list of variables, found {variables!r}; one variable is [{variables!r}]")
        return [self.index(v) for v in variables]

    def name(self, variable: int) -> str:
        """Name a variable for an error message."""
        return str(variable) if self.names is None else repr(self.names[variable])

    def label(self, variable: int, code: float) -> Any:
        """Return what a code of a variable stands for; the number itself where it has no labels."""
        labels = self.labels[variable]
        if labels is not None:
            return labels[int(code)]
        domain = self.domains[variable]
        if (self.dtypes[variable] or "").startswith("bool"):
            return bool(code)
        return int(code) if domain is not None and domain.is_discrete else float(code)

    def numbers(self) -> list[FloatArray | None]:
        """Return the numbers that the codes of each column stand for: none listed for real ones, None for names.

        Numbers can be averaged: real ones, steps of a scale, and zeros and ones.

        Examples:
            >>> own = Schema.of([Domain.real(), Domain.ordinal(3), Domain(3)], labels=[None, [1, 2, 5], None])
            >>> [None if found is None else found.tolist() for found in own.numbers()]
            [[], [1.0, 2.0, 5.0], None]
        """
        found: list[FloatArray | None] = []
        for domain, labels in zip(self.domains, self.labels, strict=True):
            size = 0 if domain is None else domain.cardinality
            values = range(size or 0) if labels is None else labels
            is_number = domain is not None and (size is None or domain.ordered or size == 2)
            is_number &= not any(isinstance(value, str) for value in values)
            found.append(np.array([float(value) for value in values]) if is_number else None)
        return found

    # -- from what users hand in to codes ------------------------------------------------------------------------------

    def encode(
        self, X: Any, what: str = "X", numbers_are_codes: bool = True, tolerance: Tolerance = STRICT
    ) -> AnyArray:
        """Return a table of the right width as codes or real numbers: (rows, columns).

        Cells of DataFrames and files, and text in lists, are looked up among the labels. Arrays of numbers are codes
        already, unless the caller says that they are labels that happen to be numbers. The columns of files go by their
        names, in any order; those of DataFrames too, if that is tolerated.
        """
        codes = self._encoded(X, what, numbers_are_codes, tolerance)
        return self._known(codes) if tolerance.values else codes

    def _encoded(self, X: Any, what: str, numbers_are_codes: bool, tolerance: Tolerance) -> AnyArray:
        if is_collection(X):
            X = gather_collection(X, what)
        if isinstance(X, str | os.PathLike):
            from xspn.data.files import read_path

            X = read_path(X, what)
        if is_coded(X):
            return X.encoded_by(self, tolerance)  # type: ignore[no-any-return]
        frame = None if isinstance(X, np.ndarray) else Frame.of(X)
        if frame is not None and self.goes_by_name(frame, tolerance):
            return self._by_name(frame, what, tolerance)
        if frame is None:
            array = as_array(X, what)
            is_codes = array.dtype.kind in "biuf" and numbers_are_codes
            is_codes |= not any(self.labels) or array.dtype.kind == "c"
            if is_codes or array.ndim != 2 or array.shape[1] != len(self):
                return table(array, len(self), self.names, what)
            return np.column_stack([self.codes(j, array[:, j], what, tolerance=tolerance) for j in range(len(self))])
        if frame.is_pandas and not any(self.labels):
            return table(frame.native, len(self), self.names, what)
        if self.names is not None:
            same_columns([str(name) for name in frame.native.columns], self.names, what)
        elif frame.shape[1] != len(self):
            raise DataError(f"{what}: expected {len(self)} columns, found {frame.shape[1]}")
        return np.column_stack([self.codes(j, frame.cells(j), what, tolerance=tolerance) for j in range(len(self))])

    def goes_by_name(self, frame: Frame | None, tolerance: Tolerance) -> bool:
        """Whether the columns of a DataFrame are found by their names, rather than taken in their order."""
        return frame is not None and tolerance.columns and self.names is not None and frame.names is not None

    def _by_name(self, frame: Frame, what: str, tolerance: Tolerance) -> AnyArray:
        """Return the columns of a DataFrame that go by these names, in whatever order, and NaN for those it lacks."""
        found, names = {name: j for j, name in enumerate(frame.names or ())}, self.names or ()
        if not any(name in found for name in names):
            shown = ", ".join(map(repr, names[:5])) + (", …" if len(names) > 5 else "")
            raise DataError(f"{what}: none of the columns that the model knows ({shown}) is in the table")
        out = np.full((frame.shape[0], len(self)), np.nan)
        for j, name in enumerate(names):
            if name in found:
                out[:, j] = self.codes(j, frame.cells(found[name]), what, tolerance=tolerance)
        return out

    def _known(self, codes: AnyArray) -> AnyArray:
        """Return codes with NaN for finite numbers that a discrete column cannot hold."""
        for j, domain in enumerate(self.domains):
            own = np.asarray(codes[:, j], dtype=np.float64)
            if domain is not None and domain.is_discrete and (bad := domain.outside(own) & np.isfinite(own)).any():
                codes = np.array(codes, dtype=np.float64)
                codes[bad, j] = np.nan
        return codes

    def codes(
        self,
        variable: int,
        cells: AnyArray,
        what: str = "X",
        place: Place | None = None,
        tolerance: Tolerance = STRICT,
    ) -> FloatArray:
        """Return one column's cells as codes or numbers; `place` names a cell by its row."""

        def name_cell(row: int) -> str:
            return cell_name((row, variable), self.names) if place is None else place(row)

        labels = self.labels[variable]
        if labels is None:
            return numbers_of(cells, name_cell, what)
        return codes_of(cells, labels, name_cell, what, tolerance.values)

    def evidence(self, evidence: Any, what: str = "evidence") -> AnyArray:
        """Return rows of evidence from a table, one row of it, a mapping {variable: value}, or nothing."""
        if not is_table(evidence):
            return self.row({} if evidence is None else evidence, what)[None, :]
        return self.encode(evidence, what)

    def row(self, evidence: Any, what: str) -> FloatArray:
        """Return one checked row of evidence; columns outside the scope are dropped."""
        if hasattr(evidence, "to_dict") and Frame.of(evidence) is None:
            evidence = evidence.to_dict()  # a Series knows its variables by name: their order does not matter
        is_mapping = isinstance(evidence, Mapping)
        row = self._row_of_mapping(evidence, what) if is_mapping else self._only_row(evidence, what)
        outside = [v for v in np.flatnonzero(~np.isnan(row)) if self.domains[v] is None]
        if is_mapping and outside:
            raise DataError(f"{what}: variable {self.name(int(outside[0]))} is not in the circuit's scope")
        row[outside] = np.nan
        for v in np.flatnonzero(~np.isnan(row)):
            domain = self.domains[v]
            if domain is not None and domain.outside(row[v : v + 1])[0]:
                expected = f"expected {domain.describe()} for variable {self.name(int(v))}"
                raise DataError(f"{what}: {expected}, found {row[v]:g}")
        return row

    def _row_of_mapping(self, evidence: Mapping[Any, Any], what: str) -> FloatArray:
        row = np.full(len(self), np.nan)
        seen: set[int] = set()
        for variable, value in evidence.items():
            index = self.index(variable)
            labels = self.labels[index]
            if index in seen:
                raise DataError(f"{what}: variable {self.name(index)} is given twice")
            seen.add(index)
            if labels is None:
                row[index] = table([[value]], what=f"{what} for {variable!r}")[0, 0]
            else:
                row[index] = codes_of([value], labels, lambda _, own=index: f"variable {self.name(own)}", what)[0]  # type: ignore[misc]
        return row

    def _only_row(self, evidence: Any, what: str) -> FloatArray:
        is_plain = Frame.of(evidence) is None and not is_coded(evidence)
        rows = as_array(evidence, what) if is_plain else evidence
        if is_plain and rows.ndim == 1:
            rows = rows.reshape(1, -1)
        codes = None if is_plain and rows.ndim != 2 else self.encode(rows, what)
        if codes is None or len(codes) != 1:
            raise DataError(f"{what}: expected one row or a mapping, found an array of shape {np.shape(rows)}")
        return np.array(codes[0], dtype=np.float64)

    # -- from codes to what users know ---------------------------------------------------------------------------------

    def decode(self, rows: AnyArray, template: Any = None, index: Any = None) -> Any:
        """Return codes as a DataFrame with the labels and types of the columns.

        Args:
            rows: The codes, NaN where a value is missing.
            template: A pandas DataFrame whose columns and types the answer shall have.
            index: The index of a pandas DataFrame.
        """
        codes = np.asarray(rows, dtype=np.float64)
        if template is None and self.library not in (None, "pandas"):
            columns = [self.plain_column(j, codes[:, j]) for j in range(len(self))]
            types = [narwhals_type(*own) for own in zip(self.dtypes, self.domains, self.labels, strict=True)]
            return built(str(self.library), self.shown_names, columns, types)
        pandas = need_pandas()
        wanted = self.dtypes if template is None else list(template.dtypes)
        series = {}
        for j in range(len(self)):
            values = pandas_column(codes[:, j], self.domains[j], self.labels[j], wanted[j])
            own_type = object if values.dtype == object else None  # or pandas would make text of objects
            series[j] = pandas.Series(values, index=index, dtype=own_type)
        frame = pandas.DataFrame(series, index=pandas.RangeIndex(len(codes)) if index is None else index)
        if template is not None:
            frame.columns = template.columns
        elif self.names is not None:
            frame.columns = list(self.names)
        return frame

    def labeled_probabilities(self, table: FloatArray, beside: Mapping[str, FloatArray] | None = None) -> Any:
        """Return probabilities (rows, columns, values) as a DataFrame, a line for each value of a discrete column.

        Arrays of the same shape may come beside them, under their names.
        """
        sizes = [(j, domain.cardinality) for j, domain in enumerate(self.domains) if domain is not None]
        cells = [(j, code) for j, size in sizes for code in range(size or 0)]
        n_rows, variables, codes = len(table), [j for j, _ in cells], [code for _, code in cells]
        columns: dict[str, list[Any]] = {
            "row": np.repeat(np.arange(n_rows), len(cells)).tolist(),
            "variable": [self.shown_name(j) for j in variables] * n_rows,
            "value": [self.label(j, code) for j, code in cells] * n_rows,
            "probability": table[:, variables, codes].ravel().tolist(),
            **{name: own[:, variables, codes].ravel().tolist() for name, own in (beside or {}).items()},
        }
        if self.library not in (None, "pandas"):
            if len({type(value) for value in columns["value"]}) > 1:  # a column has one type there
                columns["value"] = [str(value) for value in columns["value"]]
            return built(self.library, list(columns), list(columns.values()), [None] * len(columns))
        return need_pandas().DataFrame(columns)

    def plain_column(self, column: int, codes: FloatArray) -> list[Any]:
        """Return a column's values as plain Python values: labels or numbers, None where there is none.

        A real column of whole numbers gets the nearest whole numbers.
        """
        domain = self.domains[column]
        whole = (self.dtypes[column] or "").lower().startswith(("int", "uint"))

        def value(code: float) -> Any:
            if code != code or domain is None:
                return None
            found = self.label(column, code)
            return round(found) if whole and isinstance(found, float) else found

        return [value(code) for code in codes.tolist()]

    def values(self, rows: FloatArray) -> AnyArray:
        """Return codes as an array of the labels that they stand for; the codes where there are no labels."""
        if not any(self.labels):
            return rows
        columns = [rows[:, j] if own is None else labeled(rows[:, j], own) for j, own in enumerate(self.labels)]
        labels = [label for own in self.labels for label in own or ()]
        objects = any(isinstance(label, str) or abs(label) >= EXACT_WHOLE for label in labels)
        return np.column_stack([np.asarray(column, dtype=object if objects else np.float64) for column in columns])

    def binary(self, variables: Sequence[int], what: str) -> None:
        """Refuse variables that are not binary ones of the circuit, or no variables, or one that is given twice."""
        if not variables or len(set(variables)) != len(variables):
            raise QueryError(f"{what}: expected at least one variable, each of them once")
        for v in variables:
            domain = self.domains[v]
            if domain is None or domain.cardinality != 2:
                fault = "is not in the circuit's scope" if domain is None else "is not binary: only ones of 0/1 count"
                raise QueryError(f"{what}: variable {self.name(v)} {fault}")


def is_coded(X: Any) -> bool:
    """Whether something is a `Table`, or a `TableFile`: tables that know how a schema codes them."""
    return hasattr(type(X), "encoded_by")


def is_table(evidence: Any) -> bool:
    """Whether evidence has rows of its own, rather than being a mapping, one row, a text or nothing."""
    return not (evidence is None or isinstance(evidence, Mapping | str) or _is_one_row(evidence))


def _is_one_row(evidence: Any) -> bool:
    """Whether evidence is a row rather than a table: a Series, a 1-D array, a list of plain values."""
    if Frame.of(evidence) is not None:
        return False
    if hasattr(evidence, "ndim"):
        return bool(evidence.ndim == 1)
    return isinstance(evidence, list | tuple) and not any(
        hasattr(cell, "__len__") and not isinstance(cell, str) for cell in evidence
    )


def _checked_names(names: Sequence[str] | None, n_columns: int) -> Names | None:
    """Check the names: one for each column, each of them once."""
    if names is None:
        return None
    own = tuple(str(name) for name in names)
    if len(own) != n_columns:
        raise StructureError(f"circuit: {n_columns} columns need as many names, found {len(own)}")
    if len(set(own)) != len(own):
        raise StructureError(f"circuit: the name {first_double(own)!r} occurs twice")
    if not is_text("".join(own)):
        bad = next(name for name in own if not is_text(name))
        raise StructureError(f"circuit: the name {bad!r} has letters that no text has (half a surrogate pair)")
    return own


def _checked_labels(labels: Any, domains: tuple[Domain | None, ...], names: Names | None) -> tuple[Labels | None, ...]:
    if labels is None:
        return (None,) * len(domains)
    if isinstance(labels, Mapping):
        by_column = {column_index(v, len(domains), names): own for v, own in labels.items()}
        labels = [by_column.get(j) for j in range(len(domains))]
    if len(labels) != len(domains):
        raise StructureError(f"circuit: {len(domains)} columns need as many lists of labels, found {len(labels)}")
    checked: list[Labels | None] = []
    for j, (own, domain) in enumerate(zip(labels, domains, strict=True)):
        where = f"labels of variable {j if names is None else repr(names[j])}"
        checked.append(None if own is None else checked_labels(own, where))
        size = None if domain is None else domain.cardinality
        if own is not None and domain is not None and len(checked[-1] or ()) != size:
            expected = "none for a real variable" if size is None else f"{size}, one for each value"
            raise StructureError(f"{where}: expected {expected}, found {len(checked[-1] or ())}")
    return tuple(checked)
