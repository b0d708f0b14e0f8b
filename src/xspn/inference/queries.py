"""The questions that one or two passes answer, and the circuits that evidence or summing out leaves.

The most probable completion takes the best choice at every sum.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from xspn.core import html
from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import Names
from xspn.core.errors import EvidenceError, QueryError, counted
from xspn.core.memory import need_memory
from xspn.core.random import row_keys
from xspn.data.schema import Schema
from xspn.engine import Backend, Semiring, flows, refuse_impossible
from xspn.graph.graph import Graph
from xspn.graph.nodes import Node, Product, Scope, Sum
from xspn.leaves.base import Leaf

BYTES_OF_DRAWN_ROW, BYTES_OF_DRAWN_CELL = 24, 40  # of memory, as measured
MOST_UNASKED = 10_000_000  # bytes; whether less is available takes longer to ask than to draw
Remainder = tuple[Node | None, float]  # what is left of a node, and the log-probability of the evidence in its scope
MOST_ROWS, MOST_COLUMNS = 6, 20  # in a notebook


def conditional_log_likelihood(
    backend: Backend, X: FloatArray, given: FloatArray, names: Names | None = None
) -> FloatArray:
    """Return log P(X | given) of each row; −inf where the two contradict each other."""
    log_given = backend.log_likelihood(given, names, "given")
    refuse_impossible(log_given)
    inside = ~backend.program.absent
    clash = (inside & ~np.isnan(given) & ~np.isnan(X) & (given != X)).any(axis=1)
    both = np.where(np.isnan(X), given, X)  # X first, so that its values are checked even where they clash
    joint = backend.log_likelihood(both, names)
    return np.where(clash, -np.inf, joint - log_given)


def means(backend: Backend, evidence: AnyArray, names: Names | None = None) -> FloatArray:
    """Return E[X_i | evidence row] for all variables (categories count as their codes): (rows, n).

    Discrete variables have their marginals for it; for real ones the leaves' means count with the flow that reaches
    them. What is observed is its own mean; NaN stands for variables that the circuit does not have.
    """
    program = backend.program
    table = backend.marginals(evidence, names)
    out = np.nansum(table * np.arange(table.shape[2]), axis=2)
    real = np.array([domain is not None and not domain.is_discrete for domain in program.domains])
    out[:, program.absent] = np.nan
    if not real.any():
        return np.asarray(out)
    out[:, real] = 0.0
    for start, stop, rows in program.row_blocks(evidence, names, "evidence"):
        values = backend.log_values(rows, Semiring.SUM)
        refuse_impossible(values[program.root], start)
        flow = flows(program, values)
        for first, block in program.blocks:
            for slot, behind in enumerate(block.slot_leaves()):
                for leaf in behind:
                    own = np.array(leaf.variables)
                    if real[own].any():
                        out[start:stop, own] += flow[first + slot][:, None] * leaf.means(rows.values[:, own])
    seen = np.asarray(evidence, dtype=np.float64)
    return np.asarray(np.where(real & ~np.isnan(seen), seen, out))


def variances(backend: Backend, evidence: AnyArray, names: Names | None = None) -> FloatArray:
    """Return Var[X_i | evidence row] for all variables (categories count as their codes): (rows, n).

    What the leaves leave open and how far their means are apart, both by the flow that reaches them. Everything is
    about the mean of the row, so no digits are lost where means are large. What is observed has variance 0; a variance
    that no float holds, such as that of a number on a wide logarithmic scale, is inf.
    """
    program = backend.program
    middle = means(backend, evidence, names)
    table = backend.marginals(evidence, names)
    real = np.array([domain is not None and not domain.is_discrete for domain in program.domains])
    away = np.where(real[:, None], 0.0, np.arange(table.shape[2]) - middle[:, :, None])
    out = np.nansum(table * away**2, axis=2)
    out[:, program.absent] = np.nan
    if not real.any():
        return np.asarray(out)
    out[:, real] = 0.0
    for start, stop, rows in program.row_blocks(evidence, names, "evidence"):
        flow = flows(program, backend.log_values(rows, Semiring.SUM))
        for first, block in program.blocks:
            for slot, behind in enumerate(block.slot_leaves()):
                for leaf in behind:
                    own = np.array(leaf.variables)
                    if real[own].any():
                        seen, reached = rows.values[:, own], flow[first + slot][:, None]
                        with np.errstate(over="ignore", invalid="ignore"):
                            apart = (leaf.means(seen) - middle[start:stop, own]) ** 2 + leaf.variances(seen)
                            out[start:stop, own] += np.where(reached > 0, reached * apart, 0.0)
    return np.asarray(np.where(real & ~np.isnan(np.asarray(evidence, dtype=np.float64)), 0.0, out))


def sample(
    backend: Backend,
    evidence: AnyArray,
    rng: np.random.Generator,
    names: Names | None = None,
    repeats: int = 1,
) -> FloatArray:
    """Return each row with its missing values drawn from their distribution given the observed ones.

    Args:
        backend: What runs the circuit.
        evidence: The rows, NaN for what is missing.
        rng: The source of randomness.
        names: The names of the columns, for messages.
        repeats: How many times to draw for each row, which goes up the circuit once; its draws follow one another.
    """
    n_rows, n = len(evidence) * repeats, evidence.shape[1]
    of_row = BYTES_OF_DRAWN_ROW + n * BYTES_OF_DRAWN_CELL
    if n_rows * of_row > MOST_UNASKED:
        need_memory(
            n_rows * of_row,
            f"sample: drawing {counted(n_rows, 'row')} of {counted(n, 'column')}",
            lambda available: f"{available // of_row:,} rows would fit; draw them in several parts",
        )
    keys = row_keys(rng, n_rows).reshape(len(evidence), repeats)
    drawn, log_evidence = backend.random_completions(evidence, keys, names)
    refuse_impossible(log_evidence)
    return drawn


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


# -- circuits ----------------------------------------------------------------------------------------------------------


def marginalize(graph: Graph, keep: Scope) -> Node:
    """Return the root of the circuit over the kept variables, all others summed out."""
    if not graph.root.scope & keep:
        raise QueryError(f"marginalize: none of the variables to keep is in the circuit's scope {graph.root.scope}")

    def visit(node: Node, children: Sequence[Node | None]) -> Node | None:
        if not node.scope & keep:
            return None
        if isinstance(node, Leaf):
            return node.marginalize(keep)
        if not node.scope - keep:
            return node
        kept = [child for child in children if child is not None]
        if isinstance(node, Sum):
            return Sum(node.weights, kept)
        return kept[0] if len(kept) == 1 else Product(kept)

    root: Node = graph.rebuild(visit)
    return root


def condition(graph: Graph, evidence: FloatArray) -> tuple[Node, float]:
    """Return the root of P(missing variables | evidence) for one row, and log P(evidence).

    Children that the evidence rules out disappear; weights become posterior weights.
    """
    known = Scope.of(np.flatnonzero(~np.isnan(evidence)).tolist()).bits

    def visit(node: Node, children: Sequence[Remainder]) -> Remainder:
        if not node.scope.bits & known:
            return node, 0.0
        if not node.children:
            leaf = cast(Leaf, node)
            own = leaf.variables
            return leaf.condition(evidence[own[0] : own[0] + 1] if len(own) == 1 else evidence[list(own)])
        if isinstance(node, Sum):
            return _posterior(node, children)
        total = sum([part[1] for part in children])
        left = [part[0] for part in children if part[0] is not None]
        if not left or total == -np.inf:
            return None, total
        return (left[0] if len(left) == 1 else Product(left)), total

    root, log_evidence = graph.rebuild(visit)
    if np.isneginf(log_evidence):
        raise EvidenceError("the evidence has probability zero; nothing can be concluded from it")
    if root is None:
        raise QueryError("condition: the evidence fixes every variable, so no distribution is left")
    return root, float(log_evidence)


def _posterior(node: Sum, children: Sequence[Remainder]) -> Remainder:
    logs = np.array([part[1] for part in children])
    live = np.flatnonzero((node.weights > 0) & ~np.isneginf(logs))
    if not len(live):
        return None, -np.inf
    # Evidence comes off before weights are added: beside a logarithm of −1e10 those of weights lose half their digits.
    largest = logs[live].max()
    terms = np.log(node.weights[live]) + (logs[live] - largest)
    within = float(np.logaddexp.reduce(terms))
    total = float(largest + within)
    left = [child for k in live if (child := children[int(k)][0]) is not None]
    if not left:
        return None, total
    weights = np.exp(terms - within)
    return (left[0] if len(left) == 1 else Sum(weights / weights.sum(), left)), total
