"""A circuit as a tree of text, for the terminal."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from xspn.cli.output import abridged
from xspn.graph.nodes import Node, Sum
from xspn.leaves import Leaf
from xspn.plotting.facts import chance_of

if TYPE_CHECKING:
    from xspn.circuit import Circuit

MOST_VALUES = 5


def tree_lines(circuit: "Circuit", depth: int, most: int) -> Iterator[str]:
    """Yield the lines of the tree, each with its node's number, down to a depth and to so many children of a node."""
    yield from _Tree(circuit, depth, most).lines(circuit.root, "", "", 0)


class _Tree:
    def __init__(self, circuit: "Circuit", depth: int, most: int) -> None:
        self.circuit = circuit
        self.names = circuit.schema.shown_names
        self.depth, self.most = depth, most

    def lines(self, node: Node, prefix: str, before: str, level: int) -> Iterator[str]:
        """Yield a node's line and those of its children; `prefix` is drawn before the children."""
        yield f"{before}{self._line(node)}"
        if not node.children:
            return
        parts = self._parts(node)
        if level >= self.depth:
            yield f"{prefix}└─ … {len(node.children)} below (--depth {self.depth + 1})"
            return
        for place, (text, child) in enumerate(parts):
            last = place == len(parts) - 1
            start, below = ("└─ ", "   ") if last else ("├─ ", "│  ")
            if child is None:
                yield f"{prefix}{start}{text}"
            else:
                yield from self.lines(child, prefix + below, f"{prefix}{start}{text}", level + 1)

    def _parts(self, node: Node) -> list[tuple[str, Node | None]]:
        """Return what to draw below a node: (text before it, child), or a text alone for what is not shown."""
        children = list(node.children)
        if isinstance(node, Sum):
            order = np.argsort(-node.weights, kind="stable")
            parts: list[tuple[str, Node | None]] = [(f"{node.weights[k]:.3g} · ", children[k]) for k in order]
            bits: list[Node] = []
        else:
            bits = [child for child in children if chance_of(child) is not None]
            bits = bits if len(bits) > 2 else []
            rest = [child for child in children if not (bits and chance_of(child) is not None)]
            rest.sort(key=lambda child: -len(child.scope))
            parts = [("", child) for child in rest]
        shown = parts[: self.most]
        if len(parts) > self.most:
            shown.append((f"… {len(parts) - self.most} more (--most {len(parts)})", None))
        if bits:
            shown.append((self._bits(bits), None))
        return shown

    def _bits(self, bits: Sequence[Node]) -> str:
        own = [f"{self.names[next(iter(bit.scope))]} {chance_of(bit):.2f}" for bit in bits]
        return f"{len(own)} independent: " + abridged(own, MOST_VALUES)

    def _line(self, node: Node) -> str:
        number = f"[{self.circuit.graph.id_of(node)}]"
        if isinstance(node, Sum):
            return f"{number} + {len(node.children)} branches over {_columns(len(node.scope))}"
        if isinstance(node, Leaf):
            return f"{number} {self._leaf(node)}"
        return f"{number} × {len(node.children)} factors over {_columns(len(node.scope))}"

    def _leaf(self, node: Leaf) -> str:
        own = [self.names[v] for v in node.scope]
        details = node.details(partial(self.circuit.schema.label, node.variables[0]))
        return f"{node.title}: {abridged(own)} ({len(own)})" if details is None else f"{own[0]}: {details}"


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count} columns"
