"""A circuit in a notebook: its size, and small bars of what its first variables are like."""

from html import escape

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.core.errors import counted, printable
from xspn.core.names import shortened
from xspn.data.schema import Schema
from xspn.graph.graph import Graph

MOST_VARIABLES = 12
LONGEST = 40  # letters
BLUE, TRACK = "#0072B2", "#8A8A8A33"


def notebook_html(graph: Graph, schema: Schema, marginals: FloatArray | None) -> str:
    """Return a few lines of HTML.

    Args:
        graph: The circuit's nodes.
        schema: The names, domains and labels of its columns.
        marginals: P(variable = value): (variables, values), NaN for reals; None where that would take long.
    """
    size = f"{counted(len(graph), 'node')}, {counted(graph.n_edges, 'edge')}"
    title = f"<b>Circuit</b> over {counted(len(graph.root.scope), 'variable')} ({size})"
    if marginals is None:
        return f"<div>{title}</div>"
    scope = list(graph.root.scope)
    lines = [_line(schema, v, marginals[v]) for v in scope[:MOST_VARIABLES]]
    left = len(scope) - len(lines)
    more = f"<div style='opacity:.7'>and {counted(left, 'more variable')}</div>" if left > 0 else ""
    grid = (
        "display:grid;grid-template-columns:max-content 140px max-content;gap:1px 10px;align-items:center;margin:4px 0"
    )
    return f"<div>{title}<div style='{grid}'>{''.join(lines)}</div>{more}</div>"


def _line(schema: Schema, variable: int, chances: FloatArray) -> str:
    """Return a variable's likeliest value, or a one of a bit, with a bar."""
    name = _text(schema.shown_name(variable))
    if np.isnan(chances).all():
        return f"<span>{name}</span><span></span><span>a number</span>"
    domain = schema.domains[variable]
    value = 1 if domain is not None and domain.cardinality == 2 else int(np.nanargmax(chances))
    p = float(chances[value])
    bar = f"<span style='background:{TRACK};height:9px'><span style='display:block;height:9px;width:{100 * p:.1f}%;"
    said = f"{_text(str(schema.label(variable, value)))} {p:.0%}"
    return f"<span>{name}</span>{bar}background:{BLUE}'></span></span><span>{said}</span>"


def _text(text: str) -> str:
    return escape(shortened(printable(text), LONGEST))
