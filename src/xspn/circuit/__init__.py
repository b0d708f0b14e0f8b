"""The structure of a circuit: scopes, nodes, the ordered graph, its properties and rewritings."""

from xspn.circuit.domain import Domain
from xspn.circuit.graph import Graph
from xspn.circuit.nodes import LeafNode, Node, Product, Sum
from xspn.circuit.scope import Scope

__all__ = ["Domain", "Graph", "LeafNode", "Node", "Product", "Scope", "Sum"]
