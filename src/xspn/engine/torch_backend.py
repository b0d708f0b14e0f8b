"""The torch back end: the program's steps as operations on tensors, on any device that torch knows.

It works with probabilities, as the compiled kernels do, and has rows of very small probability computed again in the
same way. Questions that walk down to single leaves (completions, samples) and EM are answered on the CPU.
"""

from collections.abc import Iterator
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import Names
from xspn.core.errors import QueryError
from xspn.engine.automatic import Automatic
from xspn.engine.backend import Backend, Counts
from xspn.engine.bernoulli_block import BernoulliBlock
from xspn.engine.count_block import CountBlock
from xspn.engine.linear import LinearBackend
from xspn.engine.program import Program, SumStep
from xspn.engine.rows import RowBlock, RowChecker
from xspn.engine.tape import Tape
from xspn.engine.tape_writer import tape_of
from xspn.engine.torch_steps import Products, Sums
from xspn.engine.torch_tables import Bernoullis, Cells, Tables, Trees
from xspn.engine.torch_tables import Counts as CountTables
from xspn.engine.tree_block import TreeBlock
from xspn.engine.up import Semiring

if TYPE_CHECKING:
    from xspn.engine.torch_kernel import TapeKernel

PRECISIONS = {"float64": torch.float64, "float32": torch.float32}
LEAST = {torch.float64: 1e-280, torch.float32: 1e-24}  # devices may flush what is below 2⁻¹²⁶ to zero
CELLS = {"cpu": 1 << 22, "cuda": 1 << 31}  # slots × rows at a time


class TorchBackend(LinearBackend):
    """Runs a program of binary variables on a device.

    Args:
        program: The program.
        device: A device that torch knows: "cpu", "cuda", "cuda:1", …
        dtype: "float64" or "float32".
    """

    def __init__(self, program: Program, device: str = "cpu", dtype: str = "float64") -> None:
        self.program = program
        self.device = usable_device(device)
        self.dtype = PRECISIONS[dtype]
        self.least = LEAST[self.dtype]
        self._names = (device, dtype)
        to = Tables(self.device, self.dtype)
        n = len(program.domains)
        self._leaves: list[tuple[int, int, Bernoullis | CountTables | Trees]] = []
        for start, block in program.blocks:
            made: Bernoullis | CountTables | Trees
            if isinstance(block, BernoulliBlock):
                made = Bernoullis(block, n, to)
            elif isinstance(block, CountBlock):
                made = CountTables(block, n, to)
            elif isinstance(block, TreeBlock):
                made = Trees(block, to)
            else:
                raise QueryError(
                    "torch: expected Bernoulli, Chow-Liu and counting exchangeable leaves, found a leaf of another "
                    "family; use backend='numba' or 'numpy'"
                )
            self._leaves.append((start, start + block.n_slots, made))
        self._steps = [Sums(step, to) if isinstance(step, SumStep) else Products(step, to) for step in program.steps]
        self._inside = torch.as_tensor(~program.absent, device=self.device)

    def __reduce__(self) -> tuple[Any, ...]:
        return TorchBackend, (self.program, *self._names)  # tensors are made again on the device that is there

    @cached_property
    def careful(self) -> Backend:
        """The back end for rows of very small probability, and for questions that this one does not answer."""
        if self.dtype is torch.float32:
            return TorchBackend(self.program, self._names[0], "float64")
        return Automatic(self.program)

    @cached_property
    def _kernel(self) -> "TapeKernel | None":
        """The whole tape as one kernel, on devices that have Triton; elsewhere steps are operations on tensors."""
        if self.device.type != "cuda" or find_spec("triton") is None:
            return None
        from xspn.engine.torch_kernel import TapeKernel

        return TapeKernel(self._tape, self.device, self.dtype)

    @cached_property
    def _tape(self) -> Tape:
        return tape_of(self.program)

    @property
    def error_bound(self) -> float:
        """That of the tape, and what sums of logarithms lose: as much for each variable as they are away from 0."""
        unit = torch.finfo(self.dtype).eps / 2
        logarithms = -2 * np.log(self.least) * len(self.program.domains)
        return float(unit * (self._tape.layout.depth_of_rounding + logarithms))

    def with_parameters(self, program: Program) -> "TorchBackend":
        """Return the same for another program."""
        return TorchBackend(program, *self._names)

    # -- questions ---------------------------------------------------------------------------------------------------

    def log_likelihood(self, X: AnyArray, names: Names | None = None, what: str = "X") -> FloatArray:
        """Return the logarithm of the root's value."""
        p = np.empty(len(X))
        for start, stop, cells in self._blocks(X, names, what, passes=0 if self._kernel else 1):
            found = self._kernel.run(cells.codes) if self._kernel else self._up(cells)[self.program.root]
            p[start:stop] = found.double().cpu().numpy()
        return self._logarithms(p, X, names, what)

    def marginals(self, evidence: AnyArray, names: Names | None = None) -> FloatArray:
        """Go up and down, with derivatives on the way down."""
        table = np.empty((*evidence.shape, 2))
        p = np.empty(len(evidence))
        for start, stop, cells in self._blocks(evidence, names, "evidence", passes=3):
            values = self._up(cells)
            ones = self._joint_with_one(cells, values)
            total = values[self.program.root]
            share = torch.where(cells.seen > 0, cells.ones, (ones / total).clamp_(max=1))
            table[start:stop, :, 1] = share.T.double().cpu().numpy()
            p[start:stop] = total.double().cpu().numpy()
        np.subtract(1.0, table[:, :, 1], out=table[:, :, 0])
        table[:, self.program.absent] = np.nan
        return self._mended(table, p, evidence, names)

    def log_values(self, rows: RowBlock, semiring: Semiring) -> FloatArray:
        """Ask the careful back end."""
        return self.careful.log_values(rows, semiring)

    def counts(self, X: AnyArray, weights: FloatArray, names: Names | None = None) -> Counts:
        """Ask the careful back end."""
        return self.careful.counts(X, weights, names)

    # -- passes ------------------------------------------------------------------------------------------------------

    def _up(self, cells: Cells) -> Tensor:
        n_rows = cells.ones.shape[1]
        values = torch.empty((self.program.n_slots, n_rows), dtype=self.dtype, device=self.device)
        for start, stop, leaves in self._leaves:
            values[start:stop] = leaves.values(cells)
        for step in self._steps:
            step.up(values)
        return values

    def _joint_with_one(self, cells: Cells, values: Tensor) -> Tensor:
        """Return P(X_v = 1, evidence) for missing v: (variables, rows)."""
        slopes = torch.zeros_like(values)
        slopes[self.program.root] = 1
        for step in reversed(self._steps):
            step.down(values, slopes)
        ones = torch.zeros_like(cells.ones)
        for start, stop, leaves in self._leaves:
            leaves.add_marginals(cells, values[start:stop], slopes[start:stop], ones)
        return ones

    def _blocks(self, X: AnyArray, names: Names | None, what: str, passes: int = 1) -> Iterator[tuple[int, int, Cells]]:
        """Yield blocks of rows on the device; what is neither 0 nor 1 nor missing is refused by its place."""
        most = CELLS[self.device.type if self.device.type in CELLS else "cuda"] // max(passes, 1)
        step = max(64, most // max(self.program.n_slots if passes else 1, len(self.program.domains)))
        for start in range(0, len(X), step):
            stop = min(start + step, len(X))
            raw = X[start:stop]
            # A copy in an order and a type that torch has: of bytes as they are here, and never read-only.
            kind = np.float64 if raw.dtype.kind not in "biuf" or raw.dtype.itemsize > 8 else raw.dtype.newbyteorder("=")
            raw = np.array(raw, dtype=np.uint8 if raw.dtype == bool else kind, order="C")
            rows = torch.from_numpy(raw).to(self.device).T
            zeros, ones = rows == 0, rows == 1
            strange = ~(zeros | ones | rows.isnan()) if raw.dtype.kind == "f" else ~(zeros | ones)
            if bool(strange[self._inside].any()):
                RowChecker(self.program.domains, names).block(X, start, stop, what)
            zeros[~self._inside], ones[~self._inside] = True, False
            yield start, stop, Cells(zeros, ones, self.dtype)


def usable_device(device: str) -> torch.device:
    """Return a device that is there, or say that it is not."""
    try:
        chosen = torch.device(device)
    except RuntimeError as error:
        raise QueryError(f"device: torch knows no device {device!r} ({str(error).splitlines()[0]})") from error
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise QueryError(
            f"device={device!r}: torch {torch.__version__} sees no CUDA device; leave the device out to use the CPU, "
            "or install a CUDA build of torch on a machine with an NVIDIA driver"
        )
    return chosen
