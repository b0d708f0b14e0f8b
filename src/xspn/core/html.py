"""Small pieces of HTML for notebooks: text as text, bars and tables, and nothing that loads or runs."""

from collections.abc import Sequence
from html import escape

from xspn.core.errors import printable
from xspn.core.names import shortened

LONGEST = 40  # letters
BLUE, TRACK = "#0072B2", "#8A8A8A33"
CELL = "padding:1px 12px 1px 0;text-align:left;vertical-align:middle"


def text(own: object, letters: int = LONGEST) -> str:
    """Return any text as HTML shows it, shortened.

    Examples:
        >>> text("<b>&amp;")
        '&lt;b&gt;&amp;amp;'
    """
    return escape(shortened(printable(str(own)), letters))


def bar(p: float, before: float | None = None) -> str:
    """Return a bar for a probability, with a mark at another one."""
    width = 100 * min(max(p, 0.0), 1.0)
    inner = f"<span style='display:block;height:9px;width:{width:.1f}%;background:{BLUE}'></span>"
    if before is not None:
        at = 100 * min(max(before, 0.0), 1.0)
        place = f"position:absolute;top:-2px;left:{at:.1f}%;height:13px;width:2px"
        inner += f"<span style='{place};background:currentColor;opacity:.6'></span>"
    return f"<span style='display:block;position:relative;width:140px;height:9px;background:{TRACK}'>{inner}</span>"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of cells that are HTML already; without a head if that is empty."""
    first = "".join(f"<th style='{CELL};opacity:.7;font-weight:normal'>{cell}</th>" for cell in head)
    lines = [f"<tr>{first}</tr>"] if head else []
    lines += ["<tr>" + "".join(f"<td style='{CELL}'>{cell}</td>" for cell in row) + "</tr>" for row in rows]
    return f"<table style='border-collapse:collapse;margin:4px 0;font-size:inherit'>{''.join(lines)}</table>"


def quiet(own: str) -> str:
    """Return a line of lesser weight, of HTML."""
    return f"<div style='opacity:.7'>{own}</div>"
