"""From a circuit to what is drawn of it: contexts become labels of edges, bits of one product become one panel."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from xspn.circuit import Circuit
from xspn.core.errors import QueryError
from xspn.graph.nodes import Node, Product, Sum
from xspn.leaves.base import Leaf
from xspn.plotting.models import names_of, said_of_value
from xspn.plotting.segments import certain_factors, certain_value, chance_of
from xspn.plotting.tree_layout import Box

Kind = Literal["sum", "product", "counts", "bits", "bit", "leaf"]

MOST_NODES = 400
MOST_NAMED = 4  # a panel names each of so many bits, and only sums up more

CIRCLE = 0.27
LABEL_AT = 0.72  # where on its edge a label stands: 0 is at the parent, 1 at the child
LINE = 0.135  # the height of a line of a label
POINT = 0.0082  # the mean width of a letter, in inches for each point of its size
FONT = 8.0


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

    kind: Kind = "leaf"
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
        self.names = names_of(circuit)
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
            said = [said_of_value(self.circuit, v.variables[0], code) for v, code in certain.items()] if rest else []
            edges.append([*said, f"{weight:.2f}"])
            # A label stands on the way to its child, where edges are not yet as far apart as the children are.
            parts[-1].head = LINE * len(edges[-1])
            parts[-1].room = (max(map(text_width, said), default=0.2) + 0.08) / LABEL_AT
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
        said = said_of_value(self.circuit, bit.variables[0], round(chance))
        lines = [said] if certain_value(bit) is not None else [name, f"{chance:.2f}"]
        return Sketch(max(map(text_width, lines)) + 0.1, 0.14 * len(lines) + 0.1, kind="bit", lines=lines)
