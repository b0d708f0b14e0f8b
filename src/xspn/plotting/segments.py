"""What is drawn of a leaf: bars of counts or chances, shares of values, a bell, a tree."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from xspn.graph.nodes import LeafNode, Node, Product
from xspn.leaves import Bernoulli, Categorical, ChowLiu, Exchangeable
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
        >>> [segment.shape for segment in segments_of([Bernoulli(0, p=0.2), Bernoulli(1, p=0.7)])]
        ['chances']
    """
    segments: list[Segment] = []
    bits = sorted((float(leaf.p) for leaf in leaves if isinstance(leaf, Bernoulli)), reverse=True)
    categories = [tuple(map(float, leaf.probabilities)) for leaf in leaves if isinstance(leaf, Categorical)]
    if bits:
        segments.append(Segment("independent", "chances", len(bits), (tuple(bits),)))
    if categories:
        segments.append(Segment("independent", "shares", len(categories), tuple(categories)))
    others = [leaf for leaf in leaves if isinstance(leaf, Leaf) and not isinstance(leaf, Bernoulli | Categorical)]
    alone = [leaf for leaf in others if len(leaf.variables) == 1]
    if alone:
        segments.append(Segment("independent", "bell", len(alone)))
    segments += [_of_several(leaf) for leaf in others if len(leaf.variables) > 1]
    return sorted(segments, key=lambda segment: (FAMILIES.index(segment.family), -segment.size))


def _of_several(leaf: Leaf) -> Segment:
    """Return the picture of a leaf over several variables."""
    family, size = family_of(leaf), len(leaf.variables)
    if isinstance(leaf, ChowLiu):
        return Segment(family, "tree", size)
    if isinstance(leaf, Exchangeable):
        if leaf.statistic.cardinality == 2:
            return Segment(family, "bars", size, (tuple(map(float, leaf.count_distribution())),))
        shares = leaf.marginals(np.full((1, size), np.nan))[0]
        groups = leaf.statistic.symmetric_positions(size)
        return Segment(family, "shares", size, tuple(tuple(map(float, shares[group[0]])) for group in groups))
    return Segment(family, "bell", size)


def certain_value(leaf: Node) -> int | None:
    """Return the value that a leaf over one discrete variable all but surely has, or None."""
    if isinstance(leaf, Bernoulli):
        return round(leaf.p) if min(leaf.p, 1 - leaf.p) < CERTAIN else None
    if isinstance(leaf, Categorical) and leaf.probabilities.max() > 1 - CERTAIN:
        return int(leaf.probabilities.argmax())
    return None


def certain_factors(node: Node, most: int) -> dict[LeafNode, int]:
    """Return the few factors of a product, with their values, that tell which branch of a sum it is."""
    factors = node.children if isinstance(node, Product) else ()
    found = {
        factor: value
        for factor in factors
        if isinstance(factor, LeafNode) and (value := certain_value(factor)) is not None
    }
    return found if len(found) <= most else {}
