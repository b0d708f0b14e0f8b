"""Sum-product networks as `.spn` text: the dialect of Libra's arithmetic circuits that ProbabilisticCircuits.jl has.

```
(2 2 3)                        the number of values of each variable
v variable value               an indicator, both from 0
* {node}+                      a product; nodes are numbered by their lines, from 0
+ {node log-probability}+      a sum
EOF
```

The last node is the root. Juice reads bits only, `(2 2 2)`; variables of more values are written here all the same. A
variable that the circuit does not have is one of two values that occurs nowhere. Names, labels and notes have no place.
"""

from typing import Any

import numpy as np

from xspn.circuit import Circuit
from xspn.core.errors import FormatError
from xspn.graph.nodes import Sum
from xspn.io.json_format import check_columns
from xspn.io.node_lines import Line, NodeLines, expanded, lines_of, log_table
from xspn.leaves.base import Leaf
from xspn.statistics.base import LARGEST_TABLE

MAGIC = b"("
END = "EOF"


def to_spn(circuit: Circuit, notes: dict[str, Any] | None = None) -> list[bytes | memoryview]:
    """Return the content of an `.spn` file; notes have no place in it."""
    own = expanded(circuit, "spn")
    lines: list[str] = []
    values: dict[tuple[int, int], int] = {}
    places: list[int] = []

    def add(*words: Any) -> int:
        lines.append(" ".join(map(str, words)))
        return len(lines) - 1

    def value_line(variable: int, value: int) -> int:
        if (variable, value) not in values:
            values[variable, value] = add("v", variable, value)
        return values[variable, value]

    def leaf_line(leaf: Leaf) -> int:
        variable, logs = leaf.variables[0], log_table(leaf)
        live = np.flatnonzero(~np.isneginf(logs)).tolist()
        below = [value_line(variable, value) for value in live]
        return below[0] if len(live) == 1 else add("+", *_weighted(below, logs[live].tolist()))

    for node, children in zip(own.graph.nodes, own.graph.children(), strict=True):
        below = [places[child] for child in children]
        if isinstance(node, Leaf):
            places.append(leaf_line(node))
        elif isinstance(node, Sum):
            places.append(add("+", *_weighted(below, np.log(node.weights).tolist())))
        else:
            places.append(add("*", *below))
    domains = " ".join(str(size or 2) for size in own.cardinalities)
    return [f"({domains})\n".encode(), "\n".join([*lines, END, ""]).encode()]


def _weighted(below: list[int], logs: list[float]) -> list[Any]:
    return [word for child, value in zip(below, logs, strict=True) for word in (child, repr(value))]


def from_spn(content: bytes, source: str) -> tuple[Circuit, dict[str, Any]]:
    """Return the circuit of an `.spn` file, and no notes, or say which line is wrong."""
    lines = lines_of(content, source, comment=None)
    sizes = _domains(next(lines, None), source)
    nodes, ended = NodeLines(source), False
    for line in lines:
        if ended:
            raise line.error(f"expected nothing after {END}")
        if line.words == [END]:
            ended = True
        else:
            _add_node(line, nodes, sizes)
    if not ended:
        raise FormatError(f"{source}: no line {END!r} at the end; the file is truncated")
    return nodes.circuit(len(sizes)), {}


def _domains(line: Line | None, source: str) -> list[int]:
    text = "" if line is None else " ".join(line.words)
    if line is None or not (text.startswith("(") and text.endswith(")")):
        raise FormatError(f"{source}: not an spn file (no line such as '(2 2 2)', how many values variables have)")
    own = Line(source, line.number, text[1:-1].split())
    check_columns(len(own.words), source)
    return [own.integer(k, "a number of values", 2, LARGEST_TABLE) for k in range(len(own.words))]


def _add_node(line: Line, nodes: NodeLines, sizes: list[int]) -> None:
    known = len(nodes.records) - 1
    match line.words[0]:
        case "v":
            line.count(3, "v variable value")
            variable = line.integer(1, "a variable", 0, len(sizes) - 1)
            value = line.integer(2, "a value", 0, sizes[variable] - 1)
            nodes.value(line, variable, value, least_size=sizes[variable])
        case "*":
            nodes.product(line, [line.integer(k, "an earlier node", 0, known) for k in _some(line, 1)])
        case "+":
            places = _some(line, 2)
            children = [line.integer(k, "an earlier node", 0, known) for k in places]
            nodes.sum(line, children, [line.log_probability(k + 1) for k in places])
        case _:
            raise line.error(f"expected v, *, + or {END}, found {line.words[0][:20]!r}")


def _some(line: Line, step: int) -> range:
    """Return the places of a line's children, of which there is at least one."""
    if len(line.words) < 1 + step:
        raise line.error("expected at least one child")
    return range(1, len(line.words), step)
