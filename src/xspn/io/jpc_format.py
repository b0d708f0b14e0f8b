"""Juice's circuits (`.jpc`), as ProbabilisticCircuits.jl reads and writes them.

```
c a comment
jpc number-of-nodes
L id vtree literal                             a bit: variable or −variable, variables from 1
I id vtree variable value                      a value of a categorical variable, values from 0
C id vtree variable {log-probability}+         a categorical variable
P id vtree number-of-children {id}+
S id vtree number-of-children {id log-probability}+
```

Children come before parents and the last node is the root. A Bernoulli leaf is written as a sum of two literals,
which old versions of Juice read, too. The format holds no names, no labels and no notes; the vtree is 0 throughout, as
in files that Juice writes without one, and is not looked at.
"""

from typing import Any

import numpy as np

from xspn.circuit import Circuit
from xspn.core.errors import FormatError
from xspn.graph.nodes import Sum
from xspn.io.json_format import MOST_COLUMNS
from xspn.io.node_lines import Line, NodeLines, expanded, lines_of, log_table
from xspn.leaves.base import Leaf
from xspn.statistics.base import LARGEST_TABLE

WORD = b"jpc"
HEAD = """c written by xspn
c ids of jpc nodes start at 0, children come before parents
c jpc count-of-jpc-nodes
c L id-of-jpc-node id-of-vtree literal
c I id-of-jpc-node id-of-vtree variable value
c C id-of-jpc-node id-of-vtree variable {log-probability}+
c P id-of-jpc-node id-of-vtree number-of-children {child-id}+
c S id-of-jpc-node id-of-vtree number-of-children {child-id log-probability}+
c
"""


def to_jpc(circuit: Circuit, notes: dict[str, Any] | None = None) -> list[bytes | memoryview]:
    """Return the content of a `.jpc` file; notes have no place in it."""
    lines: list[str] = []
    values: dict[tuple[int, int], int] = {}
    own = expanded(circuit, "jpc")
    places: list[int] = []

    def add(kind: str, *words: Any) -> int:
        lines.append(f"{kind} {len(lines)} 0 {' '.join(map(str, words))}\n")
        return len(lines) - 1

    def value_line(variable: int, value: int) -> int:
        if (variable, value) not in values:
            bit = own.cardinalities[variable] == 2
            literal = variable + 1 if value else -variable - 1
            place = add("L", literal) if bit else add("I", variable + 1, value)
            values[variable, value] = place
        return values[variable, value]

    def leaf_line(leaf: Leaf) -> int:
        variable, logs = leaf.variables[0], log_table(leaf)
        live = np.flatnonzero(~np.isneginf(logs)).tolist()
        if len(live) == 1:
            return value_line(variable, live[0])
        if len(logs) > 2:
            return add("C", variable + 1, *map(_number, logs.tolist()))
        pairs = [(value_line(variable, value), _number(float(logs[value]))) for value in (1, 0)]
        return add("S", 2, *(word for pair in pairs for word in pair))

    for node, children in zip(own.graph.nodes, own.graph.children(), strict=True):
        below = [places[child] for child in children]
        if isinstance(node, Leaf):
            places.append(leaf_line(node))
        elif isinstance(node, Sum):
            logs = map(_number, np.log(node.weights).tolist())
            places.append(add("S", len(below), *(word for pair in zip(below, logs, strict=True) for word in pair)))
        else:
            places.append(add("P", len(below), *below))
    return [f"{HEAD}jpc {len(lines)}\n".encode(), "".join(lines).encode()]


def _number(value: float) -> str:
    return "-Inf" if np.isneginf(value) else repr(value)


def from_jpc(content: bytes, source: str) -> tuple[Circuit, dict[str, Any]]:
    """Return the circuit of a `.jpc` file, and no notes, or say which line is wrong."""
    lines = lines_of(content, source)
    head = next(lines, None)
    if head is None or head.words[0] != "jpc":
        raise FormatError(f"{source}: not a jpc file (no line 'jpc number-of-nodes')")
    head.count(2, "jpc number-of-nodes")
    expected, nodes, found = head.integer(1, "a number of nodes", 1), NodeLines(source), 0
    for line in lines:
        name = line.integer(1, "the id of a node")
        line.integer(2, "the id of a vtree")
        nodes.name(line, name, _node(line, nodes))
        found += 1
    if found != expected:
        raise FormatError(f"{source}: line {head.number} says {expected} nodes, found {found}; the file is truncated")
    return nodes.circuit(), {}


def _node(line: Line, nodes: NodeLines) -> int:
    """Add the node of a line."""
    match line.words[0]:
        case "L":
            line.count(4, "L id vtree literal")
            literal = line.integer(3, "a literal", -MOST_COLUMNS, MOST_COLUMNS)
            if literal == 0:
                raise line.error("expected a literal such as 3 or -3, found 0")
            return nodes.value(line, abs(literal) - 1, int(literal > 0))
        case "I":
            line.count(5, "I id vtree variable value")
            variable = line.integer(3, "a variable", 1, MOST_COLUMNS)
            return nodes.value(line, variable - 1, line.integer(4, "a value", 0, LARGEST_TABLE - 1))
        case "C":
            variable = line.integer(3, "a variable", 1, MOST_COLUMNS)
            return nodes.table(line, variable - 1, [line.log_probability(k) for k in range(4, len(line.words))])
        case "P":
            count = line.integer(3, "a number of children", 1)
            line.count(4 + count, f"P id vtree {count} and {count} children")
            return nodes.product(line, [nodes.named(line, line.integer(k, "a child")) for k in range(4, 4 + count)])
        case "S":
            count = line.integer(3, "a number of children", 1)
            line.count(4 + 2 * count, f"S id vtree {count} and {count} children with their log-probabilities")
            places = range(4, 4 + 2 * count, 2)
            children = [nodes.named(line, line.integer(k, "a child")) for k in places]
            return nodes.sum(line, children, [line.log_probability(k + 1) for k in places])
    raise line.error(f"expected a node, L, I, C, P or S, found {line.words[0][:20]!r}")
