"""What a model expects of each cell given the rest of its row: how unlikely its value is, what would be likelier."""

from dataclasses import dataclass

import numpy as np

from xspn.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from xspn.core.checks import Names
from xspn.core.logspace import logsumexp_quiet
from xspn.engine import Backend, RowBlock, Semiring, upward
from xspn.engine.alternatives import log_alternatives

ALIKE = 1 + 1e-9  # probabilities that differ by rounding alone
HALVINGS = 60  # of an interval with a median
FARTHEST = 60  # doublings of a distance in which a median is looked for


@dataclass(frozen=True)
class CellConditionals:
    """P(cell | the rest of its row) of every cell of a table.

    Attributes:
        log_prob: log P(x_i | the rest), a log-density for real columns: (rows, n). NaN where a cell is missing.
        tail: The probability, given the rest, of a value that is at most as likely as the cell's; for real columns of
            one as far out on either side. Small is unlikely, and of rows of the model's own making at most a fraction t
            of the cells has a tail below t, whatever the types of the columns.
        likeliest: The likeliest code given the rest; NaN for real columns, whose median `medians` tells.
        log_likelihood: log P of each row: (rows,).
    """

    log_prob: FloatArray
    tail: FloatArray
    likeliest: FloatArray
    log_likelihood: FloatArray


def cell_conditionals(backend: Backend, X: AnyArray, names: Names | None = None) -> CellConditionals:
    """Score every cell of a table given the rest of its row, in one pass up and one down."""
    program = backend.program
    if all(size in (0, 2) for size in program.cardinalities) and not program.real.any():
        log_prob, log_likelihood = backend.cell_log_likelihood(X, names)
        p = np.exp(log_prob)
        values = np.asarray(X, dtype=np.float64)
        tail = np.where(np.isnan(p), np.nan, np.where(p * ALIKE < 0.5, p, 1.0))
        return CellConditionals(log_prob, tail, np.where(p * ALIKE < 0.5, 1 - values, values), log_likelihood)
    log_prob, tail, likeliest = (np.full(X.shape, np.nan) for _ in range(3))
    log_likelihood = np.empty(len(X))
    for start, stop, rows in program.row_blocks(X, names):
        values = upward(program, rows)
        own = log_likelihood[start:stop] = values[program.root]
        table = log_alternatives(program, rows, values, Semiring.SUM)
        rest = logsumexp_quiet(table, axis=2)
        seen = ~rows.missing.T & ~program.absent & ~np.isneginf(rest)
        table -= np.where(np.isneginf(rest), 0.0, rest)[:, :, None]
        log_prob[start:stop] = np.where(seen, own[:, None] - np.where(seen, rest, 0.0), np.nan)
        tail[start:stop], likeliest[start:stop] = _tails(np.exp(table), rows, seen, program.real)
    return CellConditionals(log_prob, tail, likeliest, log_likelihood)


def _tails(table: FloatArray, rows: RowBlock, seen: BoolArray, real: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return tails and likeliest codes from full conditionals: (rows, n, entries)."""
    tail, likeliest = np.full(seen.shape, np.nan), np.full(seen.shape, np.nan)
    if not real.all():
        part, here = table[:, ~real], seen[:, ~real]
        codes = np.where(here, rows.values[:, ~real], 0.0).astype(np.int64)
        own = np.take_along_axis(part, codes[:, :, None], axis=2)
        tail[:, ~real] = np.where(here, np.where(part <= own * ALIKE, part, 0.0).sum(axis=2), np.nan)
        likeliest[:, ~real] = np.where(here, part.argmax(axis=2), np.nan)
    if real.any():
        below, at, above = np.moveaxis(table[:, real, :3], 2, 0)
        both = 2 * np.minimum(below + at, at + above)
        tail[:, real] = np.where(seen[:, real], np.minimum(both, 1.0), np.nan)
    return tail, likeliest


def medians(backend: Backend, X: FloatArray, variables: IntArray) -> FloatArray:
    """Return the median of one real variable of each row given the rest of the row, by halving an interval.

    Args:
        backend: What runs the circuit.
        X: The rows; what stands in the cell is where the search begins, and has no say in the answer.
        variables: The variable of each row.
    """
    rows, place = np.array(X, dtype=np.float64), np.arange(len(X))
    here = rows[place, variables]

    def below(at: FloatArray) -> BoolArray:
        """Whether half of the mass is below these numbers, or at them."""
        rows[place, variables] = at
        block = RowBlock(np.where(backend.program.absent, 0.0, rows))
        table = log_alternatives(backend.program, block, upward(backend.program, block), Semiring.SUM)
        sides = table[place, variables, :3]
        return np.asarray(np.logaddexp(sides[:, 0], sides[:, 1]) >= sides[:, 2])

    step = np.maximum(np.abs(here) * 1e-3, 1e-6)
    is_below = below(here)
    low, high = np.where(is_below, np.nan, here), np.where(is_below, here, np.nan)
    for k in range(FARTHEST):
        open_ends = np.isnan(low) | np.isnan(high)
        if not open_ends.any():
            break
        at = np.where(open_ends, here + np.where(is_below, -1.0, 1.0) * step * 2.0**k, here)
        found = below(at)
        low = np.where(open_ends & ~found, at, low)
        high = np.where(open_ends & found, at, high)
    low, high = np.where(np.isnan(low), high, low), np.where(np.isnan(high), low, high)
    for _ in range(HALVINGS):
        middle = low + (high - low) / 2
        found = below(middle)
        low, high = np.where(found, low, middle), np.where(found, middle, high)
        if (high - low <= 1e-12 * np.maximum(np.abs(high), 1e-300)).all():
            break
    return np.asarray(high)
