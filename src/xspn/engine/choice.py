"""The back ends by name, what they need, and the automatic choice between them.

None of them is imported before it is chosen.
"""

import os
import warnings
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import Names
from xspn.core.errors import MissingExtraError, ParameterError
from xspn.engine.backend import Backend, Counts, Semiring
from xspn.engine.numpy_backend import NumpyBackend
from xspn.engine.program import Program
from xspn.engine.tape import Tape
from xspn.leaves.blocks import RowBlock

WORTH_KERNELS = 1 << 28  # slots × rows: about a second of NumPy passes, which is what loading the kernels takes
WORTH_COMPILING = 1 << 34  # about a minute, which is what compiling takes where the code cannot be kept
FEW_SLOTS = 100  # smaller circuits with leaves that kernels do not evaluate are faster in NumPy
PRECISIONS: dict[str, type[np.floating[Any]]] = {"float64": np.float64, "float32": np.float32}


def all_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def has_kernels() -> bool:
    """Whether compiled kernels can be run: numba is installed."""
    return find_spec("numba") is not None


def kernels_are_kept() -> bool:
    """Whether compiled code outlives the process; to be asked once kernels are loaded."""
    from xspn.core.compilation import not_kept

    return not not_kept


def numba_backend(
    program: Program, dtype: type[np.floating[Any]] = np.float64, threads: int = 1, tape: Tape | None = None
) -> Backend:
    """Return the back end of compiled kernels."""
    if not has_kernels():
        raise MissingExtraError("compiled kernels need the package numba: pip install numba, or use backend='numpy'")
    try:
        from xspn.engine.numba_backend import NumbaBackend
    except (ImportError, OSError, RuntimeError) as error:
        raise MissingExtraError(f"compiled kernels: numba does not work ({error}); use backend='numpy'") from error

    return NumbaBackend(program, dtype, threads, tape)


def torch_backend(program: Program, device: str, dtype: str) -> Backend:
    """Return the back end of tensors on a device."""
    if find_spec("torch") is None:
        raise MissingExtraError("the torch back end needs the package torch: pip install 'xspn[torch]'")
    from xspn.engine.torch_backend import TorchBackend

    return TorchBackend(program, device, dtype)


def chosen_backend(
    program: Program,
    backend: str | None = None,
    device: str = "cpu",
    dtype: str = "float64",
    threads: int | None = None,
    tape: Tape | None = None,
) -> Backend:
    """Return a back end by name: "numpy", "numba" or "torch".

    Without a name it is torch for any device but the CPU, compiled kernels if numba is installed, else NumPy.
    """
    if dtype not in PRECISIONS:
        raise ParameterError(f"dtype: expected 'float64' or 'float32', found {dtype!r}")
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
        raise ParameterError(f"threads: expected a whole number of at least 1, or None for all, found {threads!r}")
    if backend is None:
        backend = "torch" if device != "cpu" else "numba" if has_kernels() else "numpy"
    if backend != "torch" and device != "cpu":
        raise ParameterError(f"device: the {backend} back end runs on the CPU only, found {device!r}; use 'torch'")
    if backend == "numpy":
        if dtype != "float64":
            raise ParameterError("dtype: the numpy back end runs in float64 only")
        return NumpyBackend(program)
    if backend == "numba":
        return numba_backend(program, PRECISIONS[dtype], threads or all_cores(), tape)
    if backend == "torch":
        return torch_backend(program, device, dtype)
    raise ParameterError(f"backend: expected 'numpy', 'numba' or 'torch', found {backend!r}")


class Automatic(Backend):
    """Starts with NumPy, and switches to kernels once a circuit has done enough work to make loading them pay.

    Work is counted in slots and rows, not in seconds, so that the same script gives the same answers.
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
        steps = self.program.n_slots - sum(block.n_slots for _, block in self.program.blocks)
        return steps + sum(block.cost for _, block in self.program.blocks)

    @cached_property
    def _numba(self) -> Backend | None:
        if not has_kernels():
            return None
        if self._origin is not None and self._origin._numba is not None:
            return self._origin._numba.with_parameters(self.program)
        try:
            return numba_backend(self.program, threads=all_cores())
        except MissingExtraError as error:
            warnings.warn(f"{error}; going on with NumPy, which is slower", RuntimeWarning, stacklevel=2)
            return None

    def _for(self, n_rows: int, passes: int = 1) -> Backend:
        """Return the back end for a question about so many rows."""
        self._spent[0] += n_rows * passes * self._slots
        too_small = bool(self.program.columns) and self.program.n_slots < FEW_SLOTS
        if self._spent[0] < WORTH_KERNELS or too_small or self._numba is None:
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
        """Ask NumPy or the kernels, whichever pays."""
        return self._for(len(X)).log_likelihood(X, names, what)

    def marginals(self, evidence: AnyArray, names: Names | None = None) -> FloatArray:
        """Ask NumPy or the kernels, whichever pays."""
        return self._for(len(evidence), passes=3).marginals(evidence, names)

    def marginals_and_evidence(self, evidence: AnyArray, names: Names | None = None) -> tuple[FloatArray, FloatArray]:
        """Ask NumPy or the kernels, whichever pays."""
        return self._for(len(evidence), passes=3).marginals_and_evidence(evidence, names)

    def log_values(self, rows: RowBlock, semiring: Semiring) -> FloatArray:
        """Ask NumPy or the kernels, whichever pays."""
        return self._for(len(rows)).log_values(rows, semiring)

    def counts(self, X: AnyArray, weights: FloatArray, names: Names | None = None) -> Counts:
        """Ask NumPy or the kernels, whichever pays."""
        return self._for(len(X), passes=3).counts(X, weights, names)
