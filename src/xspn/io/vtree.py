"""Vtrees: binary trees of variables, which say how the products of a PSDD split their scopes.

```
vtree number-of-nodes
L id variable                  variables from 1
I id left right
```

Children come before parents, the last node is the root. Nodes are written under their places from left to right, which
is how libsdd numbers them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xspn.core.errors import FormatError
from xspn.graph.nodes import Scope
from xspn.io.json_format import MOST_COLUMNS
from xspn.io.node_lines import DENSE, SPARSE, Line, lines_of

HEAD = """c written by xspn
c ids of vtree nodes start at 0, ids of variables at 1; children come before parents
c vtree number-of-nodes-in-vtree
c L id-of-leaf-vtree-node id-of-variable
c I id-of-internal-vtree-node id-of-left-child id-of-right-child
c
"""


@dataclass(frozen=True, eq=False)
class Vtree:
    """A node of a vtree.

    Attributes:
        scope: The variables below it, from 0.
        left: The left child; None for a leaf.
        right: The right child.
        height: The longest way down to a leaf.
    """

    scope: Scope
    left: "Vtree | None" = None
    right: "Vtree | None" = None
    height: int = 0

    @classmethod
    def leaf(cls, variable: int) -> "Vtree":
        """Return the leaf of a variable."""
        return cls(Scope(1 << variable))

    @classmethod
    def inner(cls, left: "Vtree", right: "Vtree") -> "Vtree":
        """Return the node above two others."""
        return cls(left.scope | right.scope, left, right, 1 + max(left.height, right.height))

    @classmethod
    def right_linear(cls, parts: Sequence["Vtree"]) -> "Vtree":
        """Return a chain that takes one part after the other off to the left."""
        whole = parts[-1]
        for part in parts[-2::-1]:
            whole = cls.inner(part, whole)
        return whole

    def numbered(self) -> "list[Vtree]":
        """Return all nodes from left to right."""
        found: list[Vtree] = []
        stack: list[tuple[Vtree, bool]] = [(self, False)]
        while stack:
            node, opened = stack.pop()
            if opened or node.left is None or node.right is None:
                found.append(node)
            else:
                stack += [(node.right, False), (node, True), (node.left, False)]
        return found


def to_vtree(root: Vtree) -> list[bytes | memoryview]:
    """Return the content of a `.vtree` file."""
    nodes = root.numbered()
    numbers = {id(node): number for number, node in enumerate(nodes)}
    lines = []
    for node in sorted(nodes, key=lambda node: node.height):
        own = numbers[id(node)]
        if node.left is None or node.right is None:
            lines.append(f"L {own} {node.scope.width}\n")
        else:
            lines.append(f"I {own} {numbers[id(node.left)]} {numbers[id(node.right)]}\n")
    return [f"{HEAD}vtree {len(nodes)}\n".encode(), "".join(lines).encode()]


def from_vtree(content: bytes, source: str) -> dict[int, Vtree]:
    """Return the nodes of a `.vtree` file by their ids, the root last, or say which line is wrong."""
    lines = list(lines_of(content, source))
    head = lines[0] if lines else None
    if head is None or head.words[0] != "vtree":
        raise FormatError(f"{source}: not a vtree file (no line 'vtree number-of-nodes')")
    head.count(2, "vtree number-of-nodes")
    expected, nodes, free = head.integer(1, "a number of nodes", 1), dict[int, Vtree](), set[int]()
    most = min(MOST_COLUMNS, SPARSE + DENSE * len(lines))
    for line in lines[1:]:
        name = line.integer(1, "the id of a node")
        if name in nodes:
            raise line.error(f"node {name} is there twice")
        nodes[name] = _node(line, nodes, free, most)
        free.add(name)
    if len(nodes) != expected:
        raise FormatError(f"{source}: line {head.number} says {expected} nodes, found {len(nodes)}")
    if len(free) != 1 or next(reversed(nodes)) not in free:
        raise FormatError(f"{source}: expected one tree whose root is the last node, found {len(free)} roots")
    return nodes


def _node(line: Line, nodes: dict[int, Vtree], free: set[int], most: int) -> Vtree:
    if line.words[0] == "L":
        line.count(3, "L id variable")
        return Vtree.leaf(line.integer(2, "a variable", 1, most) - 1)
    if line.words[0] != "I":
        raise line.error(f"expected L or I, found {line.words[0][:20]!r}")
    line.count(4, "I id left right")
    children = [line.integer(k, "a child") for k in (2, 3)]
    for child in children:
        if child not in free:
            raise line.error(f"node {child} is not described on an earlier line, or is the child of another node")
        free.remove(child)
    left, right = (nodes[child] for child in children)
    if left.scope & right.scope:
        raise line.error(f"both children have the variable {next(iter(left.scope & right.scope)) + 1}")
    return Vtree.inner(left, right)
