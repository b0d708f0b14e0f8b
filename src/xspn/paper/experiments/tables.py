"""`Table` and `Cell`: what a table says, whatever it is printed on."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from xspn.paper.experiments.compare import Mark, against

SIGNS: dict[Mark, str] = {"better": "▲", "equal": "=", "worse": "▼"}


@dataclass(frozen=True)
class Cell:
    """One entry: a text, how it compares with the published one, and whether it is significantly better."""

    text: str
    mark: Mark | None = None
    bold: bool = False


@dataclass(frozen=True)
class Table:
    """A table with a title, notes below it, and columns of which some repeat the paper.

    Attributes:
        name: A short name: the anchor in the report.
        title: The title.
        header: The names of the columns.
        rows: The entries; the first of each row is its name.
        notes: Sentences below the table.
        published: The places of the columns that repeat the paper's numbers.
    """

    name: str
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    published: frozenset[int] = field(default_factory=frozenset)


NOTHING = Cell("–")


def number(value: float | None, digits: int = 3) -> str:
    """Return a number with a proper minus sign, or a dash.

    Examples:
        >>> number(-19.66312), number(None), number(float("-inf"))
        ('−19.663', '–', '−∞')
    """
    if value is None:
        return "–"
    text = f"{value:.{digits}f}" if abs(value) != float("inf") else f"{value}".replace("inf", "∞")
    return text.replace("-", "−")


def cell(value: float | None, published: float | None = None, bold: bool = False, digits: int = 3) -> Cell:
    """Return a measured number, marked by how it compares with the published one."""
    if value is None:
        return NOTHING
    return Cell(number(value, digits), None if published is None else against(value, published), bold)


def scoreboard(cells: Sequence[Cell]) -> str:
    """Count the marks of a column.

    Examples:
        >>> scoreboard([Cell("1", "better"), Cell("2", "equal"), Cell("3", "better"), Cell("–")])
        'better on 2, equal on 1, worse on 0 of 3'
    """
    marks = [entry.mark for entry in cells if entry.mark is not None]
    parts = [f"{mark} on {marks.count(mark)}" for mark in SIGNS]
    return f"{', '.join(parts)} of {len(marks)}"
