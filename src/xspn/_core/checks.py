"""Turn what users hand in into plain arrays, or say what is wrong and where."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from xspn._core.arrays import AnyArray, FloatArray
from xspn._core.errors import DataError, DataTypeError, ParameterError

Names = tuple[str, ...]


def table(X: Any, n_columns: int | None = None, names: Names | None = None, what: str = "X") -> AnyArray:
    """Return `X` as a 2-D numeric array, in its own dtype where that is numeric; None and NA become NaN.

    A DataFrame's columns are compared with `names` (same names, same order) when the names are known.
    """
    if names is not None and hasattr(X, "columns"):
        _same_columns([str(c) for c in X.columns], names, what)
    array = _numeric(X, names, what)
    if array.ndim != 2:
        hint = "; one row is X.reshape(1, -1), one column is X.reshape(-1, 1)" if array.ndim == 1 else ""
        raise DataError(f"{what}: expected a 2-D table of rows and columns, found {array.ndim}-D{hint}")
    if n_columns is not None and array.shape[1] != n_columns:
        raise DataError(f"{what}: expected {n_columns} columns, found {array.shape[1]}")
    return array


def _same_columns(found: list[str], names: Names, what: str) -> None:
    if found == list(names):
        return
    missing = [name for name in names if name not in found]
    extra = [name for name in found if name not in names]
    if missing or extra:
        raise DataError(
            f"{what}: expected the columns that the model knows; missing {missing[:5]}, unknown {extra[:5]}"
        )
    place = next(i for i, (a, b) in enumerate(zip(found, names, strict=True)) if a != b)
    raise DataError(
        f"{what}: the columns are in another order (column {place} is {found[place]!r}, expected {names[place]!r}); "
        "pass X[list_of_names]"
    )


def _numeric(X: Any, names: Names | None, what: str) -> AnyArray:
    if hasattr(X, "to_numpy") and hasattr(X, "columns"):
        plain = all(getattr(t, "kind", "O") in "biuf" and isinstance(t, np.dtype) for t in X.dtypes)
        array = X.to_numpy() if plain else X.to_numpy(dtype=object)
    else:
        array = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=None if _is_regular(X) else object)
    if array.dtype.kind in "biuf":
        return np.asarray(array)
    if array.dtype.kind == "c":
        raise DataTypeError(f"{what}: complex data is not supported; expected real numbers")
    return _from_objects(np.asarray(array, dtype=object), names, what)


def _is_regular(X: Any) -> bool:
    """Whether numpy can make one array of the nested lists: ragged rows are refused below, by place."""
    try:
        np.asarray(X)
    except (ValueError, TypeError):
        return False
    return True


def _from_objects(array: AnyArray, names: Names | None, what: str) -> FloatArray:
    """Convert cell by cell, so that the error can name the cell."""
    if array.ndim == 1 and array.size and all(isinstance(row, Sequence | np.ndarray) for row in array):
        lengths = {len(row) for row in array if not isinstance(row, str)}
        if len(lengths) > 1:
            raise DataError(f"{what}: rows have different lengths: {sorted(lengths)[:5]}")
    out = np.empty(array.shape, dtype=np.float64)
    flat_out, flat_in = out.reshape(-1), array.reshape(-1)
    for index, cell in enumerate(flat_in):
        if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
            flat_out[index] = np.nan
        elif isinstance(cell, bool | int | float | np.bool_ | np.integer | np.floating):
            flat_out[index] = float(cell)
        else:
            place = np.unravel_index(index, array.shape)
            raise DataTypeError(
                f"{what}: expected numbers, found {cell!r} at {cell_name(place, names)} "
                "(missing values are NaN or None)"
            )
    return out


def cell_name(place: Sequence[Any], names: Names | None = None) -> str:
    """Name a cell for an error message: its row, and its column by name where it has one."""
    row = int(place[0])
    if len(place) < 2:
        return f"position {row}"
    column = int(place[1])
    return f"row {row}, column {column}" + (f" ({names[column]!r})" if names else "")


def row_of(evidence: Any, n_columns: int, names: Names | None = None, what: str = "evidence") -> FloatArray:
    """Return one row of evidence from a mapping {variable: value} or a 1-D row, NaN where nothing is known.

    Examples:
        >>> row_of({"b": 1}, 3, ("a", "b", "c")).tolist()
        [nan, 1.0, nan]
    """
    if isinstance(evidence, Mapping):
        row = np.full(n_columns, np.nan)
        for variable, value in evidence.items():
            index = column_index(variable, n_columns, names)
            row[index] = table([[value]], what=f"{what} for {variable!r}")[0, 0]
        return row
    array = np.asarray(evidence)
    if array.ndim == 1:
        array = array.reshape(1, -1)
    if array.ndim != 2 or array.shape[0] != 1:
        raise DataError(f"{what}: expected one row or a mapping, found an array of shape {np.shape(evidence)}")
    return np.asarray(table(array, n_columns, names, what)[0], dtype=np.float64)


def column_index(variable: Any, n_columns: int, names: Names | None = None) -> int:
    """Return the column of a variable given by index or by name."""
    if isinstance(variable, str):
        if names is not None and variable in names:
            return names.index(variable)
        import difflib

        near = difflib.get_close_matches(variable, names or (), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        known = "the circuit has no variable names" if names is None else "no such name"
        raise DataError(f"unknown variable {variable!r}: {known}{hint}")
    if isinstance(variable, bool | np.bool_) or not isinstance(variable, int | np.integer):
        raise DataError(f"variable: expected a column index or a name, found {variable!r}")
    if not 0 <= variable < n_columns:
        raise DataError(f"variable {variable}: expected an index from 0 to {n_columns - 1}")
    return int(variable)


def weights_of_rows(weights: Any, n_rows: int, what: str = "sample_weight") -> FloatArray:
    """Return one finite, non-negative weight per row; None means one each."""
    if weights is None:
        return np.ones(n_rows)
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (n_rows,):
        raise DataError(f"{what}: expected {n_rows} weights, one per row, found shape {array.shape}")
    bad = ~(np.isfinite(array) & (array >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError(f"{what}: expected finite weights of at least 0, found {array[row]} at row {row}")
    return array


def probability_vector(values: Any, what: str) -> FloatArray:
    """Return a 1-D vector of probabilities that sum to 1 within 1e-9, unchanged to the last bit."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{what}: expected numbers, found {values!r}") from error
    if array.ndim != 1 or array.size == 0:
        raise ParameterError(f"{what}: expected a non-empty list of numbers, found shape {array.shape}")
    bad = ~((array >= 0) & (array <= 1 + 1e-9))
    if bad.any():
        at = int(np.argmax(bad))
        raise ParameterError(f"{what}: expected probabilities from 0 to 1, found {array[at]} at position {at}")
    if abs(array.sum() - 1) > 1e-9:
        raise ParameterError(f"{what}: expected a sum of 1, found {array.sum():.12g}; divide by the sum")
    return array


def smoothing_mass(smoothing: Any, what: str = "smoothing") -> float:
    """Return a finite smoothing mass of at least 0."""
    if isinstance(smoothing, bool) or not isinstance(smoothing, int | float | np.integer | np.floating):
        raise ParameterError(f"{what}: expected a number of at least 0, found {smoothing!r}")
    if not (np.isfinite(smoothing) and smoothing >= 0):
        raise ParameterError(f"{what}: expected a finite number of at least 0, found {smoothing}")
    return float(smoothing)
