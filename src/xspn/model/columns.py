"""The columns of a circuit's tables: their names and domains, and how what users hand in is read by them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xspn._core.arrays import AnyArray, FloatArray
from xspn._core.checks import Names, column_index, row_of, table
from xspn._core.errors import DataError, QueryError, StructureError
from xspn.circuit.domain import Domain


@dataclass(frozen=True)
class Columns:
    """Domains (None outside the circuit's scope) and names, if there are any."""

    domains: tuple[Domain | None, ...]
    names: Names | None

    @classmethod
    def of(cls, domains: tuple[Domain | None, ...], names: Sequence[str] | None) -> "Columns":
        """Check the names: one for each column, each of them once."""
        if names is None:
            return cls(domains, None)
        own = tuple(str(name) for name in names)
        if len(own) != len(domains):
            raise StructureError(f"circuit: {len(domains)} columns need as many names, found {len(own)}")
        if len(set(own)) != len(own):
            double = next(name for name in own if own.count(name) > 1)
            raise StructureError(f"circuit: the name {double!r} occurs twice")
        return cls(domains, own)

    def __len__(self) -> int:
        return len(self.domains)

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

    def table(self, X: Any, what: str = "X") -> AnyArray:
        """Return a table of the right width."""
        return table(X, len(self), self.names, what)

    def evidence(self, evidence: Any, what: str = "evidence") -> AnyArray:
        """Return rows of evidence from a table, a mapping {variable: value}, or nothing."""
        if evidence is None or isinstance(evidence, Mapping):
            return self.row({} if evidence is None else evidence, what)[None, :]
        return self.table(evidence, what)

    def row(self, evidence: Any, what: str) -> FloatArray:
        """Return one checked row of evidence; columns outside the scope are dropped."""
        row = row_of(evidence, len(self), self.names, what)
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

    def binary(self, variables: Sequence[int], what: str) -> None:
        """Refuse variables that are not binary ones of the circuit, or no variables, or one that is given twice."""
        if not variables or len(set(variables)) != len(variables):
            raise QueryError(f"{what}: expected at least one variable, each of them once")
        for v in variables:
            domain = self.domains[v]
            if domain is None or domain.cardinality != 2:
                fault = "is not in the circuit's scope" if domain is None else "is not binary: only ones of 0/1 count"
                raise QueryError(f"{what}: variable {self.name(v)} {fault}")
