"""The pass up: the value of every slot, from the leaves to the root."""

from enum import Enum

import numpy as np

from xspn._core.arrays import FloatArray
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
    terms = [values[child] + weight[:, None] for child, weight in zip(step.children, step.log_weights, strict=True)]
    out = values[step.start : step.stop]
    out[:] = terms[0]
    for term in terms[1:]:
        np.maximum(out, term, out=out)
    if semiring is Semiring.MAX:
        return
    shift = np.where(np.isneginf(out), 0.0, out)
    total = np.zeros_like(out)
    for term in terms:
        term -= shift
        total += np.exp(term, out=term)
    with np.errstate(divide="ignore"):
        np.log(total, out=out)
    out += shift
