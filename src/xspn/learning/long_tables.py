"""Tables of more rows than structure is learned from: a sample gives the structure, all rows give the parameters.

Everything that is asked of all rows is a sum over blocks of them: what must be known before rows are drawn, the sample,
and the expected statistics of EM. So the rows may be in memory or anywhere else, in whatever parts.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol, Self, TypeVar

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.data.domain import Domain
from xspn.data.table import binary_table
from xspn.engine.backend import Automatic
from xspn.engine.program import compile_graph
from xspn.graph.graph import Graph
from xspn.graph.nodes import Sum
from xspn.learning import sampling
from xspn.learning.assembly import Learned
from xspn.learning.completion import in_units, smoothing_of_em, units_of
from xspn.learning.config import LearnConfig
from xspn.learning.data import MISSING, BinaryData
from xspn.learning.em.passes import Expected, expect, fitted_root, maximize
from xspn.learning.sampling import Block, RowStatistics, training_rows
from xspn.learning.scales import ColumnScale
from xspn.learning.source import TrainingData
from xspn.learning.steps import Meter, step
from xspn.learning.table_data import TableData

ROWS_AT_ONCE = 1 << 16
PASSES = 4  # of EM over all rows, from parameters that fit the sample
STEPS_OF_PASS = 100.0  # that the progress of a pass is counted in


class Additive(Protocol):
    """What is known of some rows; that of all rows is the sum."""

    def plus(self, other: Self) -> Self:
        """Return what is known of both."""


S = TypeVar("S", bound=Additive)


class LongRows(Protocol):
    """All rows of a table, wherever they are."""

    @property
    def domains(self) -> tuple[Domain, ...]:
        """The domain of each column."""

    @property
    def statistics(self) -> RowStatistics:
        """What must be known before rows are drawn."""

    def summed(self, measure: Callable[[Block], S]) -> S:
        """Return the sum of what is measured of all blocks of rows, added up in their order."""


@dataclass(frozen=True, eq=False)
class LongTable:
    """A table in memory, of which blocks of rows are converted when they are looked at.

    Attributes:
        codes: (rows, columns), NaN where a value is missing; for bits in bytes, 2.
        domains: The domain of each column.
        weights: The weight of each row; None for one each.

    Examples:
        >>> table = LongTable(np.array([[0, 1], [1, 1]], dtype=np.uint8), (Domain.binary(),) * 2)
        >>> table.statistics.rows, table.statistics.complete
        (2, True)
    """

    codes: AnyArray
    domains: tuple[Domain, ...]
    weights: FloatArray | None = None

    @classmethod
    def of(cls, data: TrainingData) -> "LongTable":
        """Return training data as a long table."""
        if isinstance(data, BinaryData):
            return cls(data.rows(), (Domain.binary(),) * data.shape[1], data.weights)
        return cls(data.cells, data.domains, data.weights)

    @cached_property
    def statistics(self) -> RowStatistics:
        """What must be known before rows are drawn."""
        return self.summed(RowStatistics.of)

    @property
    def is_long(self) -> bool:
        """Whether there are more rows than structure is learned from."""
        return len(self.codes) > sampling.MOST_ROWS

    def some(self) -> TrainingData:
        """Return as many rows as structure is learned from, as the learner takes them.

        They are drawn: at equal distances they would miss every other row of tables in which kinds of rows alternate.
        """
        most = min(sampling.MOST_ROWS, len(self.codes))
        rows = np.sort(np.random.default_rng(0).choice(len(self.codes), most, replace=False))
        return training_rows(self._cells(rows), self.domains, None if self.weights is None else self.weights[rows])

    def summed(self, measure: Callable[[Block], S]) -> S:
        """Return the sum of what is measured of all blocks of rows."""
        found: S | None = None
        part = STEPS_OF_PASS / max(len(self.codes) / ROWS_AT_ONCE, 1.0)
        for block in self._blocks():
            own = measure(block)
            found = own if found is None else found.plus(own)
            step(part)
        assert found is not None
        return found

    def _blocks(self) -> Iterator[Block]:
        first = 0
        for start in range(0, len(self.codes), ROWS_AT_ONCE):
            some = slice(start, start + ROWS_AT_ONCE)
            block = Block.of(first, self._cells(some), None if self.weights is None else self.weights[some])
            first += len(block)
            yield block

    def _cells(self, rows: slice | IntArray) -> AnyArray:
        return cells_of_codes(self.codes[rows], self.domains)


def cells_of_codes(codes: AnyArray, domains: tuple[Domain, ...]) -> AnyArray:
    """Return codes as blocks hold them: bytes where all columns are binary, else numbers."""
    if all(domain.cardinality == 2 for domain in domains):
        return binary_table(codes, allow_missing=True)
    return np.asarray(codes, dtype=np.float64)


# -- learning ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Expectation:
    """Measures the expected statistics of blocks under a circuit over columns on their scales, in units.

    Attributes:
        backend: Evaluates the circuit.
        scales: The scales of the real columns.
        units: The unit of each column on its scale; None for bits.
    """

    backend: Automatic
    scales: dict[int, ColumnScale] = field(default_factory=dict)
    units: FloatArray | None = None

    def __call__(self, block: Block) -> Expected:
        """Return the expected statistics of some rows."""
        return expect(self.backend, self._rows(block.cells), block.weights)

    def _rows(self, cells: AnyArray) -> AnyArray:
        if self.units is None:
            return np.where(cells == MISSING, np.nan, cells) if (cells == MISSING).any() else cells
        rows = cells.copy()
        for column, scale in self.scales.items():
            rows[:, column] = scale.forward(cells[:, column])
        return rows / self.units


def fitted_to_all(
    learned: Learned,
    sample: TrainingData,
    scales: dict[int, ColumnScale],
    rows: LongRows,
    config: LearnConfig,
    meter: Meter,
    work: float,
) -> Learned:
    """Fit all parameters of what was learned from a sample to all rows, by EM.

    How many passes there are depends on the circuit alone, not on sums whose last digits depend on the parts of the
    table. Leaves are near their rows, as they fit the sample, so that moments about their means keep their digits.

    Args:
        learned: What was learned from the sample.
        sample: The sample, on the scales of its columns.
        scales: The scales.
        rows: All rows, in their own units.
        config: The choices.
        meter: Told of the progress.
        work: The part of the whole work that this is.
    """
    units = units_of(learned.graph, sample.spreads) if isinstance(sample, TableData) else None
    start = learned.graph if units is None else in_units(learned.graph, 1 / units)
    mixed = any(isinstance(node, Sum) for node in start.nodes)
    backend = first = Automatic(compile_graph(start))
    passes = PASSES if mixed else 1
    for _ in range(passes):
        with meter.part(work / passes):
            expected = rows.summed(Expectation(backend, scales, units))
        backend = backend.with_parameters(maximize(backend.program, expected, smoothing_of_em(sample, config)))
    found = Graph(fitted_root(start, first.program, backend.program), len(rows.domains))
    if units is not None and isinstance(sample, TableData):
        found = in_units(found, units, sample.floors)
    return replace(learned, graph=found)
