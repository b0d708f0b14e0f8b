"""Layouts that tables of items come in: a basket a line, or a line for each item of a basket; made wide here.

"baskets" has the items of a basket side by side, as many as there are; "long" has a column that says which basket (or
voter), one that says which item (or ballot), and perhaps one with a quantity (or vote). What is certain is recognized,
what only looks so is refused with a hint: a table that is read wrongly is modelled wrongly without a sign of it.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from xspn.core.checks import is_missing, suggestion
from xspn.core.errors import DataError, ParameterError, counted
from xspn.core.memory import need_memory

LAYOUTS = ("auto", "wide", "baskets", "long")
ABSENT = ("0", "missing")
WHOLE = re.compile(r"\d+")
MEASURED = re.compile(r"[+-]?\d*[.,]\d+([eE][+-]?\d+)?")  # numbers with decimals are measured, and name no item
LEAST_RAGGED = 0.1  # of the lines have another number of cells than most, in a file of baskets
MOST_DOUBLE = 0.05  # of the lines have a cell twice, at most
LEAST_MOVING = 0.5  # of the texts that occur again do so in another place of the line
EXPECTED_PAIRS = 8.0  # rows of columns that know nothing of each other that would agree, so that none does is no chance
BYTES_OF_CELL = 24  # of memory, while a pivoted table is made
Rows = Sequence[tuple[int, Sequence[Any]]]  # the line of each row, and its cells

# Words for what a row is, for what an item is, and for what is said of an item, in the columns' names.
ROW_WORDS = frozenset(("basket", "order", "transaction", "trans", "tid", "invoice", "receipt", "ticket", "cart")) | {
    *("customer", "user", "member", "voter", "respondent", "person", "session", "visitor", "visit", "household"),
    *("student", "patient", "legislator", "senator"),
}
ITEM_WORDS = frozenset(("item", "product", "article", "sku", "good", "goods", "stock", "stockcode", "ballot")) | {
    *("bill", "motion", "rollcall", "roll", "question", "page", "movie", "film", "song", "artist", "book", "course"),
    "symptom",
}
QUANTITY_WORDS = frozenset(("quantity", "qty", "count", "amount", "units", "unit", "pieces", "number", "n"))
VALUE_WORDS = QUANTITY_WORDS | {"vote", "rating", "answer", "response", "score", "value", "grade", "result", "choice"}


@dataclass(frozen=True)
class LongColumns:
    """Which columns of a long table say what; by their places or names.

    Attributes:
        row: Those that tell rows of the wide table apart.
        item: The one whose values become columns.
        value: The one whose values become cells; None if being listed is all there is.
    """

    row: tuple[str, ...] = ()
    item: str | None = None
    value: str | None = None

    def __bool__(self) -> bool:
        return bool(self.row) or self.item is not None or self.value is not None


@dataclass(frozen=True)
class Pivoted:
    """A table made wide.

    Attributes:
        names: The items.
        cells: The cells of each item's column.
        row_names: What each row was called; None for baskets without a name.
        row_heading: What these names are names of, such as "voter".
        lines: The line that each row began in.
        absent: What stands where an item is not listed; None for a missing value.
        note: What was done, in words.
        is_news: Whether that is not what the layout says by itself: quantities that became 0 and 1, a column of
            values that nobody named.
    """

    names: tuple[str, ...]
    cells: tuple[list[Any], ...]
    row_names: list[str] | None
    lines: list[int] | None
    absent: int | None
    note: str = field(compare=False)
    is_news: bool = False
    row_heading: str = "row"


# -- baskets, one a line -----------------------------------------------------------------------------------------------


def without_trailing(row: Sequence[Any], missing: Collection[str]) -> list[str]:
    """Return a row's cells as text, without the empty ones at its end."""
    cells = ["" if cell is None or cell in missing else str(cell).strip() for cell in row]
    while cells and not cells[-1]:
        cells.pop()
    return cells


def looks_like_baskets(rows: Rows, missing: Collection[str]) -> bool:
    """Whether rows of texts are certainly baskets.

    They differ in length, hardly any has a cell twice, none has a gap or a measured number, and what occurs again does
    so at other places of the line: values of a plain table stay in their columns.

    Examples:
        >>> lines = ["milk,bread", "beer", "bread,milk,eggs", "beer,chips", "eggs,beer,milk"]
        >>> looks_like_baskets([(i, line.split(",")) for i, line in enumerate(lines)], ())
        True
        >>> looks_like_baskets([(1, ["yes", "no", "4"]), (2, ["no", "no"]), (3, ["yes", "yes", "5"])], ())
        False
    """
    own = [cells for _, cells in _items_of(rows, missing) if cells]
    if len(own) < 3:
        return False
    usual = Counter(map(len, own)).most_common(1)[0][1]
    if len(own) - usual < LEAST_RAGGED * len(own):
        return False
    if any(not cell or MEASURED.fullmatch(cell) for cells in own for cell in cells):
        return False
    if sum(len(set(cells)) < len(cells) for cells in own) > MOST_DOUBLE * len(own):
        return False
    places: dict[str, set[int]] = {}
    times: Counter[str] = Counter()
    for cells in own:
        times.update(cells)
        for place, cell in enumerate(cells):
            places.setdefault(cell, set()).add(place)
    again = [cell for cell, count in times.items() if count > 1]
    moving = sum(len(places[cell]) > 1 for cell in again)
    return bool(again) and moving >= LEAST_MOVING * len(again)


def _items_of(rows: Rows, missing: Collection[str], header: bool | None = None) -> list[tuple[int, list[str]]]:
    """Return the cells of each basket: without a heading, empty cells at the end, and a number of items before them."""
    own = [(line, without_trailing(row, missing)) for line, row in rows]
    if header or (header is None and own and _is_heading(rows, own[0][1], [cells for _, cells in own[1:]])):
        own = own[1:]
    full = [cells for _, cells in own if cells]
    if full and all(cells[0] == str(sum(map(bool, cells[1:]))) for cells in full) and len(set(map(len, full))) > 1:
        return [(line, cells[1:]) for line, cells in own]
    return own


def _is_heading(rows: Rows, first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether the first row is one of names: "items", "item 1, item 2, …", or above lines that are filled up."""
    stems = {re.sub(r"[^a-z]", "", cell.lower()).removesuffix("s") for cell in first}
    if len(stems) == 1 and (len(first) > 1 or stems & (ITEM_WORDS | {"basket", "transaction"})) and "" not in stems:
        return len(first) == 1 or any(cell[-1:].isdigit() for cell in first)
    is_filled_up = len({len(row) for _, row in rows}) == 1 and any(len(cells) < len(first) for cells in below)
    if not is_filled_up or len(first) < len(rows[0][1]) or len(set(first)) < len(first):
        return False
    known = {cell for cells in below for cell in cells}
    return known.isdisjoint(first)


def basket_table(
    rows: Rows, source: str, missing: Collection[str], header: bool | None = None, min_support: int = 1
) -> Pivoted:
    """Return baskets, one a line, as a table with a column for each item: 1 where it is there, 0 elsewhere.

    Examples:
        >>> found = basket_table([(1, ["milk", "bread"]), (2, ["milk"])], "shop.csv", ())
        >>> found.names, found.cells, found.absent
        (('milk', 'bread'), ([1, 1], [1, 0]), 0)
    """
    own = _items_of(rows, missing, header)
    listed = [(place, item, 1) for place, (_, cells) in enumerate(own) for item in cells if item]
    if not listed:
        raise DataError(f"{source}: there is no basket with an item in it")
    lines = [line for line, _ in own]
    return _wide(listed, len(own), None, lines, 0, source, min_support, f"read as baskets, {counted(len(own), 'line')}")


# -- a line for each item ----------------------------------------------------------------------------------------------


def certain_long_columns(names: Sequence[str], cells: Sequence[Sequence[Any]]) -> LongColumns | None:
    """Return what the columns of a certainly long table say: their names do, and rows occur again and again.

    Examples:
        >>> certain_long_columns(["voter", "ballot", "vote"], [["a", "a", "b"], ["x", "y", "x"], ["yes", "no", "no"]])
        LongColumns(row=('voter',), item='ballot', value='vote')
        >>> certain_long_columns(["age", "city"], [["4", "4"], ["Bonn", "Rome"]])
    """
    if len(names) not in (2, 3):
        return None
    words = {"row": ROW_WORDS, "item": ITEM_WORDS, "value": VALUE_WORDS}
    found: dict[str, str] = {}
    for name in names:
        part = next((part for part, known in words.items() if part not in found and _word(name) in known), None)
        if part is None:
            return None
        found[part] = name
    if not {"row", "item"} <= found.keys():
        return None
    rows = cells[list(names).index(found["row"])]
    if len({cell for cell in rows if cell is not None}) == len(rows):
        return None
    return LongColumns((found["row"],), found["item"], found.get("value"))


def _word(name: str) -> str:
    """Return what a column's name is about: "Order_ID" is about an order."""
    parts = [part for part in re.split(r"[^a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()) if part]
    parts = [part for part in parts if part not in ("id", "ids", "no", "nr", "code", "name", "key", "description")]
    joined = "".join(parts).removesuffix("id") if len(parts) == 1 else "".join(parts)
    known = ROW_WORDS | ITEM_WORDS | VALUE_WORDS
    return next((own for own in (joined, *parts) if own in known), joined)


def looks_long(names: Sequence[str], cells: Sequence[Sequence[Any]]) -> bool:
    """Whether two or three columns may well be a long table, whatever they are called.

    The first two are texts or whole numbers that occur again, and no pair of them does, although of as many rows of
    columns that know nothing of each other some would agree.
    """
    if len(names) not in (2, 3) or any(cell is None for own in cells[:2] for cell in own):
        return False
    first, second = ([str(cell) for cell in own] for own in cells[:2])
    if any(MEASURED.fullmatch(cell) for own in (first, second) for cell in own):
        return False
    n = len(first)
    if len(set(zip(first, second, strict=True))) < n:
        return False
    alike = [sum((count / n) ** 2 for count in Counter(own).values()) for own in (first, second)]
    agree = [own * n - 1 for own in alike]  # how many other rows share a value, on average
    return min(agree) > 0.5 and alike[0] * alike[1] * n * n / 2 > EXPECTED_PAIRS


def long_table(
    names: Sequence[str],
    cells: Sequence[Sequence[Any]],
    lines: Sequence[int] | None,
    source: str,
    columns: LongColumns | None = None,
    absent: str | None = None,
    min_support: int = 1,
) -> Pivoted:
    """Return a long table made wide: a row for each basket, a column for each item.

    Without a column of values, or with one of quantities, cells say whether an item is listed. Other values (votes,
    ratings) become the cells, and what is not listed is missing; `absent` overrules it.

    Examples:
        >>> found = long_table(["voter", "ballot", "vote"], [["a", "a", "b"], ["x", "y", "x"], ["yes", "no", "no"]],
        ...                    [2, 3, 4], "votes.csv")
        >>> found.names, found.cells, found.row_names
        (('x', 'y'), (['yes', 'no'], ['no', None]), ['a', 'b'])
    """
    chosen = _chosen_columns(names, cells, columns or LongColumns(), source)
    by_name = dict(zip(names, cells, strict=True))

    def place(row: int, name: str) -> str:
        return f"{f'row {row}' if lines is None else f'line {lines[row]}'}, column {name!r}"

    for name in (*chosen.row, str(chosen.item)):
        if any(cell is None for cell in by_name[name]):
            row = next(row for row, cell in enumerate(by_name[name]) if cell is None)
            raise DataError(f"{source}: expected a value in every row, found none at {place(row, name)}")
    keys = list(zip(*(map(str, by_name[name]) for name in chosen.row), strict=True))
    order = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    items = [str(cell) for cell in by_name[str(chosen.item)]]
    values, is_quantity = _values(chosen, by_name, absent, source, place)
    listed, seen = [], dict[tuple[int, str], Any]()
    for row, (key, item, value) in enumerate(zip(keys, items, values, strict=True)):
        cell = (order[key], item)
        if chosen.value is not None and not is_quantity and seen.get(cell, value) != value:
            raise DataError(
                f"{source}: {' '.join(key)!r} has {item!r} twice, with the values {seen[cell]!r} and {value!r} "
                f"({place(row, chosen.value)}); keep one of them"
            )
        if cell not in seen or is_quantity:
            listed.append((order[key], item, value))
            seen[cell] = value
    starts: dict[Any, int] = {}
    for key, line in zip(keys, lines or (), strict=lines is not None):
        starts.setdefault(key, line)
    otherwise = 0 if is_quantity or chosen.value is None or absent == "0" else None
    what = f"read as a long table, a row for each {' and '.join(chosen.row)} and a column for each {chosen.item}"
    what += "; quantities above 0 become 1" if is_quantity else ""
    is_guessed = chosen.value is not None and columns is not None and bool(columns) and columns.value is None
    what += f", with the values of {chosen.value!r}" if is_guessed and not is_quantity else ""
    called, began = [" ".join(key) for key in order], list(starts.values()) or None
    made = _wide(listed, len(order), called, began, otherwise, source, min_support, what)
    return replace(made, is_news=is_quantity or is_guessed, row_heading=" ".join(chosen.row))


def _chosen_columns(
    names: Sequence[str], cells: Sequence[Sequence[Any]], columns: LongColumns, source: str
) -> LongColumns:
    for name in (*columns.row, columns.item, columns.value):
        if name is not None and name not in names:
            raise DataError(f"{source}: there is no column {name!r}{suggestion(name, names)}")
    if columns.row and columns.item is not None:
        chosen = columns if columns.value is not None else replace(columns, value=_unnamed_value(names, columns))
    elif columns:
        lacking = "which column tells rows apart" if not columns.row else "which column names the item"
        raise ParameterError(f"{source}: a long table needs to know {lacking}").with_remedy("long columns")
    else:
        known = certain_long_columns(names, cells)
        if known is None and len(names) not in (2, 3):
            raise ParameterError(
                f"{source}: a long table has a column for the row, one for the item and perhaps one for the value; of "
                f"{counted(len(names), 'column')} say which they are"
            ).with_remedy("long columns")
        chosen = known or LongColumns((names[0],), names[1], names[2] if len(names) == 3 else None)
    own = [*chosen.row, chosen.item, chosen.value]
    if len({name for name in own if name is not None}) < sum(name is not None for name in own):
        raise ParameterError(f"{source}: row, item and value of a long table need a column each")
    return chosen


def _unnamed_value(names: Sequence[str], columns: LongColumns) -> str | None:
    """Return the column that holds the values by its name, if it is the only such one that has no part yet.

    Without it, votes for and against would both become 1: listed.
    """
    own = [name for name in names if name not in (*columns.row, columns.item) and _word(name) in VALUE_WORDS]
    return own[0] if len(own) == 1 else None


def _values(
    chosen: LongColumns, by_name: dict[str, Sequence[Any]], absent: str | None, source: str, place: Any
) -> tuple[Sequence[Any], bool]:
    """Return what each row says of its item, and whether these are quantities, of which only 0 or more is kept."""
    n = len(by_name[str(chosen.item)])
    if chosen.value is None:
        if absent == "missing":
            raise ParameterError(f"{source}: without values an item that is not listed is absent, not missing")
        return [1] * n, False
    values = by_name[chosen.value]
    numbers = [_number(value) for value in values]
    odd = next((row for row, number in enumerate(numbers) if number is None and not is_missing(values[row])), None)
    if odd is not None:
        if absent == "0":
            found = f"found {values[odd]!r} at {place(odd, chosen.value)}"
            raise DataError(f"{source}: expected numbers where 0 stands for items that are not listed, {found}")
        return values, False
    if absent is None and _word(chosen.value) in QUANTITY_WORDS:
        return [int((number or 0) > 0) for number in numbers], True
    return values, False


def _number(value: Any) -> float | None:
    try:
        return None if value is None or isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return None


# -- one table ---------------------------------------------------------------------------------------------------------


def _wide(
    listed: Sequence[tuple[int, str, Any]],
    n_rows: int,
    row_names: list[str] | None,
    lines: list[int] | None,
    absent: int | None,
    source: str,
    min_support: int,
    what: str,
) -> Pivoted:
    """Return the table of (row, item, value); items listed in fewer than `min_support` rows are left out."""
    support = Counter(item for _, item in dict.fromkeys((row, item) for row, item, _ in listed))
    names = [item for item, count in support.items() if count >= min_support]
    if not names:
        raise DataError(
            f"{source}: none of {counted(len(support), 'item')} is in {min_support} rows or more; the most frequent "
            f"one is in {max(support.values())}"
        )
    need_memory(
        BYTES_OF_CELL * n_rows * len(names),
        f"{source}: a table of {n_rows:,} rows and {len(names):,} items",
        lambda available: f"about {available // BYTES_OF_CELL // n_rows:,} items would fit; ask for more support",
    )
    place = {name: column for column, name in enumerate(names)}
    bits = all(isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 1 for _, _, value in listed)
    table: Any = np.full((len(names), n_rows), absent, dtype=np.uint8 if bits and absent == 0 else object)
    for row, item, value in listed:
        if item in place:
            table[place[item], row] = max(int(table[place[item], row]), value) if table.dtype == np.uint8 else value
    rare = len(support) - len(names)
    left = f"; {counted(rare, 'item')} in fewer than {min_support} rows left out" if rare else ""
    note = f"{what}: {counted(n_rows, 'row')} of {counted(len(names), 'item')}{left}"
    return Pivoted(tuple(names), tuple(own.tolist() for own in table), row_names, lines, absent, note)
