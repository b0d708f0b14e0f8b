"""Checks of options: each refuses a bad value with the option's name, what it may be, and what was found."""

import difflib
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from xspn.core.checks import is_real_number
from xspn.core.errors import ParameterError


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


def whole_number(name: str, value: Any, least: int) -> None:
    """Refuse anything but a whole number that is large enough."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ParameterError(f"{name}: expected a whole number of at least {least}, found {value!r}")


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
            near = difflib.get_close_matches(str(name), known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            listed = ", ".join(sorted(known)) or "none"
            raise ParameterError(f"{what}: unknown setting {name!r}{hint} Known: {listed}")
