"""The probability of every row that differs from a given one in one value: all of them in one pass up and one down.

The probability of a row is linear in what the leaves over one variable say, so its derivatives by the slots tell what
it would be if a leaf said something else. The pass down is in log space and divides nothing by a value, so that slots
of probability zero have derivatives too: it is their value that another cell may change.

The same passes over best completions (`Semiring.BOUND`) bound the best completion with each variable set to each value,
which is what a search for most probable rows wants to know.
"""

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.core.checks import Names
from xspn.core.logspace import logsumexp_quiet
from xspn.engine.backend import Semiring
from xspn.engine.numpy_backend import upward
from xspn.engine.program import ProductStep, Program
from xspn.leaves.blocks import RowBlock

LARGEST = 1e300  # times likelier: beyond it a row is computed again in log space
ON_SIDES = 3  # entries of a real variable: below, at and above its value


def width_of(program: Program) -> int:
    """Return the number of entries for each variable."""
    return max(program.largest_cardinality, ON_SIDES if program.real.any() else 0)


def log_alternatives(program: Program, rows: RowBlock, values: FloatArray, semiring: Semiring) -> FloatArray:
    """Return log P of each row with one value replaced: (rows, variables, entries), as `Leaf.alternatives` has them.

    Args:
        program: The compiled circuit.
        rows: The rows; NaN is missing.
        values: What the pass up gave for them, in the same semiring: SUM or BOUND.
        semiring: How missing values are treated; with BOUND only what is missing may be asked.
    """
    out, reference, again = _relative(program, rows, values, semiring)
    with np.errstate(divide="ignore"):
        np.log(out, out=out)
    out += reference[:, None, None]
    if len(again):
        out[again] = _by_logarithms(program, RowBlock(rows.values[again]), values[:, again], semiring)
    return out


def _relative(
    program: Program, rows: RowBlock, values: FloatArray, semiring: Semiring
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return the same as parts of P(row), log P(row), and the rows for which that is out of range."""
    derivative, total = log_derivatives(program, values), values[program.root]
    reference = np.where(np.isneginf(total), 0.0, total)
    derivative -= reference
    out = np.zeros((len(rows), len(program.domains), width_of(program)))
    with np.errstate(over="ignore", invalid="ignore"):
        for start, block in program.blocks:
            own = slice(start, start + block.n_slots)
            block.add_alternatives(rows, derivative[own], values[own], out, semiring is Semiring.BOUND)
    again = np.flatnonzero(np.isneginf(total) | ~(out.max(axis=(1, 2), initial=0.0) < LARGEST))
    return out, reference, again


def cell_log_likelihood(program: Program, X: AnyArray, names: Names | None = None) -> tuple[FloatArray, FloatArray]:
    """Return what `Backend.cell_log_likelihood` promises, in log space."""
    cells, log_prob = np.full(X.shape, np.nan), np.empty(len(X))
    for start, stop, rows in program.row_blocks(X, names):
        values = upward(program, rows)
        log_prob[start:stop] = values[program.root]
        out, _, again = _relative(program, rows, values, Semiring.SUM)
        rest = out.sum(axis=2)  # P(the rest of the row) as a part of P(row)
        cells[start:stop] = -np.log(rest, out=rest, where=rest > 0)
        if len(again):
            part = RowBlock(rows.values[again])
            of_rest = logsumexp_quiet(_by_logarithms(program, part, values[:, again], Semiring.SUM), axis=2)
            with np.errstate(invalid="ignore"):  # −inf − (−inf): the rest is impossible, too
                cells[start + again] = log_prob[start + again][:, None] - of_rest
        cells[start:stop][rows.missing.T | program.absent] = np.nan
    return cells, log_prob


def _by_logarithms(program: Program, rows: RowBlock, values: FloatArray, semiring: Semiring) -> FloatArray:
    """Ask one leaf after the other: exact however far the probabilities of a row's alternatives are apart."""
    best, derivative = semiring is Semiring.BOUND, log_derivatives(program, values)
    out = np.full((len(rows), len(program.domains), width_of(program)), -np.inf)
    for start, block in program.blocks:
        for slot, leaves in enumerate(block.slot_leaves()):
            own = [rows.values[:, list(leaf.variables)] for leaf in leaves]
            logs = np.array(
                [leaf.mode(x)[1] if best else leaf.log_prob(x) for leaf, x in zip(leaves, own, strict=True)]
            )
            zeros = np.isneginf(logs)
            finite = np.where(zeros, 0.0, logs)
            others = np.where(zeros.sum(axis=0) - zeros > 0, -np.inf, finite.sum(axis=0) - finite)  # (leaves, rows)
            for leaf, x, beside in zip(leaves, own, others + derivative[start + slot], strict=True):
                found = leaf.alternatives(x, best)
                part = np.ix_(np.arange(len(rows)), np.array(leaf.variables), np.arange(found.shape[2]))
                out[part] = np.logaddexp(out[part], found + beside[:, None, None])
    return out


# -- derivatives -------------------------------------------------------------------------------------------------------


def log_derivatives(program: Program, values: FloatArray) -> FloatArray:
    """Return the logarithm of the derivative of the root's value by that of each slot: (slots, rows)."""
    derivative = np.full_like(values, -np.inf)
    derivative[program.root] = 0.0
    parents = program.parents
    zeros = np.isneginf(values) if np.isneginf(values.min(initial=0.0)) else None
    for step in reversed(program.steps):
        own = derivative[step.start : step.stop]
        if isinstance(step, ProductStep):
            below, above = step.children.indices, np.repeat(np.arange(len(own)), np.diff(step.children.indptr))
            others = _others(step, values, zeros, below, above)
            others += own[above]
            _give(derivative, below, others, parents)
        else:
            for child, weight in zip(step.children, step.log_weights, strict=True):
                _give(derivative, child, own + weight[:, None], parents)
    return derivative


def _others(
    step: ProductStep, values: FloatArray, zeros: AnyArray | None, below: IntArray, above: IntArray
) -> FloatArray:
    """Return the sum of the logarithms of a product's other factors, for each of its edges: (edges, rows)."""
    if zeros is None:
        return np.asarray(values[step.start : step.stop][above] - values[below])
    finite = np.where(zeros[: step.start], 0.0, values[: step.start])
    n_zeros = step.children @ zeros[: step.start].astype(np.float64)
    others = (step.children @ finite)[above] - finite[below]
    others[n_zeros[above] - zeros[below] > 0.5] = -np.inf
    return np.asarray(others)


def _give(derivative: FloatArray, child: IntArray, more: FloatArray, parents: IntArray) -> None:
    """Add to the derivatives of some children: most have one parent, which has nothing to add to."""
    shared = parents[child] > 1
    if not shared.any():
        derivative[child] = more
        return
    derivative[child[~shared]] = more[~shared]
    child, more = child[shared], more[shared]
    if len(np.unique(child)) == len(child):
        derivative[child] = np.logaddexp(derivative[child], more)
    else:
        np.logaddexp.at(derivative, child, more)
