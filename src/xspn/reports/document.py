"""A document of headings, texts, tables and pictures, as one HTML page or one Markdown file; all text is escaped."""

import html
import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field

from xspn.core.errors import printable

SIGNS = re.compile(r"([\\`*_{}\[\]()#+!|<>&~])")  # of Markdown, and of the HTML that it may hold
STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; color: #222; background: #fff;
  max-width: 1080px; margin: 2rem auto 4rem; padding: 0 1.2rem; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; margin: 0 0 .2rem; } h2 { font-size: 1.25rem; margin: 2.4rem 0 .5rem; padding-top: .8rem;
  border-top: 1px solid #d8dde2; } h3 { font-size: 1.02rem; margin: 1.5rem 0 .3rem; }
p, ul { margin: .45rem 0; max-width: 54rem; } li { margin: .2rem 0; }
nav a { margin-right: 1.1rem; color: #0072b2; text-decoration: none; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; margin: .6rem 0; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .28rem .8rem .28rem 0; border-bottom: 1px solid #e6e9ec; }
th { color: #555; font-weight: 600; border-bottom-color: #b5bcc3; } .right { text-align: right; white-space: nowrap; }
figure { margin: .9rem 0; } img { max-width: 100%; height: auto; } figcaption { color: #555; font-size: .88rem; }
@media print { body { max-width: none; } h2 { break-after: avoid; } figure, tr { break-inside: avoid; } }
"""
SAFE = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


@dataclass(frozen=True)
class Heading:
    """A heading of a level from 2, with a short word for links."""

    text: str
    level: int = 2
    anchor: str = ""


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of plain text."""

    text: str


@dataclass(frozen=True)
class Listing:
    """A list of plain texts."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Grid:
    """A table: a header, rows of texts, and which columns hold numbers."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Picture:
    """A PNG, what it shows for those who cannot see it, and a caption."""

    png: bytes
    alt: str
    caption: str = ""
    width: int = 1000  # pixels at most


Block = Heading | Paragraph | Listing | Grid | Picture


@dataclass
class Document:
    r"""A title and blocks, to be written as HTML or Markdown.

    Examples:
        >>> document = Document("A <b> title")
        >>> document.add(Paragraph("1 < 2"), Grid(("a|b",), (("*x*",),)))
        >>> print(document.markdown().split(chr(10), 2)[2])
        1 &lt; 2
        <BLANKLINE>
        | a\|b |
        |---|
        | \*x\* |
        <BLANKLINE>
        >>> "A &lt;b&gt; title" in document.html()
        True
    """

    title: str
    blocks: list[Block] = field(default_factory=list)

    def add(self, *blocks: Block) -> None:
        """Add blocks at the end."""
        self.blocks += blocks

    def html(self) -> str:
        """Return one page that needs nothing else."""
        links = [
            f'<a href="#{html.escape(own.anchor)}">{_text(own.text)}</a>'
            for own in self.blocks
            if isinstance(own, Heading) and own.anchor
        ]
        body = "\n".join(map(_html, self.blocks))
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{SAFE}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{_text(self.title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
            f"<h1>{_text(self.title)}</h1>\n<nav>{''.join(links)}</nav>\n{body}\n</body>\n</html>\n"
        )

    def markdown(self) -> str:
        """Return Markdown, pictures inside."""
        return "\n\n".join([f"# {_escaped(self.title)}", *map(_markdown, self.blocks)]) + "\n"


def _text(text: str) -> str:
    """Return a text as HTML shows it; no line ends before a percent sign."""
    return html.escape(printable(text)).replace(" %", "&nbsp;%")


def _html(block: Block) -> str:
    if isinstance(block, Heading):
        anchor = f' id="{html.escape(block.anchor)}"' if block.anchor else ""
        return f"<h{block.level}{anchor}>{_text(block.text)}</h{block.level}>"
    if isinstance(block, Paragraph):
        return f"<p>{_text(block.text)}</p>"
    if isinstance(block, Listing):
        return f"<ul>{''.join(f'<li>{_text(item)}</li>' for item in block.items)}</ul>"
    if isinstance(block, Picture):
        caption = f"<figcaption>{_text(block.caption)}</figcaption>" if block.caption else ""
        source = f"data:image/png;base64,{b64encode(block.png).decode('ascii')}"
        return f'<figure><img src="{source}" alt="{_text(block.alt)}" width="{block.width}">{caption}</figure>'
    classes = [' class="right"' if name in block.right else "" for name in block.header]
    head = "".join(f"<th{own}>{_text(name)}</th>" for name, own in zip(block.header, classes, strict=True))
    rows = (
        "".join(f"<td{own}>{_text(cell)}</td>" for cell, own in zip(row, classes, strict=True)) for row in block.rows
    )
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    return f'<div class="scroll"><table>\n<tr>{head}</tr>\n{body}\n</table></div>'


def _escaped(text: str) -> str:
    """Return a text that Markdown shows as it is, in one line."""
    named = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
    return SIGNS.sub(lambda found: named.get(found[1], f"\\{found[1]}"), " ".join(printable(text).split()))


def _markdown(block: Block) -> str:
    if isinstance(block, Heading):
        return f"{'#' * block.level} {_escaped(block.text)}"
    if isinstance(block, Paragraph):
        return _escaped(block.text)
    if isinstance(block, Listing):
        return "\n".join(f"- {_escaped(item)}" for item in block.items)
    if isinstance(block, Picture):
        caption = f"\n\n{_escaped(block.caption)}" if block.caption else ""
        return f"![{_escaped(block.alt)}](data:image/png;base64,{b64encode(block.png).decode('ascii')}){caption}"
    return "\n".join([_line(block.header), _rule(block), *map(_line, block.rows)])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_escaped, cells))} |"


def _rule(block: Grid) -> str:
    return f"|{'|'.join('---:' if name in block.right else '---' for name in block.header)}|"
