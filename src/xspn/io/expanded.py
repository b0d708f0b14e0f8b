"""Circuits of sums, products and single discrete variables: what the formats of other programs have.

Whatever else a circuit is made of is replaced by an equal circuit of those, or refused with the node and its family.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from xspn.circuit import Circuit
from xspn.core.arrays import FloatArray
from xspn.core.errors import FormatError, QueryError
from xspn.graph.graph import Graph
from xspn.graph.nodes import Node, Product, Sum, children_first
from xspn.leaves.base import Leaf
from xspn.leaves.expansion import mixture_node

MOST_NODES = 5_000_000  # of a circuit that leaves are replaced in


class Expanded(NamedTuple):
    """A circuit whose leaves have one discrete variable each.

    Attributes:
        graph: The nodes.
        origin: For each node, the node of the circuit that it comes from.
        cardinalities: The number of values of each variable, 0 for one that the circuit does not have.
    """

    graph: Graph
    origin: list[int]
    cardinalities: list[int]


def expanded(circuit: Circuit, form: str) -> Expanded:
    """Return a circuit with leaves over one discrete variable each, without children of weight 0.

    Args:
        circuit: The circuit.
        form: What the format is called, for messages.
    """
    origin: dict[int, int] = {}
    kept: list[Node] = []  # an `id` is one as long as its node is there

    def visit(node: Node, children: Sequence[Node]) -> Node:
        place = circuit.graph.id_of(node)
        if isinstance(node, Leaf):
            own = _leaf_circuit(circuit, node, place, form)
        elif isinstance(node, Sum):
            own = mixture_node(node.weights, children)
        else:
            own = children[0] if len(children) == 1 else Product(children)
        new = [own] if id(own) in origin or not isinstance(node, Leaf) else children_first(own)
        for part in new:
            origin.setdefault(id(part), place)
        kept.extend(new)
        if len(origin) > MOST_NODES:
            raise FormatError(f"{form}: more than {MOST_NODES:,} nodes without leaves over several variables")
        return own

    root = circuit.graph.rebuild(visit)
    graph = Graph(root, circuit.n_variables)
    sizes = [0 if domain is None else domain.cardinality or 0 for domain in graph.domains]
    return Expanded(graph, [origin[id(node)] for node in graph.nodes], sizes)


def _leaf_circuit(circuit: Circuit, leaf: Leaf, place: int, form: str) -> Node:
    real = [v for v, domain in zip(leaf.variables, leaf.domains, strict=True) if not domain.is_discrete]
    if real:
        name = circuit.schema.shown_name(real[0])
        raise FormatError(
            f"{form}: node {place} is a {type(leaf).__name__} leaf with the real variable {name!r}; the format has "
            "discrete variables only"
        )
    try:
        return leaf.expansion()
    except QueryError as error:
        raise FormatError(
            f"{form}: node {place} is a {type(leaf).__name__} leaf that the format has no form for ({error})"
        ) from error


def log_table(leaf: Leaf) -> FloatArray:
    """Return the log-probability of each value of a leaf over one discrete variable."""
    size = leaf.domains[0].cardinality or 0
    return leaf.log_prob(np.arange(size, dtype=np.float64)[:, None])
