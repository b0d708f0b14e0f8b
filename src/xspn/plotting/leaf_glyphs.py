"""Small pictures of leaves and folded parts, each in one line of an overview."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from xspn.plotting.facts import FAMILIES
from xspn.plotting.outline import Part
from xspn.plotting.segments import Segment
from xspn.plotting.style import BLUE, GREEN, GREY, INK, PANEL, PAPER, PURPLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GLYPH = (1.25, 0.31)  # width and height in inches
LEAST_WIDTH, WIDEST_BAR = 0.07, 0.14
MOST_SEGMENTS = 8  # leaves drawn side by side: the largest
COLOURS: dict[str, str] = {"exchangeable": BLUE, "pairs": PURPLE, "independent": GREEN}
FOLDED = "#6B7680"
MOST_BARS = 60  # more would be thinner than a line


def draw_glyph(axes: "Axes", part: Part, left: float, middle: float) -> None:
    """Draw the picture of leaves or of a folded part; the y-axis points down."""
    match part.kind:
        case "leaves":
            _segments(axes, part, left, middle)
        case "folded":
            _stack(axes, part, left, middle)
        case _:
            draw_label(axes, part.label or 0, left + GLYPH[0] / 2, middle)


def _segments(axes: "Axes", part: Part, left: float, middle: float) -> None:
    """Draw leaves side by side, each as wide as it has variables, but wide enough to be seen."""
    between = 0.03
    largest = sorted(range(len(part.segments)), key=lambda place: -part.segments[place].size)[:MOST_SEGMENTS]
    shown = [part.segments[place] for place in sorted(largest)]
    sizes = np.array([segment.size for segment in shown], dtype=float)
    widths = LEAST_WIDTH + (GLYPH[0] - LEAST_WIDTH * len(sizes) - between * (len(sizes) - 1)) * sizes / sizes.sum()
    for segment, width in zip(shown, widths, strict=True):
        _background(axes, left, middle, width)
        _segment(axes, segment, (left, middle, float(width)))
        left += width + between


def _segment(axes: "Axes", segment: Segment, place: tuple[float, float, float]) -> None:
    colour = COLOURS[segment.family]
    match segment.shape:
        case "bars":
            bars = binned(segment.values[0])
            _bars(axes, bars, place, colour, max(bars))
        case "chances":
            _bars(axes, thinned(segment.values[0]), place, colour, 1.0)
        case "shares":
            _shares(axes, segment.values, place, colour)
        case "bell":
            _bell(axes, place, colour)
        case "tree":
            _tree(axes, place, colour)


def binned(values: Sequence[float]) -> list[float]:
    """Add up neighbouring chances until there are few enough bars."""
    step = -(-len(values) // MOST_BARS)
    return [float(sum(values[i : i + step])) for i in range(0, len(values), step)]


def thinned(values: Sequence[float]) -> list[float]:
    """Take every so manieth of sorted chances."""
    if len(values) <= MOST_BARS:
        return list(values)
    return [values[int(i)] for i in np.linspace(0, len(values) - 1, MOST_BARS)]


def _background(axes: "Axes", left: float, middle: float, width: float) -> None:
    from matplotlib.patches import Rectangle

    corner = (left, middle - GLYPH[1] / 2)
    axes.add_patch(Rectangle(corner, width, GLYPH[1], facecolor=PANEL, linewidth=0, zorder=2))


def _bars(axes: "Axes", values: Sequence[float], place: tuple[float, float, float], colour: str, top: float) -> None:
    from matplotlib.patches import Rectangle

    left, middle, width = place
    base = middle + GLYPH[1] / 2
    step = min(width / len(values), WIDEST_BAR)
    gap = 0.1 * step if step > 0.03 else 0.0
    for number, value in enumerate(values):
        tall = max(GLYPH[1] * 0.95 * value / top, 0.008)
        corner = (left + step * number + gap, base - tall)
        axes.add_patch(Rectangle(corner, step - 2 * gap, tall, color=colour, linewidth=0, zorder=3))


def _shares(axes: "Axes", shares: Sequence[Sequence[float]], place: tuple[float, float, float], colour: str) -> None:
    """Draw a column for each variable, divided like its values; the first value is the darkest, at the bottom."""
    from matplotlib.patches import Rectangle

    left, middle, width = place
    step = min(width / len(shares), 2 * WIDEST_BAR)
    for number, chances in enumerate(shares):
        bottom = middle + GLYPH[1] / 2
        for value, chance in enumerate(chances):
            tall = GLYPH[1] * chance
            corner = (left + step * (number + 0.08), bottom - tall)
            alpha = 1.0 - 0.8 * value / max(len(chances) - 1, 1)
            axes.add_patch(Rectangle(corner, 0.84 * step, tall, color=colour, alpha=alpha, linewidth=0, zorder=3))
            bottom -= tall


def _bell(axes: "Axes", place: tuple[float, float, float], colour: str) -> None:
    left, middle, width = place
    span = min(width, 0.8)
    x = np.linspace(-2.6, 2.6, 40)
    base = middle + GLYPH[1] / 2
    across = left + width / 2 + x / 5.2 * span
    axes.fill_between(across, base, base - GLYPH[1] * 0.88 * np.exp(-(x**2) / 2), color=colour, linewidth=0, zorder=3)


def _tree(axes: "Axes", place: tuple[float, float, float], colour: str) -> None:
    left, middle, width = place
    height, span = GLYPH[1], min(width, 0.8)
    dots = [(0.5, 0.18), (0.3, 0.5), (0.7, 0.5), (0.18, 0.82), (0.4, 0.82), (0.6, 0.82), (0.82, 0.82)]
    places = [(left + width / 2 + span * (x - 0.5), middle + height * (y - 0.5)) for x, y in dots]
    for child in range(1, len(places)):
        (x0, y0), (x1, y1) = places[(child - 1) // 2], places[child]
        axes.plot([x0, x1], [y0, y1], color=colour, linewidth=0.8, zorder=3)
    axes.plot(*zip(*places, strict=True), "o", color=colour, markersize=2.6, zorder=4)


def _stack(axes: "Axes", part: Part, left: float, middle: float) -> None:
    """Draw a pile of cards: how many ones the folded part has, above a strip of how much in it is of which family."""
    from matplotlib.patches import Rectangle

    width, height = GLYPH
    shift, strip = 0.03, 0.055
    tall, wide = height - 2 * shift, width - 2 * shift
    for layer in (2, 1, 0):
        corner = (left + shift * layer, middle - height / 2 + shift * (2 - layer))
        axes.add_patch(Rectangle(corner, wide, tall, facecolor=PAPER, edgecolor=GREY, linewidth=0.6, zorder=2))
    base = middle + height / 2 - strip
    if part.counts is not None:
        bars = np.array(binned([float(chance) for chance in part.counts]))
        edges = np.linspace(left, left + wide, len(bars) + 1)
        tops = base - (tall - strip) * 0.92 * bars / bars.max()
        axes.fill_between(np.repeat(edges, 2)[1:-1], base, np.repeat(tops, 2), color=FOLDED, linewidth=0, zorder=3)
    x = left
    for family, share in zip(FAMILIES, part.makeup / part.makeup.sum(), strict=True):
        axes.add_patch(Rectangle((x, base), wide * share, strip, color=COLOURS[family], linewidth=0, zorder=3))
        x += wide * share


def draw_label(axes: "Axes", label: int, x: float, y: float) -> None:
    """Write the number of a part that occurs more than once."""
    axes.text(x, y, f"({label})", ha="center", va="center", fontsize=7.5, fontweight="bold", color=INK,
              zorder=5)  # fmt: skip
