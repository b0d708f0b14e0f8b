"""A block of rows on its way through a program: checked once, with the views that leaf blocks share."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from xspn.core.arrays import AnyArray, BoolArray, FloatArray
from xspn.core.checks import Names, cell_name
from xspn.core.errors import DataError
from xspn.data.domain import Domain


class RowBlock:
    """Some rows as floats; NaN is missing. Transposed views are (variables, rows), as the passes want them."""

    def __init__(self, values: FloatArray) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def missing(self) -> BoolArray:
        """Which cells are missing: (variables, rows)."""
        return np.ascontiguousarray(np.isnan(self.values).T)

    @cached_property
    def whole(self) -> bool:
        """Whether nothing is missing."""
        return not self.missing.any()

    @cached_property
    def ones(self) -> FloatArray:
        """1.0 where the value is one: (variables, rows)."""
        return np.ascontiguousarray((self.values == 1).T).astype(np.float64)

    @cached_property
    def zeros(self) -> FloatArray:
        """1.0 where the value is zero: (variables, rows)."""
        return np.ascontiguousarray((self.values == 0).T).astype(np.float64)

    @cached_property
    def observed(self) -> FloatArray:
        """1.0 where there is a value: (variables, rows)."""
        return (~self.missing).astype(np.float64)


class RowChecker:
    """Turns slices of a user's table into row blocks, refusing values outside the variables' domains."""

    def __init__(self, domains: Sequence[Domain | None], names: Names | None = None) -> None:
        self._domains = domains
        self._names = names
        self._discrete = np.array([d is not None and d.is_discrete for d in domains], dtype=bool)
        self._in_scope = np.array([d is not None for d in domains], dtype=bool)
        self._all_discrete = bool(self._discrete.all())
        self._limit = np.array([np.inf if d is None or d.cardinality is None else d.cardinality for d in domains])

    def block(self, X: AnyArray, start: int, stop: int, what: str = "X") -> RowBlock:
        """Return rows start..stop as a checked block; columns outside the circuit are ignored (and read as 0)."""
        raw = X[start:stop]
        values = np.array(raw, dtype=np.float64)
        if not self._in_scope.all():
            values[:, ~self._in_scope] = 0.0
        bad = self._bad_integers(raw, values) if raw.dtype.kind in "bu" else self._bad_floats(values)
        if bad is not None and bad.any():
            self._refuse(values, bad, start, what)
        return RowBlock(values)

    def _bad_integers(self, raw: AnyArray, values: FloatArray) -> BoolArray | None:
        if raw.dtype.kind == "b" and self._all_discrete and self._limit.min(initial=2) >= 2:
            return None
        return np.asarray(values >= self._limit)

    def _bad_floats(self, values: FloatArray) -> BoolArray:
        with np.errstate(invalid="ignore"):
            bad = (values < 0) | (values >= self._limit) | (values != np.floor(values))
        missing = np.isnan(values)
        if self._all_discrete:
            return np.asarray(bad & ~missing)
        return np.asarray(np.where(self._discrete, bad & ~missing, np.isinf(values)))

    def _refuse(self, values: FloatArray, bad: BoolArray, start: int, what: str) -> None:
        row, column = (int(i) for i in np.argwhere(bad)[0])
        domain = self._domains[column]
        expected = domain.describe() if domain is not None else "a number"
        raise DataError(
            f"{what}: expected {expected} or NaN, found {values[row, column]:g} "
            f"at {cell_name((start + row, column), self._names)}"
        )
