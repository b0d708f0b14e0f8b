"""The passes over a program in NumPy: values from the leaves up to the root, and what flows back down."""

from collections.abc import Callable
from enum import Enum

import numpy as np

from xspn.core.arrays import BoolArray, FloatArray, IntArray
from xspn.engine.program import ProductStep, Program, SumStep
from xspn.leaves.blocks import RowBlock

Chooser = Callable[[FloatArray], IntArray]  # terms of some sums (arity, pairs) → the place of the chosen child
EdgeVisitor = Callable[[SumStep, int, FloatArray], None]


class Semiring(Enum):
    """How missing values and sums are combined on the way up."""

    SUM = "sum out missing values; add at sums"
    MAX = "best completion at leaves; best child at sums"
    BOUND = "best completion at leaves; add at sums: never less than the best completion of the whole"


def upward(program: Program, rows: RowBlock, semiring: Semiring = Semiring.SUM) -> FloatArray:
    """Return the log-value of every slot: (slots, rows)."""
    values = np.empty((program.n_slots, len(rows)))
    for start, block in program.blocks:
        found = block.log_prob(rows) if semiring is Semiring.SUM else block.log_mode(rows)
        values[start : start + block.n_slots] = found
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
    program: Program, values: FloatArray, weights: FloatArray | float = 1.0, see: EdgeVisitor | None = None
) -> FloatArray:
    """Return P(slot is used | row): 1 at the root, split at sums by posterior, passed on whole at products.

    Rows of probability zero have no flow below the sum that makes them impossible.

    Args:
        program: The compiled circuit.
        values: What the pass up gave.
        weights: What flows into the root instead of 1, for each row.
        see: Called with a step of sums, a place among their children, and the flow from each sum to the child there.
    """
    flow = np.zeros_like(values)
    flow[program.root] = weights
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


def choose_best(program: Program, values: FloatArray, which: IntArray | None = None) -> BoolArray:
    """Return which slots each row uses when every sum takes its best child (after a MAX pass up)."""
    return _walk(program, values, lambda terms: np.asarray(np.argmax(terms, axis=0)), which)


def choose_by_chance(
    program: Program, values: FloatArray, rng: np.random.Generator, which: IntArray | None = None
) -> BoolArray:
    """Return which slots each row uses when every sum draws a child by its posterior (after a SUM pass up)."""

    def draw(terms: FloatArray) -> IntArray:
        ends = np.cumsum(np.exp(terms - terms.max(axis=0)), axis=0)
        target = rng.random(terms.shape[1]) * ends[-1]
        return np.asarray(np.minimum((ends <= target).sum(axis=0), len(ends) - 1))

    return _walk(program, values, draw, which)


def _walk(program: Program, values: FloatArray, choose: Chooser, which: IntArray | None) -> BoolArray:
    """Go down from the root, only where rows go: (slots, rows).

    Args:
        program: The compiled circuit.
        values: What the pass up gave.
        choose: Chooses among the children of a sum.
        which: The column of `values` that each row goes by; several rows may share one.
    """
    column = np.arange(values.shape[1]) if which is None else which
    active = np.zeros((len(values), len(column)), dtype=bool)
    active[program.root] = True
    for step in reversed(program.steps):
        node, row = np.nonzero(active[step.start : step.stop])
        if not len(node):
            continue
        if isinstance(step, ProductStep):
            lengths = np.diff(step.children.indptr)[node]
            ends = np.cumsum(lengths)
            edges = np.arange(ends[-1]) + np.repeat(step.children.indptr[node] - (ends - lengths), lengths)
            active[step.children.indices[edges], np.repeat(row, lengths)] = True
        else:
            children = step.children[:, node]
            below = values[children, column[row]]
            largest = below.max(axis=0)
            below -= np.where(np.isneginf(largest), 0.0, largest)  # before weights, which would lose their digits
            chosen = choose(below + step.log_weights[:, node])
            active[children[chosen, np.arange(len(node))], row] = True
    return active
