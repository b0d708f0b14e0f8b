"""What every compiled question needs: arrays in the right precision, workspaces, rows in blocks, columns, threads."""

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
from xspn.engine.column_leaves import ColumnLeaves, LoadedRows
from xspn.engine.kernels.arrays import Arrays, Statistics, Workspace, arrays_of, workspace_for
from xspn.engine.program import Program, RowChecker, SumStep
from xspn.engine.tape import Tape
from xspn.leaves.base import cut

WIDTH = 256  # rows in a block: the values of one instruction take 2 kB, and loops over rows are long enough
CACHED = 1 << 21  # values that stay in the cache on the way up and down
CONVERTED = 1 << 20  # cells that are converted at a time if a table is not of floats
SMALL_TABLE = 1 << 20  # entries of tables of partial counts that are made without asking whether they are needed
WORTH_A_THREAD = 1 << 22  # instructions × rows
LOADED = 1 << 20  # values of columns that are computed at a time, for several blocks of rows at once
CHUNK = 2048  # rows whose statistics are added up by themselves: the same whatever the number of threads

T = TypeVar("T")


class TapeRunner:
    """A tape with its program, ready for kernels. Any number of threads may use it."""

    def __init__(self, program: Program, tape: Tape, dtype: type[np.floating[Any]], threads: int) -> None:
        self.program, self.tape, self.dtype, self.threads = program, tape, dtype, threads
        self.inside = np.array(~program.absent)
        self.inside.flags.writeable = False
        self.identity = np.arange(len(tape.layout))
        self.columns = ColumnLeaves(program)
        self._spare: dict[tuple[int, int, bool], list[Workspace]] = {}

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
        return arrays_of(self.tape, self.dtype, np.empty(0))

    @cached_property
    def _arrays_for_partial_rows(self) -> Arrays:
        return arrays_of(self.tape, self.dtype, self.tape.triangle_sum)

    @cached_property
    def arrays_for_best(self) -> Arrays:
        """The tape's arrays with the table of best completions."""
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
        sums = cut(flat, np.array([step.children.size for step in steps], dtype=np.int64))
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
