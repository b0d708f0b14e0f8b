"""Rows and cells that a model finds odd, beside what it finds odd in rows of its own making.

The log-likelihood of a row falls with every cell that is observed, so that complete rows look odder than others. A row
is compared with rows that the model draws, of which the same cells are looked at: how far below their mean it is, in
their deviations. A cell is odd if its value, or one less likely still, is improbable given the rest of the row.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from xspn.circuit import Circuit
from xspn.core.arrays import FloatArray, IntArray
from xspn.inference.cells import cell_conditionals, medians
from xspn.leaves.transformed import scales_of

DRAWN = 1000  # rows to compare with
FEWEST_DRAWN = 100
BUDGET = 200_000  # rows that are scored for it
MOST_PATTERNS = BUDGET // FEWEST_DRAWN
ODD = 1e-3  # the probability of a value at most as likely, of a cell that is odd
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
    """A cell whose value is unlikely, given the rest of its row.

    Attributes:
        row: Its row.
        column: Its column.
        value: The code that is there.
        likelier: The likeliest code; for numbers the median.
        probability: That of a value at most as likely as this, given the rest; for numbers, of one as far out.
        q: The expected fraction of false discoveries among cells at least as unlikely; NaN where it was not asked.
    """

    row: int
    column: int
    value: float
    likelier: float
    probability: float
    q: float = float("nan")


def chance(value: float) -> str:
    """Return a small probability in a few digits.

    0 need not mean that a value is impossible: far from every mean, densities are below what floats can hold.
    """
    return f"{value:.2g}" if value > 0 else "below 1e-300"


@dataclass(frozen=True)
class CellScores:
    """The oddest cells, and how many there are beside how many of the model's own rows.

    Attributes:
        cells: The oddest, in order; only those for which another value is likelier.
        n_cells: How many cells were looked at.
        odd: The fraction of them that is odd.
        odd_drawn: The same of rows that the model draws, with the same cells observed.
        of_rows: The oddest cell of each of the oddest rows.
    """

    cells: tuple[OddCell, ...]
    n_cells: int
    odd: float
    odd_drawn: float
    of_rows: Mapping[int, OddCell]


def odd_rows(circuit: Circuit, codes: FloatArray, most_drawn: int = DRAWN) -> RowScores:
    """Compare rows with those that the model draws, of which the same cells are observed."""
    scores = circuit.log_likelihood(codes)
    missing = np.isnan(codes)
    patterns, which = np.unique(missing, axis=0, return_inverse=True)
    which = which.reshape(-1)
    kept = np.argsort(-np.bincount(which), kind="stable")[:MOST_PATTERNS]
    n_drawn = int(np.clip(BUDGET // max(1, len(kept)), FEWEST_DRAWN, most_drawn))
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
    """Find the cells that are unlikely given the rest of their rows, and the oddest cell of each of the oddest rows."""
    tail = cell_conditionals(circuit.backend, codes).tail
    drawn = np.where(np.isnan(codes), np.nan, circuit.sample(len(codes), random_state=SEED + 1))
    of_drawn = cell_conditionals(circuit.backend, drawn).tail
    n_cells = int((~np.isnan(tail)).sum())
    places = np.argsort(np.where(np.isnan(tail), 1.0, tail), axis=None, kind="stable")[:most]
    row, column = np.unravel_index(places, tail.shape)
    some = tail[row, column] < 1  # what is missing compares as False
    found = cells_at(circuit, row[some], column[some], codes[row[some]], tail[row[some], column[some]])
    oddest = rows.order[:most]
    oddest = oddest[(tail[oddest] < 1).any(axis=1)]
    columns = np.nanargmin(tail[oddest], axis=1) if len(oddest) else oddest
    of_rows = cells_at(circuit, oddest, columns, codes[oddest], tail[oddest, columns])
    total = max(1, n_cells)
    odd, odd_drawn = (float((own <= ODD).sum()) / total for own in (tail, of_drawn))
    return CellScores(tuple(found), n_cells, odd, odd_drawn, {cell.row: cell for cell in of_rows})


def cells_at(
    circuit: Circuit, rows: IntArray, columns: IntArray, codes: FloatArray, tails: FloatArray
) -> list[OddCell]:
    """Return some cells, with the value that would be likelier than each.

    Args:
        circuit: The model.
        rows: The row of each cell.
        columns: The column of each cell.
        codes: For each cell, the row with which it is compared.
        tails: The probability of a value at most as likely.
    """
    likelier, real = np.full(len(rows), np.nan), circuit.program.real[columns]
    if real.any():
        scales = scales_of(circuit.graph.leaves)
        found = medians(circuit.backend, codes[real], columns[real])
        likelier[real] = [
            float(scales[v].presented(np.array(own))) if v in scales else own
            for v, own in zip(columns[real].tolist(), found.tolist(), strict=True)
        ]
    if not real.all():
        best = cell_conditionals(circuit.backend, codes[~real]).likeliest
        likelier[~real] = best[np.arange(len(best)), columns[~real]]
    values = codes[np.arange(len(rows)), columns]
    pairs = zip(rows.tolist(), columns.tolist(), values.tolist(), likelier.tolist(), tails.tolist(), strict=True)
    return [OddCell(*own) for own in pairs]
