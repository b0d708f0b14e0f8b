"""A circuit in a notebook: its size, and small bars of what its first variables are like."""

import numpy as np

from xspn.core import html
from xspn.core.arrays import FloatArray
from xspn.core.errors import counted
from xspn.data.schema import Schema
from xspn.graph.graph import Graph

MOST_VARIABLES = 12


def notebook_html(graph: Graph, schema: Schema, marginals: FloatArray | None, means: FloatArray | None = None) -> str:
    """Return a few lines of HTML.

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
