"""Contexts × variables: which block each variable is in, and the law of each block."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from xspn.circuit import Circuit
from xspn.core.arrays import FloatArray
from xspn.core.errors import ParameterError, counted
from xspn.core.names import counted_names, listed, shortened
from xspn.graph.nodes import Node, Sum
from xspn.inference.composition import Composition, Parts
from xspn.inference.naming import context_names
from xspn.inference.strength import ABSOLUTE, strength_of
from xspn.leaves import Leaf
from xspn.leaves.laws import percent
from xspn.plotting.sketch import text_width
from xspn.plotting.style import (
    FAINT,
    GRAY,
    INK,
    PANEL,
    SERIES,
    Model,
    circuit_of,
    common_words,
    look,
    panel_in_inches,
    shown,
    variable_names,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = (*(color for color in SERIES if color != GRAY), "#882255", "#999933", "#004488", "#EE6677", "#117733")
ALIKE = 0.5  # blocks that share so much of their variables have one color in several contexts
WIDEST, GRID = 0.26, 6.4  # inches: of a cell, and of all of them where they are many
NAMED = 0.105  # inches: cells of this width have names below them
LINE = 0.25  # inches: the height of a block's law
NAME = 0.2  # inches: that of a context's name
MOST_BLOCKS = 6  # laws beside a context
BARS = 0.95  # inches: the width of a histogram
MARGIN, LABEL, GAP = 0.12, 0.95, 0.12
LETTERS, SMALL = 90, 7.2
LETTER = 0.0077  # inches for each point of its size: running text is narrower than names
BELL = np.exp(-0.5 * np.linspace(-2.5, 2.5, 21) ** 2)


@dataclass(frozen=True)
class _Row:
    """A context: its name, its weight (None for what holds in all rows), its parts, and a color for each of them."""

    name: str
    weight: float | None
    node: Node
    parts: Parts
    colors: tuple[str, ...]

    @property
    def n_lines(self) -> int:
        left = len(self.parts.dependent) > MOST_BLOCKS
        return max(1, min(len(self.parts.dependent), MOST_BLOCKS) + left + bool(self.parts.alone))

    @property
    def height(self) -> float:
        return self.n_lines * LINE + (NAME if self.name else 0.0)


def draw_contexts(model: Model, *, most: int = 8, title: str | None = None, ax: "Axes | None" = None) -> "Figure":
    """Draw contexts × variables, colored by block, with the law of each block beside them.

    A row is a context, the heaviest first, under its name; what holds in all rows comes before. Variables of one color
    in a row are one block, and the darker, the more often they are one; gray ones stand alone, hatched ones have
    contexts of their own. Blocks of different contexts that share most of their variables have one color.

    Args:
        model: A circuit, or an estimator that has learned one.
        most: The number of contexts to draw.
        title: A title.
        ax: Where to draw; a new figure by default.

    Examples:
        >>> from xspn import datasets
        >>> figure = draw_contexts(datasets.truth("conference"))
    """
    if most < 1:
        raise ParameterError(f"draw_contexts: expected most of at least 1, found {most}")
    drawing = _Drawing(circuit_of(model), most, title)
    with look(), panel_in_inches(ax, drawing.width, drawing.height) as axes:
        drawing.draw(axes)
    return axes.figure  # type: ignore[return-value]


class _Drawing:
    def __init__(self, circuit: Circuit, most: int, title: str | None) -> None:
        self.circuit, self.composition = circuit, Composition(circuit.graph)
        self.names = variable_names(circuit)
        self.rows, self.n_contexts = self._rows(most)
        self.order = self._order()
        n = len(self.order)
        self.cell = min(WIDEST, GRID / n)
        self.has_names = self.cell >= NAMED
        self.grid = n * self.cell
        longest = max(text_width(shortened(self.names[v], 20), SMALL) for v in self.order)
        self.foot = 0.25 + (longest if self.has_names else 0.15)
        self.laws_at = MARGIN + LABEL + self.grid + 0.15
        self.width = self.laws_at + BARS + 0.1 + LETTERS * SMALL * LETTER + MARGIN
        self.top = 0.42
        self.height = self.top + sum(row.height + GAP for row in self.rows) + self.foot
        self.title = title if title is not None else self._heading()

    def _rows(self, most: int) -> tuple[list[_Row], int]:
        """Return the rows to draw, and how many contexts there are."""
        root = self.circuit.root
        found: list[tuple[str, float | None, Node, Parts]] = []
        mixtures: tuple[Sum, ...] = (root,) if isinstance(root, Sum) and len(root.scope) > 1 else ()
        if not mixtures:
            parts = self.composition.parts(root)
            mixtures = parts.mixtures
            if parts.blocks or parts.alone:
                found.append(("", None, root, Parts(parts.blocks, parts.alone)))
        n_contexts = 0
        for mixture in mixtures:
            contexts = self.composition.contexts(mixture)
            names = context_names(self.composition, mixture, self.circuit.schema)
            room = max(0, most - n_contexts)
            found += [
                (name, weight, node, self.composition.parts(node))
                for name, (weight, node) in list(zip(names, contexts, strict=True))[:room]
            ]
            n_contexts += len(contexts)
        rows: list[_Row] = []
        for name, weight, node, parts in found:
            rows.append(_Row(name, weight, node, parts, self._colors(parts, rows)))
        return rows, n_contexts

    def _colors(self, parts: Parts, before: list[_Row]) -> tuple[str, ...]:
        """Return a color for each part: that of a part of an earlier row with much the same variables, or a new one."""
        earlier = [
            (set(part.scope), color)
            for row in before
            for part, color in zip(row.parts.dependent, row.colors, strict=True)
        ]
        chosen: list[str] = []
        for part in parts.dependent:
            own = set(part.scope)
            alike = [(len(own & other) / len(own | other), color) for other, color in earlier if color not in chosen]
            best = max(alike, default=(0.0, ""))
            fresh = [color for color in COLORS if color not in chosen]
            unused = [color for color in fresh if all(color != other for _, other in earlier)]
            chosen.append(best[1] if best[0] >= ALIKE else (unused or fresh or list(COLORS))[0])
        return tuple(chosen)

    def _order(self) -> list[int]:
        """Return the variables so that blocks of the first context are together, in these those of the second, etc."""
        variables = list(self.circuit.scope)
        keys: dict[int, list[int]] = {v: [] for v in variables}
        for row in self.rows:
            place = {v: i for i, part in enumerate(row.parts.dependent) for v in part.scope}
            for v in variables:
                keys[v].append(place.get(v, len(place)))
        return sorted(variables, key=lambda v: (keys[v], v))

    def _heading(self) -> str:
        n = counted(len(self.order), "variable")
        drawn = sum(row.weight is not None for row in self.rows)
        if not self.n_contexts:
            return f"{n}, one context"
        more = f"; the {drawn} with the most rows" if drawn < self.n_contexts else ""
        return f"{n}, {counted(self.n_contexts, 'context')}{more}"

    # -- drawing -----------------------------------------------------------------------------------------------------

    def draw(self, axes: "Axes") -> None:
        axes.set_autoscale_on(False)
        axes.text(MARGIN, 0.17, self.title, fontsize=10.5, fontweight="bold", va="center")
        y = self.top
        for row in self.rows:
            if row.name:
                axes.text(MARGIN + LABEL, y + NAME / 2, shown(row.name), fontsize=8.5, fontweight="bold", va="center")
                y += NAME
            height = row.n_lines * LINE
            self._cells(axes, row, y, height)
            label = "all rows" if row.weight is None else percent(row.weight)
            middle = y + height / 2
            axes.text(MARGIN + LABEL - 0.1, middle, label, fontsize=9, fontweight="bold", ha="right", va="center")
            self._laws(axes, row, y)
            y += height + GAP
        self._below(axes, y - GAP)

    def _cells(self, axes: "Axes", row: _Row, y: float, height: float) -> None:
        """Draw a context's strip of variables."""
        from matplotlib.colors import to_rgb
        from matplotlib.patches import Rectangle

        marginals = self.composition.marginals(row.node)
        color_of: dict[int, FloatArray] = {}
        for part, color in zip(row.parts.dependent, row.colors, strict=True):
            color_of |= {v: np.array(to_rgb(color)) for v in part.scope}
        color_of |= {v: np.array(to_rgb(GRAY)) for node in row.parts.alone for v in node.scope}
        strip = np.ones((1, len(self.order), 3))
        for place, v in enumerate(self.order):
            if v in color_of:
                own = marginals[v].probabilities
                depth = 0.25 + 0.75 * marginals[v].mean if own is not None and len(own) == 2 else 0.75
                strip[0, place] = 1 - depth * (1 - color_of[v])
        left = MARGIN + LABEL
        extent = (left, left + self.grid, y + height, y)
        axes.imshow(strip, extent=extent, interpolation="nearest", aspect="auto", zorder=2)
        inside = {v for mixture in row.parts.mixtures for v in mixture.scope}
        for place, v in enumerate(self.order):
            corner = (left + place * self.cell, y)
            if v in inside:
                axes.add_patch(
                    Rectangle(
                        corner, self.cell, height, fill=False, edgecolor="white", hatch="////", linewidth=0, zorder=3
                    )
                )
            if self.cell >= NAMED and place:
                axes.plot([corner[0]] * 2, [y, y + height], color="white", linewidth=0.8, zorder=4)
        axes.add_patch(Rectangle((left, y), self.grid, height, fill=False, edgecolor=FAINT, linewidth=0.6, zorder=5))

    def _laws(self, axes: "Axes", row: _Row, y: float) -> None:
        """Draw the parts of a context one below the other: a histogram, names and the law."""
        text: dict[str, Any] = {"fontsize": SMALL, "va": "center", "zorder": 4}
        at = self.laws_at + BARS + 0.1
        for part, color in zip(row.parts.dependent[:MOST_BLOCKS], row.colors, strict=False):
            self._histogram(axes, part, color, y)
            axes.text(at, y + LINE / 2, self._words(part), color=INK, **text)
            y += LINE
        left = row.parts.dependent[MOST_BLOCKS:]
        if left:
            n = sum(len(part.scope) for part in left)
            words = f"… {len(left)} more, over {counted(n, 'variable')}"
            axes.text(at, y + LINE / 2, words, color=GRAY, **text)
            y += LINE
        if row.parts.alone:
            axes.text(at, y + LINE / 2, self._alone(axes, row, y), color=GRAY, **text)

    def _words(self, part: Leaf | Sum) -> str:
        names = [self.names[v] for v in part.scope]
        if isinstance(part, Sum):
            law = f"{len(self.composition.contexts(part))} contexts of their own"
        else:
            first = part.variables[0]
            own = [self.names[v] for v in part.variables]
            law = part.law(own, lambda code: shown(self.circuit.schema.label(first, code)))
            strength = strength_of(part, self.circuit.schema.domains)
            if strength is not None and strength.measure != ABSOLUTE and len(f"{law}; {strength}") <= LETTERS - 27:
                law = f"{law}; {strength}"
        law = shortened(law, LETTERS - 27)
        about = common_words(self.circuit, [*part.scope])
        return f"{counted_names(names, max(20, LETTERS - len(law) - len(about) - 8), about)}: {law}"

    def _histogram(self, axes: "Axes", part: Leaf | Sum, color: str, y: float) -> None:
        from matplotlib.patches import Rectangle

        shape, numbers = ("tree", ()) if isinstance(part, Sum) else part.picture()
        if shape == "bell":
            numbers = (tuple(BELL),)
        left, base, high = self.laws_at, y + LINE - 0.04, LINE - 0.07
        if not numbers:  # nothing to count: a swatch tells the color
            hatch = "////" if isinstance(part, Sum) else None
            box = Rectangle(
                (left, y + 0.05), 0.3, LINE - 0.1, facecolor=color, edgecolor="white", hatch=hatch, linewidth=0
            )
            axes.add_patch(box)
            return
        values = np.asarray(numbers[0])
        _bars(axes, values / max(float(values.max()), 1e-300), left, base, BARS, high, color)

    def _alone(self, axes: "Axes", row: _Row, y: float) -> str:
        """Draw how often each of the bits that stand alone is one; return the names of all variables that do."""
        own = self.composition.marginals(row.node)
        variables = [v for node in row.parts.alone for v in node.scope]
        tables = {v: own[v].probabilities for v in variables}
        bits = {v: float(table[1]) for v, table in tables.items() if table is not None and len(table) == 2}
        if bits:
            wide = min(BARS, 0.08 * len(bits))
            heights = np.array(sorted(bits.values(), reverse=True))
            _bars(axes, heights, self.laws_at, y + LINE - 0.04, wide, LINE - 0.07, GRAY)
        variables.sort(key=lambda v: -bits.get(v, -1.0))
        named = [f"{self.names[v]} {percent(bits[v])}" if v in bits else self.names[v] for v in variables]
        return f"alone: {listed(named, LETTERS - 8)}"

    def _below(self, axes: "Axes", y: float) -> None:
        """Write the names of the variables, and what colors mean."""
        left = MARGIN + LABEL
        if self.has_names:
            for place, v in enumerate(self.order):
                name = shortened(self.names[v], 20)
                at = left + (place + 0.5) * self.cell
                size = min(SMALL, 58 * self.cell)  # points: as wide as its cell
                axes.text(at, y + 0.06, name, fontsize=size, rotation=90, ha="center", va="top")
        else:
            words = f"{len(self.order)} variables, those of one block together"
            axes.text(left, y + 0.12, words, fontsize=SMALL + 0.5, color=GRAY, va="center")
        key = "one color: one block, darker: more often one; gray: alone; hatched: contexts of their own"
        axes.text(MARGIN, self.height - 0.14, key, fontsize=SMALL, color=GRAY, va="center")
        if any(block.picture()[0] == "bars" for row in self.rows for block in row.parts.blocks):
            axes.text(self.laws_at, 0.27, "number of ones", fontsize=SMALL, color=GRAY, va="center")


def _bars(axes: "Axes", heights: FloatArray, left: float, base: float, width: float, high: float, color: str) -> None:
    """Draw bars of heights between 0 and 1, side by side on a line."""
    from matplotlib.patches import Rectangle

    step = width / len(heights)
    axes.add_patch(Rectangle((left, base - high), width, high, facecolor=PANEL, linewidth=0, zorder=1))
    for place, value in enumerate(heights.tolist()):
        corner = (left + step * (place + 0.1), base - high * value)
        axes.add_patch(Rectangle(corner, 0.8 * step, high * value, facecolor=color, linewidth=0, zorder=3))
    axes.plot([left, left + width], [base, base], color=GRAY, linewidth=0.5, zorder=3)
