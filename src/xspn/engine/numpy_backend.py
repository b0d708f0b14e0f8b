"""The numpy back end: two passes over a program, up to the root and back down, in log space.

What the other back ends are compared with.
"""

from collections.abc import Callable

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.core.checks import Names
from xspn.engine.backend import Backend, Counts, Semiring, refuse_impossible
from xspn.engine.program import ProductStep, Program, SumStep
from xspn.leaves.blocks import RowBlock

EdgeVisitor = Callable[[SumStep, int, FloatArray], None]


def upward(program: Program, rows: RowBlock, semiring: Semiring = Semiring.SUM) -> FloatArray:
    """Return the log-value of every slot: (slots, rows)."""
    values = np.empty((program.n_slots, len(rows)))
    for start, block in program.blocks:
        found = block.log_prob(rows) if semiring is Semiring.SUM else block.log_mode(rows)
        values[start : start + block.n_slots] = found
    return pass_up(program, values, semiring)


def pass_up(program: Program, values: FloatArray, semiring: Semiring = Semiring.SUM) -> FloatArray:
    """Fill the slots above the leaves, whose values are there already; return all of them."""
    for step in program.steps:
        if isinstance(step, ProductStep):
            values[step.start : step.stop] = step.children @ values[: step.start]
        else:
            _combine(step, values, semiring)
    return values


def _combine(step: SumStep, values: FloatArray, semiring: Semiring) -> None:
    """Fill a step of sums: log Σ exp, shifted by the largest term so that nothing underflows."""
    terms = [values[child] for child in step.children]
    for term, weight in zip(terms, step.log_weights, strict=True):
        term += weight[:, None]
    out = values[step.start : step.stop]
    np.maximum(terms[0], terms[-1], out=out)
    for term in terms[1:-1]:
        np.maximum(out, term, out=out)
    if semiring is Semiring.MAX:
        return
    # Where every term is −inf so is the result; a shift of 0 keeps −inf − (−inf) out of the way.
    impossible = np.isneginf(out) if out.min(initial=0.0) == -np.inf else None
    shift = out if impossible is None else np.where(impossible, 0.0, out)
    total = _two_terms(terms, shift) if len(terms) == 2 else _many_terms(terms, shift)
    if impossible is not None:
        total[impossible] = 0.0
    with np.errstate(divide="ignore"):
        np.log(total, out=total)
    np.add(shift, total, out=out)


def _two_terms(terms: list[FloatArray], shift: FloatArray) -> FloatArray:
    """Return Σ exp(term − shift) with one exponential: the larger term is the shift and gives 1."""
    smaller = np.minimum(terms[0], terms[1], out=terms[1])
    smaller -= shift
    np.exp(smaller, out=smaller)
    smaller += 1.0
    return smaller


def _many_terms(terms: list[FloatArray], shift: FloatArray) -> FloatArray:
    """Return Σ exp(term − shift)."""
    total = np.zeros_like(shift)
    for term in terms:
        term -= shift
        total += np.exp(term, out=term)
    return total


# -- down --------------------------------------------------------------------------------------------------------------


def flows(
    program: Program,
    values: FloatArray,
    weights: FloatArray | float = 1.0,
    see: EdgeVisitor | None = None,
    starts: IntArray | None = None,
) -> FloatArray:
    """Return P(slot is used | row): 1 at the root, split at sums by posterior, passed on whole at products.

    Rows of probability zero have no flow below the sum that makes them impossible.

    Args:
        program: The compiled circuit.
        values: What the pass up gave.
        weights: What flows into the root instead of 1, for each row.
        see: Called with a step of sums, a place among their children, and the flow from each sum to the child there.
        starts: Slots that it flows into instead of the root.
    """
    flow = np.zeros_like(values)
    flow[program.root if starts is None else starts] = weights
    for step in reversed(program.steps):
        own = flow[step.start : step.stop]
        if isinstance(step, ProductStep):
            below, parents = step.parents
            flow[below] += parents @ own
            continue
        for place, (child, fraction) in enumerate(zip(step.children, _responsibilities(step, values), strict=True)):
            fraction *= own  # now the flow from each sum to this child
            if see is not None:
                see(step, place, fraction)
            if step.distinct[place]:
                flow[child] += fraction
            else:  # several sums share a child: plain addition would count it once
                np.add.at(flow, child, fraction)
    return flow


def _responsibilities(step: SumStep, values: FloatArray) -> list[FloatArray]:
    """Return the responsibility of each child of each sum, one array per place: (sums, rows).

    The sum's value comes off before weights are added, and they are divided by their own sum: beside a logarithm of
    −1e10 those of weights lose half of their digits, and such a value has lost as many itself.
    """
    total = values[step.start : step.stop]
    shift = np.where(np.isneginf(total), 0.0, total)
    fractions = [
        np.exp(values[child] - shift + weight[:, None])
        for child, weight in zip(step.children, step.log_weights, strict=True)
    ]
    whole = sum(fractions)
    whole = np.where(whole > 0.0, whole, 1.0)
    for fraction in fractions:
        fraction /= whole
    return fractions


class NumpyBackend(Backend):
    """Goes level by level over all slots, a block of rows at a time."""

    def __init__(self, program: Program) -> None:
        self.program = program

    @property
    def error_bound(self) -> float:
        """Logarithms are rounded too, which costs a little for each variable and each step."""
        return float(np.finfo(np.float64).eps) * 1000 * (len(self.program.steps) + len(self.program.domains))

    def with_parameters(self, program: Program) -> "NumpyBackend":
        """Return the same for another program."""
        return NumpyBackend(program)

    def log_likelihood(self, X: AnyArray, names: Names | None = None, what: str = "X") -> FloatArray:
        """Return the value of the root."""
        result = np.empty(len(X))
        for start, stop, rows in self.program.row_blocks(X, names, what):
            result[start:stop] = upward(self.program, rows)[self.program.root]
        return result

    def marginals(self, evidence: AnyArray, names: Names | None = None) -> FloatArray:
        """One pass up and one down, whatever the number of variables: a leaf counts with the flow that reaches it."""
        table, log_evidence = self.marginals_and_evidence(evidence, names)
        refuse_impossible(log_evidence)
        return table

    def marginals_and_evidence(self, evidence: AnyArray, names: Names | None = None) -> tuple[FloatArray, FloatArray]:
        """Return the marginals and log P(evidence row) of the same pass up; NaN where the evidence is impossible."""
        program = self.program
        table = np.zeros((len(evidence), len(program.domains), program.largest_cardinality))
        log_evidence = np.empty(len(evidence))
        for start, stop, rows in program.row_blocks(evidence, names, "evidence"):
            values = upward(program, rows)
            log_evidence[start:stop] = values[program.root]
            possible = np.flatnonzero(~np.isneginf(values[program.root]))
            if len(possible) < stop - start:
                rows, values = RowBlock(rows.values[possible]), values[:, possible]
            flow, part = flows(program, values), np.zeros((len(possible), *table.shape[1:]))
            for first, block in program.blocks:
                block.add_marginals(rows, flow[first : first + block.n_slots], part)
            table[start + possible] = part
        table[np.isneginf(log_evidence)] = np.nan
        return normalized(table, program), log_evidence

    def log_values(self, rows: RowBlock, semiring: Semiring) -> FloatArray:
        """Return what the pass up gives."""
        return upward(self.program, rows, semiring)

    def counts(self, X: AnyArray, weights: FloatArray, names: Names | None = None) -> Counts:
        """Return the flows, added up over rows."""
        program = self.program
        steps = [step for step in program.steps if isinstance(step, SumStep)]
        place = {id(step): index for index, step in enumerate(steps)}
        sums = [np.zeros(step.children.shape) for step in steps]
        leaves = [block.new_counts() for _, block in program.blocks]
        log_prob = np.empty(len(X))

        def see(step: SumStep, child: int, flow: FloatArray) -> None:
            sums[place[id(step)]][child] += flow.sum(axis=1)

        for start, stop, rows in program.row_blocks(X, names):
            values = upward(program, rows)
            log_prob[start:stop] = values[program.root]
            possible = weights[start:stop] * ~np.isneginf(values[program.root])
            flow = flows(program, values, possible, see)
            for (first, block), counts in zip(program.blocks, leaves, strict=True):
                block.add_counts(rows, flow[first : first + block.n_slots], counts)
        return Counts(sums, leaves, log_prob)


def binary_marginals(ones: AnyArray, program: Program) -> FloatArray:
    """Return the table of marginals of binary variables from P(X_i = 1 | row): (rows, n, 2)."""
    table = np.empty((*ones.shape, 2))
    table[:, :, 1] = ones
    np.subtract(1.0, table[:, :, 1], out=table[:, :, 0])
    table[:, program.absent] = np.nan
    return table


def normalized(table: FloatArray, program: Program) -> FloatArray:
    """Return tables of marginals that sum to 1 exactly (flows do only up to rounding), NaN beyond the domains."""
    for i, size in enumerate(program.cardinalities):
        table[:, i, size:] = np.nan
    return np.asarray(table / np.nansum(table, axis=2, keepdims=True).clip(min=np.finfo(float).tiny))
