"""A small circuit as a whole: contexts are labels of edges, bits of one product are one panel. And its layout."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from xspn.circuit import Circuit
from xspn.core.errors import QueryError
from xspn.graph.nodes import Node, Product, Sum
from xspn.leaves.base import Leaf
from xspn.plotting.facts import certain_factors, certain_value, chance_of
from xspn.plotting.style import BLUE, GRAY, GREEN, INK, ORANGE, PANEL, PAPER, value_text, variable_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SketchKind = Literal["sum", "product", "counts", "bits", "bit", "leaf"]

MOST_NODES = 400
MOST_NAMED = 4  # a panel names each of so many bits, and only sums up more

CIRCLE = 0.27
LABEL_AT = 0.72  # where on its edge a label stands: 0 is at the parent, 1 at the child
LINE = 0.135  # the height of a line of a label
POINT = 0.0082  # the mean width of a letter, in inches for each point of its size
FONT = 8.0
TITLE = 0.19  # the height of a panel's title
FOOT = 0.15  # the height of a panel's scale


@dataclass(eq=False)
class Box:
    """A node of a tree to be laid out.

    Attributes:
        width: Its own width.
        height: Its own height.
        children: The boxes below it.
        room: The width that it needs with what is written above it, if that is more.
        head: The height of what is written above it.
        x: The center, once laid out.
        y: The top, once laid out; it grows downwards.
        depth: The level, once laid out.
        floor: The bottom of the highest box of its level, once laid out: below it, edges cross nothing.
    """

    width: float
    height: float
    children: list["Box"] = field(default_factory=list)
    room: float = 0.0
    head: float = 0.0
    x: float = 0.0
    y: float = 0.0
    depth: int = 0
    floor: float = 0.0

    def walk(self) -> "list[Box]":
        """Return this box and all below it, parents first."""
        found, stack = [], [self]
        while stack:
            box = stack.pop()
            found.append(box)
            stack.extend(reversed(box.children))
        return found


def lay_out(root: Box, gap: float, level_gap: float) -> tuple[float, float]:
    """Give every box its place; return the width and height of the whole.

    Subtrees are pushed together until, on some level, they are `gap` apart; a parent stands in the middle of its
    children. Each level is as high as its highest box, and `level_gap` and its highest head below the one above.

    Examples:
        >>> root = Box(1, 1, [Box(2, 1), Box(2, 1)])
        >>> lay_out(root, gap=1, level_gap=0.5)
        (5.0, 2.5)
        >>> [(box.x, box.y) for box in root.walk()]
        [(2.5, 0.0), (1.0, 1.5), (4.0, 1.5)]
    """
    boxes = root.walk()
    for box in boxes:
        for child in box.children:
            child.depth = box.depth + 1
    contours: dict[int, list[tuple[float, float]]] = {}
    for box in reversed(boxes):
        contours[id(box)] = _place_children(box, [contours.pop(id(child)) for child in box.children], gap)
    heights = [0.0] * (1 + max(box.depth for box in boxes))
    heads = list(heights)
    for box in boxes:
        heights[box.depth] = max(heights[box.depth], box.height)
        heads[box.depth] = max(heads[box.depth], box.head)
        for child in box.children:  # places were relative to the parent until here
            child.x += box.x
    tops = [sum(heights[:level]) + level_gap * level + sum(heads[: level + 1]) for level in range(len(heights))]
    left = min(box.x - _room(box) / 2 for box in boxes)
    for box in boxes:
        box.x -= left
        box.y = tops[box.depth]
        box.floor = tops[box.depth] + heights[box.depth]
    return max(box.x + _room(box) / 2 for box in boxes), tops[-1] + heights[-1]


def _place_children(box: Box, contours: list[list[tuple[float, float]]], gap: float) -> list[tuple[float, float]]:
    """Place the children relative to the box; return the leftmost and rightmost point of each level below it."""
    merged: list[tuple[float, float]] = []
    for child, contour in zip(box.children, contours, strict=True):
        shared = zip(merged, contour, strict=False)
        child.x = max((right + gap - left for (_, right), (left, _) in shared), default=0.0)
        moved = [(left + child.x, right + child.x) for left, right in contour]
        merged = [
            (merged[level][0], moved[level][1])
            if level < len(merged) and level < len(moved)
            else (merged[level] if level < len(merged) else moved[level])
            for level in range(max(len(merged), len(moved)))
        ]
    if box.children:
        middle = (box.children[0].x + box.children[-1].x) / 2
        for child in box.children:
            child.x -= middle
        merged = [(left - middle, right - middle) for left, right in merged]
    return [(-_room(box) / 2, _room(box) / 2), *merged]


def _room(box: Box) -> float:
    return max(box.width, box.room)


@dataclass(eq=False)
class Sketch(Box):
    """A part of the picture.

    Attributes:
        kind: What to draw.
        lines: Lines of text.
        values: The heights of bars: P(number of ones = t), or P(x = 1) for each of several bits.
        edges: For each child, the lines that label the edge to it.
        size: How many variables it spans.
    """

    kind: SketchKind = "leaf"
    lines: list[str] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    edges: list[list[str]] = field(default_factory=list)
    size: int = 1


def sketch(circuit: Circuit, contexts: bool = True) -> Sketch:
    """Return the picture's parts, without places.

    Args:
        circuit: The circuit; nodes with several parents are drawn once for each.
        contexts: Whether bits that are certain become labels of the branches of sums, and other bits are put together;
            otherwise every leaf is drawn on its own.
    """
    n = len(circuit.graph)
    if n > MOST_NODES:
        raise QueryError(f"draw: {n} nodes are too many for a picture, {MOST_NODES} at most; io.to_dot has no limit")
    return _Sketcher(circuit, contexts).draw(circuit.root)


def summary_of_names(names: Sequence[str], most: int = MOST_NAMED) -> str:
    """Name a group of variables in a few words.

    Examples:
        >>> summary_of_names([f"attends_{i}" for i in range(10)]), summary_of_names(["ann", "bob"])
        ('attends_0…9', 'ann, bob')
        >>> summary_of_names(["ann", "bob", "cem", "dan", "eve"])
        'ann, bob, … eve'
    """
    parts = [re.fullmatch(r"(.*?)(\d+)", name) for name in names]
    stems = {part.group(1) for part in parts if part is not None}
    if len(names) > 2 and len(stems) == 1 and None not in parts:
        numbers = [int(part.group(2)) for part in parts if part is not None]
        if numbers == list(range(numbers[0], numbers[0] + len(numbers))):
            return f"{names[0]}…{numbers[-1]}"
    return ", ".join(names) if len(names) <= most else f"{names[0]}, {names[1]}, … {names[-1]}"


def text_width(text: str, points: float = FONT) -> float:
    """Return roughly how many inches a text needs."""
    return len(text) * points * POINT


class _Sketcher:
    """Draws the nodes of one circuit."""

    def __init__(self, circuit: Circuit, contexts: bool) -> None:
        self.circuit = circuit
        self.names = variable_names(circuit)
        self.contexts = contexts

    def draw(self, node: Node) -> Sketch:
        if isinstance(node, Sum):
            return self._sum(node)
        if isinstance(node, Product):
            return self._product(list(node.children))
        return self._leaf(node)

    def _sum(self, node: Sum) -> Sketch:
        parts, edges = [], []
        for weight, child in zip(node.weights, node.children, strict=True):
            certain = certain_factors(child, MOST_NAMED) if self.contexts else {}
            rest = [factor for factor in child.children if factor not in certain] if certain else []
            parts.append(self._product(rest) if rest else self.draw(child))
            contexts = [value_text(self.circuit, v.variables[0], code) for v, code in certain.items()] if rest else []
            edges.append([*contexts, f"{weight:.2f}"])
            # A label stands on the way to its child, where edges are not yet as far apart as the children are.
            parts[-1].head = LINE * len(edges[-1])
            parts[-1].room = (max(map(text_width, contexts), default=0.2) + 0.08) / LABEL_AT
        return Sketch(CIRCLE, CIRCLE, list(parts), kind="sum", lines=["+"], edges=edges)

    def _product(self, factors: list[Node]) -> Sketch:
        if len(factors) == 1:
            return self.draw(factors[0])
        bits = [factor for factor in factors if isinstance(factor, Leaf) and chance_of(factor) is not None]
        if self.contexts and len(bits) == len(factors):
            return self._bits(bits)
        together = self.contexts and len(bits) > 1
        parts = [self.draw(factor) for factor in factors if not (together and chance_of(factor) is not None)]
        if together:
            parts.append(self._bits(bits))
        return Sketch(CIRCLE, CIRCLE, list(parts), kind="product", lines=["×"], edges=[[] for _ in parts])

    def _bits(self, bits: list[Leaf]) -> Sketch:
        names = [self.names[bit.variables[0]] for bit in bits]
        values = [chance for bit in bits if (chance := chance_of(bit)) is not None]
        if len(bits) <= MOST_NAMED:
            lines = [f"{name}  {value:.2f}" for name, value in zip(names, values, strict=True)]
            width = max(map(text_width, lines)) + 0.16
            return Sketch(width, 0.15 * len(lines) + 0.12, kind="bit", lines=lines, size=len(bits))
        title = summary_of_names(names)
        width = max(text_width(title), 0.1 * len(bits)) + 0.2
        return Sketch(width, 0.86, kind="bits", lines=[title], values=values, size=len(bits))

    def _leaf(self, node: Node) -> Sketch:
        assert isinstance(node, Leaf)  # nodes are sums, products or leaves
        chance = chance_of(node)
        if chance is not None:
            return self._bit(node, chance)
        title = summary_of_names([self.names[v] for v in node.variables])
        size = len(node.variables)
        shape, numbers = node.picture()
        if shape == "bars":
            values = list(numbers[0])
            width = max(text_width(title), 0.1 * len(values), 0.62) + 0.2
            return Sketch(min(width, 3.0), 0.9, kind="counts", lines=[title], values=values, size=size)
        lines = [type(node).__name__, title]
        return Sketch(max(map(text_width, lines)) + 0.16, 0.42, kind="leaf", lines=lines, size=size)

    def _bit(self, bit: Leaf, chance: float) -> Sketch:
        name = self.names[bit.variables[0]]
        text = value_text(self.circuit, bit.variables[0], round(chance))
        lines = [text] if certain_value(bit) is not None else [name, f"{chance:.2f}"]
        return Sketch(max(map(text_width, lines)) + 0.1, 0.14 * len(lines) + 0.1, kind="bit", lines=lines)


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
    axes.plot([above.x, above.x, below.x], [middle, turn, below.y], color=GRAY, linewidth=0.8, zorder=1)
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

    color = INK if part.kind == "sum" else GRAY
    middle = (part.x, part.y + part.height / 2)
    axes.add_patch(Circle(middle, CIRCLE / 2, facecolor=PAPER, edgecolor=color, linewidth=1.1, zorder=3))
    # Drawn rather than written: the signs of a font never sit in the middle.
    arm, (x, y) = CIRCLE * 0.24, middle
    strokes = [((-1.0, 0.0), (1.0, 0.0)), ((0.0, -1.0), (0.0, 1.0))]
    if part.kind == "product":
        strokes = [((-0.75, -0.75), (0.75, 0.75)), ((-0.75, 0.75), (0.75, -0.75))]
    for (x0, y0), (x1, y1) in strokes:
        axes.plot([x + arm * x0, x + arm * x1], [y + arm * y0, y + arm * y1], color=color, linewidth=1.2, zorder=4)


def _frame(axes: "Axes", part: Sketch, color: str) -> None:
    from matplotlib.patches import FancyBboxPatch

    left = part.x - part.width / 2
    style = "round,pad=0,rounding_size=0.05"
    axes.add_patch(
        FancyBboxPatch((left, part.y), part.width, part.height, boxstyle=style, facecolor=PANEL, edgecolor=color,
                       linewidth=0.9, zorder=2)
    )  # fmt: skip


def _text_box(axes: "Axes", part: Sketch) -> None:
    _frame(axes, part, GRAY)
    step = 0.145
    top = part.y + part.height / 2 - step * (len(part.lines) - 1) / 2
    for place, line in enumerate(part.lines):
        axes.text(part.x, top + step * place, line, ha="center", va="center", fontsize=FONT - 0.5, zorder=4)


def _panel(axes: "Axes", part: Sketch) -> None:
    """Draw bars: the distribution of a count (from 0 to n), or the probability of each of several bits."""
    from matplotlib.patches import Rectangle

    is_count = part.kind == "counts"
    color = BLUE if is_count else GREEN
    _frame(axes, part, color)
    axes.text(part.x, part.y + TITLE / 2 + 0.01, part.lines[0], ha="center", va="center", fontsize=FONT, zorder=4)
    inner, base = part.width - 0.16, part.y + part.height - FOOT
    left, room = part.x - inner / 2, part.height - TITLE - FOOT - 0.04
    step = inner / len(part.values)
    highest = max(part.values) if is_count else 1.0
    for place, value in enumerate(part.values):
        height = room * value / highest
        axes.add_patch(
            Rectangle(
                (left + step * (place + 0.1), base - height), 0.8 * step, height, color=color, linewidth=0, zorder=3
            )
        )
    axes.plot([left, left + inner], [base, base], color=GRAY, linewidth=0.6, zorder=3)
    small: dict[str, Any] = {"fontsize": FONT - 2, "va": "center", "color": GRAY, "zorder": 4}
    foot = base + FOOT / 2
    if is_count:
        axes.text(left + step / 2, foot, "0", ha="center", **small)
        axes.text(left + inner - step / 2, foot, str(part.size), ha="center", **small)
        axes.text(part.x, foot, "ones", ha="center", **small)
    else:
        axes.text(part.x, foot, "P(each = 1), independent", ha="center", **small)
