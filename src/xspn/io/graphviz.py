"""A circuit as graphviz text."""

from xspn.circuit import Circuit
from xspn.core.text import default_name
from xspn.graph.nodes import Node, Product, Sum
from xspn.leaves.base import Leaf


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
    names = variable_names(circuit, node.variables)
    return f'shape=box, label="{type(node).__name__}\\n{_escape(shortened(names))}"'


def variable_names(circuit: Circuit, variables: tuple[int, ...]) -> list[str]:
    """Return the variables' names, or X0, X1, … where they have none."""
    return [default_name(v) if circuit.names is None else circuit.names[v] for v in variables]


def shortened(names: list[str], most: int = 4) -> str:
    """Join names, leaving out the middle of a long list."""
    if len(names) <= most:
        return ", ".join(names)
    return ", ".join([*names[: most - 1], "…", names[-1]]) + f" ({len(names)})"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
