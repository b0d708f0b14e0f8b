"""`ReportTable` and `Cell`: what a table says; tables and the report as Markdown and as one HTML page."""

import base64
import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xspn.paper.experiments.comparison import Mark, against

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIGNS: dict[Mark, str] = {"better": "▲", "equal": "=", "worse": "▼"}


@dataclass(frozen=True)
class Cell:
    """One entry: a text, how it compares with the published one, and whether it is significantly better."""

    text: str
    mark: Mark | None = None
    bold: bool = False


@dataclass(frozen=True)
class ReportTable:
    """A table with a title, notes below it, and columns of which some repeat the paper.

    Attributes:
        name: A short name: the anchor in the report.
        title: The title.
        header: The names of the columns.
        rows: The entries; the first of each row is its name.
        notes: Sentences below the table.
    """

    name: str
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()

    @property
    def published(self) -> frozenset[int]:
        """The indices of the columns that repeat the paper's numbers."""
        return frozenset(i for i, name in enumerate(self.header) if name.startswith("paper's"))


@dataclass(frozen=True)
class Drawing:
    """A figure with what it says."""

    figure: "Figure"
    caption: str


NOTHING = Cell("–")


def format_number(value: float | None, digits: int = 3) -> str:
    """Return a number with a proper minus sign, or a dash.

    Examples:
        >>> format_number(-19.66312), format_number(None), format_number(float("-inf"))
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
    return Cell(format_number(value, digits), None if published is None else against(value, published), bold)


def scoreboard(cells: Sequence[Cell]) -> str:
    """Count the marks of a column.

    Examples:
        >>> scoreboard([Cell("1", "better"), Cell("2", "equal"), Cell("3", "better"), Cell("–")])
        'better on 2, equal on 1, worse on 0 of 3'
    """
    marks = [entry.mark for entry in cells if entry.mark is not None]
    parts = [f"{mark} on {marks.count(mark)}" for mark in SIGNS]
    return f"{', '.join(parts)} of {len(marks)}"


def markdown_table(table: ReportTable) -> str:
    """Return a table in Markdown: title, table, notes.

    Examples:
        >>> rows = ((Cell("senate"), Cell("−19.6", "better", bold=True), Cell("−19.7")),)
        >>> print(markdown_table(ReportTable("t", "Likelihoods", ("data", "XSPN", "paper's"), rows, ("In nats.",))))
        ### Likelihoods
        <BLANKLINE>
        | data | XSPN | paper's |
        |---|--:|--:|
        | senate | **−19.6** ▲ | −19.7 |
        <BLANKLINE>
        - In nats.
    """
    lines = [f"### {table.title}", "", _markdown_row([_escaped(name) for name in table.header])]
    lines.append("|---|" + "--:|" * (len(table.header) - 1))
    lines += [_markdown_row([_markdown_cell(cell) for cell in row]) for row in table.rows]
    if table.notes:
        lines += ["", *(f"- {_escaped(note)}" for note in table.notes)]
    return "\n".join(lines)


def html_table(table: ReportTable) -> str:
    """Return a table in HTML; colors and arrows both say how a number compares with the paper's."""
    head = "".join(f"<th{_column(table, place)}>{html.escape(name)}</th>" for place, name in enumerate(table.header))
    body = []
    for row in table.rows:
        first, *others = row
        cells = [f"<th>{html.escape(first.text)}</th>"]
        cells += [_html_cell(cell, _column(table, place)) for place, cell in enumerate(others, start=1)]
        body.append(f"<tr>{''.join(cells)}</tr>")
    notes = "".join(f"<li>{_inline(note)}</li>" for note in table.notes)
    return (
        f'<section id="{table.name}"><h2>{html.escape(table.title)}</h2>\n<div class="wide"><table>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n" + "\n".join(body) + "\n</tbody></table></div>\n"
        f'<ul class="notes">{notes}</ul></section>'
    )


def _markdown_row(texts: list[str]) -> str:
    return f"| {' | '.join(texts)} |"


def _markdown_cell(cell: Cell) -> str:
    text = f"**{_escaped(cell.text)}**" if cell.bold else _escaped(cell.text)
    return text if cell.mark is None else f"{text} {SIGNS[cell.mark]}"


def _escaped(text: str) -> str:
    return text.replace("*", "\\*").replace("|", "\\|")


def _column(table: ReportTable, place: int) -> str:
    return ' class="paper"' if place in table.published else ""


def _html_cell(cell: Cell, column: str) -> str:
    text = html.escape(cell.text)
    text = f"<b>{text}</b>" if cell.bold else text
    if cell.mark is not None:
        text += f' <i class="{cell.mark}" title="{cell.mark}, compared with the paper">{SIGNS[cell.mark]}</i>'
    return f"<td{column}>{text}</td>"


STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 76rem; margin: 2rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
nav a { margin-right: 1rem; } a { color: #0072b2; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.86rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.22rem 0.6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #e6e6e6; }
thead th { border-bottom: 2px solid #999; vertical-align: bottom; white-space: normal; }
tbody th, thead th:first-child { text-align: left; font-weight: 600; }
tbody tr:hover { background: #f4f6f8; }
.paper { color: #777; }
i { font-style: normal; font-size: 0.8em; }
i.better { color: #00795a; } i.equal { color: #777; } i.worse { color: #b84c00; }
.notes { color: #555; font-size: 0.86rem; max-width: 60rem; }
figure { margin: 1.5rem 0; } figcaption { color: #555; font-size: 0.86rem; max-width: 60rem; }
img { max-width: min(100%, 60rem); height: auto; }
"""


def html_page(
    summary: Sequence[str],
    skipped: Sequence[str],
    parts: Mapping[str, ReportTable | Drawing],
    pictures: Mapping[str, bytes],
) -> str:
    """Return the page.

    Args:
        summary: Sentences for the top.
        skipped: What was skipped and why.
        parts: Tables and drawings in order, by name.
        pictures: The drawings as SVG, by name.
    """
    links = [f'<a href="#{name}">{html.escape(_title(name, part))}</a>' for name, part in parts.items()]
    blocks = [
        html_table(part) if isinstance(part, ReportTable) else _figure(name, part, pictures[name])
        for name, part in parts.items()
    ]
    skipped_list = f"<h2>Skipped</h2>{_listed(skipped)}" if skipped else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>xspn: the paper's tables and figures</title>\n<style>{STYLE}</style></head>\n<body>"
        f"<h1>The paper's tables and figures, reproduced</h1>\n<nav>{' '.join(links)}</nav>\n"
        f"{_listed(summary)}\n{skipped_list}\n" + "\n".join(blocks) + "\n</body></html>\n"
    )


def _title(name: str, part: ReportTable | Drawing) -> str:
    return part.title.split(":")[0] if isinstance(part, ReportTable) else name.replace("_", " ").capitalize()


def _listed(lines: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{_inline(line)}</li>' for line in lines)}</ul>"


def _inline(text: str) -> str:
    """Return a sentence as HTML, what it has between backticks as code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(text))


def _figure(name: str, drawing: Drawing, picture: bytes) -> str:
    data = base64.b64encode(picture).decode("ascii")
    caption = html.escape(drawing.caption)
    return (
        f'<figure id="{name}"><img alt="{caption}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption>{caption}</figcaption></figure>"
    )
