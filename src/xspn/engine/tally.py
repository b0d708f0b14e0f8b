"""Probabilities of events: one pass up, in which leaves sum over sets of values and counts travel as polynomials."""

from collections.abc import Iterator, Mapping

import numpy as np

from xspn.core.arrays import AnyArray, BoolArray, FloatArray
from xspn.core.checks import Names
from xspn.core.logspace import safe_log
from xspn.core.polynomials import Polynomials, mixture, product
from xspn.engine.numpy_backend import pass_up, upward
from xspn.engine.program import ProductStep, Program, RowChecker
from xspn.leaves.blocks import RowBlock
from xspn.leaves.events import EXCLUDED, Intervals, Mark, allows, degree_of

CELLS = 1 << 21  # coefficients × slots that are held at a time
FEWEST, MOST = 16, 256  # rows of a block
FAR = -1e5  # a logarithm below, beside which others keep fewer than eleven digits
SCALARS = 1 << 20  # slots × rows of a block where nothing is counted


def log_tally(
    program: Program, X: AnyArray, marks: Mapping[int, Mark], names: Names | None = None, what: str = "evidence"
) -> tuple[FloatArray, FloatArray]:
    """Return log P(observed part of the row, every column within its mark, count = k): (rows, degree + 1) and (rows,).

    The logarithm is the sum of the two: beside evidence of −1e10, which is in the second one, what the first one says
    would lose its digits. Missing values are summed out within their marks. A value that is observed adds to the count
    what its mark says, and makes the row impossible where the mark excludes it.

    Args:
        program: The compiled circuit.
        X: Rows, NaN where nothing is known.
        marks: For some columns what each value adds to the count, −1 for excluded ones, or the allowed numbers.
        names: The names of the columns, for messages.
        what: What the rows are, for messages.
    """
    own = {v: mark for v, mark in marks.items() if program.domains[v] is not None}
    degree = degree_of(list(own.values()))
    out, scale = np.full((len(X), degree + 1), -np.inf), np.zeros(len(X))
    for start, rows in _row_blocks(program, X, degree, names, what):
        possible, shift = _observed(rows, own)
        if not possible.any():
            continue
        rows = rows if possible.all() else RowBlock(rows.values[possible])
        missing = np.asarray(rows.missing.any(axis=1))
        free = {v: mark for v, mark in own.items() if missing[v]}
        root = _root(program, rows, free)
        logs = np.broadcast_to(safe_log(root.coefficients), (len(rows), root.coefficients.shape[1]))
        zero = np.isneginf(root.log_scale)
        logs = np.where(zero[:, None], -np.inf, logs)
        scale[start + np.flatnonzero(possible)] = np.where(zero, 0.0, root.log_scale)
        shifted = np.full((len(rows), degree + logs.shape[1]), -np.inf)
        np.put_along_axis(shifted, shift[possible][:, None] + np.arange(logs.shape[1]), logs, axis=1)
        out[start + np.flatnonzero(possible)] = shifted[:, : degree + 1]
    return out, scale


def _row_blocks(
    program: Program, X: AnyArray, degree: int, names: Names | None, what: str
) -> Iterator[tuple[int, RowBlock]]:
    checker = RowChecker(program.domains, names)
    step = int(np.clip(CELLS // (degree + 1) // max(1, len(program.steps)), FEWEST, MOST))
    step = step if degree else int(np.clip(SCALARS // program.n_slots, 64, 8192))
    for start in range(0, len(X), step):
        yield start, checker.block(X, start, min(start + step, len(X)), what)


def _observed(rows: RowBlock, marks: Mapping[int, Mark]) -> tuple[BoolArray, AnyArray]:
    """Return which rows have no excluded value, and what their observed values add to the count."""
    possible, shift = np.ones(len(rows), dtype=bool), np.zeros(len(rows), dtype=np.int64)
    seen = np.asarray(~rows.missing.all(axis=1))  # (variables,): observed in some row
    columns: dict[int, list[int]] = {}  # of each mark: mostly all of them share one
    for v, mark in marks.items():
        if seen[v]:
            columns.setdefault(id(mark), []).append(v)
    for own in columns.values():
        mark, values = marks[own[0]], rows.values[:, own]
        if isinstance(mark, Intervals):
            possible &= allows(mark, values).all(axis=1)
        else:
            missing = np.isnan(values)
            adds = np.where(missing, 0, mark[np.where(missing, 0.0, values).astype(np.int64)])
            possible &= (adds != EXCLUDED).all(axis=1)
            shift += adds.sum(axis=1)
    return possible, shift


def _root(program: Program, rows: RowBlock, marks: Mapping[int, Mark]) -> Polynomials:
    counts = degree_of(list(marks.values())) > 0
    if not marks:
        found = upward(program, rows)[program.root]
        if not _is_far(found):
            return Polynomials.constants(found)
    leaves = [(start, block.tally(rows, marks)) for start, block in program.blocks]
    if any(_is_far(own.log_scale) for _, found in leaves for own in found):
        leaves = [(start, [own.with_small_scales_inside() for own in found]) for start, found in leaves]
    elif not counts:
        return _without_counts(program, len(rows), leaves)
    values: list[Polynomials | None] = [None] * program.n_slots
    for start, found in leaves:
        values[start : start + len(found)] = found
    waiting = _readers(program)

    def read(slot: int) -> Polynomials:
        found = values[slot]
        assert found is not None, "slots are read after they are filled"
        waiting[slot] -= 1
        if not waiting[slot]:
            values[slot] = None  # its memory is free for those above
        return found

    for step in program.steps:
        if isinstance(step, ProductStep):
            ends, children = step.children.indptr.tolist(), step.children.indices.tolist()
            for place in range(step.stop - step.start):
                values[step.start + place] = product(map(read, children[ends[place] : ends[place + 1]]))
        else:
            below, weights = step.children.T.tolist(), step.log_weights.T.tolist()
            for place, (own, log_weights) in enumerate(zip(below, weights, strict=True)):
                values[step.start + place] = mixture(log_weights, list(map(read, own)))
    return read(program.root)


def _is_far(log_values: FloatArray) -> bool:
    """Whether logarithms are so large that others lose digits beside them."""
    return bool(((log_values < FAR) & ~np.isneginf(log_values)).any())


def _without_counts(program: Program, n_rows: int, leaves: list[tuple[int, list[Polynomials]]]) -> Polynomials:
    """Return the value of the root where no column counts: the usual pass in log space."""
    values = np.empty((program.n_slots, n_rows))
    for start, found in leaves:
        for slot, own in enumerate(found, start):
            values[slot] = own.logarithms()[:, 0]
    return Polynomials.constants(pass_up(program, values)[program.root])


def _readers(program: Program) -> list[int]:
    """Return how often each slot is read; the root is read once more, at the end."""
    count = np.zeros(program.n_slots, dtype=np.int64)
    for step in program.steps:
        children = step.children.indices if isinstance(step, ProductStep) else step.children.ravel()
        np.add.at(count, children, 1)
    count[program.root] += 1
    return list(count.tolist())
