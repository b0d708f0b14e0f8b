"""A circuit as an equation."""

from xspn.circuit import Circuit
from xspn.graph.nodes import Node, Sum
from xspn.io.graphviz import shortened, variable_names
from xspn.leaves.base import Leaf

LONGEST_LINE = 100


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
    return node.term(shortened(variable_names(circuit, node.variables)))
