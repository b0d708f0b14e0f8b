"""Leaves that kernels do not evaluate themselves: their values are computed for many rows at a time, before a walk."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.engine.kernels.arrays import MISSING, PARTIAL, WHOLE
from xspn.engine.kernels.scaled_arrays import scaled
from xspn.engine.program import Program
from xspn.leaves.blocks import LeafBlock, RowBlock


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
        behind = [leaf for _, block in self.blocks for own in block.slot_leaves() for leaf in own]
        for slot, leaf in enumerate(behind if program.real.any() else []):
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
