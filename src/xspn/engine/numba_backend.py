"""The numba back end: the tape run by compiled kernels, on all cores.

Kernels work with probabilities, not with logarithms. That is safe because no value exceeds 1 (`ColumnLeaves` scales
densities so that none does): what underflows (below 2⁻¹⁰²²) can change the root's value by no more than that for each
node, and wherever the result is not itself near the end of the range it is right to the last digits. Rows whose result
is that small are computed again in a wider range: in double precision after single, after double with exponents of
their own (`xspn.engine.scaled`), or in log space where there are densities.
"""

from functools import cached_property
from typing import Any, Self

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import Names
from xspn.core.logspace import safe_log
from xspn.engine.backend import Backend, Counts, LinearBackend, Semiring, refuse_impossible
from xspn.engine.kernels.arrays import BEST, FROM_X, PARTIAL, Statistics, Workspace, no_statistics, workspace_for
from xspn.engine.kernels.both_ways import both_ways, write_pairs
from xspn.engine.kernels.flips import flips
from xspn.engine.kernels.up import score, upward
from xspn.engine.numpy_backend import NumpyBackend, normalized
from xspn.engine.program import Program
from xspn.engine.scaled import ScaledBackend
from xspn.engine.tape import Tape, tape_numbers, tape_of
from xspn.engine.tape_runner import CHUNK, GatheredStatistics, LoadedRows, TapeRunner
from xspn.engine.tape_walks import TapeWalks
from xspn.leaves.blocks import RowBlock

LEAST = {np.dtype(np.float64): 1e-280, np.dtype(np.float32): 1e-30}  # smaller results are computed again
PROBE, WORTH_A_PROBE = 32, 1024  # if so many first rows of a large table are out of range, the others will be, too
FINAL_LOGARITHM = 2e-13  # logarithms are below 650 and right to the last digit


class NumbaBackend(LinearBackend):
    """Runs a program's tape. It holds no state but spare workspaces: any number of threads may use it.

    Args:
        program: The program.
        dtype: The precision, `float64` or `float32`.
        threads: The number of threads; answers do not depend on it.
        tape: The program's tape, if there is one already.
    """

    def __init__(
        self, program: Program, dtype: type[np.floating[Any]] = np.float64, threads: int = 1, tape: Tape | None = None
    ) -> None:
        self.program, self.dtype, self.threads = program, dtype, threads
        self.tape = tape_of(program) if tape is None else tape
        self._run = TapeRunner(program, self.tape, dtype, threads)
        self.least = LEAST[np.dtype(dtype)]

    def __reduce__(self) -> tuple[Any, ...]:
        # Workspace and arrays for kernels are made again where they are needed.
        return type(self), (self.program, self.dtype, self.threads, self.tape)

    @property
    def error_bound(self) -> float:
        """Roundings in a row times the unit roundoff, and a little for underflow and for the final logarithm."""
        unit = float(np.finfo(self.dtype).eps) / 2
        roundings = self.tape.layout.depth_of_rounding * unit
        underflow = len(self.tape.layout) * float(np.finfo(self.dtype).smallest_subnormal) / self.least
        bound = roundings / (1 - roundings) + underflow + FINAL_LOGARITHM if roundings < 1 else np.inf
        # Logarithms of densities have rounding errors of their own.
        return bound + NumpyBackend(self.program).error_bound if self.program.real.any() else bound

    def with_parameters(self, program: Program) -> Self:
        """Return the same for other parameters of the same circuit."""
        layout = self.tape.layout
        return type(self)(program, self.dtype, self.threads, Tape(layout, tape_numbers(program, layout)))

    @cached_property
    def fallback(self) -> Backend:
        """The back end for rows whose probability is too small for this one."""
        if self.dtype is np.float32:
            return NumbaBackend(self.program, np.float64, self.threads, self.tape)
        if self.program.real.any():  # logarithms of densities may be so large that exponents have no digits left
            return NumpyBackend(self.program)
        return ScaledBackend(self.program, self.threads, self.tape)

    # -- likelihood --------------------------------------------------------------------------------------------------

    def log_likelihood(self, X: AnyArray, names: Names | None = None, what: str = "X") -> FloatArray:
        """Return the logarithm of the root's value."""
        if self._are_out_of_range(X, names, what):
            return self.fallback.log_likelihood(X, names, what)  # which gives the same where these kernels would do
        return self._logarithms(*self._probabilities(X, names, what), X, names, what)

    def _are_out_of_range(self, X: AnyArray, names: Names | None, what: str = "X") -> bool:
        """Whether to skip these kernels: the first rows of a large table all underflow."""
        if self.dtype is not np.float64 or len(X) < WORTH_A_PROBE or self.program.real.any():
            return False
        return bool((self._probabilities(X[:PROBE], names, what)[0] < self.least).all())

    def _probabilities(self, X: AnyArray, names: Names | None, what: str) -> tuple[AnyArray, FloatArray | float]:
        """Return the value of the root for each row, and the logarithm of what it is to be multiplied by."""
        run, layout, arrays = self._run, self.tape.layout, self._run.arrays(X)
        out = np.empty(len(X), dtype=self.dtype)
        width = run.width(len(X), layout.n_registers)

        def kernel(rows: AnyArray, start: int, stop: int) -> int:
            with run.workspace(width, layout.n_registers, down=False) as workspace:
                return int(score(arrays, rows, 0, len(rows), run.inside, layout.register, workspace, out[start:stop]))

        if run.is_plain:
            run.over_rows(X, names, what, width, kernel)
            return out, 0.0
        log_scale = np.zeros(len(X))

        def take(start: int, stop: int) -> None:
            with run.workspace(width, layout.n_registers, down=False) as workspace:
                for loaded in run.loaded_rows(X, names, what, width, start, stop):
                    for own, mode in loaded.into(workspace):
                        upward(arrays, 0, len(layout), layout.register, 0, mode, False, workspace)
                        out[loaded.place(own)] = workspace.values[layout.register[-1], : own.stop - own.start]
                    log_scale[loaded.start : loaded.stop] = loaded.log_scale

        run.in_chunks(len(X), CHUNK, take)
        return out, log_scale

    # -- marginals ---------------------------------------------------------------------------------------------------

    def marginals(self, evidence: AnyArray, names: Names | None = None) -> FloatArray:
        """Walk up and down the tape for each block of rows."""
        if self._are_out_of_range(evidence, names, "evidence"):
            table, log_evidence = self.fallback.marginals_and_evidence(evidence, names)
            refuse_impossible(log_evidence)
            within = np.flatnonzero(log_evidence > np.log(self.least) - 1)
            if len(within):  # what stands beside a row has no say in which kernels answer for it
                table[within] = self._marginals(evidence[within], names)
            return table
        return self._marginals(evidence, names)

    def _marginals(self, evidence: AnyArray, names: Names | None) -> FloatArray:
        probability = np.empty(len(evidence), dtype=self.dtype)
        if self._run.is_plain:
            table = self._plain_marginals(evidence, probability, names)
        else:
            table = self._any_marginals(evidence, probability, names)
        return self._recompute_underflow(table, probability, evidence, names)

    def _plain_marginals(self, evidence: AnyArray, probability: AnyArray, names: Names | None) -> FloatArray:
        run = self._run.apart
        places = run.tape.layout.largest_segment
        width = run.width(len(evidence), places)
        ones = np.empty(evidence.shape, dtype=self.dtype)

        def kernel(rows: AnyArray, start: int, stop: int) -> int:
            with run.workspace(width, places, down=True) as workspace:
                return self._walk(run, rows, workspace, FROM_X, ones[start:stop], probability[start:stop])

        run.over_rows(evidence, names, "evidence", width, kernel)
        table = np.empty((*ones.shape, 2))
        write_pairs(ones, self.program.absent, table)
        return table

    def _any_marginals(self, evidence: AnyArray, probability: AnyArray, names: Names | None) -> FloatArray:
        run = self._run.apart
        places = run.tape.layout.largest_segment
        table = np.zeros((*evidence.shape, self.program.largest_cardinality))
        ones = np.empty(evidence.shape, dtype=self.dtype)
        width = run.width(len(evidence), places)

        def take(start: int, stop: int) -> None:
            with run.workspace(width, places, down=True) as workspace:
                for loaded in run.loaded_rows(evidence, names, "evidence", width, start, stop):
                    joint = np.empty((len(loaded.rows), len(run.inside)))  # P(X_v = 1, row)
                    for own, mode in loaded.into(workspace):
                        place = loaded.place(own)
                        self._walk(run, loaded.rows.values[own], workspace, mode, ones[place], probability[place])
                        joint[own] = workspace.ones[:, : own.stop - own.start].T
                    self._add_marginals(loaded, joint, probability[loaded.start : loaded.stop], table)

        run.in_chunks(len(evidence), CHUNK, take)
        return normalized(table, self.program)

    def _add_marginals(self, loaded: LoadedRows, joint: FloatArray, probability: AnyArray, table: FloatArray) -> None:
        """Write what columns and kernels tell of the variables of some rows."""
        total, rows = probability.astype(np.float64), loaded.rows
        scale = np.divide(1.0, total, out=np.zeros_like(total), where=total >= self.least)  # others are computed again
        loaded.add_marginals(loaded.flow * scale, table)
        binary, out = np.array(self.program.cardinalities) == 2, table[loaded.start : loaded.stop]
        p_one = out[:, :, 1] + joint * scale[:, None]
        p_one = np.where(rows.missing.T, np.minimum(p_one, 1.0), rows.values == 1)
        out[:, binary, 1] = p_one[:, binary]
        out[:, binary, 0] = 1 - p_one[:, binary]

    def _walk(
        self,
        run: TapeRunner,
        rows: AnyArray,
        workspace: Workspace,
        mode: int,
        out: AnyArray,
        probability: AnyArray,
        weights: FloatArray | None = None,
        found: Statistics | None = None,
    ) -> int:
        """Walk up and down with some rows: for marginals, or with weights for statistics."""
        own = rows.view()
        own.flags.writeable = False  # one type of table, one compiled kernel
        learn = weights is not None
        return int(
            both_ways(
                run.arrays(),
                own,
                0,
                len(rows),
                run.inside,
                run.tape.layout.segments,
                run.identity,
                mode,
                learn,
                probability if weights is None else weights,
                self.least,
                workspace,
                no_statistics() if found is None else found,
                out,
                probability,
            )
        )

    def cell_log_likelihood(self, X: AnyArray, names: Names | None = None) -> tuple[FloatArray, FloatArray]:
        """Flip every bit of every row in one walk up and down the tape, where kernels can; rows out of range again."""
        run, places = self._run, self.tape.layout.largest_segment
        if not run.is_plain or self.dtype is not np.float64 or self._are_out_of_range(X, names):
            return super().cell_log_likelihood(X, names)
        width = run.width(len(X), places)
        probability, other, arrays = np.empty(len(X)), np.empty(X.shape), run.arrays(X)

        def kernel(rows: AnyArray, start: int, stop: int) -> int:
            with run.workspace(width, places, down=True) as workspace:
                own, p, layout = other[start:stop], probability[start:stop], self.tape.layout
                return int(
                    flips(arrays, rows, 0, len(rows), run.inside, layout.segments, run.identity, workspace, own, p)
                )

        run.over_rows(X, names, "X", width, kernel)
        log_prob, other = safe_log(probability), other / np.maximum(probability, self.least)[:, None]
        again = (probability < self.least) | ~np.isfinite(other.sum(axis=1))
        log_p = np.negative(np.log1p(other, out=other), out=other)
        if X.dtype.kind == "f" and (missing := np.isnan(X)).any():
            log_p[missing] = np.nan
            if self.tape.layout.largest_tree:
                again |= missing[:, run.inside].any(axis=1)
        if again.any():
            log_p[again], log_prob[again] = super().cell_log_likelihood(X[again], names)
        log_p[:, ~run.inside] = np.nan
        return log_p, log_prob

    # -- values and statistics ---------------------------------------------------------------------------------------

    def log_values(self, rows: RowBlock, semiring: Semiring) -> FloatArray:
        """Return the logarithms of all values; those that are far from mattering at the root may be −inf."""
        if self.program.real.any():  # inner values are densities of any size
            return NumpyBackend(self.program).log_values(rows, semiring)
        if self.dtype is np.float32:
            return self.fallback.log_values(rows, semiring)
        run, mode = self._run, PARTIAL if semiring is Semiring.SUM else BEST
        workspace = workspace_for(self.tape, self.dtype, len(rows), len(run.inside), self.program.n_slots, down=False)
        loaded = LoadedRows(0, len(rows), rows, run.columns, best=mode == BEST)
        for _ in loaded.into(workspace):
            arrays = run.arrays_for_best if mode == BEST else run.arrays()
            slots = self.tape.layout.slot
            upward(arrays, 0, len(run.identity), slots, 0, mode, semiring is Semiring.MAX, workspace)
        values = safe_log(workspace.values)
        low = np.flatnonzero(workspace.values[self.program.root] < self.least)
        if len(low):
            values[:, low] = self.fallback.log_values(RowBlock(rows.values[low]), semiring)
        return values

    # -- completions -------------------------------------------------------------------------------------------------

    @cached_property
    def _walks(self) -> TapeWalks:
        return TapeWalks(self._run.apart, self.least)

    def best_completions(self, evidence: AnyArray, names: Names | None = None) -> tuple[FloatArray, FloatArray]:
        """Walk up the tape, and down where each row has its best value."""
        if self.dtype is np.float32:
            return self.fallback.best_completions(evidence, names)
        filled, value, completed = self._walks.best(evidence, names)
        low = np.flatnonzero(value < self.least)
        log_prob = safe_log(completed) if completed is not None else np.empty(len(filled))
        if len(low):
            filled[low], log_prob[low] = self.fallback.best_completions(evidence[low], names)
        if completed is None:
            possible = np.setdiff1d(np.arange(len(filled)), low[np.isneginf(log_prob[low])])
            log_prob[possible] = self.log_likelihood(filled[possible], names)
        return filled, log_prob

    def random_completions(
        self, evidence: AnyArray, keys: AnyArray, names: Names | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Walk up the tape if something is known of a row, and down by chance."""
        if self.dtype is np.float32:
            return self.fallback.random_completions(evidence, keys, names)
        drawn, value, log_value = self._walks.random(evidence, keys, names)
        self._redraw_underflow(drawn, log_value, value, evidence, keys, names)
        return drawn, log_value

    def counts(self, X: AnyArray, weights: FloatArray, names: Names | None = None) -> Counts:
        """Add up statistics in chunks of rows, and the chunks in their order."""
        if self.dtype is np.float32 or self._are_out_of_range(X, names):
            return self.fallback.counts(X, weights, names)
        run, layout = self._run, self.tape.layout
        probability, log_scale, out = np.empty(len(X)), np.zeros(len(X)), np.empty((0, 0))
        places = max(layout.largest_segment, layout.n_registers)
        width = run.width(CHUNK, places)
        n_partial = len(run.arrays(X).triangle)

        def gather(start: int, stop: int) -> GatheredStatistics:
            found = run.new_statistics(n_partial)
            with run.workspace(width, places, down=True) as workspace:
                for loaded in run.loaded_rows(X, names, "X", width, start, stop):
                    for own, mode in loaded.into(workspace):
                        place, rows = loaded.place(own), loaded.rows.values[own]
                        self._walk(run, rows, workspace, mode, out, probability[place], weights[place], found.kernels)
                    run.columns.add_counts(loaded.rows, loaded.flow, found.columns)
                    log_scale[loaded.start : loaded.stop] = loaded.log_scale
            return found

        counts = run.total(run.in_chunks(len(X), CHUNK, gather), n_partial, safe_log(probability) + log_scale)
        low = np.flatnonzero(probability < self.least)
        return counts.with_rows(low, self.fallback.counts(X[low], weights[low], names)) if len(low) else counts
