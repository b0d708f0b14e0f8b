"""Numbers in text: plain ones, and those with decimal commas (1,5) or separated thousands, made plain."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from xspn.core.errors import DataError

SIGN = r"[+-]?"
# Digits, a point, an exponent. Texts with leading zeros are names (007, postal codes), not numbers.
NUMBER = re.compile(SIGN + r"((?!0\d)\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
DECIMAL_COMMA = re.compile(SIGN + r"((?!0\d)\d+|[1-9]\d{0,2}(\.\d{3})+)?,\d+([eE][+-]?\d+)?")
POINTS = re.compile(SIGN + r"[1-9]\d{0,2}(\.\d{3})+")  # thousands apart by points, in a table of decimal commas
COMMAS = re.compile(SIGN + r"[1-9]\d{0,2}(,\d{3})+(\.\d+)?")  # thousands apart by commas
DECIMALS = (".", ",")
Place = Callable[[int, int], str]


def is_comma_number(text: str) -> bool:
    """Whether a text is a number with a comma in it, of either meaning.

    Examples:
        >>> [is_comma_number(text) for text in ("1,5", "1.234,5", "1,234.5", "1,2,3", "a,b")]
        [True, True, True, False, False]
    """
    return bool(DECIMAL_COMMA.fullmatch(text) or COMMAS.fullmatch(text))


def with_decimal_points(
    cells: Sequence[list[Any]], decimal: str | None, source: str, place: Place
) -> tuple[tuple[list[Any], ...], int]:
    """Return columns with plain numbers where they had commas, and the number of columns that had decimal commas.

    Without `decimal`, a column is taken to have decimal commas if that is the only way to read one of its numbers, or
    one of another column's. Where every number could be either, as 1,234 could, it is asked for.

    Examples:
        >>> with_decimal_points([["1,5", "2"], ["1,234", None]], None, "t.csv", lambda row, column: "there")
        ((['1.5', '2'], ['1.234', None]), 2)
        >>> with_decimal_points([["1,234", "2"]], ".", "t.csv", lambda row, column: "there")
        ((['1234', '2'],), 0)
    """
    commas = [j for j, own in enumerate(cells) if _has_numbers_with_commas(own)]
    used = decimal
    if decimal is None and commas:
        certain = {sign for j in commas for cell in cells[j] if cell is not None and (sign := _sign(cell))}
        if len(certain) != 1:
            j = commas[0]
            row = next(i for i, cell in enumerate(cells[j]) if cell is not None and is_comma_number(cell))
            found = f"{cells[j][row]!r} at {place(row, j)}"
            raise DataError(
                f"{source}: {found} may have a decimal comma, or one between thousands; say which sign is decimal"
            ).with_remedy("decimal")
        used = certain.pop()
    if used is None or (decimal is None and not commas):
        return tuple(cells), 0
    out, changed = [], 0
    for own in cells:
        plain = _plain(own, used)
        changed += used == "," and plain is not own
        out.append(plain)
    return tuple(out), changed


def _has_numbers_with_commas(cells: Sequence[Any]) -> bool:
    if not any(isinstance(cell, str) and "," in cell and is_comma_number(cell) for cell in cells):
        return False
    seen = [cell for cell in cells if cell is not None]
    return all(isinstance(cell, str) and (is_comma_number(cell) or NUMBER.fullmatch(cell)) for cell in seen)


def _sign(cell: str) -> str | None:
    """Return the decimal sign that a number must have; None if it may be either."""
    decimal, thousands = DECIMAL_COMMA.fullmatch(cell), COMMAS.fullmatch(cell)
    if decimal and not thousands:
        return ","
    return "." if thousands and not decimal else None


def _plain(cells: list[Any], decimal: str) -> list[Any]:
    """Return a column's numbers in plain form; the column itself if it is not all numbers of that kind."""
    patterns = (DECIMAL_COMMA, POINTS) if decimal == "," else (COMMAS,)
    remove, comma = (".", ",") if decimal == "," else (",", "")
    texts = [cell for cell in cells if isinstance(cell, str)]

    def is_own(cell: str) -> bool:
        return any(pattern.fullmatch(cell) for pattern in patterns)

    def is_other(cell: str) -> bool:  # one whose point cannot be a decimal one beside decimal commas
        return NUMBER.fullmatch(cell) is not None and remove not in cell

    if not any(map(is_own, texts)) or not all(is_own(cell) or is_other(cell) for cell in texts):
        return cells

    def plain(cell: Any) -> Any:
        if not isinstance(cell, str) or not is_own(cell):
            return cell
        found = cell.replace(remove, "")
        return found.replace(comma, ".") if comma else found

    return [plain(cell) for cell in cells]
