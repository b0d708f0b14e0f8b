"""Means of all variables given evidence."""

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import Names
from xspn.engine import Backend, Semiring, flows, refuse_impossible


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
                        share = flow[first + slot][:, None]
                        out[start:stop, own] += share * leaf.means(rows.values[:, own])
    seen = np.asarray(evidence, dtype=np.float64)
    return np.asarray(np.where(real & ~np.isnan(seen), seen, out))
