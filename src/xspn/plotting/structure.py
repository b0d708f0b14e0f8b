"""Drawings of circuits: sums, products, and leaves that show what they hold."""

from typing import TYPE_CHECKING

from xspn.circuit import Circuit
from xspn.core.errors import ParameterError
from xspn.plotting.outline import outline
from xspn.plotting.overview import Overview
from xspn.plotting.sketch import MOST_NODES, Sketch, draw_edge, draw_part, lay_out, sketch
from xspn.plotting.style import FAINT, Model, circuit_of, look, panel_in_inches

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GAP, LEVEL_GAP = 0.1, 0.24
PAGE = 12.0  # inches: what is wider as a whole is folded
MARGIN, BETWEEN = 0.08, 0.5
PARTS = 28  # of a folded drawing: about a page


def draw_circuit(
    circuit: Model,
    title: str = "",
    contexts: bool = True,
    *,
    max_nodes: int | None = None,
    depth: int | None = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw the structure of a circuit of any size.

    A circuit that fits a page is drawn as a whole, from top to bottom: sums are circles with +, with the weight of each
    branch at its edge; products are circles with ×. An exchangeable leaf is the distribution of its number of ones,
    independent bits of one product are one panel. A bit that is certain in a branch of a sum is written at its edge: it
    is the context that the branch stands for.

    A larger one is drawn from left to right, with lines as wide as the fraction of rows that take them. What covers
    most rows and variables is opened up first; the rest stays folded, as a card that shows how many ones its variables
    have, how many nodes it holds, and what its leaves are. A part that occurs again is drawn once and referred to.

    Args:
        circuit: The circuit, or an estimator that has learned one.
        title: A title.
        contexts: Whether certain bits are drawn at edges and others together; otherwise every leaf by itself. A folded
            drawing always does that.
        max_nodes: Fold until no more than so many parts are drawn: 28 by default.
        depth: Fold what is more than so many levels below the root.
        ax: Where to draw; a new figure by default, at the size at which text is eight points.

    Raises:
        MissingExtraError: matplotlib is not installed.

    Examples:
        >>> from xspn import datasets
        >>> figure = draw_circuit(datasets.truth("conference"), "Who comes to the conference?")
        >>> figure = draw_circuit(datasets.truth("MEVM-l"), max_nodes=20)
        >>> figure.savefig("structure.png")  # doctest: +SKIP
    """
    if (max_nodes is not None and max_nodes < 1) or (depth is not None and depth < 0):
        raise ParameterError(f"draw: expected max_nodes ≥ 1 and depth ≥ 0, found {max_nodes} and {depth}")
    own = circuit_of(circuit)
    if max_nodes is None and depth is None and len(own.graph) <= MOST_NODES:
        whole = sketch(own, contexts)
        width, height = lay_out(whole, GAP, LEVEL_GAP)
        if width <= PAGE:
            return _draw_whole([(whole, (width, height), title)], ax)
    return _draw_folded(own, title, PARTS if max_nodes is None else max_nodes, depth, ax)


def draw_side_by_side(parts: list[tuple[Circuit, str, bool]]) -> "Figure":
    """Draw several circuits as a whole, each with its title, from left to right.

    Raises:
        QueryError: A circuit has more than 400 nodes.
    """
    drawn = []
    for circuit, title, contexts in parts:
        root = sketch(circuit, contexts)
        drawn.append((root, lay_out(root, GAP, LEVEL_GAP), title))
    return _draw_whole(drawn, None)


def _draw_folded(circuit: Circuit, title: str, max_nodes: int, depth: int | None, ax: "Axes | None") -> "Figure":
    drawing = Overview(circuit, outline(circuit, max_nodes, depth), title)
    with look(), panel_in_inches(ax, drawing.width, drawing.height) as axes:
        drawing.draw(axes)
    return axes.figure  # type: ignore[return-value]


def _draw_whole(parts: list[tuple[Sketch, tuple[float, float], str]], ax: "Axes | None") -> "Figure":
    top = 0.32 if any(title for _, _, title in parts) else 0.05
    widths = [max(width, len(title) * 0.085) for _, (width, _), title in parts]
    total = sum(widths) + BETWEEN * (len(parts) - 1) + 2 * MARGIN
    height = max(height for _, (_, height), _ in parts) + top + MARGIN
    with look(), panel_in_inches(ax, total, height) as axes:
        left = MARGIN
        for width, (root, (own, _), title) in zip(widths, parts, strict=True):
            axes.text(left, 0.14, title, fontsize=10, fontweight="bold", va="center")
            _draw(axes, root, left + (width - own) / 2, top)
            left += width + BETWEEN
            if left < total:
                axes.plot([left - BETWEEN / 2] * 2, [0.1, height - 0.1], color=FAINT, linewidth=0.8)
    return axes.figure  # type: ignore[return-value]


def _draw(axes: "Axes", root: Sketch, left: float, top: float) -> None:
    parts = [part for part in root.walk() if isinstance(part, Sketch)]
    for part in parts:
        part.x += left
        part.y += top
        part.floor += top
    for part in parts:
        draw_part(axes, part)
        for child, lines in zip(part.children, part.edges, strict=False):
            if isinstance(child, Sketch):
                draw_edge(axes, part, child, lines)
