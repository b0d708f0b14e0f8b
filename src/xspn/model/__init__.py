"""The public face of a circuit: the graph and the questions that can be put to it."""

from xspn.model.circuit import Circuit

__all__ = ["Circuit"]
