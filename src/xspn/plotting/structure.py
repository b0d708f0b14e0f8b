"""Drawings of circuits: sums, products, and leaves that show what they hold."""

from typing import TYPE_CHECKING

from xspn.model import Circuit
from xspn.plotting.glyphs import draw_edge, draw_part
from xspn.plotting.sketch import Sketch, sketch
from xspn.plotting.style import FAINT, look, new_figure
from xspn.plotting.tree_layout import lay_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GAP, LEVEL_GAP = 0.1, 0.24


def draw_circuit(circuit: Circuit, title: str = "", contexts: bool = True) -> "Figure":
    """Draw a circuit as a tree, at the size at which its text is eight points.

    Sums are circles with +, with the weight of each branch at its edge; products are circles with ×. An exchangeable
    leaf is the distribution of its number of ones, independent bits of one product are one panel. A bit that is certain
    in a branch of a sum is written at its edge: it is the context that the branch stands for.

    Args:
        circuit: The circuit, of 400 nodes at most.
        title: A title.
        contexts: Whether certain bits are drawn at edges and others together; otherwise every leaf by itself.

    Raises:
        MissingExtraError: matplotlib is not installed.
        QueryError: The circuit is too large for a picture.
    """
    return draw_side_by_side([(circuit, title, contexts)])


def draw_side_by_side(parts: list[tuple[Circuit, str, bool]]) -> "Figure":
    """Draw several circuits, each with its title, from left to right."""
    roots = [sketch(circuit, contexts) for circuit, _, contexts in parts]
    sizes = [_lay_out(root) for root in roots]
    top, margin, between = 0.32 if any(title for _, title, _ in parts) else 0.05, 0.08, 0.5
    widths = [max(width, len(title) * 0.085) for (width, _), (_, title, _) in zip(sizes, parts, strict=True)]
    total = sum(widths) + between * (len(parts) - 1) + 2 * margin
    height = max(height for _, height in sizes) + top + margin
    with look():
        figure = new_figure(total, height)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_xlim(0, total)
        axes.set_ylim(height, 0)
        axes.axis("off")
        left = margin
        for root, width, (own, _), (_, title, _) in zip(roots, widths, sizes, parts, strict=True):
            axes.text(left, 0.14, title, fontsize=10, fontweight="bold", va="center")
            _draw(axes, root, left + (width - own) / 2, top)
            left += width + between
            if left < total:
                axes.plot([left - between / 2] * 2, [0.1, height - 0.1], color=FAINT, linewidth=0.8)
    figure.set_layout_engine("none")
    return figure


def _lay_out(root: Sketch) -> tuple[float, float]:
    return lay_out(root, GAP, LEVEL_GAP)


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
