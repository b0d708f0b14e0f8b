"""What kind of column each column of a training table is: the rules, all in one place.

In this order, for a column that nothing was said about:

| cells | domain | labels |
|---|---|---|
| pandas categorical | categorical; ordinal where it is ordered | its categories |
| truth values | binary | – |
| numbers 0 and 1 only, or no cell at all has a value | binary | – |
| whole numbers from 0 to at most 31 | ordinal, from 0 to the largest | – |
| other numbers | real | – |
| text | categorical; binary where there are two | in order of first appearance, "no" before "yes" |

Missing cells (NaN, None, NA) say nothing. Columns of text with the same labels share their order, and a column whose
labels are all among those of another column takes that one's labels, if these are at most twice as many: answers to
like questions must have like codes to be interchangeable. Text in arrays and lists is refused unless `domains` asks
for it: there it is usually an accident.

`domains` overrules this: one word ("binary", "categorical", "ordinal", "real"), `Domain` or pandas `CategoricalDtype`
for all columns; a mapping from names or indices to words, lists of labels in order, `Domain`s or `CategoricalDtype`s;
or a list with one of these (or None) for each column. With one word for all columns they share one scale.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import is_missing, numbers_of
from xspn.core.errors import DataError, DataTypeError, ParameterError
from xspn.core.options import one_of
from xspn.data.domain import Domain
from xspn.data.labels import Label, Labels, Place, checked_labels, codes_of, in_order, plain

MOST_STEPS = 32  # whole numbers below this are steps of a scale; larger ones are measured
MOST_CODES = 1024  # numbers below this may be codes if the user says so
MOST_LABELS = 100  # more labels than this, in more than half as many rows, are identifiers
WORDS = ("binary", "categorical", "ordinal", "real")


@dataclass(frozen=True)
class Where:
    """What a column and its cells are called in error messages.

    Attributes:
        what: The table: "X", or the name of a file.
        column: The column.
        cell: Names the cell of a row.
    """

    what: str
    column: str
    cell: Place


@dataclass(frozen=True)
class Reading:
    """A column as it is learned from: its domain, labels, and codes or numbers with NaN where a cell is missing."""

    domain: Domain
    labels: Labels | None
    codes: AnyArray
    shares_labels: bool = False  # text whose order of labels is ours to choose


@dataclass(frozen=True)
class Wish:
    """What a user says of a column: a word, labels, a domain."""

    word: str | None = None
    labels: Labels | None = None
    domain: Domain | None = None
    ordered: bool = False


def wish_of(said: Any, what: str) -> Wish | None:
    """Return one entry of `domains` in its one form."""
    if said is None:
        return None
    if isinstance(said, Domain):
        return Wish(domain=said)
    if isinstance(said, str):
        one_of(what, said, WORDS)
        return Wish(word=said)
    if hasattr(said, "categories") and hasattr(said, "ordered"):
        return Wish(labels=checked_labels(said.categories, what), ordered=bool(said.ordered))
    if isinstance(said, Mapping) or not isinstance(said, Sequence | np.ndarray):
        raise ParameterError(f"{what}: expected one of {', '.join(WORDS)}, labels or a Domain, found {said!r}")
    return Wish(labels=checked_labels(said, what))


def read_column(cells: AnyArray, wish: Wish | None, where: Where) -> Reading:
    """Find out what kind of column this is, or make it what the user says, or say which cell is in the way."""
    if wish is not None and wish.labels is not None:
        codes = codes_of(cells, wish.labels, where.cell, where.what)
        return Reading(Domain(len(wish.labels), wish.ordered), wish.labels, codes)
    if cells.dtype.kind in "biuf":
        reading = _numeric(np.asarray(cells, dtype=np.float64), wish, where)
        return reading if reading.labels is not None else replace(reading, codes=cells)  # a byte stays a byte
    kind = _kind_of_objects(cells, where)
    if kind == "text":
        return _text(cells, wish, where)
    numbers = numbers_of(cells, where.cell, where.what)
    if kind == "truth value" and wish is None:
        return Reading(Domain.binary(), (False, True), numbers)
    return _numeric(numbers, wish, where)


def _kind_of_objects(cells: AnyArray, where: Where) -> str:
    """Return "text", "truth value" or "number", or refuse a column that mixes text with anything else."""
    kinds: dict[str, int] = {}
    for row, cell in enumerate(cells):
        if not is_missing(cell):
            kinds.setdefault(_kind(cell), row)
    for other in kinds.keys() - {"text", "truth value", "number"}:
        found = cells[kinds[other]]
        raise DataTypeError(
            f"{where.what}: expected numbers, truth values or text, found {found!r} at {where.cell(kinds[other])}"
        )
    if "text" in kinds and len(kinds) > 1:
        row = max(kinds.values())
        kind = _kind(cells[row])
        raise DataTypeError(
            f"{where.what}: expected one kind of value in column {where.column}, "
            f"found {plain(cells[row])!r} (a {kind}) at {where.cell(row)} "
            f"after other kinds; convert the column, or name its labels in domains"
        )
    return next((kind for kind in ("text", "number", "truth value") if kind in kinds), "number")


def _kind(cell: Any) -> str:
    if isinstance(cell, str):
        return "text"
    if isinstance(cell, bool | np.bool_):
        return "truth value"
    return "number" if isinstance(cell, int | float | np.integer | np.floating) else "object"


# -- numbers -----------------------------------------------------------------------------------------------------------


def _numeric(cells: FloatArray, wish: Wish | None, where: Where) -> Reading:
    if wish is None:
        domain = inferred(cells, where)
        return Reading(domain, None, cells)
    if wish.domain is not None:
        _refuse(wish.domain.outside(cells), cells, where, wish.domain.describe())
        return Reading(wish.domain, None, cells)
    if wish.word == "real":
        _refuse(np.isinf(cells), cells, where, "a finite number")
        return Reading(Domain.real(), None, cells)
    if wish.word == "binary":
        _refuse(Domain.binary().outside(cells), cells, where, "0 or 1")
        return Reading(Domain.binary(), None, cells)
    ordered = wish.word == "ordinal"
    seen = np.unique(cells[~np.isnan(cells)])
    if not Domain(MOST_CODES).outside(seen).any():
        return Reading(Domain(max(int(seen.max(initial=1)) + 1, 2), ordered), None, cells)
    _refuse(np.isinf(cells), cells, where, "a finite number")
    if len(seen) > MOST_CODES:
        raise DataError(
            f"{where.what}: column {where.column} has {len(seen)} different values: too many for {wish.word}"
        )
    labels = tuple(int(value) if value == int(value) else float(value) for value in seen)
    return Reading(Domain(len(labels), ordered), labels, codes_of(cells, labels, where.cell, where.what))


def inferred(cells: FloatArray, where: Where) -> Domain:
    """Return the domain of a column of numbers, by the rules above."""
    _refuse(np.isinf(cells), cells, where, "a finite number")
    if not Domain.binary().outside(cells).any():
        return Domain.binary()
    if not Domain(MOST_STEPS).outside(cells).any():
        return Domain.ordinal(int(np.nanmax(cells)) + 1)
    return Domain.real()


def _refuse(bad: AnyArray, cells: FloatArray, where: Where, expected: str) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError(f"{where.what}: expected {expected}, found {cells[row]:g} at {where.cell(row)}")


# -- text --------------------------------------------------------------------------------------------------------------


def _text(cells: AnyArray, wish: Wish | None, where: Where) -> Reading:
    seen: list[Label] = list(dict.fromkeys(cell for cell in cells if not is_missing(cell)))
    if wish is not None and wish.word == "real":
        numbers_of(cells, where.cell, where.what)  # says which cell is text
    if wish is not None and (wish.word == "ordinal" or (wish.domain is not None and wish.domain.ordered)):
        raise ParameterError(
            f"domains: the order of the labels of {where.column} is unknown; list them from first to last"
        )
    if wish is None and len(seen) > MOST_LABELS and 2 * len(seen) > len(cells):
        raise DataError(
            f"{where.what}: column {where.column} has {len(seen)} different texts in {len(cells)} rows, "
            f"as names of rows do; leave it out (--exclude), or insist with domains={{{where.column}: 'categorical'}}"
        )
    expected = 2 if wish is not None and wish.word == "binary" else None
    if wish is not None and wish.domain is not None:
        expected = wish.domain.cardinality
    if expected is not None and len(seen) > expected:
        row = next(row for row, cell in enumerate(cells) if not is_missing(cell) and cell == seen[expected])
        raise DataError(
            f"{where.what}: expected {expected} different labels, found {seen[expected]!r} besides at {where.cell(row)}"
        )
    labels = in_order(seen)
    if expected is not None and len(labels) < expected:
        raise DataError(
            f"{where.what}: expected {expected} different labels in column {where.column}, "
            f"found {len(labels)}; list them"
        )
    return Reading(Domain(len(labels)), labels, codes_of(cells, labels, where.cell, where.what), shares_labels=True)


def with_shared_labels(readings: Sequence[Reading]) -> list[Reading]:
    """Give columns of text with the same labels one order, and the few labels of one column the place they have there.

    Examples:
        >>> columns = [np.array(cells, dtype=object) for cells in (["b", "a", "c"], ["a", "c", "b"], ["c", "b", "c"])]
        >>> readings = [read_column(cells, None, Where("X", "answer", str)) for cells in columns]
        >>> [(reading.labels, reading.codes.tolist()) for reading in with_shared_labels(readings)][1:]
        [(('b', 'a', 'c'), [1.0, 2.0, 0.0]), (('b', 'a', 'c'), [2.0, 0.0, 2.0])]
    """
    hosts = _hosts([reading.labels for reading in readings if reading.shares_labels and reading.labels])
    out = []
    for reading in readings:
        own = reading.labels
        if not reading.shares_labels or own is None:
            out.append(reading)
            continue
        host = hosts[frozenset(own)]
        place = {label: float(code) for code, label in enumerate(host)}
        places = np.array([*(place[label] for label in own), np.nan])
        codes = places[np.where(np.isnan(reading.codes), len(own), reading.codes).astype(np.int64)]
        out.append(replace(reading, domain=Domain(len(host)), labels=host, codes=codes))
    return out


def _hosts(orders: Sequence[Labels]) -> dict[frozenset[Label], Labels]:
    """Return the order that each set of labels is given: that of the smallest larger set, if it is not much larger."""
    first: dict[frozenset[Label], Labels] = {}
    for labels in orders:
        first.setdefault(frozenset(labels), labels)
    hosts: dict[frozenset[Label], Labels] = {}
    with_label: dict[
        Label, list[frozenset[Label]]
    ] = {}  # a larger set is among those of each label: the fewest will do
    for own in sorted(first, key=len, reverse=True):
        others = min((with_label.get(label, []) for label in own), key=len, default=[])
        larger = [other for other in others if own < other and len(other) <= 2 * len(own)]
        hosts[own] = hosts[min(larger, key=len)] if larger else first[own]
        for label in own:
            with_label.setdefault(label, []).append(own)
    return hosts
