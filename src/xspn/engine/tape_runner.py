"""What every compiled question needs: arrays in the right precision, workspaces, rows in blocks, threads.

Leaves that kernels do not evaluate are columns of values, computed for many rows at a time before a walk.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import Names
from xspn.engine.backend import Counts
from xspn.engine.kernels.arrays import (
    MISSING,
    PARTIAL,
    WHOLE,
    Arrays,
    Statistics,
    Workspace,
    arrays_of,
    scaled,
    with_instructions,
    workspace_for,
)
from xspn.engine.program import Program, RowChecker, SumStep
from xspn.engine.tape import Tape
from xspn.leaves.base import pieces
from xspn.leaves.blocks import LeafBlock, RowBlock

WIDTH = 256  # rows in a block: the values of one instruction take 2 kB, and loops over rows are long enough
CACHED = 1 << 21  # values that stay in the cache on the way up and down
CONVERTED = 1 << 20  # cells that are converted at a time if a table is not of floats
SMALL_TABLE = 1 << 20  # entries of tables of partial counts that are made without asking whether they are needed
WORTH_A_THREAD = 1 << 22  # instructions × rows
LOADED = 1 << 20  # values of columns that are computed at a time, for several blocks of rows at once
CHUNK = 2048  # rows whose statistics are added up by themselves: the same whatever the number of threads

T = TypeVar("T")


class ColumnLeaves:
    """The leaves that kernels do not evaluate: their values for some rows, and what flows into them.

    Densities may be of any size. So that no value exceeds 1, every leaf is divided by a scale for each of its real
    variables: the largest value that any leaf over the variable has in this row. Every tree that the circuit induces
    has exactly one leaf over each variable, so the root is divided by the product of all scales, whose logarithm is
    added at the end.
    """

    def __init__(self, program: Program, device: Any = None) -> None:
        self.blocks, self.device = program.columns, device
        self.n_slots = sum(block.n_slots for _, block in self.blocks)
        slots, variables, sizes = [], [], []
        for slot, leaf in enumerate(program.column_leaves if program.real.any() else []):
            own = [v for v in leaf.variables if program.real[v]]
            slots += [slot] * len(own)
            variables += own
            sizes += [len(own)] * len(own)
        order = np.argsort(variables, kind="stable")
        self._slot, self._size = np.array(slots, dtype=np.int64)[order], np.array(sizes)[order, None]
        self._start = np.unique(np.array(variables)[order], return_index=True)[1]
        self._which = np.repeat(np.arange(len(self._start)), np.diff([*self._start, len(order)]))
        self._is_univariate = bool((self._size == 1).all())

    def logarithms(self, rows: RowBlock, best: bool = False) -> tuple[FloatArray, FloatArray | float]:
        """Return the scaled log-values of columns, (slots, rows), and the total of the log-scales: (rows,)."""
        columns = [block.column(rows, best, self.device) for _, block in self.blocks]
        logs = np.concatenate([np.empty((0, len(rows))), *columns])
        if not len(self._slot):
            return logs, 0.0
        scale = np.maximum.reduceat(logs[self._slot] / self._size, self._start)  # (real variables, rows)
        scale[np.isneginf(scale)] = 0.0
        if self._is_univariate:  # every leaf occurs once
            logs[self._slot] -= scale[self._which]
        else:
            np.subtract.at(logs, self._slot, scale[self._which])
        return np.minimum(logs, 0.0), np.asarray(scale.sum(axis=0))  # above 0 by rounding alone

    def add_marginals(self, rows: RowBlock, flow: FloatArray, out: FloatArray) -> None:
        """Add flow · P(X_i = v | row) of all columns to `out` (rows, variables, values)."""
        for block, own in self._parts(flow):
            block.add_marginals(rows, own, out)

    def new_counts(self) -> list[FloatArray]:
        """Return zeros for the counts of each block."""
        return [block.new_counts() for _, block in self.blocks]

    def add_counts(self, rows: RowBlock, flow: FloatArray, out: list[FloatArray]) -> None:
        """Add what rows tell about the leaves of each block."""
        for (block, own), counts in zip(self._parts(flow), out, strict=True):
            block.add_counts(rows, own, counts)

    def _parts(self, flow: FloatArray) -> Iterator[tuple[LeafBlock, FloatArray]]:
        first = 0
        for _, block in self.blocks:
            yield block, flow[first : first + block.n_slots]
            first += block.n_slots


class LoadedRows:
    """The rows start..stop of a table, checked, with the values of columns, ready to be taken by kernels in blocks.

    Attributes:
        log_scale: What to add to the logarithm of the root's value.
        flow: Where the flow into columns is gathered, block after block: (slots, rows).
    """

    def __init__(self, start: int, stop: int, rows: RowBlock, columns: ColumnLeaves, best: bool = False) -> None:
        self.start, self.stop, self.rows = start, stop, rows
        self._columns = columns
        self._logs, self.log_scale = columns.logarithms(rows, best)
        self.flow = np.zeros_like(self._logs)

    def place(self, own: slice) -> slice:
        """Return where some of these rows stand in the table."""
        return slice(self.start + own.start, self.start + own.stop)

    def into(self, workspace: Any) -> "Iterator[tuple[slice, int]]":
        """Write block after block into a workspace; yield which rows it is, and whether they are whole or partial.

        Where the kernels have walked down, the flow into columns is taken over after each block.
        """
        width = workspace.codes.shape[1]
        for first in range(0, len(self.rows), width):
            own = slice(first, min(first + width, len(self.rows)))
            n, missing = own.stop - own.start, self.rows.missing[:, own]
            workspace.codes[:, n:] = 0
            workspace.codes[:, :n] = np.where(missing, MISSING, self.rows.values[own].T == 1)
            self._write(workspace, own, n)
            yield own, PARTIAL if missing.any() else WHOLE
            self.flow[:, own] = workspace.column_flow[:, :n]

    def _write(self, workspace: Any, own: slice, n: int) -> None:
        logs = self._logs[:, own]
        if hasattr(workspace, "column_e"):
            workspace.column[:, :n], workspace.column_e[:, :n] = scaled(logs)
        else:
            workspace.column[:, n:] = 1
            workspace.column[:, :n] = np.exp(logs)

    def add_marginals(self, flow: FloatArray, out: FloatArray) -> None:
        """Add what flows into columns, as a fraction of each row's probability, to a table of marginals of all rows."""
        self._columns.add_marginals(self.rows, flow, out[self.start : self.stop])


class TapeRunner:
    """A tape with its program, ready for kernels. Any number of threads may use it."""

    def __init__(
        self,
        program: Program,
        tape: Tape,
        dtype: type[np.floating[Any]],
        threads: int,
        whole: "TapeRunner | None" = None,
    ) -> None:
        self.program, self.tape, self.dtype, self.threads = program, tape, dtype, threads
        self._whole = whole  # the runner of the tape whose parts are written out separately in this one
        self.inside = np.array(~program.absent)
        self.inside.flags.writeable = False
        self.identity = np.arange(len(tape.layout))
        self.columns: ColumnLeaves = ColumnLeaves(program) if whole is None else whole.columns
        self._spare: dict[tuple[int, int, bool], list[Workspace]] = {}

    @cached_property
    def apart(self) -> "TapeRunner":
        """The same with a tape whose parts share nothing, for walks that keep the values of one part at a time."""
        tape = self.tape.apart
        return self if tape is None else TapeRunner(self.program, tape, self.dtype, self.threads, self)

    @cached_property
    def is_plain(self) -> bool:
        """Whether kernels can read rows by themselves: all variables are binary, and no leaf is a column."""
        return not self.columns.n_slots and all(size in (0, 2) for size in self.program.cardinalities)

    # -- arrays ------------------------------------------------------------------------------------------------------

    def arrays(self, X: AnyArray | None = None) -> Arrays:
        """Return the tape's arrays, without the table of partial counts if it is large and no cell of X is missing."""
        return self._arrays_for_partial_rows if self.needs_partial_counts(X) else self.arrays_without_counts

    def needs_partial_counts(self, X: AnyArray | None) -> bool:
        """Whether to load the table of partial counts: it is small, X has a missing cell, or X is not known yet."""
        large = self.tape.layout.triangles.n_entries > SMALL_TABLE
        return not large or X is None or bool(X.dtype.kind == "f" and np.isnan(X).any())

    @cached_property
    def arrays_without_counts(self) -> Arrays:
        """The tape's arrays without the table of partial counts."""
        if self._whole is not None:
            return with_instructions(self._whole.arrays_without_counts, self.tape)
        return arrays_of(self.tape, self.dtype, np.empty(0))

    @cached_property
    def _arrays_for_partial_rows(self) -> Arrays:
        if self._whole is not None:
            return with_instructions(self._whole._arrays_for_partial_rows, self.tape)
        return arrays_of(self.tape, self.dtype, self.tape.triangle_sum)

    @cached_property
    def arrays_for_best(self) -> Arrays:
        """The tape's arrays with the table of best completions."""
        if self._whole is not None:
            return with_instructions(self._whole.arrays_for_best, self.tape)
        return arrays_of(self.tape, self.dtype, self.tape.triangle_max)

    # -- workspaces --------------------------------------------------------------------------------------------------

    def width(self, n_rows: int, places: int) -> int:
        """Return how many rows to take at a time: so many that their values stay in the cache, in full vectors."""
        most = WIDTH if places <= WIDTH else min(WIDTH, max(64, CACHED // places // 8 * 8))
        return min(most, max(8, -(-n_rows // 8) * 8))

    @contextmanager
    def workspace(self, width: int, places: int, down: bool) -> Iterator[Workspace]:
        """Lend a workspace; it is kept for the next time."""
        spare = self._spare.setdefault((width, places, down), [])
        try:
            own = spare.pop()
        except IndexError:  # another thread may have taken the last one since
            own = workspace_for(self.tape, self.dtype, width, len(self.inside), places, down)
        yield own
        spare.append(own)

    # -- rows --------------------------------------------------------------------------------------------------------

    def loaded_rows(
        self, X: AnyArray, names: Names | None, what: str, width: int, start: int = 0, stop: int | None = None
    ) -> Iterator[LoadedRows]:
        """Yield checked rows with the values of their columns, in blocks large enough to call leaves efficiently."""
        checker = RowChecker(self.program.domains, names)
        end = len(X) if stop is None else stop
        step = width * max(1, min(CHUNK, LOADED // max(1, self.columns.n_slots)) // width)
        for first in range(start, end, step):
            last = min(first + step, end)
            yield LoadedRows(first, last, checker.block(X, first, last, what), self.columns)

    def over_rows(
        self, X: AnyArray, names: Names | None, what: str, width: int, kernel: Callable[[AnyArray, int, int], int]
    ) -> None:
        """Call a kernel for parts of a table, in threads: with rows as floats, and their first and last place.

        A kernel returns the first row of a block that it cannot use, or −1; such a row is refused by name.
        """

        def run(start: int, stop: int) -> int:
            rows = np.ascontiguousarray(X[start:stop], dtype=np.float64).view()
            rows.flags.writeable = False  # one type of table, one compiled kernel
            bad = kernel(rows, start, stop)
            return start + bad if bad >= 0 else -1

        found = [row for row in self.in_chunks(len(X), self._chunk(len(X), width), run) if row >= 0]
        if found:
            RowChecker(self.program.domains, names).block(X, min(found), len(X), what)

    def _chunk(self, n_rows: int, width: int) -> int:
        parts = 1 if self._threads(n_rows) == 1 else 4 * self.threads
        most = max(1, CONVERTED // max(1, len(self.inside)) // width)
        return width * min(most, max(1, -(-n_rows // (parts * width))))

    def _threads(self, n_rows: int) -> int:
        return self.threads if n_rows * len(self.tape.layout) >= WORTH_A_THREAD else 1

    def in_chunks(self, n_rows: int, chunk: int, run: Callable[[int, int], T]) -> list[T]:
        """Call `run` for consecutive parts of the rows, in several threads if that pays; results are in order."""
        chunks = [(start, min(start + chunk, n_rows)) for start in range(0, n_rows, chunk)]
        threads = min(self._threads(n_rows), len(chunks))
        if threads <= 1:
            return [run(*part) for part in chunks]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(lambda part: run(*part), chunks))

    # -- statistics --------------------------------------------------------------------------------------------------

    def new_statistics(self, n_partial: int) -> "GatheredStatistics":
        """Return zeros for the statistics of a tape, with so many entries for partial counts."""
        t = self.arrays_without_counts
        kernels = Statistics(
            sums=np.zeros(len(t.weight)),
            bernoulli=np.zeros((len(t.bernoulli_variable), 2)),
            whole=np.zeros(len(t.count_w)),
            partial=np.zeros(n_partial),
            tree=np.zeros((len(t.tree_variable), 4)),
        )
        return GatheredStatistics(kernels, self.columns.new_counts())

    def total(self, parts: "list[GatheredStatistics]", n_partial: int, log_prob: FloatArray) -> Counts:
        """Return what was gathered in chunks of rows, step by step and block by block of the program."""
        found = sum(parts[1:], start=parts[0]) if parts else self.new_statistics(n_partial)
        steps = [step for step in self.program.steps if isinstance(step, SumStep)]
        flat, source = np.zeros(sum(step.children.size for step in steps)), self.tape.layout.weight_source
        flat[source[source >= 0]] = found.kernels.sums[source >= 0]
        sums = pieces(flat, np.array([step.children.size for step in steps], dtype=np.int64))
        leaves = [block.counts_of_kernels(found.kernels) for _, block in self.program.native.values()]
        return Counts(
            [own.reshape(step.children.shape) for own, step in zip(sums, steps, strict=True)],
            [*leaves, *found.columns],
            log_prob,
        )


@dataclass
class GatheredStatistics:
    """What kernels have gathered of some rows, and what columns have: additive."""

    kernels: Statistics
    columns: list[FloatArray]

    def __add__(self, other: "GatheredStatistics") -> "GatheredStatistics":
        kernels = Statistics(*(a + b for a, b in zip(self.kernels, other.kernels, strict=True)))
        return GatheredStatistics(kernels, [a + b for a, b in zip(self.columns, other.columns, strict=True)])
