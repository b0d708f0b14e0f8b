"""The flat program compiled from a circuit: leaf blocks, the passes, and the back ends that run it."""

from xspn.engine.automatic import Automatic
from xspn.engine.backend import Backend, Counts, refuse_impossible
from xspn.engine.choice import chosen_backend
from xspn.engine.compiler import compile_graph
from xspn.engine.down import choose_best, choose_by_chance, flows
from xspn.engine.numpy_backend import NumpyBackend
from xspn.engine.program import Program
from xspn.engine.rows import RowBlock
from xspn.engine.up import Semiring, upward

__all__ = [
    "Automatic",
    "Backend",
    "Counts",
    "NumpyBackend",
    "Program",
    "RowBlock",
    "Semiring",
    "choose_best",
    "choose_by_chance",
    "chosen_backend",
    "compile_graph",
    "flows",
    "refuse_impossible",
    "upward",
]
