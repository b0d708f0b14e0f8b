"""A circuit as a tree of text, for the terminal."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from xspn.cli.output import shortened
from xspn.graph.nodes import Node, Sum
from xspn.leaves import Bernoulli, Categorical, Exchangeable, Gaussian

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
        """Return what to draw below a node: (text before it, child), or a text alone for what is left out."""
        children = list(node.children)
        if isinstance(node, Sum):
            order = np.argsort(-node.weights, kind="stable")
            parts: list[tuple[str, Node | None]] = [(f"{node.weights[k]:.3g} · ", children[k]) for k in order]
            bits: list[Node] = []
        else:
            bits = [child for child in children if isinstance(child, Bernoulli)]
            bits = bits if len(bits) > 2 else []
            rest = [child for child in children if not (bits and isinstance(child, Bernoulli))]
            rest.sort(key=lambda child: -len(child.scope))
            parts = [("", child) for child in rest]
        shown = parts[: self.most]
        if len(parts) > self.most:
            shown.append((f"… {len(parts) - self.most} more (--most {len(parts)})", None))
        if bits:
            shown.append((self._bits(bits), None))
        return shown

    def _bits(self, bits: Sequence[Node]) -> str:
        own = [(self.names[bit.variables[0]], bit.p) for bit in bits if isinstance(bit, Bernoulli)]
        return f"{len(own)} independent: " + shortened([f"{name} {p:.2f}" for name, p in own], MOST_VALUES)

    def _line(self, node: Node) -> str:
        number = f"[{self.circuit.graph.id_of(node)}]"
        if isinstance(node, Sum):
            return f"{number} + {len(node.children)} branches over {_columns(len(node.scope))}"
        if node.children:
            return f"{number} × {len(node.children)} factors over {_columns(len(node.scope))}"
        return f"{number} {self._leaf(node)}"

    def _leaf(self, node: Node) -> str:
        own = [self.names[v] for v in node.scope]
        if isinstance(node, Bernoulli):
            variable = node.variables[0]
            return f"{own[0]}: P({self.circuit.schema.label(variable, 1)}) = {node.p:.3g}"
        if isinstance(node, Categorical):
            labels = [self.circuit.schema.label(node.variables[0], code) for code in range(len(node.probabilities))]
            likeliest = np.argsort(-node.probabilities, kind="stable")
            chances = [f"{labels[k]} {node.probabilities[k]:.2f}" for k in likeliest[:MOST_VALUES]]
            return f"{own[0]}: {', '.join(chances)}{', …' if len(labels) > MOST_VALUES else ''}"
        if isinstance(node, Gaussian):
            return f"{own[0]}: mean {node.mean:.4g}, deviation {node.std:.3g}"
        kind = "exchangeable" if isinstance(node, Exchangeable) else type(node).__name__
        return f"{kind}: {shortened(own)} ({len(own)})"


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count} columns"
