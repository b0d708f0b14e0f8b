"""The most probable completion of partial rows."""

from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count

import numpy as np

from xspn.core import html
from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import Names
from xspn.core.errors import QueryError, counted
from xspn.data.schema import Schema
from xspn.engine import Backend, RowBlock, Semiring, choose_best, refuse_impossible

MOST_ROWS, MOST_COLUMNS = 6, 20  # in a notebook


@dataclass(frozen=True)
class Completion:
    """Rows with their missing values filled in.

    Attributes:
        values: The completed rows.
        log_prob: log P of each completed row.
        exact: Whether these are known to be the most probable completions.
        schema: The names and labels of the columns, for notebooks.
    """

    values: FloatArray
    log_prob: FloatArray
    exact: bool
    schema: Schema | None = field(default=None, repr=False, compare=False)

    def _repr_html_(self) -> str:
        how = "most probable completion" if self.exact else "likely completion (best choice at every sum)"
        title = f"<b>{how if len(self.values) == 1 else f'{len(self.values):,} rows: {how} of each'}</b>"
        schema = self.schema or Schema.of([None] * self.values.shape[1])
        inside = [v for v, domain in enumerate(schema.domains) if domain is not None or self.schema is None]
        columns, rows = inside[:MOST_COLUMNS], self.values[:MOST_ROWS]
        lines = [[html.text(schema.shown_name(v)), *(_cell(schema, v, row[v]) for row in rows)] for v in columns]
        is_density = any(domain is not None and not domain.is_discrete for domain in schema.domains)
        lines.append(
            ["log-density" if is_density else "log-probability", *(f"{own:.4g}" for own in self.log_prob[:MOST_ROWS])]
        )
        left = [(len(inside) - len(columns), "more variable"), (len(self.values) - len(rows), "more row")]
        more = " and ".join(counted(count, noun) for count, noun in left if count > 0)
        return f"<div>{title}{html.table([], lines)}{html.quiet(f'and {more}') if more else ''}</div>"


def _cell(schema: Schema, variable: int, code: float) -> str:
    if np.isnan(code):
        return ""
    label = schema.label(variable, code)
    return f"{label:.6g}" if isinstance(label, float) else html.text(label)


def max_product(backend: Backend, evidence: AnyArray, is_exact: bool, names: Names | None = None) -> Completion:
    """Take the best child at every sum: exact if the circuit is selective and knows its leaves' modes, else a guess."""
    program = backend.program
    filled = np.empty(evidence.shape)
    for start, stop, rows in program.row_blocks(evidence, names, "evidence"):
        values = backend.log_values(rows, Semiring.MAX)
        refuse_impossible(values[program.root], start)
        active = choose_best(program, values)
        out = rows.values.copy()
        for first, block in program.blocks:
            block.fill(rows, active[first : first + block.n_slots], out, None)
        filled[start:stop] = out
    outside = program.absent
    filled[:, outside] = np.nan
    exact = is_exact or not np.isnan(evidence[:, ~outside]).any()
    return Completion(filled, backend.log_likelihood(filled, names), exact)


def branch_and_bound(
    backend: Backend, evidence: AnyArray, names: Names | None = None, max_branches: int = 200_000
) -> Completion:
    """Find the true most probable completion, however the sums overlap.

    A partial row is bounded from above by a pass that takes the best completion at each leaf and adds at sums. The
    search always opens the partial row of the largest bound, so the first whole row that comes up is the best one.
    """
    start = max_product(backend, evidence, is_exact=False, names=names)
    known = np.where(backend.program.absent, np.nan, evidence)
    rows, scores = [], []
    for row, guess, score in zip(known, start.values, start.log_prob, strict=True):
        best, value = _search(backend, row, guess, float(score), max_branches)
        rows.append(best)
        scores.append(value)
    return Completion(np.array(rows).reshape(evidence.shape), np.array(scores), exact=True)


def _search(
    backend: Backend, row: FloatArray, guess: FloatArray, score: float, max_branches: int
) -> tuple[FloatArray, float]:
    domains = backend.program.domains
    missing = [i for i in np.flatnonzero(np.isnan(row)) if domains[i] is not None]
    if not missing:
        return guess, score
    sizes = {i: d.cardinality for i in missing if (d := domains[i]) is not None}
    real = [i for i, size in sizes.items() if size is None]
    if real:
        raise QueryError(f"mpe(exact=True): variable {real[0]} is real; its values cannot be tried one by one")
    tie = count()
    heap: list[tuple[float, int, int, FloatArray]] = [(-np.inf, next(tie), 0, row)]
    opened = 0
    while heap:
        bound, _, depth, partial = heappop(heap)
        if -bound <= score:
            break
        if depth == len(missing):
            guess, score = partial, -bound
            break
        opened += 1
        if opened > max_branches:
            raise QueryError(
                f"mpe(exact=True): {len(missing)} missing variables need more than {max_branches} branches; "
                "this circuit is too large for an exact search, use exact=False or give more evidence"
            )
        variable = missing[depth]
        branches = np.tile(partial, (int(sizes[variable] or 0), 1))
        branches[:, variable] = np.arange(len(branches))
        for branch, limit in zip(branches, _bounds(backend, branches), strict=True):
            if limit > score:
                heappush(heap, (-float(limit), next(tie), depth + 1, branch))
    return guess, score


def _bounds(backend: Backend, rows: FloatArray) -> FloatArray:
    """Return an upper bound on the best completion of each row; exact for whole rows."""
    inside = rows.copy()
    inside[:, backend.program.absent] = 0.0
    return np.asarray(backend.log_values(RowBlock(inside), Semiring.BOUND)[backend.program.root])
