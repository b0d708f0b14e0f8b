"""A large circuit as a tree from left to right: each leaf a small picture, line widths are fractions of rows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from xspn.circuit import Circuit
from xspn.core.names import names_within
from xspn.plotting.facts import FAMILIES, Family, LeafPicture
from xspn.plotting.outline import OutlinePart
from xspn.plotting.style import (
    BLUE,
    FAINT,
    GRAY,
    GREEN,
    INK,
    ORANGE,
    PANEL,
    PAPER,
    PURPLE,
    common_words,
    value_text,
    variable_names,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GLYPH = (1.25, 0.31)  # width and height in inches
LEAST_WIDTH, WIDEST_BAR = 0.07, 0.14
MOST_SEGMENTS = 8  # leaves drawn side by side: the largest
COLORS: dict[str, str] = {"exchangeable": BLUE, "pairs": PURPLE, "independent": GREEN}
FOLDED = "#6B7680"
MOST_BARS = 60  # more would be thinner than a line
ROW, CURVE = 0.375, 0.46  # inches: the height of a line; the width of the bend of an edge
MARGIN, TEXT, FRACTION = 0.2, 2.75, 0.46
TOP, HEAD, FOOT = 0.46, 0.3, 0.42
RADIUS = 0.1
THICKEST, THINNEST = 0.13, 0.008  # inches: the line of all rows, that of hardly any
LETTERS = 46
SUM_EDGE, PRODUCT_EDGE = "#A7ADB3", "#DEE1E4"
LEGEND: dict[str, str] = {
    "exchangeable": "exchangeable: P(number of ones)",
    "independent": "independent: P(each is one)",
    "pairs": "dependent pairs",
    "folded": "folded: P(number of ones), and what is in it",
}


def draw_glyph(axes: "Axes", part: OutlinePart, left: float, middle: float) -> None:
    """Draw the picture of leaves or of a folded part; the y-axis points down."""
    match part.kind:
        case "leaves":
            _segments(axes, part, left, middle)
        case "folded":
            _stack(axes, part, left, middle)
        case _:
            draw_label(axes, part.label or 0, left + GLYPH[0] / 2, middle)


def _segments(axes: "Axes", part: OutlinePart, left: float, middle: float) -> None:
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


def _segment(axes: "Axes", segment: LeafPicture, place: tuple[float, float, float]) -> None:
    color = COLORS[segment.family]
    match segment.shape:
        case "bars":
            bars = binned(segment.values[0])
            _bars(axes, bars, place, color, max(bars))
        case "chances":
            _bars(axes, thinned(segment.values[0]), place, color, 1.0)
        case "frequencies":
            _distributions(axes, segment.values, place, color)
        case "bell":
            _bell(axes, place, color)
        case "tree":
            _tree(axes, place, color)


def binned(values: Sequence[float]) -> list[float]:
    """Add up neighboring chances until there are few enough bars."""
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


def _bars(axes: "Axes", values: Sequence[float], place: tuple[float, float, float], color: str, top: float) -> None:
    from matplotlib.patches import Rectangle

    left, middle, width = place
    base = middle + GLYPH[1] / 2
    step = min(width / len(values), WIDEST_BAR)
    gap = 0.1 * step if step > 0.03 else 0.0
    for number, value in enumerate(values):
        tall = max(GLYPH[1] * 0.95 * value / top, 0.008)
        corner = (left + step * number + gap, base - tall)
        axes.add_patch(Rectangle(corner, step - 2 * gap, tall, color=color, linewidth=0, zorder=3))


def _distributions(
    axes: "Axes", distributions: Sequence[Sequence[float]], place: tuple[float, float, float], color: str
) -> None:
    """Draw a column for each variable, divided like its values; the first value is the darkest, at the bottom."""
    from matplotlib.patches import Rectangle

    left, middle, width = place
    step = min(width / len(distributions), 2 * WIDEST_BAR)
    for number, chances in enumerate(distributions):
        bottom = middle + GLYPH[1] / 2
        for value, chance in enumerate(chances):
            tall = GLYPH[1] * chance
            corner = (left + step * (number + 0.08), bottom - tall)
            alpha = 1.0 - 0.8 * value / max(len(chances) - 1, 1)
            axes.add_patch(Rectangle(corner, 0.84 * step, tall, color=color, alpha=alpha, linewidth=0, zorder=3))
            bottom -= tall


def _bell(axes: "Axes", place: tuple[float, float, float], color: str) -> None:
    left, middle, width = place
    span = min(width, 0.8)
    x = np.linspace(-2.6, 2.6, 40)
    base = middle + GLYPH[1] / 2
    across = left + width / 2 + x / 5.2 * span
    axes.fill_between(across, base, base - GLYPH[1] * 0.88 * np.exp(-(x**2) / 2), color=color, linewidth=0, zorder=3)


def _tree(axes: "Axes", place: tuple[float, float, float], color: str) -> None:
    left, middle, width = place
    height, span = GLYPH[1], min(width, 0.8)
    dots = [(0.5, 0.18), (0.3, 0.5), (0.7, 0.5), (0.18, 0.82), (0.4, 0.82), (0.6, 0.82), (0.82, 0.82)]
    places = [(left + width / 2 + span * (x - 0.5), middle + height * (y - 0.5)) for x, y in dots]
    for child in range(1, len(places)):
        (x0, y0), (x1, y1) = places[(child - 1) // 2], places[child]
        axes.plot([x0, x1], [y0, y1], color=color, linewidth=0.8, zorder=3)
    axes.plot(*zip(*places, strict=True), "o", color=color, markersize=2.6, zorder=4)


def _stack(axes: "Axes", part: OutlinePart, left: float, middle: float) -> None:
    """Draw a pile of cards: the distribution of the folded part's count, above a strip of its leaf families."""
    from matplotlib.patches import Rectangle

    width, height = GLYPH
    shift, strip = 0.03, 0.055
    tall, wide = height - 2 * shift, width - 2 * shift
    for layer in (2, 1, 0):
        corner = (left + shift * layer, middle - height / 2 + shift * (2 - layer))
        axes.add_patch(Rectangle(corner, wide, tall, facecolor=PAPER, edgecolor=GRAY, linewidth=0.6, zorder=2))
    base = middle + height / 2 - strip
    if part.counts is not None:
        bars = np.array(binned([float(chance) for chance in part.counts]))
        edges = np.linspace(left, left + wide, len(bars) + 1)
        tops = base - (tall - strip) * 0.92 * bars / bars.max()
        axes.fill_between(np.repeat(edges, 2)[1:-1], base, np.repeat(tops, 2), color=FOLDED, linewidth=0, zorder=3)
    x = left
    for family, fraction in zip(FAMILIES, part.makeup / part.makeup.sum(), strict=True):
        axes.add_patch(Rectangle((x, base), wide * fraction, strip, color=COLORS[family], linewidth=0, zorder=3))
        x += wide * fraction


def draw_label(axes: "Axes", label: int, x: float, y: float) -> None:
    """Write the number of a part that occurs more than once."""
    axes.text(x, y, f"({label})", ha="center", va="center", fontsize=7.5, fontweight="bold", color=INK,
              zorder=5)  # fmt: skip


class Overview:
    """Where each part stands, in inches from the upper left corner, and how it is drawn there."""

    def __init__(self, circuit: Circuit, root: OutlinePart, title: str) -> None:
        size = circuit.summary()
        subtitle = f"{size.nodes:,} nodes and {size.parameters:,} parameters over {size.variables} variables"
        self.circuit = circuit
        self.root = root
        self.names = variable_names(circuit)
        self.titles = [text for text in (title, subtitle) if text]
        self.top = TOP / 2 * len(self.titles) + HEAD
        levels = _levels(root)
        ends = MARGIN + RADIUS + np.cumsum([0.0, *(self._room(level) for level in levels[1:])])
        self.right = float(ends[-1])
        rows = self._rows()
        self.places = {
            # All leaves stand in one column.
            id(part): (float(end) if part.children else self.right, self.top + ROW * rows[id(part)])
            for end, level in zip(ends, levels, strict=True)
            for part in level
        }
        self.turns = {id(part): float(end) for end, level in zip(ends, levels, strict=True) for part in level}
        self.width = self.right + FRACTION + GLYPH[0] + TEXT + 2 * MARGIN
        self.height = self.top + ROW * sum(not part.children for part in root.walk()) + FOOT

    def _room(self, level: list[OutlinePart]) -> float:
        """Return the width that the edges to a level need: a bend, and the longest label."""
        labels = [max(len(percentage(part.weight)), len(self._context(part)) * 1.12) for part in level if part.weight]
        return CURVE + (0.2 + 0.062 * max(labels) if labels else 0.0)

    def _context(self, part: OutlinePart) -> str:
        return ", ".join(value_text(self.circuit, variable, value) for variable, value in part.contexts)

    def _rows(self) -> dict[int, float]:
        """Give each leaf a line of its own, and every other part the middle of its children."""
        rows: dict[int, float] = {}
        parts = self.root.walk()
        for number, part in enumerate(part for part in parts if not part.children):
            rows[id(part)] = number + 0.5
        for part in reversed(parts):
            if part.children:
                rows[id(part)] = (rows[id(part.children[0])] + rows[id(part.children[-1])]) / 2
        return rows

    def draw(self, axes: "Axes") -> None:
        """Draw everything into axes whose units are inches."""
        self._heads(axes)
        for part in self.root.walk():
            for child in part.children:
                self._edge(axes, part, child)
            if part.children:
                self._circle(axes, part)
            else:
                self._line(axes, part)
        self._legend(axes)

    def _edge(self, axes: "Axes", above: OutlinePart, below: OutlinePart) -> None:
        """Draw a line as wide as the fraction of rows that take this way."""
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        (x0, y0), (x1, y1) = self.places[id(above)], self.places[id(below)]
        bent, half = x0 + CURVE, x0 + CURVE / 2
        codes = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4, Path.LINETO]
        path = Path([(x0, y0), (half, y0), (half, y1), (bent, y1), (x1, y1)], codes)
        inches = THINNEST + (THICKEST - THINNEST) * below.reach
        color = SUM_EDGE if above.kind == "sum" else PRODUCT_EDGE
        line: dict[str, Any] = {"edgecolor": color, "linewidth": 72 * inches, "capstyle": "butt"}
        axes.add_patch(PathPatch(path, fill=False, zorder=1, **line))
        if below.weight is not None:
            self._weight(axes, below, y1, inches)

    def _weight(self, axes: "Axes", part: OutlinePart, y: float, inches: float) -> None:
        """Write the weight of a branch above its line, and what is certain on it below."""
        from matplotlib import patheffects

        halo = [patheffects.withStroke(linewidth=2.2, foreground=PAPER)]
        write: dict[str, Any] = {"ha": "right", "path_effects": halo, "zorder": 5, "fontsize": 7.2}
        right = self.turns[id(part)] - RADIUS - 0.04
        axes.text(right, y - inches / 2 - 0.02, percentage(part.weight or 0.0), va="bottom", color=INK, **write)
        if part.contexts:
            place = (right, y + inches / 2 + 0.02)
            axes.text(*place, self._context(part), va="top", fontweight="bold", color=ORANGE, **write)

    def _circle(self, axes: "Axes", part: OutlinePart) -> None:
        from matplotlib.patches import Circle

        x, y = self.places[id(part)]
        is_sum = part.kind == "sum"
        face = INK if is_sum else PAPER
        axes.add_patch(Circle((x, y), RADIUS, facecolor=face, edgecolor=INK, linewidth=0.9, zorder=3))
        arm = RADIUS * (0.55 if is_sum else 0.42)
        strokes = [((-1, 0), (1, 0)), ((0, -1), (0, 1))] if is_sum else [((-1, -1), (1, 1)), ((-1, 1), (1, -1))]
        for (x0, y0), (x1, y1) in strokes:
            axes.plot([x + arm * x0, x + arm * x1], [y + arm * y0, y + arm * y1], color=PAPER if is_sum else INK,
                      linewidth=1.1, zorder=4)  # fmt: skip
        if part.label is not None:
            draw_label(axes, part.label, x, y - RADIUS - 0.1)

    def _line(self, axes: "Axes", part: OutlinePart) -> None:
        """Draw a leaf's line: the fraction of rows, its picture, what it is, and its variables."""
        x, y = self.places[id(part)]
        axes.text(x + FRACTION - 0.06, y, percentage(part.reach), ha="right", va="center", fontsize=7, color=GRAY)
        left = x + FRACTION
        draw_glyph(axes, part, left, y)
        text = left + GLYPH[0] + 0.1
        axes.text(text, y - 0.075, description(part), va="center", fontsize=8, color=INK)
        about = common_words(self.circuit, part.variables).removeprefix("; ")
        own = names_within([self.names[v] for v in part.variables], max(LETTERS - len(about), 12))
        own += f" ({about})" if about else ""
        axes.text(text, y + 0.08, own, va="center", fontsize=6.8, color=GRAY)

    def _heads(self, axes: "Axes") -> None:
        write: dict[str, Any] = {"fontsize": 7, "color": GRAY, "va": "center", "style": "italic"}
        left, y = self.right + FRACTION, self.top - 0.13
        for line, (text, is_title) in enumerate(zip(self.titles, (len(self.titles) > 1, False), strict=False)):
            size, weight, color = (10.5, "bold", INK) if is_title else (8, "normal", GRAY)
            axes.text(MARGIN, 0.2 + 0.2 * line, text, fontsize=size, fontweight=weight, color=color, va="center")
        axes.text(left - 0.06, y, "rows", ha="right", **write)
        axes.text(left, y, "leaf, or folded part", **write)
        axes.text(left + GLYPH[0] + 0.1, y, "variables", **write)
        axes.plot([left - FRACTION + 0.06, self.width - MARGIN], [self.top] * 2, color=FAINT, linewidth=0.6)

    def _legend(self, axes: "Axes") -> None:
        """Say what the colors mean."""
        from matplotlib.patches import Rectangle

        bits_only = all(domain is None or domain.cardinality == 2 for domain in self.circuit.domains)
        parts = self.root.walk()
        seen = {part.kind for part in parts} | {segment.family for part in parts for segment in part.segments}
        if "folded" in seen:
            seen |= set(FAMILIES)
        legend = {
            kind: meaning if bits_only else meaning.split(":")[0] for kind, meaning in LEGEND.items() if kind in seen
        }
        widths = [0.15 + 0.056 * len(meaning) + 0.14 for meaning in legend.values()]
        x, y = max(MARGIN, self.width - MARGIN - sum(widths)), self.height - 0.17
        write: dict[str, Any] = {"fontsize": 7, "va": "center"}
        for (kind, meaning), width in zip(legend.items(), widths, strict=True):
            axes.add_patch(Rectangle((x, y - 0.05), 0.1, 0.1, color=COLORS.get(kind, FOLDED), linewidth=0))
            axes.text(x + 0.15, y, meaning, **write)
            x += width


def _levels(root: OutlinePart) -> list[list[OutlinePart]]:
    """Return the parts by their distance from the root."""
    levels = [[root]]
    while below := [child for part in levels[-1] for child in part.children]:
        levels.append(below)
    return levels


def description(part: OutlinePart) -> str:
    """Say what a leaf is, in a few words."""
    n = len(part.variables)
    variables = f"{n} variable{'s' if n > 1 else ''}"
    match part.kind:
        case "leaves":
            return ", ".join(_family_description(part, family) for family in FAMILIES if _own(part, family))
        case "folded":
            if part.n_nodes == len(part.nodes):
                return f"{part.n_nodes} leaves, {variables}"
            kind = "factors" if part.weights is None else "branches"
            return f"{f'{len(part.nodes)} more {kind}, ' if part.is_rest else ''}{part.n_nodes:,} nodes, {variables}"
        case _:
            return f"the same as ({part.label}): {part.n_nodes:,} nodes, {variables}"


def _own(part: OutlinePart, family: Family) -> list[LeafPicture]:
    return [segment for segment in part.segments if segment.family == family]


def _family_description(part: OutlinePart, family: Family) -> str:
    own = _own(part, family)
    sizes = [segment.size for segment in own]
    if family == "pairs":
        trees = [segment.size for segment in own if segment.shape == "tree"]
        joint = sum(sizes) - sum(trees)
        texts = [f"tree of {trees[0]}" if len(trees) == 1 else f"{len(trees)} trees of {sum(trees)}"] if trees else []
        return ", ".join([*texts, *([f"{joint} jointly normal"] if joint else [])])
    if family == "exchangeable" and len(sizes) > 1:
        return f"{sum(sizes)} exchangeable in {len(sizes)} blocks"
    return f"{sum(sizes)} {family}"


def percentage(fraction: float) -> str:
    """Write a fraction in per cent.

    Examples:
        >>> percentage(0.314), percentage(0.0123), percentage(0.0004), percentage(1.0)
        ('31 %', '1.2 %', '<0.1 %', '100 %')
    """
    if fraction < 0.001:
        return "<0.1 %"
    return (
        f"{100 * fraction:.1f} %"
        if fraction < 0.0995 and np.round(100 * fraction, 1) % 1
        else f"{100 * fraction:.0f} %"
    )
