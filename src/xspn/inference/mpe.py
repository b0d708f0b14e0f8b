"""The most probable completion of partial rows, by the best choice at every sum."""

from dataclasses import dataclass, field

import numpy as np

from xspn.core import html
from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import Names
from xspn.core.errors import counted
from xspn.data.schema import Schema
from xspn.engine import Backend, refuse_impossible

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
    filled, log_prob = backend.best_completions(evidence, names)
    refuse_impossible(log_prob)
    outside = program.absent
    known = evidence[:, ~outside] if outside.any() else evidence
    exact = is_exact or not np.isnan(known.min(initial=0.0))
    return Completion(filled, log_prob, exact)
