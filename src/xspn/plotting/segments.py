"""What is drawn of a leaf: bars of counts or chances, shares of values, a bell, a tree."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from xspn.graph.nodes import LeafNode, Node, Product
from xspn.leaves.base import Leaf
from xspn.plotting.facts import FAMILIES, Family, family_of

Shape = Literal["bars", "chances", "shares", "bell", "tree"]
CERTAIN = 0.01  # a value that is all but sure below a sum names the branch that it is on


@dataclass(frozen=True)
class Segment:
    """A picture of a leaf, or of several univariate ones.

    Attributes:
        family: How its variables hang together.
        shape: What to draw: "bars" for P(number of ones = t), "chances" for P(x = 1) of each of several bits, "shares"
            for P(x = v) of each of several variables, "bell" for real numbers, "tree".
        size: How many variables it has.
        values: One row of numbers, or one for each variable.
    """

    family: Family
    shape: Shape
    size: int
    values: tuple[tuple[float, ...], ...] = ()


def segments_of(leaves: Sequence[Node]) -> list[Segment]:
    """Return the pictures of leaves that stand side by side, the largest of each family first.

    Univariate leaves of one kind are one picture.

    Examples:
        >>> from xspn import Bernoulli
        >>> [segment.shape for segment in segments_of([Bernoulli(0, p=0.2), Bernoulli(1, p=0.7)])]
        ['chances']
    """
    alone: dict[Shape, list[tuple[float, ...]]] = {"chances": [], "shares": [], "bell": []}
    segments: list[Segment] = []
    for leaf in leaves:
        assert isinstance(leaf, Leaf)
        shape, values = leaf.picture()
        if len(leaf.variables) == 1:
            alone.setdefault(shape, []).extend(values or [()])
        else:
            segments.append(Segment(family_of(leaf), shape, len(leaf.variables), values))
    bits = tuple(sorted((chance for (chance,) in alone["chances"]), reverse=True))
    for shape, own in alone.items():
        if own:
            values = {"chances": (bits,), "bell": ()}.get(shape, tuple(own))
            segments.append(Segment("independent", shape, len(own), values))
    return sorted(segments, key=lambda segment: (FAMILIES.index(segment.family), -segment.size))


def chance_of(node: Node) -> float | None:
    """Return P(x = 1) of a leaf that is a bit with a chance; None for other nodes."""
    if not isinstance(node, Leaf) or len(node.variables) > 1:
        return None
    shape, values = node.picture()
    return values[0][0] if shape == "chances" else None


def certain_value(leaf: Node) -> int | None:
    """Return the value that a leaf over one discrete variable all but surely has, or None."""
    if not isinstance(leaf, Leaf) or len(leaf.variables) > 1:
        return None
    shape, values = leaf.picture()
    if shape == "chances":
        chance = values[0][0]
        return round(chance) if min(chance, 1 - chance) < CERTAIN else None
    return int(np.argmax(values[0])) if shape == "shares" and max(values[0]) > 1 - CERTAIN else None


def certain_factors(node: Node, most: int) -> dict[LeafNode, int]:
    """Return the few factors of a product, with their values, that tell which branch of a sum it is."""
    factors = node.children if isinstance(node, Product) else ()
    found = {
        factor: value
        for factor in factors
        if isinstance(factor, LeafNode) and (value := certain_value(factor)) is not None
    }
    return found if len(found) <= most else {}
