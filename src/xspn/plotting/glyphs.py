"""How the parts of a structure drawing look: circles, boxes of text, small histograms."""

from typing import TYPE_CHECKING, Any

from xspn.plotting.sketch import CIRCLE, FONT, LABEL_AT, LINE, Sketch
from xspn.plotting.style import BLUE, GREEN, GREY, INK, ORANGE, PANEL, PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TITLE = 0.19  # the height of a panel's title
FOOT = 0.15  # the height of a panel's scale


def draw_part(axes: "Axes", part: Sketch) -> None:
    """Draw one part at its place; the y-axis points down."""
    if part.kind in ("sum", "product"):
        _circle(axes, part)
    elif part.kind in ("counts", "bits"):
        _panel(axes, part)
    else:
        _text_box(axes, part)


def draw_edge(axes: "Axes", above: Sketch, below: Sketch, lines: list[str]) -> None:
    """Draw the edge between two parts, with its label: the branch's context above its weight."""
    from matplotlib import patheffects

    middle = above.y + above.height / 2
    # Straight down past the boxes of the same level first: behind those an edge could not be followed.
    turn = above.floor if above.floor > above.y + above.height + 0.02 else middle
    axes.plot([above.x, above.x, below.x], [middle, turn, below.y], color=GREY, linewidth=0.8, zorder=1)
    if not lines:
        return
    x = above.x + LABEL_AT * (below.x - above.x)
    y = turn + LABEL_AT * (below.y - turn) - LINE * (len(lines) - 1) / 2
    y = min(y, below.y - LINE * (len(lines) + 1) / 2)
    halo = [patheffects.withStroke(linewidth=3, foreground=PAPER)]
    for place, line in enumerate(lines):
        is_weight = place == len(lines) - 1
        axes.text(
            x,
            y + LINE * (place - (len(lines) - 1) / 2),
            line,
            ha="center",
            va="center",
            fontsize=FONT - 1 if is_weight else FONT,
            fontweight="normal" if is_weight else "bold",
            color=INK if is_weight else ORANGE,
            path_effects=halo,
            zorder=4,
        )


def _circle(axes: "Axes", part: Sketch) -> None:
    from matplotlib.patches import Circle

    colour = INK if part.kind == "sum" else GREY
    middle = (part.x, part.y + part.height / 2)
    axes.add_patch(Circle(middle, CIRCLE / 2, facecolor=PAPER, edgecolor=colour, linewidth=1.1, zorder=3))
    # Drawn rather than written: the signs of a font never sit in the middle.
    arm, (x, y) = CIRCLE * 0.24, middle
    strokes = [((-1.0, 0.0), (1.0, 0.0)), ((0.0, -1.0), (0.0, 1.0))]
    if part.kind == "product":
        strokes = [((-0.75, -0.75), (0.75, 0.75)), ((-0.75, 0.75), (0.75, -0.75))]
    for (x0, y0), (x1, y1) in strokes:
        axes.plot([x + arm * x0, x + arm * x1], [y + arm * y0, y + arm * y1], color=colour, linewidth=1.2, zorder=4)


def _frame(axes: "Axes", part: Sketch, colour: str) -> None:
    from matplotlib.patches import FancyBboxPatch

    left = part.x - part.width / 2
    style = "round,pad=0,rounding_size=0.05"
    axes.add_patch(
        FancyBboxPatch((left, part.y), part.width, part.height, boxstyle=style, facecolor=PANEL, edgecolor=colour,
                       linewidth=0.9, zorder=2)
    )  # fmt: skip


def _text_box(axes: "Axes", part: Sketch) -> None:
    _frame(axes, part, GREY)
    step = 0.145
    top = part.y + part.height / 2 - step * (len(part.lines) - 1) / 2
    for place, line in enumerate(part.lines):
        axes.text(part.x, top + step * place, line, ha="center", va="center", fontsize=FONT - 0.5, zorder=4)


def _panel(axes: "Axes", part: Sketch) -> None:
    """Draw bars: the distribution of a count (from 0 to n), or the probability of each of several bits."""
    from matplotlib.patches import Rectangle

    is_count = part.kind == "counts"
    colour = BLUE if is_count else GREEN
    _frame(axes, part, colour)
    axes.text(part.x, part.y + TITLE / 2 + 0.01, part.lines[0], ha="center", va="center", fontsize=FONT, zorder=4)
    inner, base = part.width - 0.16, part.y + part.height - FOOT
    left, room = part.x - inner / 2, part.height - TITLE - FOOT - 0.04
    step = inner / len(part.values)
    highest = max(part.values) if is_count else 1.0
    for place, value in enumerate(part.values):
        height = room * value / highest
        axes.add_patch(
            Rectangle(
                (left + step * (place + 0.1), base - height), 0.8 * step, height, color=colour, linewidth=0, zorder=3
            )
        )
    axes.plot([left, left + inner], [base, base], color=GREY, linewidth=0.6, zorder=3)
    small: dict[str, Any] = {"fontsize": FONT - 2, "va": "center", "color": GREY, "zorder": 4}
    foot = base + FOOT / 2
    if is_count:
        axes.text(left + step / 2, foot, "0", ha="center", **small)
        axes.text(left + inner - step / 2, foot, str(part.size), ha="center", **small)
        axes.text(part.x, foot, "ones", ha="center", **small)
    else:
        axes.text(part.x, foot, "P(each = 1), independent", ha="center", **small)
