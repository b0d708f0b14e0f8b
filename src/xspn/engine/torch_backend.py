"""The torch back end: the program's steps as operations on tensors, on any device that torch knows.

It works with probabilities, as the numba kernels do, and has rows of very small probability computed again in the same
way. Leaves of other shapes than the device knows are columns, which the leaves compute before, and their statistics
after; they complete by themselves the rows that have come down to them. Random numbers are those of all back ends, so
the same seed draws the same rows.
"""

from collections.abc import Iterator
from functools import cached_property
from importlib.util import find_spec
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.core.checks import Names
from xspn.core.errors import ParameterError, QueryError
from xspn.core.logspace import safe_log
from xspn.core.random import RowRandom
from xspn.engine.backend import Automatic, Backend, Counts, LinearBackend, Semiring
from xspn.engine.kernels.arrays import MISSING
from xspn.engine.numpy_backend import normalized
from xspn.engine.program import Program, RowChecker, SumStep
from xspn.engine.tape import Tape, tape_of
from xspn.engine.tape_runner import ColumnLeaves
from xspn.engine.torch_steps import ProductTensors, SumTensors
from xspn.engine.torch_tables import TENSORS, Cells, DeviceArrays, LeafTensors
from xspn.engine.torch_walks import Walkers, row_keys_on
from xspn.leaves.blocks import LeafBlock, RowBlock

if TYPE_CHECKING:
    from xspn.engine.torch_kernel import TapeKernel

PRECISIONS = {"float64": torch.float64, "float32": torch.float32}
LEAST = {torch.float64: 1e-280, torch.float32: 1e-24}  # devices may flush what is below 2⁻¹²⁶ to zero
CELLS = {"cpu": 1 << 22, "cuda": 1 << 31}  # slots × rows at a time
OF_WALKS = 12  # passes that take as much memory as one up, and lists of what is to be filled


class TorchBackend(LinearBackend):
    """Runs a program on a device.

    Args:
        program: The program.
        device: A device that torch knows: "cpu", "cuda", "cuda:1", …
        dtype: "float64" or "float32".
        origin: A back end for other parameters of the same circuit, on the same device: what they share is not made
            again.
    """

    def __init__(
        self, program: Program, device: str = "cpu", dtype: str = "float64", origin: "TorchBackend | None" = None
    ) -> None:
        self.program = program
        self._origin = origin
        self.device = usable_device(device)
        self.dtype = PRECISIONS[dtype]
        self.least = LEAST[self.dtype]
        self._names = (device, dtype)
        to = DeviceArrays(self.device, self.dtype)
        n = len(program.domains)
        self._leaves: list[tuple[int, int, LeafTensors]] = [
            (start, start + block.n_slots, TENSORS[shape](block, n, to))
            for shape, (start, block) in program.native.items()
        ]
        self._columns = ColumnLeaves(program, self.device)
        self._steps: list[SumTensors | ProductTensors] = []
        for place, step in enumerate(program.steps):
            known = None if origin is None else origin._steps[place]
            if isinstance(step, SumStep):
                self._steps.append(SumTensors(step, to, known if isinstance(known, SumTensors) else None))
            else:
                self._steps.append(known if isinstance(known, ProductTensors) else ProductTensors(step, to))
        self._is_plain = not self._columns.n_slots and all(size in (0, 2) for size in program.cardinalities)
        self._inside = torch.as_tensor(~program.absent, device=self.device)

    def __reduce__(self) -> tuple[Any, ...]:
        return TorchBackend, (self.program, *self._names)  # tensors are made again on the device of the new process

    @cached_property
    def fallback(self) -> Backend:
        """The back end for rows of very small probability, and for questions that this one does not answer."""
        if self.dtype is torch.float32:
            return TorchBackend(self.program, self._names[0], "float64")
        return Automatic(self.program)

    @cached_property
    def _kernel(self) -> "TapeKernel | None":
        """The whole tape as one kernel, on devices that have Triton; elsewhere steps are operations on tensors.

        The parameters of one pass of EM are asked too little to be worth a tape of their own.
        """
        if self._origin is not None:
            return None
        if self.device.type != "cuda" or find_spec("triton") is None or self._columns.n_slots:
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
        return TorchBackend(program, *self._names, origin=self if self._origin is None else self._origin)

    # -- questions ---------------------------------------------------------------------------------------------------

    def log_likelihood(self, X: AnyArray, names: Names | None = None, what: str = "X") -> FloatArray:
        """Return the logarithm of the root's value."""
        p, log_scale = np.empty(len(X)), np.zeros(len(X))
        for start, stop, cells in self._blocks(X, names, what, passes=0 if self._kernel else 1):
            found = self._kernel.run(cells.codes) if self._kernel else self._up(cells)[self.program.root]
            p[start:stop] = found.double().cpu().numpy()
            log_scale[start:stop] = cells.log_scale
        return self._logarithms(p, log_scale, X, names, what)

    def marginals(self, evidence: AnyArray, names: Names | None = None) -> FloatArray:
        """Go up and down, with derivatives on the way down."""
        table = np.zeros((*evidence.shape, self.program.largest_cardinality))
        p, binary = np.empty(len(evidence)), np.array(self.program.cardinalities) == 2
        for start, stop, cells in self._blocks(evidence, names, "evidence", passes=3):
            values = self._up(cells)
            derivatives = self._down(values)
            total, out = values[self.program.root], table[start:stop]
            ones = torch.zeros_like(cells.ones)
            for first, last, leaves in self._leaves:
                leaves.add_marginals(cells, values[first:last], derivatives[first:last], ones)
            ones /= total
            if cells.rows is not None:
                self._columns.add_marginals(cells.rows, self._column_flow(values, derivatives, total), out)
                ones += torch.as_tensor(out[:, :, 1].T, device=self.device)
            p_one = torch.where(cells.seen > 0, cells.ones, ones.clamp_(max=1))
            chances = p_one.T.double().cpu().numpy()
            if self._is_plain:  # choosing columns would take longer than the passes
                out[:, :, 1] = chances
                np.subtract(1.0, chances, out=out[:, :, 0])
            else:
                out[:, binary, 1] = chances[:, binary]
                out[:, binary, 0] = 1.0 - chances[:, binary]
            p[start:stop] = total.double().cpu().numpy()
        table[:, self.program.absent] = np.nan
        table = table if self._is_plain else normalized(table, self.program)
        return self._recompute_underflow(table, p, evidence, names)

    def log_values(self, rows: RowBlock, semiring: Semiring) -> FloatArray:
        """Ask the fallback."""
        return self.fallback.log_values(rows, semiring)

    def counts(self, X: AnyArray, weights: FloatArray, names: Names | None = None) -> Counts:
        """Go up and down; single precision would lose what few rows tell beside many."""
        if self.dtype is torch.float32:
            return self.fallback.counts(X, weights, names)
        p, log_scale = np.empty(len(X)), np.zeros(len(X))
        sums = [torch.zeros_like(step.weights) for step in self._sums]
        leaves: list[dict[str, Tensor]] = [{} for _ in self._leaves]
        columns = self._columns.new_counts()
        for start, stop, cells in self._blocks(X, names, "X", passes=3):
            values = self._up(cells)
            total = values[self.program.root]
            own = torch.as_tensor(weights[start:stop], dtype=self.dtype, device=self.device)
            derivatives = self._down(values, torch.where(total >= self.least, own / total, torch.zeros_like(own)))
            for out, step in zip(sums, self._sums, strict=True):
                out += step.statistics(values, derivatives)
            for place, (first, last, block) in enumerate(self._leaves):
                found = block.statistics(cells, values[first:last] * derivatives[first:last])
                leaves[place] = {name: own + leaves[place][name] for name, own in found.items()} if start else found
            if cells.rows is not None:
                flow = values[self._column_slots] * derivatives[self._column_slots]
                self._columns.add_counts(cells.rows, flow.cpu().numpy(), columns)
            p[start:stop], log_scale[start:stop] = total.cpu().numpy(), cells.log_scale
        if not len(X):
            return self.fallback.counts(X, weights, names)
        native = [
            block.counts_of_kernels(SimpleNamespace(**{name: tensor.cpu().numpy() for name, tensor in found.items()}))
            for (_, block), found in zip(self.program.native.values(), leaves, strict=True)
        ]
        counts = Counts([own.cpu().numpy() for own in sums], [*native, *columns], safe_log(p) + log_scale)
        low = np.flatnonzero(p < self.least)
        return counts.with_rows(low, self.fallback.counts(X[low], weights[low], names)) if len(low) else counts

    # -- completions -------------------------------------------------------------------------------------------------

    def best_completions(self, evidence: AnyArray, names: Names | None = None) -> tuple[FloatArray, FloatArray]:
        """Go up, and down where each row has its best value; single precision would take other children."""
        if self.dtype is torch.float32:
            return self.fallback.best_completions(evidence, names)
        filled, value, log_prob = np.empty(evidence.shape), np.empty(len(evidence)), np.empty(len(evidence))
        for start, stop, cells in self._blocks(evidence, names, "evidence", OF_WALKS):
            values = self._up(cells, best=True)
            value[start:stop] = values[self.program.root].cpu().numpy()
            filled[start:stop] = self._completed(cells, values, np.arange(stop - start), None)
        filled[:, self.program.absent] = np.nan
        low, others = np.flatnonzero(value < self.least), np.flatnonzero(value >= self.least)
        if len(low):
            filled[low], log_prob[low] = self.fallback.best_completions(evidence[low], names)
        log_prob[others] = self.log_likelihood(filled[others], names)
        return filled, log_prob

    def random_completions(
        self, evidence: AnyArray, keys: AnyArray, names: Names | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Go up if something is known of the rows, and down by chance."""
        if self.dtype is torch.float32:
            return self.fallback.random_completions(evidence, keys, names)
        repeats, flat, at_once = keys.shape[1], keys.ravel(), self._rows_at_once(OF_WALKS)
        drawn, p, log_scale = np.empty((keys.size, evidence.shape[1])), np.ones(len(evidence)), np.zeros(len(evidence))
        for start, stop, cells in self._blocks(evidence, names, "given", OF_WALKS):
            known, values = (cells.seen[self._inside] > 0).any(dim=0), None
            if bool(known.any()):
                values = self._up(cells)
                values[:, ~known] = 1
                p[start:stop], log_scale[start:stop] = values[self.program.root].cpu().numpy(), cells.log_scale
            for first in range(start * repeats, stop * repeats, at_once):
                own = np.arange(first, min(first + at_once, stop * repeats))
                drawn[own] = self._completed(cells, values, own // repeats - start, flat[own])
        drawn[:, self.program.absent] = np.nan
        log_prob = safe_log(p) + log_scale
        self._redraw_underflow(drawn, log_prob, p, evidence, keys, names)
        return drawn, log_prob

    def _completed(self, cells: Cells, values: Tensor | None, which: IntArray, keys: AnyArray | None) -> FloatArray:
        """Return rows completed by a walk down, but for those of very small value, which are computed again.

        Args:
            cells: The rows.
            values: What the pass up gave, or None where nothing is known.
            which: The row that each walker begins as.
            keys: What the random numbers of each come from, or None where the best is taken.
        """
        column = torch.as_tensor(which, device=self.device)
        random = None if keys is None else row_keys_on(self.device, keys)
        walkers = Walkers(cells.codes[:, column], values, column, random)
        active = torch.zeros((self.program.n_slots, len(which)), dtype=torch.bool, device=self.device)
        active[self.program.root] = True if values is None else (values[self.program.root] >= self.least)[column]
        for step in reversed(self._steps):
            step.walk(active, walkers)
        for start, stop, leaves in self._leaves:
            leaves.fill(active[start:stop], start, walkers)
        codes = walkers.codes.T.contiguous().cpu().numpy()
        is_bit = (codes != MISSING) & (np.array(self.program.cardinalities) == 2)
        rows = np.where(is_bit, codes, np.nan if cells.rows is None else cells.rows.values[which])
        for start, block, slots in self._rest:
            own = np.zeros((block.n_slots, len(rows)), dtype=bool)
            own[slots] = active[start + slots].cpu().numpy()
            block.fill(RowBlock(rows), own, rows, None if keys is None else RowRandom(keys).beyond(start))
        return rows

    @cached_property
    def _rest(self) -> list[tuple[int, LeafBlock, IntArray]]:
        """Leaves that complete rows by themselves: the first slot of a block, the block, slots in it."""
        found: list[tuple[int, LeafBlock, IntArray]] = [
            (start, block, np.arange(block.n_slots)) for start, block in self.program.columns
        ]
        for (start, block), (_, _, tensors) in zip(self.program.native.values(), self._leaves, strict=True):
            if len(tensors.left_out):
                found.append((start, block, tensors.left_out))
        return found

    # -- passes ------------------------------------------------------------------------------------------------------

    def _up(self, cells: Cells, best: bool = False) -> Tensor:
        n_rows = cells.ones.shape[1]
        values = torch.empty((self.program.n_slots, n_rows), dtype=self.dtype, device=self.device)
        for start, stop, leaves in self._leaves:
            values[start:stop] = leaves.values(cells, best)
        if cells.rows is not None:
            logs, cells.log_scale = self._columns.logarithms(cells.rows, best)
            values[self._column_slots] = torch.as_tensor(np.exp(logs), dtype=self.dtype, device=self.device)
        for step in self._steps:
            if best and isinstance(step, SumTensors):
                step.up_best(values)
            else:
                step.up(values)
        return values

    @cached_property
    def _sums(self) -> list[SumTensors]:
        return [step for step in self._steps if isinstance(step, SumTensors)]

    def _down(self, values: Tensor, scale: Tensor | float = 1.0) -> Tensor:
        """Return the derivative of the root's value by every slot, times a scale of each row."""
        derivatives = torch.zeros_like(values)
        derivatives[self.program.root] = scale
        for step in reversed(self._steps):
            step.down(values, derivatives)
        return derivatives

    @cached_property
    def _column_slots(self) -> Tensor:
        slots = [np.arange(start, start + block.n_slots) for start, block in self.program.columns]
        return torch.as_tensor(np.concatenate([np.empty(0, dtype=np.int64), *slots]), device=self.device)

    def _column_flow(self, values: Tensor, derivatives: Tensor, total: Tensor) -> FloatArray:
        """Return the fraction of each row's probability that flows into columns: (slots, rows)."""
        flow = values[self._column_slots] * derivatives[self._column_slots]
        fraction = torch.where(total >= self.least, flow / total, torch.zeros_like(flow))  # others are computed again
        return np.asarray(fraction.double().cpu().numpy())

    def _rows_at_once(self, passes: int) -> int:
        most = CELLS[self.device.type if self.device.type in CELLS else "cuda"]
        if self.device.type == "cuda":
            most = min(most, free_memory(self.device) // (2 * self.dtype.itemsize))
        most //= max(passes, 1)
        return max(64, most // max(self.program.n_slots if passes else 1, len(self.program.domains)))

    def _blocks(self, X: AnyArray, names: Names | None, what: str, passes: int = 1) -> Iterator[tuple[int, int, Cells]]:
        """Yield blocks of rows on the device; what is neither 0 nor 1 nor missing is refused by its place."""
        step = self._rows_at_once(passes)
        checker = RowChecker(self.program.domains, names)
        for start in range(0, len(X), step):
            stop = min(start + step, len(X))
            if not self._is_plain:
                rows = checker.block(X, start, stop, what)
                own = torch.as_tensor(rows.values, device=self.device).T
                yield start, stop, Cells(own == 0, own == 1, self.dtype, own.isnan(), rows)
                continue
            raw = X[start:stop]
            # A copy in an order and a type that torch has: of bytes as they are here, and never read-only.
            kind = np.float64 if raw.dtype.kind not in "biuf" or raw.dtype.itemsize > 8 else raw.dtype.newbyteorder("=")
            raw = np.array(raw, dtype=np.uint8 if raw.dtype == bool else kind, order="C")
            own = torch.from_numpy(raw).to(self.device).T
            zeros, ones = own == 0, own == 1
            strange = ~(zeros | ones | own.isnan()) if raw.dtype.kind == "f" else ~(zeros | ones)
            if bool(strange[self._inside].any()):
                checker.block(X, start, stop, what)
            zeros[~self._inside], ones[~self._inside] = True, False
            yield start, stop, Cells(zeros, ones, self.dtype)


def free_memory(device: torch.device) -> int:
    """Return how many bytes of a CUDA device are free, those that torch keeps for later included."""
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(torch.cuda.mem_get_info(device)[0] + kept)


def usable_device(device: str) -> torch.device:
    """Return an available device, or refuse it."""
    if not isinstance(device, str | torch.device):
        raise ParameterError(f"device: expected a name such as 'cpu' or 'cuda', found {device!r:.60}")
    try:
        chosen = torch.device(device)
    except RuntimeError as error:
        raise QueryError(f"device: torch knows no device {device!r} ({str(error).splitlines()[0]})") from error
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise QueryError(
            f"device={device!r}: torch {torch.__version__} sees no CUDA device; leave the device out to use the CPU, "
            "or install a CUDA build of torch on a machine with an NVIDIA driver"
        )
    try:
        torch.ones(2, device=chosen).nonzero()
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise QueryError(
            f"device={device!r}: torch {torch.__version__} cannot compute there ({reason:.200})"
        ) from error
    return chosen
