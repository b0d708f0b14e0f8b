"""The numpy back end: the passes as they are written, in NumPy and in log space. What the others are compared with."""

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import Names
from xspn.engine.backend import Backend, Counts, refuse_impossible
from xspn.engine.passes import Semiring, flows, upward
from xspn.engine.program import Program, SumStep
from xspn.leaves.blocks import RowBlock


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


def binary_table(ones: AnyArray, program: Program) -> FloatArray:
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
