"""The numba back end for rows too unlikely for floating-point numbers: the same tape, run by scaled kernels."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import Names
from xspn.engine.backend import Backend, Counts, Semiring, refuse_impossible
from xspn.engine.kernels.arrays import (
    BEST,
    FROM_X,
    PARTIAL,
    ScaledArrays,
    ScaledWorkspace,
    Statistics,
    logarithms,
    no_statistics,
    scaled_arrays,
    scaled_workspace,
)
from xspn.engine.kernels.scaled import scaled_upward
from xspn.engine.kernels.scaled_walk import LEARN, MARGINALS, SCORE, scaled_walk
from xspn.engine.numpy_backend import binary_marginals, normalized
from xspn.engine.program import Program
from xspn.engine.tape import Tape, tape_numbers
from xspn.engine.tape_runner import CHUNK, GatheredStatistics, LoadedRows, TapeRunner
from xspn.leaves.blocks import RowBlock


class ScaledBackend(Backend):
    """Runs a program's tape for rows of any probability. It holds no state: any number of threads may use it.

    Args:
        program: The program; all its variables are discrete, so that no value exceeds 1.
        threads: The number of threads; answers do not depend on it.
        tape: The program's tape.
    """

    def __init__(self, program: Program, threads: int, tape: Tape) -> None:
        self.program, self.threads, self.tape = program, threads, tape
        self._run = TapeRunner(program, tape, np.float64, threads)

    def __reduce__(self) -> tuple[Any, ...]:
        return ScaledBackend, (self.program, self.threads, self.tape)

    @property
    def error_bound(self) -> float:
        """Roundings in a row times the unit roundoff, and what logarithms of very small numbers lose."""
        return float(np.finfo(np.float64).eps) * (self.tape.layout.depth_of_rounding + 1000 * len(self.program.domains))

    def with_parameters(self, program: Program) -> "Backend":
        """Return the same for other parameters of the same circuit."""
        return ScaledBackend(program, self.threads, Tape(self.tape.layout, tape_numbers(program, self.tape.layout)))

    # -- arrays ------------------------------------------------------------------------------------------------------

    @cached_property
    def _for_partial_rows(self) -> ScaledArrays:
        triangles = self.tape.layout.triangles
        return scaled_arrays(self.tape, triangles.table(self.tape.numbers.count_log_w, np.logaddexp))

    @cached_property
    def _for_whole_rows(self) -> ScaledArrays:
        return scaled_arrays(self.tape, np.empty(0))

    @cached_property
    def _for_best(self) -> ScaledArrays:
        triangles = self.tape.layout.triangles
        return scaled_arrays(self.tape, triangles.table(self.tape.numbers.count_log_w, np.maximum))

    def _arrays(self, X: AnyArray) -> ScaledArrays:
        """Return the parameters, without the table of partial counts where it is large and nothing is missing."""
        partial = self._run.needs_partial_counts(X)
        return self._for_partial_rows if partial else self._for_whole_rows

    def _workspace(self, width: int, down: bool) -> ScaledWorkspace:
        layout = self.tape.layout
        places = max(layout.n_registers, layout.largest_segment) if down else layout.n_registers
        return scaled_workspace(self.tape, width, len(self._run.inside), places, down)

    def _width(self, n_rows: int, down: bool) -> int:
        layout = self.tape.layout
        return self._run.width(n_rows, 2 * (layout.largest_segment if down else layout.n_registers))

    def _walk(
        self,
        arrays: ScaledArrays,
        rows: AnyArray,
        workspace: ScaledWorkspace,
        mode: int,
        task: int,
        out: AnyArray,
        log_prob: FloatArray,
        weights: FloatArray | None = None,
        found: Statistics | None = None,
    ) -> int:
        run, own = self._run, rows.view()
        own.flags.writeable = False  # one type of table, one compiled kernel
        mantissa, exponent = np.zeros(len(rows)), np.zeros(len(rows))
        bad = scaled_walk(
            run.arrays_without_counts,
            arrays,
            own,
            0,
            len(rows),
            run.inside,
            self.tape.layout.segments,
            run.identity,
            mode,
            task,
            np.empty(0) if weights is None else weights,
            workspace,
            no_statistics() if found is None else found,
            out,
            mantissa,
            exponent,
        )
        log_prob[:] = logarithms(mantissa, exponent)
        return int(bad)

    # -- questions ---------------------------------------------------------------------------------------------------

    def _over_rows(
        self,
        X: AnyArray,
        names: Names | None,
        what: str,
        task: int,
        out: AnyArray,
        seen: "Callable[[LoadedRows], None] | None" = None,
    ) -> FloatArray:
        """Score rows, or write P(X_v = 1 | row) into `out`; return log P(row)."""
        run, down = self._run, task == MARGINALS
        arrays = self._for_partial_rows if down else self._arrays(X)
        log_prob = np.empty(len(X))
        width = self._width(len(X), down)

        def kernel(rows: AnyArray, start: int, stop: int) -> int:
            own = out[start:stop] if down else out
            return self._walk(arrays, rows, self._workspace(width, down), FROM_X, task, own, log_prob[start:stop])

        if run.is_plain:
            run.over_rows(X, names, what, width, kernel)
            return log_prob
        workspace = self._workspace(width, down)
        for loaded in run.loaded_rows(X, names, what, width):
            for own, mode in loaded.into(workspace):
                place, rows = loaded.place(own), loaded.rows.values[own]
                self._walk(arrays, rows, workspace, mode, task, out[place] if down else out, log_prob[place])
            if seen is not None:
                seen(loaded)
        return log_prob

    def log_likelihood(self, X: AnyArray, names: Names | None = None, what: str = "X") -> FloatArray:
        """Return the logarithm of the root's value."""
        return self._over_rows(X, names, what, SCORE, np.empty((0, 0)))

    def marginals(self, evidence: AnyArray, names: Names | None = None) -> FloatArray:
        """Walk up and down the tape for each block of rows."""
        table, log_evidence = self.marginals_and_evidence(evidence, names)
        refuse_impossible(log_evidence)
        return table

    def marginals_and_evidence(self, evidence: AnyArray, names: Names | None = None) -> tuple[FloatArray, FloatArray]:
        """Return the marginals and log P(evidence row); where that is −inf, the marginals say nothing."""
        ones = np.empty(evidence.shape)
        if self._run.is_plain:
            log_evidence = self._over_rows(evidence, names, "evidence", MARGINALS, ones)
            return binary_marginals(ones, self.program), log_evidence
        table = np.zeros((*evidence.shape, self.program.largest_cardinality))

        def add(loaded: LoadedRows) -> None:
            loaded.add_marginals(loaded.flow, table)

        log_evidence = self._over_rows(evidence, names, "evidence", MARGINALS, ones, add)
        binary = np.array(self.program.cardinalities) == 2
        seen = ~np.isnan(evidence) if evidence.dtype.kind == "f" else np.ones(evidence.shape, dtype=bool)
        p_one = np.where(seen, ones, np.minimum(table[:, :, 1] + ones, 1.0))
        table[:, binary, 1] = p_one[:, binary]
        table[:, binary, 0] = 1 - p_one[:, binary]
        return normalized(table, self.program), log_evidence

    def log_values(self, rows: RowBlock, semiring: Semiring) -> FloatArray:
        """Return the logarithms of all values."""
        run, mode = self._run, PARTIAL if semiring is Semiring.SUM else BEST
        workspace = scaled_workspace(self.tape, len(rows), len(run.inside), self.program.n_slots, down=False)
        arrays = self._for_best if mode == BEST else self._for_partial_rows
        best = semiring is Semiring.MAX
        slots = self.tape.layout.slot
        for _ in LoadedRows(0, len(rows), rows, run.columns, best=mode == BEST).into(workspace):
            scaled_upward(run.arrays_without_counts, arrays, 0, len(slots), slots, 0, mode, best, workspace)
        return logarithms(workspace.values, workspace.values_e)

    def counts(self, X: AnyArray, weights: FloatArray, names: Names | None = None) -> Counts:
        """Add up statistics in chunks of rows, and the chunks in their order."""
        run, arrays = self._run, self._arrays(X)
        width, log_prob, out = self._width(CHUNK, True), np.empty(len(X)), np.empty((0, 0))
        n_partial = len(arrays.triangle_m)

        def gather(start: int, stop: int) -> GatheredStatistics:
            found, workspace = run.new_statistics(n_partial), self._workspace(width, True)
            for loaded in run.loaded_rows(X, names, "X", width, start, stop):
                for own, mode in loaded.into(workspace):
                    place, rows = loaded.place(own), loaded.rows.values[own]
                    self._walk(
                        arrays, rows, workspace, mode, LEARN, out, log_prob[place], weights[place], found.kernels
                    )
                run.columns.add_counts(loaded.rows, loaded.flow, found.columns)
            return found

        return run.total(run.in_chunks(len(X), CHUNK, gather), n_partial, log_prob)
