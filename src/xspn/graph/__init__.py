"""The structure of a circuit: scopes, nodes, the ordered graph, its properties and rewritings."""

from xspn.graph.graph import Graph
from xspn.graph.nodes import LeafNode, Node, Product, Scope, Sum

__all__ = ["Graph", "LeafNode", "Node", "Product", "Scope", "Sum"]
