"""Most probable rows by branch and bound: the best k, however the sums of a circuit overlap.

A partial row is bounded from above by a pass that takes the best completion at each leaf and adds at sums. The
derivatives of the same pass bound all its children at once, for every open variable and each of its values: values that
are no better than what has been found are closed for good, and of the variables that are left the search splits the one
whose values lower the bound most. It always opens the partial rows of the largest bounds, so the first of them is at
any time a bound on everything that has not been seen: the certificate.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from time import monotonic

import numpy as np

from xspn.core.arrays import BoolArray, FloatArray, IntArray
from xspn.core.errors import ParameterError, QueryError
from xspn.data.schema import Schema
from xspn.engine import Backend, Program, RowBlock, Semiring, upward
from xspn.engine.alternatives import log_alternatives
from xspn.inference.queries import Completion, max_product, sample

MOST_AT_ONCE = 64  # partial rows that are bounded in one pass
CELLS = 1 << 22  # slots × rows of one pass
SEED, STARTS = 0, 32  # rows to begin with, each improved by changing one value after the other
ROUNDING = 1e-11  # a bound this little above what has been found is taken for equal to it
MOST_DROP = 30.0  # nats: how much a value lowers the bound, beyond which it does not matter by how much


@dataclass(frozen=True)
class BestRows(Completion):
    """The most probable rows, the best one first, and a certificate.

    Attributes:
        bound: No row that is not listed has a larger log-probability.
        n_nodes: How many partial rows were looked at.
    """

    bound: float = -np.inf
    n_nodes: int = 0

    def __repr__(self) -> str:
        best = f"{self.log_prob[0]:.6g}" if len(self.log_prob) else "none"
        how = "exact" if self.exact else f"others are at most {self.bound:.6g}"
        rows = "1 row" if len(self.values) == 1 else f"{len(self.values)} rows"
        return f"BestRows({rows}, log-probability {best}, {how}, {self.n_nodes} nodes)"


@dataclass(frozen=True)
class SearchLimits:
    """When a search stops without a proof.

    Attributes:
        max_nodes: The largest number of partial rows to look at.
        seconds: How long to search; None for as long as it takes. Results that depend on it depend on the machine.
    """

    max_nodes: int = 100_000
    seconds: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.max_nodes, bool) or not isinstance(self.max_nodes, int) or self.max_nodes < 1:
            raise ParameterError(f"max_nodes: expected a whole number of at least 1, found {self.max_nodes!r}")
        if self.seconds is not None and not self.seconds > 0:
            raise ParameterError(f"seconds: expected a number above 0, or None, found {self.seconds!r}")


def best_rows(
    backend: Backend, row: FloatArray, k: int, schema: Schema, what: str, limits: SearchLimits | None = None
) -> BestRows:
    """Return the k most probable completions of a row.

    Args:
        backend: What runs the circuit.
        row: What is known; NaN is open. Columns outside the circuit are ignored.
        k: How many rows.
        schema: The names of the columns.
        what: The method that asks, for messages.
        limits: When to stop without a proof.
    """
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ParameterError(f"{what}: expected a number of rows of at least 1, found {k!r}")
    start = max_product(backend, row[None, :], is_exact=False, names=schema.names).values
    return _best_rows(backend, row, start, k, schema, what, limits or SearchLimits())


def _best_rows(
    backend: Backend, row: FloatArray, start: FloatArray, k: int, schema: Schema, what: str, limits: SearchLimits
) -> BestRows:
    program = backend.program
    open_columns = np.flatnonzero(np.isnan(row) & ~program.absent)
    real = open_columns[program.real[open_columns]]
    if len(real):
        raise QueryError(
            f"{what}: variable {schema.name(int(real[0]))} is real; its values cannot be tried one by one. Give it a "
            "value, or leave it out of what is asked"
        )
    if len(open_columns):
        drawn = sample(backend, row[None, :], np.random.default_rng(SEED), schema.names, STARTS)
        start = np.vstack([start, drawn])
    return _Search(program, row, open_columns, int(k), limits).run(start, schema)


def searched_completions(backend: Backend, evidence: FloatArray, schema: Schema) -> Completion:
    """Return the most probable completion of each row, or refuse where the search takes too long."""
    values, log_prob = np.empty(evidence.shape), np.empty(len(evidence))
    starts = max_product(backend, evidence, is_exact=False, names=schema.names).values
    for place, (row, start) in enumerate(zip(evidence, starts, strict=True)):
        found = _best_rows(backend, row, start[None, :], 1, schema, "mpe(exact=True)", SearchLimits())
        if not found.exact:
            raise QueryError(
                f"mpe(exact=True): row {place} needs more than {found.n_nodes} nodes of branch and bound; use "
                "exact=False, give more evidence, or ask k_best for the best row found and a bound on all others"
            )
        values[place], log_prob[place] = found.values[0], found.log_prob[0]
    return Completion(values, log_prob, exact=True, schema=schema)


class _Search:
    def __init__(self, program: Program, row: FloatArray, open_columns: IntArray, k: int, limits: SearchLimits) -> None:
        self.program, self.columns, self.k, self.limits = program, open_columns, k, limits
        self.known = np.where(program.absent, 0.0, row)
        sizes = np.array(program.cardinalities)[open_columns]
        self.beyond = np.arange(program.largest_cardinality) >= sizes[:, None]  # (open, values): not in the domain
        self.found: dict[bytes, tuple[float, FloatArray]] = {}
        self.least = -np.inf  # what a row must exceed to be listed
        self.heap: list[tuple[float, int, FloatArray]] = []
        self.tie = count()
        self.n_nodes = 0

    def run(self, starts: FloatArray, schema: Schema) -> BestRows:
        end = None if self.limits.seconds is None else monotonic() + self.limits.seconds
        self._improve(starts[:, self.columns])
        heappush(self.heap, (-np.inf, next(self.tie), np.full(len(self.columns), np.nan)))
        at_once, bound = 1, -np.inf
        most = max(1, min(MOST_AT_ONCE, CELLS // self.program.n_slots))
        while self.heap and -self.heap[0][0] > self.least + ROUNDING:
            if self.n_nodes >= self.limits.max_nodes or (end is not None and monotonic() > end):
                bound = -self.heap[0][0]
                break
            self._open([heappop(self.heap)[2] for _ in range(min(at_once, len(self.heap)))])
            at_once = min(2 * at_once, most)  # easy searches end before they fill a large batch
        return self._result(bound, schema)

    def _result(self, bound: float, schema: Schema) -> BestRows:
        order = sorted(self.found.values(), key=lambda own: (-own[0], own[1].tolist()))[: self.k]
        values = self._whole(np.array([own for _, own in order]).reshape(len(order), len(self.columns)))
        values[:, self.program.absent] = np.nan
        exact = bool(np.isneginf(bound)) and _modes_are_exact(self.program)
        if exact and len(order) == self.k:
            bound = order[-1][0]
        return BestRows(values, np.array([own for own, _ in order]), exact, schema, bound, self.n_nodes)

    # -- bounds ------------------------------------------------------------------------------------------------------

    def _whole(self, open_values: FloatArray) -> FloatArray:
        """Return rows of all columns with these values of the open ones."""
        rows = np.tile(self.known, (len(open_values), 1))
        rows[:, self.columns] = open_values
        return rows

    def _passes(self, open_values: FloatArray, semiring: Semiring) -> tuple[FloatArray, FloatArray]:
        """Return what one pass up gives, and what it would give with one value replaced: (rows, open, values)."""
        rows = RowBlock(self._whole(open_values))
        values = upward(self.program, rows, semiring)
        return values[self.program.root], log_alternatives(self.program, rows, values, semiring)[:, self.columns]

    def _open(self, partial: list[FloatArray]) -> None:
        """Bound partial rows; close values, split variables, and see how good the obvious completions are."""
        rows = np.array(partial)
        self.n_nodes += len(rows)
        bound, children = self._passes(rows, Semiring.BOUND)
        children = children[:, :, : self.beyond.shape[1]]
        free = np.isnan(rows)
        children[np.broadcast_to(self.beyond, children.shape)] = -np.inf
        self._note(np.where(free, children.argmax(axis=2), rows))
        for place in np.flatnonzero(bound > self.least + ROUNDING).tolist():
            self._split(rows[place], float(bound[place]), children[place], free[place])

    def _split(self, row: FloatArray, bound: float, children: FloatArray, free: BoolArray) -> None:
        alive = children > self.least + ROUNDING
        n_alive = alive.sum(axis=1)
        if (free & (n_alive == 0)).any():
            return
        forced = free & (n_alive == 1)
        row = np.where(forced, alive.argmax(axis=1), row)
        left = np.flatnonzero(free & ~forced)
        if not len(left):
            self._note(row[None, :])
            return
        if forced.any():
            bound = min(bound, float(children[forced].max(axis=1).min()))
            if forced.sum() > 1:  # worth another pass before one more variable is split
                heappush(self.heap, (-bound, next(self.tie), row))
                return
        drop = np.minimum(bound - children[left], MOST_DROP).clip(min=0.0)
        drop[~alive[left]] = MOST_DROP
        drop[self.beyond[left]] = np.inf
        # Of its values the likelier ones decide how much is left to do: the two least drops, multiplied.
        two = np.sort(drop, axis=1)[:, :2]
        variable = int(left[np.argmax(two[:, 0] * MOST_DROP + two[:, 1] + two[:, 0] * two[:, 1])])
        for value in np.flatnonzero(alive[variable]).tolist():
            child = row.copy()
            child[variable] = value
            heappush(self.heap, (-min(bound, float(children[variable, value])), next(self.tie), child))

    # -- rows that were found ----------------------------------------------------------------------------------------

    def _note(self, rows: FloatArray) -> None:
        """Score whole rows and keep them; where one is better than all before, improve it."""
        rows = np.unique(rows, axis=0)
        scores = upward(self.program, RowBlock(self._whole(rows)))[self.program.root]
        best = max((own for own, _ in self.found.values()), default=-np.inf)
        self._keep(rows, scores)
        top = int(np.argmax(scores))
        if scores[top] > best:
            self._improve(rows[top : top + 1])

    def _keep(self, rows: FloatArray, scores: FloatArray) -> None:
        for row, score in zip(rows, scores.tolist(), strict=True):
            if score > self.least:
                self.found[row.tobytes()] = (score, row)
        if len(self.found) >= self.k:
            self.least = sorted((own for own, _ in self.found.values()), reverse=True)[self.k - 1]
            if len(self.found) > 4 * self.k + 100:
                self.found = {key: own for key, own in self.found.items() if own[0] >= self.least}

    def _improve(self, rows: FloatArray) -> None:
        """Change the one value of each row that helps most, as long as one does; neighbors are noted too."""
        for better, scores, neighbors in self._steps(np.unique(rows, axis=0)):
            self._keep(better, scores)
            if self.k > 1:
                self._keep_neighbors(better, neighbors)

    def _keep_neighbors(self, rows: FloatArray, neighbors: FloatArray) -> None:
        order = np.argsort(-neighbors, axis=None)[: self.k]
        row, place, value = np.unravel_index(order, neighbors.shape)
        near = rows[row]
        near[np.arange(len(near)), place] = value
        self._keep(near, neighbors[row, place, value])

    def _steps(self, rows: FloatArray) -> Iterator[tuple[FloatArray, FloatArray, FloatArray]]:
        while len(rows) and rows.shape[1]:
            scores, neighbors = self._passes(rows, Semiring.SUM)
            neighbors = neighbors[:, :, : self.beyond.shape[1]]
            neighbors[np.broadcast_to(self.beyond, neighbors.shape)] = -np.inf
            yield rows, scores, neighbors
            flat = neighbors.reshape(len(rows), -1)
            choice = flat.argmax(axis=1)
            better = np.flatnonzero(flat.max(axis=1) > scores + ROUNDING)
            place, value = np.divmod(choice[better], neighbors.shape[2])
            rows = rows[better]
            rows[np.arange(len(rows)), place] = value
            rows = np.unique(rows, axis=0)


def _modes_are_exact(program: Program) -> bool:
    """Whether leaves know their modes: otherwise a bound is not one."""
    leaves = (leaf for _, block in program.blocks for slot in block.slot_leaves() for leaf in slot)
    return all(leaf.mode_is_exact for leaf in leaves if all(domain.is_discrete for domain in leaf.domains))
