"""The types of a training table's columns: the rules by which they are inferred, all in one place.

In this order, for a column that `domains` does not mention:

| cells | domain | labels |
|---|---|---|
| pandas categorical | categorical; ordinal where it is ordered | its categories |
| truth values | binary | – |
| numbers 0 and 1 only, or no cell at all has a value | binary | – |
| whole numbers from 0 to at most 31 | ordinal, from 0 to the largest | – |
| other numbers | real | – |
| text | categorical; binary where there are two | in order of first appearance, "no" before "yes" |

Missing values (NaN, None, NA) are ignored. Columns of text with the same labels share their order, and a column whose
labels are all among those of another column takes that one's labels, if these are at most twice as many: answers to
like questions must have like codes to be interchangeable. Text in arrays and lists is refused unless `domains` asks
for it, because it is usually an accident.

`domains` overrules this: one word ("binary", "categorical", "ordinal", "real"), `Domain` or pandas `CategoricalDtype`
for all columns; a mapping from names or indices to words, lists of labels in order, `Domain`s or `CategoricalDtype`s;
or a list with one of these (or None) for each column. With one word for all columns they share one scale.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import is_missing, numbers_of, one_of
from xspn.core.errors import DataError, DataTypeError, ParameterError
from xspn.data.domain import EXACT_WHOLE, Domain, Label, Labels, Place, checked_labels, codes_of, in_order, plain

MOST_STEPS = 32  # whole numbers below this are steps of a scale; larger ones are measured
MOST_CODES = 1024  # numbers below this may be codes if the user says so
MOST_LABELS = 100  # more labels than this, in more than half as many rows, are identifiers
FEWEST_IDENTIFIED = 20  # rows that differ in a column; fewer may do so by chance
IDENTIFIER_NAME = re.compile(r"(?i:(^|.*[\W_])(id|uuid|guid|index|idx|key|nr|no|row)$)|.*[a-z](Id|ID)$|(?i:unnamed: 0)")
WHOLE = re.compile(r"\d+")  # not isdigit(), which takes ² for a digit that int() does not know
LONGEST_COUNT = 20  # digits
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
class ParsedColumn:
    """A column as it is learned from: its domain, labels, and codes or numbers with NaN where a cell is missing."""

    domain: Domain
    labels: Labels | None
    codes: AnyArray
    shares_labels: bool = False  # text whose order of labels is ours to choose


@dataclass(frozen=True)
class ColumnSpec:
    """What a user asks of a column: a word, labels or a domain."""

    word: str | None = None
    labels: Labels | None = None
    domain: Domain | None = None
    ordered: bool = False


def column_spec(entry: Any, what: str) -> ColumnSpec | None:
    """Return one entry of `domains` in its one form."""
    if entry is None:
        return None
    if isinstance(entry, Domain):
        return ColumnSpec(domain=entry)
    if isinstance(entry, str):
        one_of(what, entry, WORDS)
        return ColumnSpec(word=entry)
    if hasattr(entry, "categories") and hasattr(entry, "ordered"):
        return ColumnSpec(labels=checked_labels(entry.categories, what), ordered=bool(entry.ordered))
    if isinstance(entry, Mapping) or not isinstance(entry, Sequence | np.ndarray):
        raise ParameterError(f"{what}: expected one of {', '.join(WORDS)}, labels or a Domain, found {entry!r}")
    return ColumnSpec(labels=checked_labels(entry, what))


def parse_column(cells: AnyArray, spec: ColumnSpec | None, where: Where) -> ParsedColumn:
    """Infer the type of a column, or make it what the spec asks, or name the cell that is in the way."""
    if spec is not None and spec.labels is not None:
        codes = codes_of(cells, spec.labels, where.cell, where.what)
        return ParsedColumn(Domain(len(spec.labels), spec.ordered), spec.labels, codes)
    if cells.dtype.kind in "biuf":
        column = _numeric(cells, np.asarray(cells, dtype=np.float64), spec, where)
        return column if column.labels is not None else replace(column, codes=cells)  # a byte stays a byte
    found_type = _type_of_objects(cells, where)
    if found_type == "text":
        return _text(cells, spec, where)
    numbers = numbers_of(cells, where.cell, where.what)
    if found_type == "truth value" and spec is None:
        return ParsedColumn(Domain.binary(), (False, True), numbers)
    return _numeric(cells, numbers, spec, where)


def _type_of_objects(cells: AnyArray, where: Where) -> str:
    """Return "text", "truth value" or "number", or refuse a column that mixes text with anything else."""
    found_types: dict[str, int] = {}
    for row, cell in enumerate(cells):
        if not is_missing(cell):
            found_types.setdefault(_type_of(cell), row)
    for other in found_types.keys() - {"text", "truth value", "number"}:
        found = cells[found_types[other]]
        raise DataTypeError(
            f"{where.what}: expected numbers, truth values or text, found {found!r} at {where.cell(found_types[other])}"
        )
    if "text" in found_types and len(found_types) > 1:
        row = max(found_types.values())
        found_type = _type_of(cells[row])
        raise DataTypeError(
            f"{where.what}: expected one type of value in column {where.column}, "
            f"found {plain(cells[row])!r} (a {found_type}) at {where.cell(row)} "
            f"after other types; convert the column, or name its labels in domains"
        )
    return next((name for name in ("text", "number", "truth value") if name in found_types), "number")


def _type_of(cell: Any) -> str:
    if isinstance(cell, str):
        return "text"
    if isinstance(cell, bool | np.bool_):
        return "truth value"
    return "number" if isinstance(cell, int | float | np.integer | np.floating) else "object"


def identifier(name: str, cells: Sequence[Any]) -> str | None:
    """Return why the cells of a file's column look like identifiers of its rows; None if they do not.

    Texts of which nearly each is another; whole numbers that count the rows, or that are all different under a name
    such as id, customer_id or index.

    Examples:
        >>> identifier("name", [f"person {i}" for i in range(300)])
        '300 different texts in 300 rows'
        >>> numbers = [str(7 * i) for i in range(30)]
        >>> identifier("order_id", numbers), identifier("income", numbers)
        ('30 different whole numbers under that name', None)
    """
    seen = [cell for cell in cells if cell is not None]
    distinct = len(set(seen)) if len(seen) >= FEWEST_IDENTIFIED else 0
    if distinct < len(cells) and (distinct <= MOST_LABELS or 2 * distinct <= len(cells)):
        return None
    whole = [cell for cell in seen if is_whole(cell)]
    if len(whole) == len(seen):
        if distinct < len(cells):
            return None
        if _counts(whole):
            return "it counts the rows"
        return f"{distinct} different whole numbers under that name" if IDENTIFIER_NAME.fullmatch(name) else None
    if not all(isinstance(cell, str) for cell in seen) or any(_is_number(cell) for cell in seen):
        return None
    return f"{distinct} different texts in {len(cells)} rows"


def is_whole(cell: Any) -> bool:
    """Whether a cell is a whole number from 0, or a text that says one.

    Examples:
        >>> [is_whole(cell) for cell in (7, "007", -7, 7.0, True, "²")]
        [True, True, False, False, False, False]
    """
    if isinstance(cell, str):
        return WHOLE.fullmatch(cell) is not None
    return isinstance(cell, int | np.integer) and not isinstance(cell, bool) and bool(cell >= 0)


def _counts(cells: Sequence[Any]) -> bool:
    """Whether whole numbers count from 0 or 1; those of more digits than any count are not read at all."""
    if any(isinstance(cell, str) and len(cell) > LONGEST_COUNT for cell in cells):
        return False
    numbers = [int(cell) for cell in cells]
    return numbers[0] in (0, 1) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


# -- numbers -----------------------------------------------------------------------------------------------------------


def _numeric(cells: AnyArray, numbers: FloatArray, spec: ColumnSpec | None, where: Where) -> ParsedColumn:
    """Parse numbers; the cells are the same before they became floats, whose digits may be fewer."""
    if spec is None:
        return ParsedColumn(inferred(numbers, where), None, numbers)
    if spec.domain is not None:
        _refuse(spec.domain.outside(numbers), numbers, where, spec.domain.describe())
        return ParsedColumn(spec.domain, None, numbers)
    if spec.word == "real":
        _refuse(np.isinf(numbers), numbers, where, "a finite number")
        return ParsedColumn(Domain.real(), None, numbers)
    if spec.word == "binary":
        _refuse(Domain.binary().outside(numbers), numbers, where, "0 or 1")
        return ParsedColumn(Domain.binary(), None, numbers)
    ordered = spec.word == "ordinal"
    seen = np.unique(numbers[~np.isnan(numbers)])
    if not Domain(MOST_CODES).outside(seen).any():
        return ParsedColumn(Domain(max(int(seen.max(initial=1)) + 1, 2), ordered), None, numbers)
    _refuse(np.isinf(numbers), numbers, where, "a finite number")
    values = (
        seen.tolist() if np.abs(seen).max() < EXACT_WHOLE else sorted({plain(c) for c in cells if not is_missing(c)})
    )
    if len(values) > MOST_CODES:
        raise DataError(
            f"{where.what}: column {where.column} has {len(values)} different values: too many for {spec.word}"
        )
    labels = tuple(int(value) if value == int(value) else float(value) for value in values)
    return ParsedColumn(Domain(len(labels), ordered), labels, codes_of(cells, labels, where.cell, where.what))


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


def _text(cells: AnyArray, spec: ColumnSpec | None, where: Where) -> ParsedColumn:
    seen: list[Label] = list(dict.fromkeys(cell for cell in cells if not is_missing(cell)))
    if spec is not None and spec.word == "real":
        numbers_of(cells, where.cell, where.what)  # says which cell is text
    if spec is not None and (spec.word == "ordinal" or (spec.domain is not None and spec.domain.ordered)):
        raise ParameterError(
            f"domains: the order of the labels of {where.column} is unknown; list them from first to last"
        )
    if spec is None and len(seen) > MOST_LABELS and 2 * len(seen) > len(cells):
        raise DataError(
            f"{where.what}: column {where.column} looks like a row identifier ({len(seen)} different texts in "
            f"{len(cells)} rows); drop it, or keep it with domains={{{where.column}: 'categorical'}}"
        ).with_remedy("identifier")
    expected = 2 if spec is not None and spec.word == "binary" else None
    if spec is not None and spec.domain is not None:
        expected = spec.domain.cardinality
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
    return ParsedColumn(
        Domain(len(labels)), labels, codes_of(cells, labels, where.cell, where.what), shares_labels=True
    )


def with_shared_labels(parsed: Sequence[ParsedColumn]) -> list[ParsedColumn]:
    """Give text columns with the same labels one order; a column with few labels takes those of a column with more.

    Examples:
        >>> columns = [np.array(cells, dtype=object) for cells in (["b", "a", "c"], ["a", "c", "b"], ["c", "b", "c"])]
        >>> parsed = [parse_column(cells, None, Where("X", "answer", str)) for cells in columns]
        >>> [(column.labels, column.codes.tolist()) for column in with_shared_labels(parsed)][1:]
        [(('b', 'a', 'c'), [1.0, 2.0, 0.0]), (('b', 'a', 'c'), [2.0, 0.0, 2.0])]
    """
    hosts = _hosts([column.labels for column in parsed if column.shares_labels and column.labels])
    out = []
    for column in parsed:
        own = column.labels
        if not column.shares_labels or own is None:
            out.append(column)
            continue
        host = hosts[frozenset(own)]
        place = {label: float(code) for code, label in enumerate(host)}
        places = np.array([*(place[label] for label in own), np.nan])
        codes = places[np.where(np.isnan(column.codes), len(own), column.codes).astype(np.int64)]
        out.append(replace(column, domain=Domain(len(host)), labels=host, codes=codes))
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
