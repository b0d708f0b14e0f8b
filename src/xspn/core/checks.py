"""Checks of arguments: each refuses a bad value with its name, what it may be, and what was found."""

import math
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.core.errors import DataError, DataTypeError, ParameterError, with_known_names

Names = tuple[str, ...]
LARGEST_WEIGHT = 1e100  # sums and squares of weights must be numbers too
MOST_MODELS = 100_000  # that one fit learns: members of an ensemble, starts, components
MOST_PASSES = 1_000_000_000  # of EM over its rows


def table(X: Any, n_columns: int | None = None, names: Names | None = None, what: str = "X") -> AnyArray:
    """Return `X` as a 2-D numeric array, in its own dtype where that is numeric; None and NA become NaN.

    A DataFrame's columns are compared with `names` (same names, same order) when the names are known.
    """
    array = _numeric(X, names, what)
    if array.ndim != 2:
        hint = ". Reshape your data: X.reshape(1, -1) is a row, X.reshape(-1, 1) a column" if array.ndim == 1 else ""
        raise DataError(f"{what}: expected a 2-D table of rows and columns, found {array.ndim}-D{hint}")
    if n_columns is not None and array.shape[1] != n_columns:
        raise DataError(f"{what}: expected {n_columns} columns, found {array.shape[1]}")
    return array


def same_columns(found: list[str], names: Names, what: str) -> None:
    """Refuse columns that are not those of the model, each once and in its order."""
    if found == list(names):
        return
    known, given = set(names), set(found)
    missing = [name for name in names if name not in given]
    extra = [name for name in found if name not in known]
    if missing or extra:
        near = nearest_name(extra[0], missing) if extra else None
        hint = "" if near is None else f"; did you mean {near!r} by {extra[0]!r}?"
        raise DataError(
            f"{what}: expected the columns that the model knows; missing {missing[:5]}, unknown {extra[:5]}{hint}"
        )
    if len(found) != len(names):
        raise DataError(f"{what}: the column {first_double(found)!r} occurs twice")
    place = next(i for i, (a, b) in enumerate(zip(found, names, strict=True)) if a != b)
    raise DataError(
        f"{what}: the columns are in another order (column {place} is {found[place]!r}, expected {names[place]!r}); "
        "pass X[list_of_names]"
    )


def first_double(values: Iterable[Any]) -> Any | None:
    """Return the first of several values that occurs again, None if each is there once.

    Examples:
        >>> first_double(["a", "b", "c", "b", "a"])
        'a'
    """
    return next((value for value, count in Counter(values).items() if count > 1), None)


def is_text(value: str) -> bool:
    """Whether text can be written to a file: half a surrogate pair, which JSON can spell, cannot."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _numeric(X: Any, names: Names | None, what: str) -> AnyArray:
    if names is not None and hasattr(X, "columns"):
        same_columns([str(c) for c in X.columns], names, what)
    array = as_array(X, what)
    if array.dtype.kind in "biuf":
        return np.asarray(array)
    if array.dtype.kind == "c":
        raise DataTypeError(f"{what}: complex data is not supported; expected real numbers")
    return _from_objects(np.asarray(array, dtype=object), names, what)


def as_array(X: Any, what: str) -> AnyArray:
    """Return numbers as an array of numbers, and anything else as an array of the objects that were handed in."""
    if hasattr(X, "to_numpy") and hasattr(X, "columns"):
        plain = all(getattr(t, "kind", "O") in "biuf" and isinstance(t, np.dtype) for t in X.dtypes)
        return np.asarray(X.to_numpy() if plain else X.to_numpy(dtype=object))
    if isinstance(X, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(X), np.nan, np.ma.getdata(X))
    if isinstance(X, np.ndarray):
        return X
    try:
        array = np.asarray(X)
        # One word among numbers turns all of them into text: take the cells as they are, so that the word can be named.
        return array if array.dtype.kind in "biuf" else np.asarray(X, dtype=object)
    except (ValueError, TypeError):
        return _ragged(X, what)


def _ragged(X: Any, what: str) -> AnyArray:
    """Say where nested lists stop being a table, or return them as objects."""
    rows = [row for row in X if hasattr(row, "__len__") and not isinstance(row, str)]
    for index, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise DataError(f"{what}: row {index} has {len(row)} values, row 0 has {len(rows[0])}")
    try:
        return np.asarray(X, dtype=object)
    except ValueError as error:
        raise DataError(f"{what}: expected a table, found rows of different shapes") from error


def _from_objects(array: AnyArray, names: Names | None, what: str) -> FloatArray:
    def place(index: int) -> str:
        return cell_name(np.unravel_index(index, array.shape), names)

    return numbers_of(array.reshape(-1), place, what).reshape(array.shape)


def numbers_of(cells: AnyArray, place: Callable[[int], str], what: str) -> FloatArray:
    """Convert cells to numbers, one by one if need be, so that the error can name the cell by its `place`."""
    if cells.dtype.kind in "biuf":
        return np.asarray(cells, dtype=np.float64)
    out = np.empty(len(cells), dtype=np.float64)
    for index, cell in enumerate(cells):
        try:
            out[index] = _number(cell)
        except OverflowError as error:
            raise DataError(f"{what}: the number at {place(index)} is too large") from error
        except TypeError:
            raise DataTypeError(
                f"{what}: expected numbers, found {cell!r} at {place(index)}; the argument must be free of strings and "
                "other objects, each cell a number (missing values are NaN or None)"
            ) from None
    return out


def _number(cell: Any) -> float:
    """Return a cell as a float, NaN for the many spellings of a missing value."""
    if is_missing(cell):
        return np.nan
    if isinstance(cell, bool | int | float | np.bool_ | np.integer | np.floating):
        return float(cell)
    raise TypeError


def is_missing(cell: Any) -> bool:
    """Whether a cell is one of the many spellings of a missing value: None, NaN, pandas' NA and NaT."""
    if isinstance(cell, float | np.floating):
        return bool(cell != cell)
    return cell is None or type(cell).__name__ in ("NAType", "NaTType")


def cell_name(place: Sequence[Any], names: Names | None = None) -> str:
    """Name a cell for an error message: its row, and its column by name where it has one."""
    if len(place) < 2:
        return f"position {int(place[0])}" if place else "the place of a table"
    row = int(place[0])
    column = int(place[1])
    return f"row {row}, column {column}" + (f" ({names[column]!r})" if names else "")


def column_index(variable: Any, n_columns: int, names: Names | None = None) -> int:
    """Return the column of a variable given by index or by name."""
    if isinstance(variable, str):
        place = None if names is None else place_of(variable, names)
        if place is not None:
            return place
        hint = suggestion(variable, names or ())
        known = "the circuit has no variable names" if names is None else "no such name"
        raise DataError(f"unknown variable {variable!r}: {known}{hint}")
    if isinstance(variable, bool | np.bool_) or not isinstance(variable, int | np.integer):
        raise DataError(f"variable: expected a column index or a name, found {variable!r}")
    if not 0 <= variable < n_columns:
        raise DataError(f"variable {variable}: expected an index from 0 to {n_columns - 1}")
    return int(variable)


_last_index: tuple[Names, dict[str, int]] = ((), {})


def place_of(name: str, names: Names) -> int | None:
    """Return the place of a name among names, None if it is not one of them.

    Thousands of names are looked up among the same thousands one by one: the index of the last tuple is kept.
    """
    global _last_index
    own, index = _last_index
    if own is not names:
        index = {}
        for place, other in enumerate(names):
            index.setdefault(other, place)
        _last_index = (tuple(names), index)
    return index.get(name)


def nearest_name(name: str, known: Sequence[str]) -> str | None:
    """Return the known name that looks most like this one, if any does."""
    lowered = {other.lower(): other for other in reversed(known)}
    near = get_close_matches(name.lower(), lowered, n=1)
    return lowered[near[0]] if near else None


def suggestion(name: str, known: Sequence[str]) -> str:
    """Return the end of a message that names the nearest known name, nothing if none looks like this one.

    Examples:
        >>> suggestion("Rian", ["rain", "sun"])
        "; did you mean 'rain'?"
    """
    near = nearest_name(name, known)
    return "" if near is None else f"; did you mean {near!r}?"


def weights_of_rows(weights: Any, n_rows: int, what: str = "sample_weight") -> FloatArray:
    """Return one finite, non-negative weight per row; None means one each."""
    if weights is None:
        return np.ones(n_rows)
    array = real_numbers(weights, what)
    if array.shape != (n_rows,):
        raise DataError(f"{what}: expected {n_rows} weights, one per row, found shape {array.shape}")
    bad = ~(np.isfinite(array) & (array >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError(f"{what}: expected finite weights of at least 0, found {array[row]} at row {row}")
    if array.max(initial=0.0) > LARGEST_WEIGHT:
        row = int(np.argmax(array))
        raise DataError(f"{what}: expected weights of at most {LARGEST_WEIGHT:g}, found {array[row]:g} at row {row}")
    return array


def probability_vector(values: Any, what: str) -> FloatArray:
    """Return a 1-D vector of probabilities that sum to 1 within 1e-9, unchanged to the last bit."""
    array = real_numbers(values, what)
    if array.ndim == 1 and array.size and array.min() >= 0 and abs(array.sum() - 1) <= 1e-9:
        return array  # no entry is above 1 then, but by rounding
    if array.ndim != 1 or array.size == 0:
        raise ParameterError(f"{what}: expected a non-empty list of numbers, found shape {array.shape}")
    bad = ~((array >= 0) & (array <= 1 + 1e-9))
    if bad.any():
        at = int(np.argmax(bad))
        raise ParameterError(f"{what}: expected probabilities from 0 to 1, found {array[at]} at position {at}")
    if abs(array.sum() - 1) > 1e-9:
        raise ParameterError(f"{what}: expected a sum of 1, found {array.sum():.12g}; divide by the sum")
    return array


def sums_of_parts(values: FloatArray, sizes: IntArray, what: str) -> FloatArray:
    """Return the sums of consecutive parts of non-negative numbers, none of which is empty."""
    if (sizes < 1).any() or int(sizes.sum()) != len(values) or sizes.max(initial=0) > len(values):
        raise ParameterError(f"{what}: expected parts of at least 1 number that add up to {len(values)}")
    if not (values >= 0).all():
        at = int(np.argmin(values >= 0))
        raise ParameterError(f"{what}: expected numbers of at least 0, found {values[at]} at position {at}")
    starts = np.cumsum(sizes) - sizes
    return np.asarray(np.add.reduceat(values, starts) if len(sizes) else np.empty(0))


def real_numbers(values: Any, what: str) -> FloatArray:
    """Return parameters as floats; text, complex numbers and ragged lists are refused rather than converted."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ParameterError(f"{what}: expected numbers, found lists of different lengths") from error
    if array.dtype.kind not in "biuf":
        raise ParameterError(f"{what}: expected numbers, found {values!r}")
    return np.asarray(array, dtype=np.float64)


def is_real_number(value: Any) -> bool:
    """Whether a value is one real number; a truth value is not."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def smoothing_mass(smoothing: Any, what: str = "smoothing") -> float:
    """Return a smoothing mass, which counts rows: at least 0, and no more than rows may weigh."""
    if not is_real_number(smoothing):
        raise ParameterError(f"{what}: expected a number of at least 0, found {smoothing!r}")
    if not 0 <= smoothing <= LARGEST_WEIGHT:
        raise ParameterError(f"{what}: expected a number from 0 to {LARGEST_WEIGHT:g}, found {smoothing}")
    return float(smoothing)


def is_finite_number(value: Any, least: float = -math.inf) -> bool:
    """Whether a value that a file holds is a number, not too large to be a float: whole ones of any length are JSON."""
    return type(value) in (int, float) and abs(value) <= sys.float_info.max and value >= least


def one_of(name: str, value: Any, known: Collection[Any]) -> None:
    """Refuse a value that is none of the known ones.

    Examples:
        >>> one_of("pairs", "some", ("all", "first"))
        Traceback (most recent call last):
        ...
        xspn.core.errors.ParameterError: pairs: expected one of 'all', 'first', found 'some'
    """
    if value not in known:
        raise ParameterError(f"{name}: expected one of {', '.join(map(repr, known))}, found {value!r}")


def whole_number(name: str, value: Any, least: int, most: int | None = None) -> None:
    """Refuse anything but a whole number that is large enough, and not too large."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ParameterError(f"{name}: expected a whole number of at least {least}, found {value!r}")
    if most is not None and value > most:
        raise ParameterError(f"{name}: expected a whole number of at most {most:,}, found {value!r:.60}")


def number_between(name: str, value: Any, least: float, most: float) -> None:
    """Refuse anything but a number within the bounds."""
    if not is_real_number(value) or not least <= value <= most:
        raise ParameterError(f"{name}: expected a number from {least:g} to {most:g}, found {value!r}")


def known_names(what: str, names: Iterable[str], known: Collection[str]) -> None:
    """Refuse a name that nothing would read, suggesting the nearest known one.

    Examples:
        >>> known_names("options", ["row"], ["rows"])
        Traceback (most recent call last):
        ...
        xspn.core.errors.ParameterError: options: unknown setting 'row'; did you mean 'rows'? Known: rows
    """
    for name in names:
        if name not in known:
            raise ParameterError(f"{what}: unknown setting {with_known_names(name, known)}")
