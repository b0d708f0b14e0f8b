"""Completing rows by walks down a tape: what kernels need for it, and rows in chunks.

Leaves that kernels do not evaluate complete the rows that come down to them by themselves, after the walk.

Random numbers belong to the rows (`xspn.core.random`), so completions do not depend on chunks or threads.
"""

from functools import cached_property

import numpy as np

from xspn.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from xspn.core.checks import Names
from xspn.core.logspace import log_binomials, safe_log
from xspn.core.random import RowRandom
from xspn.engine.kernels.arrays import MISSING, read_only
from xspn.engine.kernels.choose import ChoiceArrays, complete, decode_rows, encode_rows, walk, walkers_for
from xspn.engine.program import RowChecker
from xspn.engine.tape import Op
from xspn.engine.tape_runner import LOADED, WIDTH, TapeRunner
from xspn.leaves.blocks import LeafBlock, RowBlock, Shape
from xspn.leaves.count_block import MOST_PICKED

LEAST_STEP, LARGEST_STEP = 2048, 16384  # rows that are completed at a time: enough of them go the same way down
CACHED_CELLS = 1 << 19  # of these rows
LEAST_WIDTH = 64  # rows in a block, where there are enough


class TapeWalks:
    """Completes rows by the tape of a runner. Any number of threads may use it.

    Args:
        run: The runner.
        least: Rows of smaller probability are completed in another way: there is no telling where they go.
    """

    def __init__(self, run: TapeRunner, least: float) -> None:
        self._run, self._least = run, least

    @cached_property
    def _binary(self) -> BoolArray:
        return read_only(np.array(self._run.program.cardinalities) == 2)

    @cached_property
    def _all_binary(self) -> bool:
        """Whether kernels complete all variables: then rows need not be set before."""
        return bool(self._binary.all()) and not self._rest

    @cached_property
    def _large(self) -> IntArray:
        """The instructions of leaves that count so many ones that they are drawn through the contract."""
        layout = self._run.tape.layout
        count = np.flatnonzero(layout.op == Op.COUNT)
        return count[~layout.triangles.are_picked[layout.leaf[count]]]

    @cached_property
    def _rest(self) -> list[tuple[int, LeafBlock, IntArray, IntArray]]:
        """Leaves that complete rows by themselves: first slot of a block, block, slots in it, places in `reached`."""
        program, layout = self._run.program, self._run.tape.layout
        found, place = [], 0
        for start, block in program.columns:
            own = np.arange(block.n_slots)
            found.append((start, block, own, place + own))
            place += block.n_slots
        if len(self._large):
            start, counts = program.native[Shape.COUNT]
            slots = np.unique(layout.slot[self._large]) - start
            found.append((start, counts, slots, place + np.arange(len(slots))))
        return found

    @cached_property
    def _choice(self) -> ChoiceArrays:
        layout = self._run.tape.layout
        rest = np.full(len(layout), -1)
        of_column = layout.op == Op.COLUMN
        rest[of_column] = layout.leaf[of_column]
        rest[self._large] = layout.n_columns + np.unique(layout.slot[self._large], return_inverse=True)[1]
        trees = np.flatnonzero(layout.op == Op.TREE)
        starts = np.zeros(len(layout.tree_variable), dtype=np.int64)
        for begin, end in zip(layout.begin[trees].tolist(), layout.end[trees].tolist(), strict=True):
            starts[begin:end] = begin
        sizes = layout.count_size[layout.count_size <= MOST_PICKED]
        fields = ChoiceArrays(
            slot=layout.slot,
            rest=rest,
            tree_place=layout.tree_source - starts,
            weight_ends=self._weight_ends(),
            count_ends=self._count_ends(),
            best_ones=np.empty(0, dtype=np.int32),
            binomials=_binomials(int(sizes.max(initial=0))),
        )
        return ChoiceArrays(*(read_only(array) for array in fields))

    @cached_property
    def _choice_of_best(self) -> ChoiceArrays:
        tape = self._run.tape
        best_ones = tape.layout.triangles.best_ones(tape.numbers.count_log_w)
        return self._choice._replace(best_ones=read_only(best_ones))

    def _weight_ends(self) -> FloatArray:
        """Return the sums of the weights of each sum up to each of its children."""
        layout, weight = self._run.tape.layout, self._run.tape.numbers.weight
        ends, own = np.ones(len(weight)), layout.op == Op.SUM
        for begin, end in zip(layout.begin[own].tolist(), layout.end[own].tolist(), strict=True):
            ends[begin:end] = np.cumsum(weight[begin:end])
        return ends

    def _count_ends(self) -> FloatArray:
        """Return P(number of ones ≤ t) of all count leaves, where their weights stand."""
        triangles, log_w = self._run.tape.layout.triangles, self._run.tape.numbers.count_log_w
        ends = np.zeros(len(log_w))
        for n, leaves in triangles.by_size:
            places = triangles.weight_places(leaves, n)
            ends[places] = np.cumsum(np.exp(log_w[places] + log_binomials(n)), axis=1)
        return ends

    # -- rows --------------------------------------------------------------------------------------------------------

    def best(self, evidence: AnyArray, names: Names | None) -> tuple[FloatArray, FloatArray, FloatArray | None]:
        """Return each row completed with the best child at every sum, the root's value, scaled, and P(completed row).

        The last one is None where leaves are left that kernels do not evaluate.
        """
        filled, value, log_value = np.empty(evidence.shape), np.empty(len(evidence)), np.empty(len(evidence))
        no_keys = np.zeros((len(evidence), 1), dtype=np.uint64)
        completed = np.empty(len(evidence) if not self._rest else 0)
        self._complete(evidence, no_keys, names, "evidence", filled, value, log_value, completed, chance=False)
        return filled, value, None if self._rest else completed

    def random(
        self, evidence: AnyArray, keys: AnyArray, names: Names | None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return random completions of rows, one after the other; the root's value, scaled, and its logarithm."""
        drawn, value = np.empty((keys.size, evidence.shape[1])), np.ones(len(evidence))
        log_value = np.zeros(len(evidence))
        if len(evidence) == 1 and np.isnan(evidence[:, self._run.inside]).all():
            self._draw(keys.ravel(), drawn)
        else:
            self._complete(evidence, keys, names, "given", drawn, value, log_value, np.empty(0), chance=True)
        return drawn, value, log_value

    def _draw(self, keys: AnyArray, out: FloatArray) -> None:
        """Draw rows of which nothing is known: there is no way up."""
        run, root = self._run, len(self._run.tape.layout) - 1

        def take(start: int, stop: int) -> None:
            own, rows = np.ascontiguousarray(keys[start:stop]), out[start:stop]
            walkers, reached = walkers_for(run.tape, len(own)), self._nothing_reached(len(own))
            cells = np.full((len(own), out.shape[1]), MISSING, dtype=np.uint8)
            walkers.order[:] = np.arange(len(own))
            arrays = run.arrays_without_counts
            values, known = np.empty((0, 0)), False
            walk(
                arrays,
                self._choice,
                root,
                run.identity,
                0,
                values,
                True,
                known,
                own,
                walkers,
                0,
                len(own),
                cells,
                reached,
            )
            if not self._all_binary:
                rows[:] = np.nan
            decode_rows(cells, self._binary, rows)
            self._complete_rest(rows, reached, RowRandom(own))

        run.in_chunks(len(out), self._step, take)

    def _complete(
        self,
        evidence: AnyArray,
        keys: AnyArray,
        names: Names | None,
        what: str,
        out: FloatArray,
        value: FloatArray,
        log_value: FloatArray,
        completed: FloatArray,
        chance: bool,
    ) -> None:
        """Complete rows, some of which are known in part, as many times as there are keys for each."""
        run, layout, repeats = self._run, self._run.tape.layout, keys.shape[1]
        arrays, choice = (run.arrays(), self._choice) if chance else (run.arrays_for_best, self._choice_of_best)
        flat = keys.ravel()
        segments = layout.segments

        def take(start: int, stop: int) -> None:
            first, last = start // repeats, (stop - 1) // repeats + 1
            which = np.arange(start, stop) // repeats - first
            values, codes, is_open, column, log_scale = self._loaded(evidence, first, last, names, what, not chance)
            rows, cells = out[start:stop], codes if repeats == 1 else codes[which]
            walkers, reached = walkers_for(run.tape, stop - start), self._nothing_reached(stop - start)
            own = np.ascontiguousarray(flat[start:stop])
            places = layout.largest_segment
            narrow = run.width(last - first, layout.n_registers)
            wide = min(run.width(last - first, places), self._width_of_part(last - first))
            with run.workspace(narrow, layout.n_registers, False) as small, run.workspace(wide, places, False) as large:
                complete(
                    arrays,
                    choice,
                    codes,
                    column,
                    is_open,
                    which,
                    own,
                    segments,
                    run.identity,
                    chance,
                    small,
                    large,
                    walkers,
                    cells,
                    reached,
                    value[first:last],
                    completed[start:stop],
                )
            if not self._all_binary:
                rows[:] = values if repeats == 1 else values[which]
            decode_rows(cells, self._binary, rows)
            log_value[first:last] = safe_log(value[first:last]) + log_scale
            reached[:, value[first:last][which] < self._least] = 0  # completed again: a leaf may exclude what is seen
            self._complete_rest(rows, reached, RowRandom(own) if chance else None)

        run.in_chunks(len(out), self._step, take)
        if not run.inside.all():
            out[:, ~run.inside] = np.nan

    def _width_of_part(self, n_rows: int) -> int:
        """Return how many rows to take at a time of those that go into one part of the tape: so that few are empty."""
        n = len(self._run.tape.layout.segments)
        return WIDTH if n == 1 else int(np.clip(n_rows // n // 4 // 8 * 8, LEAST_WIDTH, WIDTH))

    @property
    def _step(self) -> int:
        of_cells = np.clip(CACHED_CELLS // max(1, len(self._run.inside)), LEAST_STEP, LARGEST_STEP)
        return int(np.clip(LOADED // max(1, self._run.columns.n_slots), 64, of_cells))

    def _loaded(
        self, X: AnyArray, first: int, last: int, names: Names | None, what: str, best: bool
    ) -> tuple[FloatArray, AnyArray, BoolArray, FloatArray, FloatArray | float]:
        """Return checked rows, their codes, which have nothing known, the values of columns, log-scales."""
        run, size = self._run, last - first
        codes, is_open = np.empty((size, X.shape[1]), dtype=np.uint8), np.zeros(size, dtype=bool)
        if run.is_plain:
            values = np.ascontiguousarray(X[first:last], dtype=np.float64)
            if encode_rows(read_only(values), run.inside, codes, is_open):
                is_open &= not best
                return values, codes, is_open, np.empty((0, size)), 0.0
        rows = RowChecker(run.program.domains, names).block(X, first, last, what)
        codes[:] = np.where(rows.missing.T, MISSING, rows.values == 1)
        logs, log_scale = run.columns.logarithms(rows, best)
        is_open = np.asarray(rows.missing[run.inside].all(axis=0) & (not best))
        return rows.values, codes, is_open, np.exp(logs), log_scale

    # -- leaves that complete rows by themselves ---------------------------------------------------------------------

    def _nothing_reached(self, n: int) -> AnyArray:
        return np.zeros((sum(len(places) for *_, places in self._rest), n), dtype=np.uint8)

    def _complete_rest(self, rows: FloatArray, reached: AnyArray, random: RowRandom | None) -> None:
        for start, block, slots, places in self._rest:
            active = np.zeros((block.n_slots, len(rows)), dtype=bool)
            active[slots] = reached[places] > 0
            block.fill(RowBlock(rows), active, rows, None if random is None else random.beyond(start))


def _binomials(largest: int) -> FloatArray:
    """Return C(n, k) for n up to the largest, one n after the other."""
    rows = [np.ones(1)]
    for _ in range(largest):
        rows.append(np.convolve(rows[-1], [1.0, 1.0]))
    return np.concatenate(rows)
