"""The flat program compiled from a circuit: leaf blocks, one pass up, passes down."""

from xspn.engine.compiler import compile_graph
from xspn.engine.down import choose_best, choose_by_chance, flows
from xspn.engine.program import Program
from xspn.engine.rows import RowBlock
from xspn.engine.up import Semiring, upward

__all__ = [
    "Program",
    "RowBlock",
    "Semiring",
    "choose_best",
    "choose_by_chance",
    "compile_graph",
    "flows",
    "upward",
]
