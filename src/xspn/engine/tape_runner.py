"""What every compiled question needs: arrays in the right precision, room to work in, rows in blocks, threads."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from xspn.core.arrays import AnyArray
from xspn.core.checks import Names
from xspn.engine.blocks import LoopBlock
from xspn.engine.kernels.arrays import BEST, MISSING, PARTIAL, WHOLE, Arrays, Room, arrays_of, room_for
from xspn.engine.program import Program
from xspn.engine.rows import RowBlock, RowChecker
from xspn.engine.tape import Tape

WIDTH = 256  # rows in a block: the values of one instruction take 2 kB, and loops over rows are long enough
CACHED = 1 << 21  # values that stay in the cache on the way up and down
CONVERTED = 1 << 20  # cells that are converted at a time if a table is not of floats
SMALL_TABLE = 1 << 20  # entries of tables of partial counts that are made without asking whether they are needed
WORTH_A_THREAD = 1 << 22  # instructions × rows
CHUNK = 2048  # rows whose statistics are added up by themselves: the same whatever the number of threads

T = TypeVar("T")


class TapeRunner:
    """A tape with its program, ready for kernels. Any number of threads may use it."""

    def __init__(self, program: Program, tape: Tape, dtype: type[np.floating[Any]], threads: int) -> None:
        self.program, self.tape, self.dtype, self.threads = program, tape, dtype, threads
        self.inside = np.array(~program.absent)
        self.inside.flags.writeable = False
        self.identity = np.arange(len(tape.layout))
        self.given: LoopBlock | None = None
        if tape.layout.n_given:
            self.given = next(block for _, block in program.blocks if type(block) is LoopBlock)
        self._spare: dict[tuple[int, int, bool], list[Room]] = {}

    @cached_property
    def is_plain(self) -> bool:
        """Whether kernels can read rows by themselves: all variables are binary, all leaves compiled."""
        return self.given is None and all(size in (0, 2) for size in self.program.cardinalities)

    # -- arrays ------------------------------------------------------------------------------------------------------

    def arrays(self, X: AnyArray | None = None) -> Arrays:
        """Return the tape's arrays, without the table of partial counts if it is large and no cell of X is missing."""
        return self._arrays_for_partial_rows if self.needs_partial_counts(X) else self.arrays_without_counts

    def needs_partial_counts(self, X: AnyArray | None) -> bool:
        """Whether the table of partial counts is small, or asked for by a missing cell of X (of which all is known)."""
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

    # -- room --------------------------------------------------------------------------------------------------------

    def width(self, n_rows: int, places: int) -> int:
        """Return how many rows to take at a time: so many that their values stay in the cache, in full vectors."""
        most = WIDTH if places <= WIDTH else min(WIDTH, max(64, CACHED // places // 8 * 8))
        return min(most, max(8, -(-n_rows // 8) * 8))

    @contextmanager
    def room(self, width: int, places: int, down: bool) -> Iterator[Room]:
        """Lend room to work in; it is kept for the next time."""
        spare = self._spare.setdefault((width, places, down), [])
        try:
            own = spare.pop()
        except IndexError:  # another thread may have taken the last one since
            own = room_for(self.tape, self.dtype, width, len(self.inside), places, down)
        yield own
        spare.append(own)

    def load(self, rows: RowBlock, room: Room, mode: int = PARTIAL) -> int:
        """Write codes and the probabilities of other leaves into room; return whether rows are whole or partial."""
        n = len(rows)
        room.given[:, n:] = 1
        self.load_codes(rows, room.codes)
        if self.given is not None:
            room.given[:, :n] = np.exp(self.given.log_mode(rows) if mode == BEST else self.given.log_prob(rows))
        return WHOLE if rows.whole else PARTIAL

    def load_codes(self, rows: RowBlock, codes: AnyArray) -> None:
        """Write rows as codes; what is beyond them is zero."""
        n = len(rows)
        codes[:, n:] = 0
        codes[:, :n] = np.where(rows.missing, MISSING, rows.values.T == 1)

    # -- rows --------------------------------------------------------------------------------------------------------

    def blocks(
        self, X: AnyArray, names: Names | None, what: str, room: Room, start: int = 0, stop: int | None = None
    ) -> Iterator[tuple[int, int, RowBlock, int]]:
        """Yield each block of checked rows, loaded into room, with its mode; the last may be shorter than the room."""
        for first, last, rows in self.row_blocks(X, names, what, room.codes.shape[1], start, stop):
            yield first, last, rows, self.load(rows, room)

    def row_blocks(
        self, X: AnyArray, names: Names | None, what: str, width: int, start: int = 0, stop: int | None = None
    ) -> Iterator[tuple[int, int, RowBlock]]:
        """Yield each block of checked rows."""
        checker = RowChecker(self.program.domains, names)
        end = len(X) if stop is None else stop
        for first in range(start, end, width):
            last = min(first + width, end)
            yield first, last, checker.block(X, first, last, what)

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
