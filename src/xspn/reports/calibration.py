"""Whether what a model calls probable is as frequent: single cells given the rest of their rows, and pairs of columns.

A cell is predicted from all other cells of its row: whatever had a probability of about 70 % should come true in 70 of
100 cases. Of two columns the model's P(B | A) is compared with how often B holds among the rows with A. Numbers are
turned into events at quantiles of their column.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xspn.circuit import Circuit
from xspn.core.arrays import BoolArray, FloatArray, IntArray
from xspn.core.errors import printable
from xspn.core.logspace import logsumexp_quiet
from xspn.data.schema import Schema
from xspn.leaves.events import Intervals
from xspn.questions import Posterior
from xspn.questions.events import Codes, Event

MOST_COLUMNS, MOST_ROWS = 40, 500  # that are looked at
QUANTILES = (0.25, 0.5, 0.75)
BINS = 10
FEWEST = 20  # rows with the condition, of a pair that is compared
MOST_VALUES = 3  # of a column, in pairs
SEED = 0


@dataclass(frozen=True)
class Reliability:
    """Predicted probabilities of cells beside how often they came true, in bins of the former.

    Attributes:
        predicted: The mean predicted probability of each bin that has any.
        observed: The fraction that came true.
        count: How many predictions are in it.
        n_columns: How many columns were looked at.
        n_rows: How many rows were looked at.
    """

    predicted: FloatArray
    observed: FloatArray
    count: IntArray
    n_columns: int
    n_rows: int

    @property
    def error(self) -> float:
        """The expected calibration error: the mean distance of the two, over all predictions."""
        if not len(self.count):
            return float("nan")
        return float(np.average(np.abs(self.predicted - self.observed), weights=self.count))


@dataclass(frozen=True)
class Pair:
    """P(B | A) under the model, and the fraction of the table's rows with A that have B."""

    given: str
    event: str
    model: float
    table: float
    rows: int

    @property
    def deviation(self) -> float:
        """How far apart they are, in standard errors of so many rows, half a row apart at least."""
        spread = np.sqrt(max(self.model * (1 - self.model), 0.25 / self.rows) / self.rows)
        return float(max(abs(self.table - self.model) - 0.5 / self.rows, 0.0) / spread)


def chosen_columns(schema: Schema, codes: FloatArray) -> list[int]:
    """Return the columns that are looked at: all that vary, or a random choice of many."""
    varied = [v for v in range(len(schema)) if len(np.unique(codes[~np.isnan(codes[:, v]), v])) > 1]
    if len(varied) <= MOST_COLUMNS:
        return varied
    return sorted(np.random.default_rng(SEED).choice(varied, MOST_COLUMNS, replace=False).tolist())


def reliability(circuit: Circuit, codes: FloatArray, columns: Sequence[int], quantiles_of: FloatArray) -> Reliability:
    """Predict cells from the rest of their rows, and compare with what is there.

    Args:
        circuit: The model.
        codes: Rows of codes; those that are impossible are passed over.
        columns: The columns whose cells are predicted.
        quantiles_of: The rows whose quantiles make events of numbers.
    """
    rows = codes[np.isfinite(circuit.log_likelihood(codes))]
    if len(rows) > MOST_ROWS:
        rows = rows[np.sort(np.random.default_rng(SEED).choice(len(rows), MOST_ROWS, replace=False))]
    chances: list[FloatArray] = [np.empty(0)]
    came_true: list[BoolArray] = [np.empty(0, dtype=bool)]
    for v in columns:
        seen = ~np.isnan(rows[:, v])
        if not seen.any():
            continue
        own, domain = rows[seen], circuit.domains[v]
        size = None if domain is None else domain.cardinality
        if size is None:
            limits = np.unique(np.nanquantile(quantiles_of[:, v], QUANTILES))
            rest = own.copy()
            rest[:, v] = np.nan
            events = [Event.of(v, Intervals.of((-np.inf, float(limit)))) for limit in limits]
            found = Posterior(circuit.backend, circuit.schema, rest).probability(events)
            chances += list(found)
            came_true += [own[:, v] <= limit for limit in limits]
        else:
            table = conditionals(circuit, own, v, np.arange(size, dtype=np.float64))
            for value in [1] if size == 2 else range(size):
                chances.append(table[:, value])
                came_true.append(own[:, v] == value)
    p, true = np.concatenate(chances), np.concatenate(came_true)
    place = np.minimum((p * BINS).astype(np.int64), BINS - 1)
    count = np.bincount(place, minlength=BINS)
    used = count > 0
    sums = [np.bincount(place, weights=own, minlength=BINS)[used] for own in (p, true.astype(np.float64))]
    return Reliability(sums[0] / count[used], sums[1] / count[used], count[used], len(columns), len(rows))


def conditionals(circuit: Circuit, rows: FloatArray, variable: int, values: FloatArray) -> FloatArray:
    """Return P(variable = value | the rest of the row), in proportion for numbers: (rows, values), sums of one."""
    logs = with_values(circuit, rows, variable, values)
    return np.asarray(np.exp(logs - logsumexp_quiet(logs, axis=1)[:, None]))


def with_values(circuit: Circuit, rows: FloatArray, variable: int, values: FloatArray) -> FloatArray:
    """Return the log-likelihood of each row with each of some values of a variable: (rows, values)."""
    every = np.repeat(rows, len(values), axis=0)
    every[:, variable] = np.tile(values, len(rows))
    return circuit.log_likelihood(every).reshape(len(rows), len(values))


@dataclass(frozen=True)
class _Side:
    """An event of one column: its name, what holds of it, and which rows have it."""

    column: int
    text: str
    event: Event
    holds: BoolArray


def pairs_of(circuit: Circuit, codes: FloatArray, columns: Sequence[int]) -> list[Pair]:
    """Return P(B | A) for events of any two columns, under the model and in the table."""
    sides = [side for v in columns for side in _sides(circuit, codes, v)]
    both = [(a, b) for i, a in enumerate(sides) for b in sides[i + 1 :] if a.column != b.column]
    posterior = Posterior(circuit.backend, circuit.schema)
    alone = posterior.probability([side.event for side in sides])[:, 0] if sides else np.empty(0)
    chance = {id(side): float(p) for side, p in zip(sides, alone, strict=True)}
    joint = posterior.probability([a.event & b.event for a, b in both])[:, 0] if both else np.empty(0)
    found = []
    for (one, other), p in zip(both, joint.tolist(), strict=True):
        seen = ~np.isnan(codes[:, one.column]) & ~np.isnan(codes[:, other.column])
        for a, b in ((one, other), (other, one)):
            rows = int((a.holds & seen).sum())
            if rows >= FEWEST and chance[id(a)] > 0:
                table = float((a.holds & b.holds & seen).sum() / rows)
                found.append(Pair(a.text, b.text, min(1.0, p / chance[id(a)]), table, rows))
    return found


def _sides(circuit: Circuit, codes: FloatArray, v: int) -> list[_Side]:
    """Return the events of a column: one of a bit or a number, the most frequent values of others."""
    name, domain = printable(circuit.schema.shown_name(v)), circuit.domains[v]
    size = None if domain is None else domain.cardinality
    own = codes[:, v]
    if size is None:
        limit = float(np.nanmedian(own))
        event = Event.of(v, Intervals.of((float(np.nextafter(limit, np.inf)), np.inf)))
        return [_Side(v, f"{name} > {limit:.4g}", event, own > limit)]
    counts = np.bincount(own[~np.isnan(own)].astype(np.int64), minlength=size)
    values = [1] if size == 2 else np.argsort(-counts, kind="stable")[:MOST_VALUES].tolist()
    found = []
    for value in values:
        label = printable(str(circuit.schema.label(v, value)))
        found.append(_Side(v, f"{name}={label}", Event.of(v, Codes(size, frozenset({value}))), own == value))
    return found
