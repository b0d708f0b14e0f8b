"""Random rows, with and without evidence."""

import numpy as np

from xspn._core.arrays import AnyArray, FloatArray
from xspn._core.checks import Names
from xspn.engine import Program, choose_by_chance, upward
from xspn.inference.likelihood import refuse_impossible
from xspn.inference.mpe import absent


def sample(program: Program, evidence: AnyArray, rng: np.random.Generator, names: Names | None = None) -> FloatArray:
    """Return each row with its missing values drawn from their distribution given the observed ones."""
    drawn = np.empty(evidence.shape)
    for start, stop, rows in program.row_blocks(evidence, names, "given", cells=1 << 22):
        values = upward(program, rows)
        refuse_impossible(values[program.root], start)
        active = choose_by_chance(program, values, rng)
        out = rows.values.copy()
        for first, block in program.blocks:
            block.fill(rows, active[first : first + block.n_slots], out, rng)
        drawn[start:stop] = out
    drawn[:, absent(program)] = np.nan
    return drawn
