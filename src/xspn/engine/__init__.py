"""The flat program compiled from a circuit: leaf blocks, the passes, and the back ends that run it."""

from xspn.engine.backend import Automatic, Backend, Counts, Semiring, chosen_backend, refuse_impossible
from xspn.engine.numpy_backend import NumpyBackend, flows, upward
from xspn.engine.program import Program, compile_graph
from xspn.leaves.blocks import RowBlock

__all__ = [
    "Automatic",
    "Backend",
    "Counts",
    "NumpyBackend",
    "Program",
    "RowBlock",
    "Semiring",
    "chosen_backend",
    "compile_graph",
    "flows",
    "refuse_impossible",
    "upward",
]
