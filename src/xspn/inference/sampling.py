"""Random rows, with and without evidence."""

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import Names
from xspn.engine import Backend, RowBlock, Semiring, choose_by_chance, refuse_impossible

CELLS = 1 << 22  # slots × rows that are walked at a time


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
    program = backend.program
    drawn = np.empty((len(evidence) * repeats, evidence.shape[1]))
    at_once = max(64, CELLS // program.n_slots)
    for start, stop, rows in program.row_blocks(evidence, names, "given", cells=CELLS):
        values = backend.log_values(rows, Semiring.SUM)
        refuse_impossible(values[program.root], start)
        which = np.repeat(np.arange(stop - start), repeats)
        for first in range(0, len(which), at_once):
            own = which[first : first + at_once]
            active = choose_by_chance(program, values, rng, own)
            block, place = RowBlock(rows.values[own]), start * repeats + first
            out = block.values.copy()
            for slot, leaves in program.blocks:
                leaves.fill(block, active[slot : slot + leaves.n_slots], out, rng)
            drawn[place : place + len(own)] = out
    drawn[:, program.absent] = np.nan
    return drawn
