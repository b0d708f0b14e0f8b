"""The structure of a circuit: scopes, nodes, the ordered graph, its properties and rewritings."""

from xspn.graph.graph import Graph
from xspn.graph.nodes import LeafNode, Node, Product, Sum
from xspn.graph.scope import Scope

__all__ = ["Graph", "LeafNode", "Node", "Product", "Scope", "Sum"]
