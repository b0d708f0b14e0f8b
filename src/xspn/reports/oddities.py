"""Rows and cells that a model finds odd, beside what it finds odd in rows of its own making.

The log-likelihood of a row falls with every cell that is observed, so that complete rows look odder than others. A row
is compared with rows that the model draws, of which the same cells are looked at: how far below their mean it is, in
their deviations. A cell is odd if another value would be much likelier, given the rest of the row.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from xspn.circuit import Circuit
from xspn.core.arrays import BoolArray, FloatArray, IntArray
from xspn.data.schema import Schema
from xspn.leaves import Atom
from xspn.reports.calibration import conditionals, with_values

DRAWN = 1000  # rows to compare with
FEWEST_DRAWN = 100
BUDGET = 200_000  # rows that are scored for it, and cells that are tried
MOST_PATTERNS = BUDGET // FEWEST_DRAWN
ODD = 1000.0  # times likelier: another value, of a cell that is odd
GRID = np.linspace(0.05, 0.95, 7)  # quantiles of a column of numbers that are tried
SEED = 0


@dataclass(frozen=True)
class RowScores:
    """How odd rows are.

    Attributes:
        log_likelihood: Of each row.
        expected: The mean of what the model draws with the same cells observed; NaN for rows that were not looked at.
        deviations: How many deviations of these the row is below; inf for what is impossible.
        fraction: The fraction of drawn rows that are at least as odd.
        observed: The number of observed cells.
        n_drawn: How many rows were drawn.
    """

    log_likelihood: FloatArray
    expected: FloatArray
    deviations: FloatArray
    fraction: FloatArray
    observed: IntArray
    n_drawn: int

    @property
    def order(self) -> IntArray:
        """The rows, the oddest first."""
        return np.argsort(-np.nan_to_num(self.deviations, nan=-np.inf, posinf=np.inf), kind="stable")


@dataclass(frozen=True)
class OddCell:
    """A cell for which another value would be likelier, given the rest of its row.

    Attributes:
        row: Its row.
        column: Its column.
        value: The code that is there.
        likelier: The likeliest code; for numbers, of some quantiles of the column.
        times: How many times likelier that one is.
    """

    row: int
    column: int
    value: float
    likelier: float
    times: float


@dataclass(frozen=True)
class CellScores:
    """The oddest cells, and how many there are beside how many of the model's own rows.

    Attributes:
        cells: The oddest, in order; only those for which another value is likelier.
        n_cells: How many cells were looked at.
        odd: The fraction of them that is odd.
        odd_drawn: The same of rows that the model draws, with the same cells observed.
        n_rows: How many rows were looked at: all, or the oddest ones.
        of_rows: The oddest cell of each row that was looked at and has one.
    """

    cells: tuple[OddCell, ...]
    n_cells: int
    odd: float
    odd_drawn: float
    n_rows: int
    of_rows: Mapping[int, OddCell]


def odd_rows(circuit: Circuit, codes: FloatArray) -> RowScores:
    """Compare rows with those that the model draws, of which the same cells are observed."""
    scores = circuit.log_likelihood(codes)
    missing = np.isnan(codes)
    patterns, which = np.unique(missing, axis=0, return_inverse=True)
    which = which.reshape(-1)
    kept = np.argsort(-np.bincount(which), kind="stable")[:MOST_PATTERNS]
    n_drawn = int(np.clip(BUDGET // max(1, len(kept)), FEWEST_DRAWN, DRAWN))
    drawn = circuit.sample(n_drawn, random_state=SEED)
    expected, deviations, fraction = (np.full(len(codes), np.nan) for _ in range(3))
    for place in kept.tolist():
        own = which == place
        found = np.sort(circuit.log_likelihood(np.where(patterns[place], np.nan, drawn)))
        expected[own] = found.mean()
        spread = max(float(found.std()), 1e-12)
        deviations[own] = np.where(np.isneginf(scores[own]), np.inf, (expected[own] - scores[own]) / spread)
        fraction[own] = np.searchsorted(found, scores[own] + 1e-9, side="right") / n_drawn
    if patterns.all(axis=1).any():  # rows without any value say nothing
        deviations[missing.all(axis=1)] = 0.0
    return RowScores(scores, expected, deviations, fraction, (~missing).sum(axis=1), n_drawn)


def odd_cells(circuit: Circuit, codes: FloatArray, rows: RowScores, most: int) -> CellScores:
    """Find the cells for which another value would be likelier, in all rows or, of many, in the oddest."""
    schema = circuit.schema
    cost = sum(len(GRID) + 1 if (size := _size(schema, v)) is None else size for v in range(len(schema)))
    order = rows.order[np.isfinite(rows.log_likelihood[rows.order])]
    looked_at = order[: max(1, BUDGET // max(1, cost))]
    own = codes[looked_at]
    drawn = circuit.sample(len(own), random_state=SEED + 1) if len(own) else own
    drawn = np.where(np.isnan(own), np.nan, drawn)
    found: list[OddCell] = []
    of_rows: dict[int, OddCell] = {}
    n_cells = n_odd = n_odd_drawn = 0
    for v in range(len(schema)):
        times, likelier, seen = _likelier(circuit, own, v, codes[:, v])
        n_cells += int(seen.sum())
        n_odd += int((times >= ODD).sum())
        n_odd_drawn += int((_likelier(circuit, drawn, v, codes[:, v])[0] >= ODD).sum())
        for place in np.flatnonzero(times > 1).tolist():
            cell = OddCell(int(looked_at[place]), v, float(own[place, v]), float(likelier[place]), float(times[place]))
            if cell.row not in of_rows or cell.times > of_rows[cell.row].times:
                of_rows[cell.row] = cell
        first = np.argsort(-times, kind="stable")[:most]
        found += [
            OddCell(int(looked_at[i]), v, float(own[i, v]), float(likelier[i]), float(times[i]))
            for i in first.tolist()
            if times[i] > 1
        ]
    found.sort(key=lambda cell: (-cell.times, cell.row, cell.column))
    total = max(1, n_cells)
    return CellScores(tuple(found[:most]), n_cells, n_odd / total, n_odd_drawn / total, len(own), of_rows)


def _size(schema: Schema, variable: int) -> int | None:
    domain = schema.domains[variable]
    return 1 if domain is None else domain.cardinality


def _likelier(
    circuit: Circuit, rows: FloatArray, variable: int, column: FloatArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return how many times likelier the likeliest value of a cell is than its own, that value, and which are seen."""
    times, best = np.ones(len(rows)), np.full(len(rows), np.nan)
    seen = ~np.isnan(rows[:, variable])
    size = _size(circuit.schema, variable)
    if not seen.any() or size == 1:
        return times, best, seen
    if size is None:
        atoms = _atoms(circuit, variable)  # masses, which no density can be compared with
        seen &= ~np.isin(rows[:, variable], atoms)
        others = column[~np.isnan(column) & ~np.isin(column, atoms)]
        if not seen.any() or not len(others):
            return times, best, seen
        own = rows[seen]
        values = np.unique(np.quantile(others, GRID, method="nearest"))
        gain = with_values(circuit, own, variable, values) - circuit.log_likelihood(own)[:, None]
        table = np.exp(np.minimum(gain, 700.0))
        chosen = table.argmax(axis=1)
        times[seen], best[seen] = table.max(axis=1), values[chosen]
        return times, best, seen
    own = rows[seen]
    table = conditionals(circuit, own, variable, np.arange(size, dtype=np.float64))
    here = table[np.arange(len(own)), own[:, variable].astype(np.int64)]
    with np.errstate(divide="ignore"):
        times[seen] = table.max(axis=1) / here
    best[seen] = table.argmax(axis=1)
    return times, best, seen


def _atoms(circuit: Circuit, variable: int) -> list[float]:
    """Return the numbers of a real column that have a probability of their own."""
    found = {leaf.value for leaf in circuit.graph.leaves if isinstance(leaf, Atom) and leaf.variables == (variable,)}
    return sorted(found)
