"""The pass up: the value of every slot, from the leaves to the root."""

from enum import Enum

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.engine.program import ProductStep, Program, SumStep
from xspn.engine.rows import RowBlock


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
