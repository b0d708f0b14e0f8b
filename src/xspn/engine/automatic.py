"""The back end that nobody has to choose: NumPy passes for little work, compiled kernels for much."""

import warnings
from functools import cached_property
from typing import Any

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import Names
from xspn.core.errors import MissingExtraError
from xspn.engine.backend import Backend, Counts
from xspn.engine.blocks import LoopBlock
from xspn.engine.choice import all_cores, compiled_backend, has_kernels, kernels_are_kept
from xspn.engine.numpy_backend import NumpyBackend
from xspn.engine.program import Program
from xspn.engine.rows import RowBlock
from xspn.engine.up import Semiring

WORTH_KERNELS = 1 << 28  # slots × rows: about a second of NumPy passes, which is what loading the kernels takes
WORTH_COMPILING = 1 << 34  # about a minute, which is what compiling takes where the code cannot be kept
LOOP, LOOP_VARIABLE = 200, 20  # slots that a leaf costs which is asked by itself, and each of its variables


class Automatic(Backend):
    """Starts with NumPy, and goes on with kernels when a circuit has been asked enough to be worth loading them.

    How much was asked is counted in slots and rows, not in seconds: the same script gives the same answers.
    """

    def __init__(self, program: Program, origin: "Automatic | None" = None) -> None:
        self.program = program
        self._origin = origin  # the back end of the program that this one was fitted from
        self._spent: list[int] = [0] if origin is None else origin._spent
        self._numpy = NumpyBackend(program)

    def __reduce__(self) -> tuple[Any, ...]:
        return Automatic, (self.program,)

    @cached_property
    def _slots(self) -> int:
        asked = [leaf for _, block in self.program.blocks if isinstance(block, LoopBlock) for leaf in block.leaves]
        return self.program.n_slots + sum(LOOP + LOOP_VARIABLE * len(leaf.variables) for leaf in asked)

    @cached_property
    def _numba(self) -> Backend | None:
        if not has_kernels(self.program):
            return None
        if self._origin is not None and self._origin._numba is not None:
            return self._origin._numba.with_parameters(self.program)
        try:
            return compiled_backend(self.program, threads=all_cores())
        except MissingExtraError as error:
            warnings.warn(f"{error}; going on with NumPy, which is slower", RuntimeWarning, stacklevel=2)
            return None

    def _for(self, n_rows: int, passes: int = 1) -> Backend:
        """Return the back end for a question about so many rows."""
        self._spent[0] += n_rows * passes * self._slots
        if self._spent[0] < WORTH_KERNELS or self._numba is None:
            return self._numpy
        return self._numba if self._spent[0] >= WORTH_COMPILING or kernels_are_kept() else self._numpy

    @property
    def error_bound(self) -> float:
        """That of the NumPy passes, which is the larger one."""
        return self._numpy.error_bound

    def with_parameters(self, program: Program) -> "Automatic":
        """Return the same for other parameters; what was spent so far counts."""
        origin = self if self._origin is None else self._origin
        return Automatic(program, origin)

    def log_likelihood(self, X: AnyArray, names: Names | None = None, what: str = "X") -> FloatArray:
        """Ask the back end that is worth it."""
        return self._for(len(X)).log_likelihood(X, names, what)

    def marginals(self, evidence: AnyArray, names: Names | None = None) -> FloatArray:
        """Ask the back end that is worth it."""
        return self._for(len(evidence), passes=3).marginals(evidence, names)

    def log_values(self, rows: RowBlock, semiring: Semiring) -> FloatArray:
        """Ask the back end that is worth it."""
        return self._for(len(rows)).log_values(rows, semiring)

    def counts(self, X: AnyArray, weights: FloatArray, names: Names | None = None) -> Counts:
        """Ask the back end that is worth it."""
        return self._for(len(X), passes=3).counts(X, weights, names)
