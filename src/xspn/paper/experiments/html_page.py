"""One self-contained HTML page: no scripts, no links to other files."""

import base64
import html
from collections.abc import Mapping, Sequence

from xspn.paper.experiments.structures import Drawing
from xspn.paper.experiments.tables import Table
from xspn.paper.experiments.text import html_table

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
    summary: Sequence[str], skipped: Sequence[str], parts: Mapping[str, Table | Drawing], pictures: Mapping[str, bytes]
) -> str:
    """Return the page.

    Args:
        summary: Sentences for the top.
        skipped: What was left out and why.
        parts: Tables and drawings in order, by name.
        pictures: The drawings as SVG, by name.
    """
    links = [f'<a href="#{name}">{html.escape(_title(name, part))}</a>' for name, part in parts.items()]
    blocks = [
        html_table(part) if isinstance(part, Table) else _figure(name, part, pictures[name])
        for name, part in parts.items()
    ]
    left_out = f"<h2>Left out</h2>{_listed(skipped)}" if skipped else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>xspn: the paper's tables and figures</title>\n<style>{STYLE}</style></head>\n<body>"
        f"<h1>The paper's tables and figures, reproduced</h1>\n<nav>{' '.join(links)}</nav>\n"
        f"{_listed(summary)}\n{left_out}\n" + "\n".join(blocks) + "\n</body></html>\n"
    )


def _title(name: str, part: Table | Drawing) -> str:
    return part.title.split(":")[0] if isinstance(part, Table) else name.replace("_", " ").capitalize()


def _listed(lines: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{html.escape(line)}</li>' for line in lines)}</ul>"


def _figure(name: str, drawing: Drawing, picture: bytes) -> str:
    data = base64.b64encode(picture).decode("ascii")
    caption = html.escape(drawing.caption)
    return (
        f'<figure id="{name}"><img alt="{caption}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption>{caption}</figcaption></figure>"
    )
