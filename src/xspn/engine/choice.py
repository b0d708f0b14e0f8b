"""Which back ends there are, and what they need; none of them is imported before it is chosen."""

import os
from importlib.util import find_spec
from typing import Any

import numpy as np

from xspn.core.errors import MissingExtraError, ParameterError
from xspn.engine.backend import Backend
from xspn.engine.numpy_backend import NumpyBackend
from xspn.engine.program import Program
from xspn.engine.tape import Tape

PRECISIONS: dict[str, type[np.floating[Any]]] = {"float64": np.float64, "float32": np.float32}


def all_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def has_kernels(program: Program) -> bool:
    """Whether compiled kernels can run a program: numba is there, and all variables are discrete."""
    discrete = all(domain is None or domain.is_discrete for domain in program.domains)
    return discrete and find_spec("numba") is not None


def kernels_are_kept() -> bool:
    """Whether compiled code outlives the process; to be asked once kernels are there."""
    from xspn.core.compilation import not_kept

    return not not_kept


def compiled_backend(
    program: Program, dtype: type[np.floating[Any]] = np.float64, threads: int = 1, tape: Tape | None = None
) -> Backend:
    """Return the back end of compiled kernels."""
    if find_spec("numba") is None:
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

    Without a name it is torch for any device but the CPU, compiled kernels if they can run the program, else NumPy.
    """
    if dtype not in PRECISIONS:
        raise ParameterError(f"dtype: expected 'float64' or 'float32', found {dtype!r}")
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
        raise ParameterError(f"threads: expected a whole number of at least 1, or None for all, found {threads!r}")
    if backend is None:
        backend = "torch" if device != "cpu" else "numba" if has_kernels(program) else "numpy"
    if backend != "torch" and device != "cpu":
        raise ParameterError(f"device: the {backend} back end runs on the CPU only, found {device!r}; use 'torch'")
    if backend == "numpy":
        if dtype != "float64":
            raise ParameterError("dtype: the numpy back end runs in float64 only")
        return NumpyBackend(program)
    if backend == "numba":
        return compiled_backend(program, PRECISIONS[dtype], threads or all_cores(), tape)
    if backend == "torch":
        return torch_backend(program, device, dtype)
    raise ParameterError(f"backend: expected 'numpy', 'numba' or 'torch', found {backend!r}")
