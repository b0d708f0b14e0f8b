"""Labels: the values that a discrete column's codes stand for, and how cells are looked up among them."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import first_double, is_missing, is_text, nearest
from xspn.core.errors import DataError, ParameterError

Label = str | bool | int | float
Labels = tuple[Label, ...]
Place = Callable[[int], str]  # names the cell of a row for an error message
MOST_SHOWN = 12

# Pairs of words that say no and yes: the second one is code 1, whichever comes first in a table.
BINARY_WORDS = (
    ("no", "yes"),
    ("n", "y"),
    ("false", "true"),
    ("f", "t"),
    ("off", "on"),
    ("absent", "present"),
    ("nay", "yea"),
    ("0", "1"),
)


def plain(value: Any) -> Any:
    """Return a numpy scalar as the Python value that it is."""
    return value.item() if isinstance(value, np.generic) else value


def checked_labels(labels: Iterable[Any], what: str) -> Labels:
    """Return labels as plain values, each of them once: text, truth values or finite numbers.

    Examples:
        >>> checked_labels(np.array([1, 2]), "size")
        (1, 2)
    """
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise ParameterError(f"{what}: expected a list of labels, found {labels!r}")
    own = tuple(plain(label) for label in labels)
    for label in own:
        if is_missing(label) or not isinstance(label, str | bool | int | float) or label in (np.inf, -np.inf):
            raise ParameterError(f"{what}: expected labels that are text, numbers or truth values, found {label!r}")
        if isinstance(label, str) and not is_text(label):
            raise ParameterError(f"{what}: the label {label!r} has letters that no text has (half a surrogate pair)")
    if not own:
        raise ParameterError(f"{what}: expected at least one label, found none")
    if len(set(own)) != len(own):
        raise ParameterError(f"{what}: the label {first_double(own)!r} occurs twice")
    return own


def codes_of(cells: Sequence[Any] | AnyArray, labels: Labels, place: Place, what: str) -> FloatArray:
    """Return the code of each cell's label, NaN where the cell is missing.

    Examples:
        >>> codes_of(["red", None, "blue"], ("blue", "red"), lambda row: f"row {row}", "X").tolist()
        [1.0, nan, 0.0]
    """
    codes: dict[Any, float] = {label: float(code) for code, label in enumerate(labels)}
    out = np.empty(len(cells))
    for row, cell in enumerate(cells):
        try:
            found = codes.get(cell)
        except TypeError:  # not hashable
            found = None
        if found is None:
            if not is_missing(cell):
                raise unknown_label(plain(cell), labels, place(row), what)
            found = np.nan
        out[row] = found
    return out


def unknown_label(value: Any, labels: Labels, place: str, what: str) -> DataError:
    """Return the error that lists the known labels and names the nearest one."""
    shown = ", ".join(repr(label) for label in labels[:MOST_SHOWN])
    more = f", … ({len(labels)} in all)" if len(labels) > MOST_SHOWN else ""
    near = nearest(str(value), [str(label) for label in labels])
    hint = "" if near is None else f"; did you mean {near!r}?"
    return DataError(f"{what}: unknown value {value!r} at {place}; known: {shown}{more}{hint}")


def in_order(labels: Sequence[Label]) -> Labels:
    """Return labels in the order of their codes: as they came, but words for no before words for yes.

    Examples:
        >>> in_order(["Yes", "No"]), in_order(["red", "blue"])
        (('No', 'Yes'), ('red', 'blue'))
    """
    own = tuple(labels)
    return own[::-1] if means_no_and_yes(own[::-1]) else own


def means_no_and_yes(labels: Labels) -> bool:
    """Whether the first of two labels says no and the second yes, in any of the usual words.

    Examples:
        >>> means_no_and_yes(("No", "Yes")), means_no_and_yes((False, True)), means_no_and_yes(("red", "blue"))
        (True, True, False)
    """
    return tuple(str(label).strip().lower() for label in labels) in BINARY_WORDS
