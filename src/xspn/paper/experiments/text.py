"""Tables as Markdown and as HTML."""

import html

from xspn.paper.experiments.tables import SIGNS, Cell, Table


def markdown_table(table: Table) -> str:
    """Return a table in Markdown: title, table, notes.

    Examples:
        >>> rows = ((Cell("senate"), Cell("−19.6", "better", bold=True), Cell("−19.7")),)
        >>> print(markdown_table(Table("t", "Likelihoods", ("data", "XSPN", "paper's"), rows, ("In nats.",))))
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


def html_table(table: Table) -> str:
    """Return a table in HTML; colours and arrows both say how a number compares with the paper's."""
    head = "".join(f"<th{_column(table, place)}>{html.escape(name)}</th>" for place, name in enumerate(table.header))
    body = []
    for row in table.rows:
        first, *others = row
        cells = [f"<th>{html.escape(first.text)}</th>"]
        cells += [_html_cell(cell, _column(table, place)) for place, cell in enumerate(others, start=1)]
        body.append(f"<tr>{''.join(cells)}</tr>")
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in table.notes)
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


def _column(table: Table, place: int) -> str:
    return ' class="paper"' if place in table.published else ""


def _html_cell(cell: Cell, column: str) -> str:
    text = html.escape(cell.text)
    text = f"<b>{text}</b>" if cell.bold else text
    if cell.mark is not None:
        text += f' <i class="{cell.mark}" title="{cell.mark}, compared with the paper">{SIGNS[cell.mark]}</i>'
    return f"<td{column}>{text}</td>"
