"""The columns of a circuit's tables: names, domains, labels, types, and how what users hand in is read by them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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
    row_of,
    same_columns,
    table,
)
from xspn.core.errors import DataError, QueryError, StructureError
from xspn.data.domain import Domain
from xspn.data.frames import as_frame, cells_of, column_of, need_pandas
from xspn.data.labels import Labels, Place, checked_labels, codes_of, means_no_and_yes


@dataclass(frozen=True)
class Columns:
    """What is known of each column of a table.

    Attributes:
        domains: What values it may take; None outside the circuit's scope.
        names: The names, if there are any.
        labels: What the codes 0..k−1 stand for, or None where they stand for themselves.
        dtypes: The type of a DataFrame's column, or None where the table was not one.
    """

    domains: tuple[Domain | None, ...]
    names: Names | None
    labels: tuple[Labels | None, ...]
    dtypes: tuple[str | None, ...]

    @classmethod
    def of(
        cls,
        domains: Sequence[Domain | None],
        names: Sequence[str] | None = None,
        labels: Mapping[Any, Iterable[Any]] | Sequence[Iterable[Any] | None] | None = None,
        dtypes: Sequence[str | None] | None = None,
    ) -> "Columns":
        """Check that names, labels and types fit the domains."""
        own = tuple(domains)
        checked = _checked_names(names, len(own))
        types = (None,) * len(own) if dtypes is None else tuple(dtypes)
        if len(types) != len(own):
            raise StructureError(f"circuit: {len(own)} columns need as many types, found {len(types)}")
        return cls(own, checked, _checked_labels(labels, own, checked), types)

    def over(self, domains: Sequence[Domain | None]) -> "Columns":
        """Return the columns of another circuit for the same tables: what it says of their order is kept."""
        kept = [
            known if known is not None and domain == Domain(known.cardinality) else domain
            for known, domain in zip(self.domains, domains, strict=True)
        ]
        return replace(self, domains=tuple(kept))

    def with_class(self, labels: Sequence[Any] | None, n_classes: int) -> "Columns":
        """Return the columns with one more for a class, under a name that no other column has."""
        name = "class"
        while self.names is not None and name in self.names:
            name += "_"
        names = None if self.names is None else [*self.names, name]
        return Columns.of([*self.domains, Domain(n_classes)], names, [*self.labels, labels], [*self.dtypes, None])

    def taken(self, order: Sequence[int], labels_of_last: Sequence[Any]) -> "Columns":
        """Return some columns in another order, the last of them with only these of its codes."""
        last = order[-1]
        codes = [int(code) for code in labels_of_last]
        domains = [self.domains[j] for j in order[:-1]]
        labels = [self.labels[j] for j in order[:-1]]
        own = [self.label(last, code) for code in codes]
        plain = self.labels[last] is None and own == list(range(len(own)))
        return Columns.of(
            [*domains, Domain(len(codes))],
            None if self.names is None else [self.names[j] for j in order],
            [*labels, None if plain else own],
            [self.dtypes[j] for j in order],
        )

    def __len__(self) -> int:
        return len(self.domains)

    @property
    def are_binary(self) -> bool:
        """Whether every column has two values."""
        return all(domain is not None and domain.cardinality == 2 for domain in self.domains)

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

    # -- from what users hand in to codes ------------------------------------------------------------------------------

    def table(self, X: Any, what: str = "X", numbers_are_codes: bool = True) -> AnyArray:
        """Return a table of the right width as codes or real numbers.

        Cells of DataFrames, and text in lists, are looked up among the labels. Arrays of numbers are codes already,
        unless they are said to hold labels that happen to be numbers.
        """
        frame = as_frame(X)
        if not any(self.labels):
            return table(X if frame is None else frame, len(self), self.names, what)
        if frame is None:
            array = as_array(X, what)
            is_codes = array.dtype.kind in "biuf" and numbers_are_codes
            if is_codes or array.dtype.kind == "c" or array.ndim != 2 or array.shape[1] != len(self):
                return table(array, len(self), self.names, what)
            cells = [array[:, j] for j in range(len(self))]
        else:
            if self.names is not None:
                same_columns([str(name) for name in frame.columns], self.names, what)
            elif len(frame.columns) != len(self):
                raise DataError(f"{what}: expected {len(self)} columns, found {len(frame.columns)}")
            cells = [cells_of(frame.iloc[:, j], self.name(j)) for j in range(len(self))]
        return np.column_stack([self.codes(j, own, what) for j, own in enumerate(cells)])

    def codes(self, variable: int, cells: AnyArray, what: str = "X", place: Place | None = None) -> FloatArray:
        """Return one column's cells as codes or numbers; `place` names a cell by its row."""

        def name_cell(row: int) -> str:
            return cell_name((row, variable), self.names) if place is None else place(row)

        labels = self.labels[variable]
        return numbers_of(cells, name_cell, what) if labels is None else codes_of(cells, labels, name_cell, what)

    def evidence(self, evidence: Any, what: str = "evidence") -> AnyArray:
        """Return rows of evidence from a table, one row of it, a mapping {variable: value}, or nothing."""
        one_row = evidence is None or isinstance(evidence, Mapping) or _is_one_row(evidence)
        if one_row:
            return self.row({} if evidence is None else evidence, what)[None, :]
        return self.table(evidence, what)

    def row(self, evidence: Any, what: str) -> FloatArray:
        """Return one checked row of evidence; columns outside the scope are dropped."""
        if hasattr(evidence, "to_dict") and as_frame(evidence) is None:
            evidence = evidence.to_dict()  # a Series knows its variables by name: their order does not matter
        if isinstance(evidence, Mapping):
            row = row_of({v: self._code(v, value, what) for v, value in evidence.items()}, len(self), self.names, what)
        else:
            row = self._only_row(evidence, what)
        outside = [v for v in np.flatnonzero(~np.isnan(row)) if self.domains[v] is None]
        if isinstance(evidence, Mapping) and outside:
            raise DataError(f"{what}: variable {self.name(int(outside[0]))} is not in the circuit's scope")
        row[outside] = np.nan
        for v in np.flatnonzero(~np.isnan(row)):
            domain = self.domains[v]
            if domain is not None and domain.outside(row[v : v + 1])[0]:
                expected = f"expected {domain.describe()} for variable {self.name(int(v))}"
                raise DataError(f"{what}: {expected}, found {row[v]:g}")
        return row

    def _code(self, variable: Any, value: Any, what: str) -> Any:
        """Return the code of a value in a mapping; a value without labels is left for `row_of` to check."""
        index = self.index(variable)
        labels = self.labels[index]
        if labels is None:
            return value
        return codes_of([value], labels, lambda row: f"variable {self.name(index)}", what)[0]

    def _only_row(self, evidence: Any, what: str) -> FloatArray:
        rows = evidence if as_frame(evidence) is not None else as_array(evidence, what)
        if isinstance(rows, np.ndarray) and rows.ndim == 1:
            rows = rows.reshape(1, -1)
        if len(np.shape(rows)) != 2 or np.shape(rows)[0] != 1:
            raise DataError(f"{what}: expected one row or a mapping, found an array of shape {np.shape(rows)}")
        return np.array(self.table(rows, what)[0], dtype=np.float64)

    # -- from codes to what users know ---------------------------------------------------------------------------------

    def decode(self, rows: AnyArray, dtypes: Sequence[Any] | None = None, index: Any = None, names: Any = None) -> Any:
        """Return codes as a DataFrame with the labels and types of the columns."""
        pandas = need_pandas()
        codes = np.asarray(rows, dtype=np.float64)
        wanted = self.dtypes if dtypes is None else dtypes
        columns = {}
        for j in range(len(self)):
            values = column_of(codes[:, j], self.domains[j], self.labels[j], wanted[j])
            own_type = object if values.dtype == object else None  # or pandas would make text of objects
            columns[j] = pandas.Series(values, index=index, dtype=own_type)
        frame = pandas.DataFrame(columns, index=pandas.RangeIndex(len(codes)) if index is None else index)
        known = names if names is not None else self.names
        if known is not None:
            frame.columns = known if hasattr(known, "dtype") else list(known)
        return frame

    def values(self, rows: FloatArray) -> AnyArray:
        """Return codes as an array of the labels that they stand for; the codes where there are no labels."""
        if not any(self.labels):
            return rows
        columns = [
            rows[:, j] if own is None else column_of(rows[:, j], None, own, None) for j, own in enumerate(self.labels)
        ]
        text = any(isinstance(label, str) for own in self.labels for label in own or ())
        return np.column_stack([np.asarray(column, dtype=object if text else np.float64) for column in columns])

    def binary(self, variables: Sequence[int], what: str) -> None:
        """Refuse variables that are not binary ones of the circuit, or no variables, or one that is given twice."""
        if not variables or len(set(variables)) != len(variables):
            raise QueryError(f"{what}: expected at least one variable, each of them once")
        for v in variables:
            domain = self.domains[v]
            if domain is None or domain.cardinality != 2:
                fault = "is not in the circuit's scope" if domain is None else "is not binary: only ones of 0/1 count"
                raise QueryError(f"{what}: variable {self.name(v)} {fault}")


def _is_one_row(evidence: Any) -> bool:
    """Whether evidence is a row rather than a table: a Series, a 1-D array, a list of plain values."""
    if as_frame(evidence) is not None:
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
