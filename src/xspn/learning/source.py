"""Training data of any kind, and the slices that the learner cuts out of it."""

from typing import Protocol

import numpy as np

from xspn.core.arrays import IntArray
from xspn.learning.data import MISSING, BinaryData
from xspn.learning.slice import BinarySlice, Slice
from xspn.learning.table_data import TableData
from xspn.learning.table_slice import TableSlice
from xspn.learning.table_summary import Column, TableSummary
from xspn.learning.task import Rows, Task
from xspn.leaves.base import Leaf
from xspn.leaves.bernoulli import Bernoulli
from xspn.leaves.categorical import Categorical


class Source(Protocol):
    """Where slices come from."""

    def slice_of(self, task: Task) -> Slice:
        """Return the slice of a task."""

    def indicator(self, variable: int, value: int) -> Leaf:
        """Return the leaf that has all its mass on one value of a variable."""


class BinarySource:
    """A table of zeros and ones; `variables` says which ones its columns are, in rising order, if not all."""

    def __init__(self, data: BinaryData, variables: IntArray | None = None) -> None:
        self._data = data
        self._variables = variables

    def slice_of(self, task: Task) -> Slice:
        """Return the slice of a task."""
        columns = None if self._variables is None else np.searchsorted(self._variables, task.variables)
        return BinarySlice.of(self._data, task, columns)

    def indicator(self, variable: int, value: int) -> Leaf:
        """Return a Bernoulli leaf with p = 0 or 1."""
        return Bernoulli(variable, p=float(value))


class TableSource:
    """A table with columns of any types; slices of columns with two values each are those of bits."""

    def __init__(self, data: TableData) -> None:
        self._data = data
        numbers = data.spreads.tolist(), data.floors.tolist(), data.groups.tolist()
        self._columns = tuple(
            Column(*column) for column in zip(data.domains, *numbers, data.atoms, data.scales, strict=True)
        )
        cells = data.cells[:, data.binary]
        bits = np.where(np.isnan(cells), MISSING, cells).astype(np.uint8)
        self._bits = BinaryData(np.ascontiguousarray(bits), data.weights)

    def slice_of(self, task: Task) -> Slice:
        """Return the slice of a task: one of bits if all its variables have two values."""
        if np.isin(task.variables, self._data.binary).all():
            return BinarySlice.of(self._bits, task, np.searchsorted(self._data.binary, task.variables))
        context = None if task.context is None else self._summary(task.context, task.variables)
        return TableSlice(self._summary(task.rows, task.variables), task.variables, context)

    def _summary(self, rows: Rows, variables: IntArray) -> TableSummary:
        columns = tuple(self._columns[v] for v in variables.tolist())
        cells = self._data.cells
        if len(rows) < len(cells) or len(variables) < cells.shape[1]:
            cells = cells[np.ix_(rows.index, variables)]
        return TableSummary(cells, rows.weights, columns)

    def indicator(self, variable: int, value: int) -> Leaf:
        """Return the leaf that has all its mass on one value of a discrete variable."""
        k = self._data.domains[variable].cardinality or 0
        return Bernoulli(variable, p=float(value)) if k == 2 else Categorical(variable, np.eye(k)[value])


TrainingData = BinaryData | TableData


def source_of(data: TrainingData) -> Source:
    """Return where the slices of some data come from."""
    return BinarySource(data) if isinstance(data, BinaryData) else TableSource(data)
