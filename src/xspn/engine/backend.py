"""What a back end does: answer the questions that go over all rows of a table. And which one does it.

Back ends are found by name or chosen by the amount of work; none is imported before that.
"""

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.core.checks import Names
from xspn.core.errors import EvidenceError, MissingExtraError, ParameterError
from xspn.core.logspace import safe_log
from xspn.engine.completion import best_completions, random_completions
from xspn.engine.program import Program
from xspn.engine.tape import Tape
from xspn.leaves.blocks import RowBlock

WORTH_KERNELS = 1 << 28  # slots × rows: about a second of NumPy passes, which is what loading the kernels takes
WORTH_COMPILING = 1 << 34  # about a minute, which is what compiling takes where the code cannot be kept
FEW_SLOTS = 100  # smaller circuits with leaves that kernels do not evaluate are faster in NumPy
PRECISIONS: dict[str, type[np.floating[Any]]] = {"float64": np.float64, "float32": np.float32}


class Semiring(Enum):
    """How missing values and sums are combined on the way up."""

    SUM = "sum out missing values; add at sums"
    MAX = "best completion at leaves; best child at sums"
    BOUND = "best completion at leaves; add at sums: never less than the best completion of the whole"


@dataclass(frozen=True, eq=False)
class Counts:
    """What weighted rows tell about the parameters of a program, before leaves turn it into expected statistics.

    Attributes:
        sums: For each step of sums the flow to each child: (arity, sums).
        leaves: For each leaf block its counts.
        log_prob: The log-probability of each row; rows of probability zero count for nothing.
    """

    sums: Sequence[FloatArray]
    leaves: Sequence[FloatArray]
    log_prob: FloatArray

    def with_rows(self, rows: IntArray, own: "Counts") -> "Counts":
        """Return the counts with those of some rows added, which had counted for nothing."""
        log_prob = self.log_prob.copy()
        log_prob[rows] = own.log_prob
        return Counts(
            [a + b for a, b in zip(self.sums, own.sums, strict=True)],
            [a + b for a, b in zip(self.leaves, own.leaves, strict=True)],
            log_prob,
        )


class Backend(ABC):
    """Runs one program. All back ends give the same answers, up to rounding."""

    program: Program

    @property
    @abstractmethod
    def error_bound(self) -> float:
        """How far rounding alone can take a log-likelihood from exact arithmetic on the same parameters."""

    @abstractmethod
    def with_parameters(self, program: Program) -> "Backend":
        """Return the same for other parameters of the same circuit."""

    @abstractmethod
    def log_likelihood(self, X: AnyArray, names: Names | None = None, what: str = "X") -> FloatArray:
        """Return log P(observed part of each row): (rows,)."""

    @abstractmethod
    def marginals(self, evidence: AnyArray, names: Names | None = None) -> FloatArray:
        """Return P(X_i = v | evidence row) for all variables: (rows, n, k), NaN for real or absent variables."""

    def marginals_and_evidence(self, evidence: AnyArray, names: Names | None = None) -> tuple[FloatArray, FloatArray]:
        """Return the marginals and log P(evidence row); where that is −inf, the marginals say nothing."""
        log_evidence = self.log_likelihood(evidence, names, "evidence")
        possible = ~np.isneginf(log_evidence)
        table = np.full((*evidence.shape, self.program.largest_cardinality), np.nan)
        table[possible] = self.marginals(evidence[possible], names)
        return table, log_evidence

    def cell_log_likelihood(self, X: AnyArray, names: Names | None = None) -> tuple[FloatArray, FloatArray]:
        """Return log P(x_i | the rest of the row) of every cell, (rows, n), and log P(row), (rows,).

        NaN stands for what is missing or outside the circuit, and for cells whose rest is impossible. In log space on
        every back end that has no walk of its own.
        """
        from xspn.engine.alternatives import cell_log_likelihood

        return cell_log_likelihood(self.program, X, names)

    @abstractmethod
    def log_values(self, rows: RowBlock, semiring: Semiring) -> FloatArray:
        """Return the log-value of every slot: (slots, rows)."""

    @abstractmethod
    def counts(self, X: AnyArray, weights: FloatArray, names: Names | None = None) -> Counts:
        """Return what EM needs of weighted rows."""

    def best_completions(self, evidence: AnyArray, names: Names | None = None) -> tuple[FloatArray, FloatArray]:
        """Return each row completed with the best child taken at every sum, and log P(completed row).

        Where that is −inf the evidence is impossible, and the completion says nothing.
        """
        filled, possible = best_completions(
            self.program, lambda rows: self.log_values(rows, Semiring.MAX), evidence, names
        )
        log_prob = np.full(len(filled), -np.inf)
        log_prob[possible] = self.log_likelihood(filled[possible], names)
        return filled, log_prob

    def random_completions(
        self, evidence: AnyArray, keys: AnyArray, names: Names | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return random completions of each row given what is known of it, one after the other, and log P(row).

        Where that is −inf the evidence is impossible, and the completions say nothing.

        Args:
            evidence: The rows.
            keys: What the random numbers of each completion come from (`row_keys`): (rows, completions of each).
            names: The names of the columns, for messages.
        """
        return random_completions(self.program, lambda rows: self.log_values(rows, Semiring.SUM), evidence, keys, names)


def refuse_impossible(log_evidence: FloatArray, first_row: int = 0) -> None:
    """Raise if some row of evidence has probability zero: what is conditioned on it is undefined, not zero."""
    impossible = np.isneginf(log_evidence)
    if impossible.any():
        row = first_row + int(np.argmax(impossible))
        more = int(impossible.sum()) - 1
        others = f" (and {more} more rows)" if more else ""
        raise EvidenceError(f"the evidence in row {row}{others} has probability zero; nothing can be concluded from it")


class LinearBackend(Backend):
    """A back end whose answers near the end of the range of its numbers are given by another one.

    Attributes:
        least: Rows of smaller probability are computed again.
    """

    least: float

    @property
    @abstractmethod
    def fallback(self) -> Backend:
        """The back end for these rows: of a wider range, or in log space."""

    def _logarithms(
        self, p: AnyArray, log_scale: FloatArray | float, X: AnyArray, names: Names | None, what: str
    ) -> FloatArray:
        """Return the logarithm of the probability (density) of each row, which is p times the row's own scale."""
        result = safe_log(p.astype(np.float64, copy=False)) + log_scale
        low = np.flatnonzero(p < self.least)
        if len(low):
            result[low] = self.fallback.log_likelihood(X[low], names, what)
        return result

    def _recompute_underflow(
        self, table: FloatArray, p: AnyArray, evidence: AnyArray, names: Names | None
    ) -> FloatArray:
        """Return a table of marginals with those of very unlikely evidence computed again; impossible is an error."""
        low = np.flatnonzero(p < self.least)
        if len(low):
            log_evidence = np.zeros(len(evidence))
            table[low], log_evidence[low] = self.fallback.marginals_and_evidence(evidence[low], names)
            refuse_impossible(log_evidence)
        return table

    def _redraw_underflow(
        self,
        drawn: FloatArray,
        log_prob: FloatArray,
        p: AnyArray,
        evidence: AnyArray,
        keys: AnyArray,
        names: Names | None,
    ) -> None:
        """Draw the completions of very unlikely evidence again, and write its logarithm."""
        low = np.flatnonzero(p < self.least)
        if len(low):
            found, log_prob[low] = self.fallback.random_completions(evidence[low], keys[low], names)
            drawn.reshape(*keys.shape, -1)[low] = found.reshape(len(low), keys.shape[1], -1)


# -- the back ends, and the choice between them ------------------------------------------------------------------------


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


def numpy_backend(program: Program) -> Backend:
    """Return the back end of NumPy passes."""
    from xspn.engine.numpy_backend import NumpyBackend

    return NumpyBackend(program)


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
        return numpy_backend(program)
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
        self._numpy = numpy_backend(program)

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

    def cell_log_likelihood(self, X: AnyArray, names: Names | None = None) -> tuple[FloatArray, FloatArray]:
        """Ask NumPy or the kernels, whichever pays."""
        return self._for(len(X), passes=4).cell_log_likelihood(X, names)

    def log_values(self, rows: RowBlock, semiring: Semiring) -> FloatArray:
        """Ask NumPy or the kernels, whichever pays."""
        return self._for(len(rows)).log_values(rows, semiring)

    def counts(self, X: AnyArray, weights: FloatArray, names: Names | None = None) -> Counts:
        """Ask NumPy or the kernels, whichever pays."""
        return self._for(len(X), passes=3).counts(X, weights, names)

    def best_completions(self, evidence: AnyArray, names: Names | None = None) -> tuple[FloatArray, FloatArray]:
        """Ask NumPy or the kernels, whichever pays."""
        return self._for(len(evidence), passes=2).best_completions(evidence, names)

    def random_completions(
        self, evidence: AnyArray, keys: AnyArray, names: Names | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Ask NumPy or the kernels, whichever pays."""
        return self._for(keys.size, passes=2).random_completions(evidence, keys, names)
