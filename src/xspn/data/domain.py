"""What values a variable can take, and the labels that the codes of a discrete one stand for."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from xspn.core.arrays import AnyArray, BoolArray, FloatArray
from xspn.core.checks import first_double, is_missing, is_text, suggestion
from xspn.core.errors import DataError, ParameterError

Label = str | bool | int | float
Labels = tuple[Label, ...]
Place = Callable[[int], str]  # names the cell of a row for an error message
MOST_SHOWN = 12
EXACT_WHOLE = 2.0**53  # from here on floats are not all whole numbers: two labels may be one float

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


@dataclass(frozen=True, slots=True, repr=False)
class Domain:
    """Discrete with values 0..cardinality−1, or real where the cardinality is None.

    Leaves know how many values there are; whether their order means something is known to the table that the values
    come from, and matters to learning (totals of ordered values can be compared) and to what users are shown.

    Attributes:
        cardinality: The number of values, or None for real numbers.
        ordered: Whether discrete values are steps of a scale or counts, rather than names.

    Examples:
        >>> Domain.binary(), Domain.real(), Domain.ordinal(5)
        (Domain(cardinality=2), Domain(cardinality=None), Domain(cardinality=5, ordered=True))
        >>> Domain(3).describe()
        'one of 0, 1, 2'
        >>> [domain.kind for domain in (Domain(2), Domain(3), Domain.ordinal(3), Domain(None))]
        ['binary', 'categorical', 'ordinal', 'real']
    """

    cardinality: int | None
    ordered: bool = False

    def __post_init__(self) -> None:
        k = self.cardinality
        if k is not None and (isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1):
            raise ParameterError(f"domain: expected a cardinality of at least 1 or None for real, found {k!r}")
        if not isinstance(self.ordered, bool | np.bool_):
            raise ParameterError(f"domain: expected ordered to be True or False, found {self.ordered!r}")
        if k is None and self.ordered:
            raise ParameterError("domain: real numbers have an order of their own; ordered is for discrete values")

    @classmethod
    def binary(cls) -> "Domain":
        """Return the domain of a 0/1 variable."""
        return _shared(2)

    @classmethod
    def real(cls) -> "Domain":
        """Return the domain of a real-valued variable."""
        return _shared(None)

    @classmethod
    def categorical(cls, cardinality: int) -> "Domain":
        """Return the domain of a variable whose values are names."""
        return _shared(cardinality)

    @classmethod
    def ordinal(cls, cardinality: int) -> "Domain":
        """Return the domain of a variable whose values are the steps of a scale, or counts."""
        return cls(cardinality, ordered=True)

    @property
    def kind(self) -> str:
        """One of "binary", "categorical", "ordinal" or "real"."""
        if self.cardinality is None:
            return "real"
        if self.ordered:
            return "ordinal"
        return "binary" if self.cardinality == 2 else "categorical"

    @property
    def is_discrete(self) -> bool:
        """Whether the values can be counted out."""
        return self.cardinality is not None

    def outside(self, values: FloatArray) -> BoolArray:
        """Mark the values that are neither missing nor in the domain."""
        if self.cardinality is None:
            return np.asarray(np.isinf(values))
        whole = (values >= 0) & (values < self.cardinality) & (values == np.floor(values))
        return np.asarray(~whole & ~np.isnan(values))

    def describe(self) -> str:
        """Say in words what a value may be."""
        if self.cardinality is None:
            return "a finite number"
        if self.cardinality <= 4:
            return "one of " + ", ".join(map(str, range(self.cardinality)))
        return f"an integer from 0 to {self.cardinality - 1}"

    def to_params(self) -> dict[str, Any]:
        """Return what a model file stores of the domain."""
        params: dict[str, Any] = {"cardinality": self.cardinality}
        return {**params, "ordered": True} if self.ordered else params

    def __repr__(self) -> str:
        order = ", ordered=True" if self.ordered else ""
        return f"Domain(cardinality={self.cardinality}{order})"


@lru_cache(maxsize=4096)
def _shared(cardinality: int | None) -> Domain:
    """Return one object for each domain without an order: a million leaves then need not have one each."""
    return Domain(cardinality)


# -- labels ------------------------------------------------------------------------------------------------------------


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


def codes_of(
    cells: Sequence[Any] | AnyArray, labels: Labels, place: Place, what: str, unknown_is_missing: bool = False
) -> FloatArray:
    """Return the code of each cell's label, NaN where the cell is missing; or unknown, if that shall be the same.

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
            if not unknown_is_missing and not is_missing(cell):
                raise unknown_label(plain(cell), labels, place(row), what)
            found = np.nan
        out[row] = found
    return out


def unknown_label(value: Any, labels: Labels, place: str, what: str) -> DataError:
    """Return the error that lists the known labels and names the nearest one."""
    shown = ", ".join(repr(label) for label in labels[:MOST_SHOWN])
    more = f", … ({len(labels)} in all)" if len(labels) > MOST_SHOWN else ""
    hint = suggestion(str(value), [str(label) for label in labels])
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
