"""A circuit as text: graphviz, or an equation."""

from xspn.circuit import Circuit
from xspn.graph.nodes import Node, Product, Sum
from xspn.leaves.base import Leaf

LONGEST_LINE = 100


def to_dot(circuit: Circuit) -> str:
    r"""Return the circuit in the dot language, variables by name where they have one.

    Examples:
        >>> from xspn import Bernoulli
        >>> print(to_dot(Circuit(Sum([0.25, 0.75], [Bernoulli(0, p=0.1), Bernoulli(0, p=0.9)]), names=["rain"])))
        digraph circuit {
          node [fontname="sans-serif"];
          n0 [shape=box, label="Bernoulli\nrain"];
          n1 [shape=box, label="Bernoulli\nrain"];
          n2 [shape=circle, label="+"];
          n2 -> n0 [label="0.25"];
          n2 -> n1 [label="0.75"];
        }
    """
    lines = ["digraph circuit {", '  node [fontname="sans-serif"];']
    for index, node in enumerate(circuit.graph.nodes):
        lines.append(f"  n{index} [{_style(circuit, node)}];")
        for place, child in enumerate(circuit.graph.child_ids(node)):
            label = f' [label="{node.weights[place]:.3g}"]' if isinstance(node, Sum) else ""
            lines.append(f"  n{index} -> n{child}{label};")
    return "\n".join([*lines, "}"])


def _style(circuit: Circuit, node: Node) -> str:
    if isinstance(node, Sum):
        return 'shape=circle, label="+"'
    if isinstance(node, Product):
        return 'shape=circle, label="×"'
    assert isinstance(node, Leaf)
    return f'shape=box, label="{type(node).__name__}\\n{_escape(_names(circuit, node.variables))}"'


def _names(circuit: Circuit, variables: tuple[int, ...], most: int = 4) -> str:
    """Join the names of variables, leaving out the middle of a long list, and saying how long it is."""
    names = [circuit.schema.shown_name(variable) for variable in variables]
    if len(names) <= most:
        return ", ".join(names)
    return ", ".join([*names[: most - 1], "…", names[-1]]) + f" ({len(names)})"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def to_equation(circuit: Circuit) -> str:
    """Return the circuit as text: one line if it is small, otherwise one for each shared or long part.

    Examples:
        >>> from xspn import Bernoulli, Product
        >>> halves = [Product([Bernoulli(0, p=p), Bernoulli(1, p=p)]) for p in (0.1, 0.9)]
        >>> print(to_equation(Circuit(Sum([0.25, 0.75], halves), names=["a", "b"])))
        P = 0.25·(B(a; 0.1) · B(b; 0.1)) + 0.75·(B(a; 0.9) · B(b; 0.9))
    """
    graph = circuit.graph
    uses = [0] * len(graph)
    for node in graph.nodes:
        for child in graph.child_ids(node):
            uses[child] += 1
    terms: list[str] = []
    lines: list[str] = []
    for index, node in enumerate(graph.nodes):
        text = _term(circuit, node, [terms[c] for c in graph.child_ids(node)])
        is_root = index == len(graph) - 1
        if is_root:
            lines.append(f"P = {text}")
        elif node.children and (uses[index] > 1 or len(text) > LONGEST_LINE):
            lines.append(f"n{index} = {text}")
            text = f"n{index}"
        terms.append(f"({text})" if node.children and " " in text else text)
    return "\n".join(lines)


def _term(circuit: Circuit, node: Node, children: list[str]) -> str:
    if isinstance(node, Sum):
        return " + ".join(f"{weight:.4g}·{child}" for weight, child in zip(node.weights, children, strict=True))
    if node.children:
        return " · ".join(children)
    assert isinstance(node, Leaf)
    return node.term(_names(circuit, node.variables))
