"""A tidy layout of trees: no overlaps, parents centered over children, as narrow as that allows."""

from dataclasses import dataclass, field


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
