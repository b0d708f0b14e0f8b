"""Leaves for single real columns: a normal distribution, or a mixture of two or three if BIC prefers it.

All columns are fitted at once: arrays are (parts, rows, columns). Atoms, values that many rows share, stand beside.
"""

import numpy as np

from xspn.core.arrays import BoolArray, FloatArray, IntArray
from xspn.core.logspace import logsumexp_quiet
from xspn.data.domain import Domain
from xspn.graph.nodes import Node, Sum
from xspn.learning.leaf_learners.base import TableLeafData, without_atoms
from xspn.learning.steps import step
from xspn.learning.table_summary import Column, TableSummary, row_blocks
from xspn.leaves.atom import Atom
from xspn.leaves.gaussian import LOG_2PI, Gaussian

MOST_PARTS = 3
EM_STEPS = 20
POSTERIOR_TOLERANCE = 0.01
PARAMETERS_OF_PART = 3
ROWS_PER_PART = 10.0
TINY = 1e-300
NUMBERS_PER_CELL = 8  # that are made of it here, and more for a while
NEXT_TO_NOTHING = 1e-9  # rows
ROWS_OF_EM = 5000  # of twice as many or more, EM is run on every so many
ALL = slice(None, None, 1)


class _Fit:
    """A mixture of so many parts for each column."""

    def __init__(self, rows: TableSummary, removed: FloatArray, n_parts: int, alpha: float) -> None:
        own = rows
        self.n_parts, self.removed = n_parts, removed
        self.seen: BoolArray = ~own.missing
        self.x = np.where(self.seen, own.cells, 0.0)
        self.weights = own.weights[:, None] * self.seen
        self.mass = self.weights.sum(axis=0)
        safe = np.maximum(self.mass, TINY)
        self.center = (self.weights * self.x).sum(axis=0) / safe
        self.x = np.where(self.seen, self.x - self.center, 0.0)
        self.variance = (self.weights * self.x**2).sum(axis=0) / safe
        self.floor = np.array([column.floor for column in own.columns]) ** 2
        spread = np.array([column.spread for column in own.columns]) ** 2
        # A column of which nothing is seen here is spread as in the whole table.
        self.prior_variance = np.where(self.mass > 0, np.maximum(self.variance, self.floor), spread)
        self.prior = max(alpha, 1e-3) if n_parts == 1 else 1.0
        self.posterior = np.ones((1, *self.x.shape)) if n_parts == 1 else self._em()
        self._set_parameters(self._sums(self.posterior, ALL))

    def _em(self) -> FloatArray:
        """Return the responsibilities of the parts, for all cells; of many rows EM is run on every so many."""
        rows = slice(None, None, max(len(self.x) // ROWS_OF_EM, 1))
        posterior = self._start(rows)
        for _ in range(EM_STEPS):
            self._set_parameters(self._sums(posterior, rows))
            before, posterior = posterior, self._responsibilities(rows)
            step()
            if float(np.abs(posterior - before).max(initial=0.0)) < POSTERIOR_TOLERANCE:
                break
        if rows == ALL:
            return posterior
        self._set_parameters(self._sums(posterior, rows))
        return self._responsibilities(ALL)

    def _responsibilities(self, rows: slice) -> FloatArray:
        logs = self._own_logs(rows)
        return np.exp(logs - logsumexp_quiet(logs, axis=0))

    def _start(self, rows: slice) -> FloatArray:
        """Cut each column into parts of equal size."""
        x, seen = self.x[rows], self.seen[rows]
        ranks = np.where(seen, x, np.inf).argsort(axis=0, kind="stable").argsort(axis=0, kind="stable")
        part = (ranks * self.n_parts) // np.maximum(seen.sum(axis=0), 1)
        part = np.minimum(part, self.n_parts - 1)
        return np.asarray(part[None] == np.arange(self.n_parts)[:, None, None], dtype=np.float64)

    def _sums(self, posterior: FloatArray, rows: slice) -> tuple[FloatArray, FloatArray, FloatArray]:
        own, x = posterior * self.weights[rows], self.x[rows]
        return own.sum(axis=1), (own * x).sum(axis=1), (own * x**2).sum(axis=1)

    def _moments(
        self, mass: FloatArray, first: FloatArray, second: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return log-weights, means and variances; the prior counts as rows with the column's variance in the slice."""
        mean = np.where(mass > NEXT_TO_NOTHING, first / np.maximum(mass, NEXT_TO_NOTHING), 0.0)
        scatter = np.maximum(second - mass * mean**2, 0.0)
        variance = (scatter + self.prior * self.prior_variance) / (mass + self.prior)
        total = mass.sum(axis=0)
        weight = (mass + 0.1) / (total + 0.1 * self.n_parts)
        return np.log(weight), mean, np.maximum(variance, self.floor)

    def _set_parameters(self, sums: tuple[FloatArray, FloatArray, FloatArray]) -> None:
        self.sums = sums
        self.log_weight, self.mean, self.var = self._moments(*sums)

    def _own_logs(self, rows: slice) -> FloatArray:
        return _log_parts(self.x[rows], self.log_weight[:, None], self.mean[:, None], self.var[:, None])

    def log_likelihood(self) -> FloatArray:
        """Return the log-likelihood of each column."""
        logs = logsumexp_quiet(self._own_logs(ALL), axis=0)
        return np.asarray((self.weights * logs).sum(axis=0))

    def leave_one_out(self) -> FloatArray:
        """Return the log-density of each own cell after its row is removed from the parts, by its responsibilities."""
        own = len(self.removed)
        removed = self.posterior[:, :own] * self.seen[:own] * self.removed[:, None]
        sums = (
            np.maximum(self.sums[0][:, None] - removed, 0.0),
            self.sums[1][:, None] - removed * self.x[:own],
            self.sums[2][:, None] - removed * self.x[:own] ** 2,
        )
        logs = logsumexp_quiet(_log_parts(self.x[:own], *self._moments(*sums)), axis=0)
        return np.asarray(np.where(self.seen[:own], logs, 0.0))

    def leaf(self, column: int, variable: int) -> Node:
        """Return the leaf of a column."""
        means = (self.center[column] + self.mean[:, column]).tolist()
        parts = [
            Gaussian(variable, mean=mean, std=std)
            for mean, std in zip(means, np.sqrt(self.var[:, column]).tolist(), strict=True)
        ]
        weights = np.exp(self.log_weight[:, column])
        return parts[0] if len(parts) == 1 else Sum(weights / weights.sum(), parts)


def _log_parts(x: FloatArray, log_weight: FloatArray, mean: FloatArray, variance: FloatArray) -> FloatArray:
    """Return the log-weight of each part plus its log-density, for every cell: (parts, rows, columns)."""
    return np.asarray(log_weight - 0.5 * (LOG_2PI + np.log(variance) + (x - mean) ** 2 / variance))


def normal_mixtures(data: TableLeafData, variables: IntArray, alpha: float) -> tuple[list[Node], FloatArray]:
    """Return a leaf for each (real) column, and the leave-one-out log-density of each own row over all of them.

    The number of parts is chosen by BIC, column by column; a single normal may take the context's rows in, if that has
    a better leave-one-out score. Variances are kept off zero by a prior of α rows with the slice's variance, and never
    fall below the column's floor (see `TableData`).
    """
    blocks = row_blocks(len(variables), NUMBERS_PER_CELL * len(data.pooled.cells))
    if len(blocks) > 1:  # of very many rows a few columns at a time
        some = [np.arange(len(variables))[block] for block in blocks]
        found = [normal_mixtures(data.part(block), variables[block], alpha) for block in some]
        return [node for nodes, _ in found for node in nodes], np.asarray(sum(scores for _, scores in found))
    spread_out = without_atoms(data)
    own = spread_out.own
    units = np.minimum(own.weights, 1.0)  # a row that belongs here in part is removed in part
    fits = _fits(own, units, alpha)
    best = np.array(_evidence(fits, own)).argmax(axis=0)
    leave_one_out = [fit.leave_one_out() for fit in fits]  # (rows, columns) each
    if data.pooled is not data.own:
        fits.append(_Fit(spread_out.pooled, units + data.unit - 1.0, 1, alpha))
        leave_one_out.append(fits[-1].leave_one_out())
        better = (own.weights @ leave_one_out[-1] > own.weights @ leave_one_out[0]) | (own.seen == 0)
        best = np.where((best == 0) & better, len(fits) - 1, best)
    nodes = [fits[int(k)].leaf(column, int(variables[column])) for column, k in enumerate(best)]
    scores = np.take_along_axis(np.array(leave_one_out), best[None, None, :], axis=0)[0]
    for column in range(len(variables)):
        if data.own.atom_weights(column).any():
            rest = nodes[column]
            if own.seen[column] == 0 and isinstance(rest, Gaussian):  # nothing is known but the atoms
                seen = ~data.own.missing[:, column]
                middle = float(np.average(data.own.cells[seen, column], weights=data.own.weights[seen]))
                nodes[column] = Gaussian(int(variables[column]), mean=middle, std=rest.std)
            nodes[column], scores[:, column] = _beside_atoms(
                data.own, column, int(variables[column]), nodes[column], scores[:, column], alpha
            )
    return nodes, np.asarray(scores.sum(axis=1))


def mixture_evidence(values: FloatArray, weights: FloatArray, floor: float) -> float:
    """Return the log-likelihood of the best mixture of normals for a column, less the price of its parts (BIC)."""
    rows = TableSummary(values[:, None], weights, (Column(Domain.real(), floor=floor),))
    return float(np.max(_evidence(_fits(rows, weights, 0.0), rows)))


def _fits(rows: TableSummary, removed: FloatArray, alpha: float) -> list[_Fit]:
    """Return mixtures of one, two, … parts."""
    fits = [_Fit(rows, removed, 1, alpha)]
    while len(fits) < MOST_PARTS and rows.total >= ROWS_PER_PART * (len(fits) + 1):
        fits.append(_Fit(rows, removed, len(fits) + 1, alpha))
    return fits


def _evidence(fits: list[_Fit], rows: TableSummary) -> list[FloatArray]:
    price = 0.5 * PARAMETERS_OF_PART * np.log(np.maximum(rows.seen, 2.0))
    return [fit.log_likelihood() - price * k for k, fit in enumerate(fits)]


def _beside_atoms(
    own: TableSummary, column: int, variable: int, rest: Node, scores: FloatArray, alpha: float
) -> tuple[Node, FloatArray]:
    """Return the sum of a leaf and of the atoms that rows have, and the leave-one-out log-density of each row.

    Args:
        own: The rows.
        column: The position of the column.
        variable: The variable that it is.
        rest: The leaf of all other numbers.
        scores: The leave-one-out log-density of each row under it.
        alpha: The pseudo-count of each atom, and of the rest.
    """
    counts, atoms = own.atom_weights(column), own.columns[column].atoms
    present = [(value, width, count) for (value, width), count in zip(atoms, counts.tolist(), strict=True) if count > 0]
    of_rest = float(own.seen[column]) - float(counts.sum())
    masses = np.array([of_rest, *(count for *_, count in present)]) + max(alpha, 1e-3)
    scores, removed = scores.copy(), np.minimum(own.weights, 1.0)
    left = np.log(np.maximum(masses.sum() - removed, TINY))
    which = np.zeros(len(scores), dtype=np.int64)
    for number, (value, width, _) in enumerate(present, start=1):
        here = own.cells[:, column] == value
        which[here], scores[here] = number, -np.log(width)
    seen = ~own.missing[:, column]
    scores[seen] += (np.log(np.maximum(masses[which] - removed, 1e-3)) - left)[seen]
    weights, parts = masses / masses.sum(), [Atom(variable, value, width) for value, width, _ in present]
    if isinstance(rest, Sum):
        return Sum([*(weights[0] * rest.weights), *weights[1:]], [*rest.children, *parts]), scores
    return Sum(weights, [rest, *parts]), scores
