"""A circuit as HTML: the explorer as one file, with nothing loaded from anywhere; and a few lines for a notebook."""

import base64
import hashlib
import re
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from xspn._version import __version__
from xspn.core import html
from xspn.core.arrays import FloatArray
from xspn.core.errors import counted, printable
from xspn.core.files import write_text
from xspn.data.schema import Schema
from xspn.graph.graph import Graph
from xspn.web.payload import json_for_script, model_payload

STATIC = files("xspn.web") / "static"
IMPORT = re.compile(r'^import \{[^}]*\} from "(\./[\w./]+|\.\./[\w./]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(async )?(function|class|const|let)\b)", re.MULTILINE)
MOST_VARIABLES = 12  # in a notebook


def write_page(
    path: Path,
    graph: Graph,
    schema: Schema,
    title: str,
    rows: FloatArray | None = None,
    scores: FloatArray | None = None,
    source: str = "model.json",
) -> None:
    """Write the explorer of a circuit, whole or not at all."""
    write_text(path, page(graph, schema, title, rows, scores, source))


def page(
    graph: Graph,
    schema: Schema,
    title: str,
    rows: FloatArray | None = None,
    scores: FloatArray | None = None,
    source: str = "model.json",
) -> str:
    """Return the explorer of a circuit as the text of an HTML file.

    Args:
        graph: The circuit's nodes.
        schema: The names, domains and labels of its columns.
        title: What the page is called.
        rows: The codes of a table that comes along, NaN for what is missing.
        scores: The log-likelihood of each of these rows.
        source: The model's file, as the page names it in commands.
    """
    title, source = printable(str(title)), printable(str(source))  # names of files may hold what no text has
    model = {**model_payload(graph, schema, rows, scores), "title": title, "source": source, "version": __version__}
    return _filled(escape(title), json_for_script(model))


def _filled(title: str, model: str) -> str:
    style, script, engine = _text("style.css"), inlined("page/app.js"), inlined("engine/worker.js")
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hash(script)}",
            f"style-src {_hash(style)}",
            "worker-src blob:",
            "img-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    parts = {"policy": policy, "title": title, "style": style, "model": model, "engine": engine, "script": script}
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _text("page.html"))


@cache
def inlined(entry: str) -> str:
    """Return a module and all that it imports as one script: what is imported first, each file once.

    Modules export and import plain names that differ in the whole script, which a test sees to; so nothing has to be
    renamed, and imports and the word `export` are just left out.
    """
    order: list[str] = []

    def visit(name: str) -> None:
        if name not in order:
            folder = name.rpartition("/")[0]
            for match in IMPORT.finditer(_text(name)):
                visit(_resolved(folder, match[1]))
            order.append(name)

    visit(entry)
    return "\n".join(EXPORT.sub("", IMPORT.sub("", _text(name))) for name in order)


def _resolved(folder: str, target: str) -> str:
    parts = folder.split("/")
    for step in target.split("/"):
        if step == "..":
            parts.pop()
        elif step != ".":
            parts.append(step)
    return "/".join(parts)


@cache
def _text(name: str) -> str:
    found: Any = STATIC
    for step in name.split("/"):
        found = found / step
    return str(found.read_text(encoding="utf-8"))


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


# -- notebooks ---------------------------------------------------------------------------------------------------------


def notebook_html(graph: Graph, schema: Schema, marginals: FloatArray | None, means: FloatArray | None = None) -> str:
    """Return a few lines of HTML: a circuit's size, and small bars of what its first variables are like.

    Args:
        graph: The circuit's nodes.
        schema: The names, domains and labels of its columns.
        marginals: P(variable = value): (variables, values), NaN for reals; None where that would take long.
        means: The means of all variables; None likewise.
    """
    size = f"{counted(len(graph), 'node')}, {counted(graph.n_edges, 'edge')}"
    title = f"<b>Circuit</b> over {counted(len(graph.root.scope), 'variable')} ({size})"
    if marginals is None or means is None:
        return f"<div>{title}</div>"
    scope = list(graph.root.scope)
    lines = [_line(schema, v, marginals[v], float(means[v])) for v in scope[:MOST_VARIABLES]]
    left = len(scope) - len(lines)
    more = html.quiet(f"and {counted(left, 'more variable')}") if left > 0 else ""
    return f"<div>{title}{html.table([], lines)}{more}</div>"


def _line(schema: Schema, variable: int, chances: FloatArray, mean: float) -> list[str]:
    """Return a variable's likeliest value, or a one of a bit, with a bar; the mean of a number."""
    name = html.text(schema.shown_name(variable))
    if np.isnan(chances).all():
        return [name, "", f"mean {mean:.4g}"]
    domain = schema.domains[variable]
    value = 1 if domain is not None and domain.cardinality == 2 else int(np.nanargmax(chances))
    p = float(chances[value])
    return [name, html.bar(p), f"{html.text(schema.label(variable, value))} {p:.0%}"]
