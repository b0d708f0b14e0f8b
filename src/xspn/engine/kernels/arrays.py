"""What kernels are told about a tape, and what they write: as plain numbers, or as mantissas and exponents.

A scaled number is m · BASE^e with 1 ≤ m < BASE, and e = −inf where it is 0.
"""

from typing import Any, NamedTuple

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.logspace import safe_log
from xspn.engine.tape import Op, Tape

FACTORS, COUNT, TREE, COLUMN, SUM, PRODUCT = (int(op) for op in Op)  # numba reads them as constants
MISSING = 2  # the code of a missing value; 0 and 1 stand for themselves
WHOLE, PARTIAL, BEST = 0, 1, 2  # how leaves treat missing values: there are none; summed out; completed to the best
FROM_X = -1  # instead of one of these three: of rows that a kernel has yet to read
INSTRUCTIONS = ("op", "begin", "end", "leaf", "register", "argument", "fresh")


class Arrays(NamedTuple):
    """A tape's arrays in one precision; all of them are read-only, so that one compiled kernel serves all tapes."""

    op: AnyArray
    begin: AnyArray
    end: AnyArray
    leaf: AnyArray
    register: AnyArray
    argument: AnyArray
    fresh: AnyArray
    weight: AnyArray
    bernoulli_variable: AnyArray
    bernoulli_p: AnyArray
    count_variable: AnyArray
    count_size: AnyArray
    count_start: AnyArray
    count_w: AnyArray
    triangle_start: AnyArray
    triangle: AnyArray
    tree_variable: AnyArray
    tree_parent: AnyArray
    tree_has_children: AnyArray
    tree_p: AnyArray


def arrays_of(tape: Tape, dtype: type[np.floating[Any]], triangle: AnyArray) -> Arrays:
    """Return the arrays of a tape with the given table of partial counts (empty if no row is partial)."""
    layout, numbers = tape.layout, tape.numbers
    fields = {name: getattr(layout, name) for name in Arrays._fields if hasattr(layout, name)}
    fields |= {"count_start": layout.triangles.weight_starts, "triangle_start": layout.triangles.table_starts}
    fields |= {name: getattr(numbers, name).astype(dtype) for name in ("weight", "bernoulli_p", "tree_p")}
    fields |= {"count_w": np.exp(numbers.count_log_w).astype(dtype), "triangle": triangle.astype(dtype)}
    return Arrays(**{name: read_only(array) for name, array in fields.items()})


def with_instructions(arrays: Arrays, tape: Tape) -> Arrays:
    """Return the arrays with the instructions of another tape, which reads the same entries of leaves."""
    layout = tape.layout
    fields = {name: getattr(layout, name) for name in INSTRUCTIONS}
    fields |= {"weight": tape.numbers.weight.astype(arrays.weight.dtype)}
    return arrays._replace(**{name: read_only(array) for name, array in fields.items()})


def read_only(array: AnyArray) -> AnyArray:
    """Return a view that cannot be written to: one type of array, one compiled kernel."""
    view = np.asarray(array).view(np.ndarray)
    view.flags.writeable = False
    return view


class Workspace(NamedTuple):
    """What kernels write while they work on a block of rows; every thread has its own. Rows are the last axis."""

    codes: AnyArray  # (variables, rows): 0, 1, or 2 for missing
    column: AnyArray  # (column leaves, rows): their probabilities
    values: AnyArray  # (places, rows)
    derivatives: AnyArray  # (registers, rows): the derivatives of the root's value
    below: AnyArray  # (2 · largest tree, rows): messages of a Chow-Liu tree
    tree_ones: AnyArray  # (3 · largest tree, rows): P(X_i = 1 | parent = 0 or 1, evidence), P(X_i = 1 | evidence)
    counters: AnyArray  # (2, rows): ones, and observed values
    factors: AnyArray  # (largest product + 1, rows): products of some children
    flow: AnyArray  # (2, rows)
    ones: AnyArray  # (variables, rows): P(X_v = 1, evidence)
    column_flow: AnyArray  # (column leaves, rows)
    total: AnyArray  # (rows,): P(row)
    one: np.floating[Any]  # 1 in the precision of the values


class Statistics(NamedTuple):
    """Expected flow, in the order of the tape."""

    sums: AnyArray  # (edges,)
    bernoulli: AnyArray  # (Bernoulli entries, 2): of zeros and ones
    whole: AnyArray  # as the weights of count leaves: of whole rows with so many ones
    partial: AnyArray  # as their triangles: of partial rows with so many values and so many ones
    tree: AnyArray  # (tree entries, 4): of (parent, own) = 00, 01, 10, 11


def no_statistics() -> Statistics:
    """Return what stands for statistics where nothing is learned."""
    none = np.empty(0)
    return Statistics(none, np.empty((0, 2)), none, none, np.empty((0, 4)))


def new_counters(tape: Tape, rows: int) -> AnyArray:
    """Return counters of ones: of two bytes, as long as they can hold the variables of any leaf."""
    return np.zeros((2, rows), dtype=np.uint16 if tape.layout.largest_count < 1 << 16 else np.uint32)


def workspace_for(
    tape: Tape, dtype: type[np.floating[Any]], rows: int, n_variables: int, places: int, down: bool
) -> Workspace:
    """Return a workspace for blocks of some rows; `places` values are kept at a time, with derivatives if `down`."""
    layout = tape.layout
    tree, n_columns = layout.largest_tree, layout.n_columns

    def table(height: int) -> AnyArray:
        return np.zeros((height, rows), dtype=dtype)

    return Workspace(
        codes=np.zeros((n_variables, rows), dtype=np.uint8),
        column=table(n_columns),
        values=table(places),
        derivatives=table(layout.n_registers if down else 0),
        below=table(2 * tree),
        tree_ones=table(3 * tree if down else 0),
        counters=new_counters(tape, rows),
        factors=table(layout.largest_arity + 1 if down else 0),
        flow=table(2),
        ones=table(n_variables if down else 0),
        column_flow=table(n_columns),
        total=np.zeros(rows, dtype=dtype),
        one=dtype(1),
    )


# -- scaled numbers ----------------------------------------------------------------------------------------------------

BITS = 500
BASE, STEP, TWO_STEPS = 2.0**BITS, 2.0**-BITS, 2.0 ** (-2 * BITS)
LOG_BASE = BITS * float(np.log(2.0))
NONE = float("-inf")  # the exponent of 0


def scaled(logs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mantissas and exponents of the numbers with these logarithms; plain numbers keep every digit."""
    exponent = np.floor(logs / LOG_BASE)
    plain = exponent >= -2.0
    shift = np.where(plain | np.isneginf(logs), 0.0, exponent)
    mantissa = np.exp(logs - shift * LOG_BASE) * BASE ** np.where(plain, -exponent, 0.0)
    return mantissa, exponent


def logarithms(mantissa: FloatArray, exponent: FloatArray) -> FloatArray:
    """Return the logarithms of scaled numbers: those of plain numbers where they are in reach of these."""
    plain = exponent >= -2.0
    near = np.where(plain, mantissa * BASE ** np.where(plain, exponent, 0.0), mantissa)
    return np.asarray(safe_log(near) + np.where(plain, 0.0, exponent) * LOG_BASE)


def _parameters(p: FloatArray, of_zero: float) -> tuple[FloatArray, FloatArray]:
    """Return mantissas and exponents of probabilities; nearly all of them are their own mantissas."""
    mantissa, exponent = p.copy(), np.where(p > 0, 0.0, of_zero)
    for _ in range(2):  # the smallest number of all is 2⁻¹⁰⁷⁴
        tiny = (mantissa > 0) & (mantissa <= STEP)
        mantissa[tiny] *= BASE
        exponent[tiny] -= 1.0
    return mantissa, exponent


class ScaledArrays(NamedTuple):
    """A tape's parameters as mantissas (_m) and exponents (_e)."""

    gap: AnyArray  # (instructions,): how many parameters can be multiplied before the product needs a step up
    weight_m: AnyArray
    weight_e: AnyArray
    bernoulli_m: AnyArray
    bernoulli_e: AnyArray
    tree_m: AnyArray
    tree_e: AnyArray
    count_m: AnyArray
    count_e: AnyArray
    triangle_m: AnyArray
    triangle_e: AnyArray


def scaled_arrays(tape: Tape, log_triangle: FloatArray) -> ScaledArrays:
    """Return the parameters of a tape, with the logarithms of its partial counts (none if no row is partial)."""
    numbers = tape.numbers
    weight = _parameters(numbers.weight, NONE)
    bernoulli, tree = _parameters(numbers.bernoulli_p, 0.0), _parameters(numbers.tree_p, NONE)
    gaps, counts, triangle = _gaps(tape, bernoulli[0], tree[0]), scaled(numbers.count_log_w), scaled(log_triangle)
    arrays = ScaledArrays(gaps, *weight, *bernoulli, *tree, *counts, *triangle)
    for array in arrays:
        array.flags.writeable = False
    return arrays


def _gaps(tape: Tape, bernoulli: FloatArray, tree: FloatArray) -> AnyArray:
    layout = tape.layout
    gaps = np.ones(len(layout), dtype=np.int64)
    for op, table in ((Op.FACTORS, bernoulli), (Op.TREE, tree)):
        own = np.flatnonzero(layout.op == op)
        if len(own):
            own = own[np.argsort(layout.begin[own])]  # entries are in the program's order, not in the tape's
            bits = -np.log2(np.where(table > 0, table, 1.0).min(axis=1))
            most = np.maximum.reduceat(bits, layout.begin[own])
            gaps[own] = np.maximum(1.0, np.floor(BITS / np.maximum(most, 1.0)))
    return gaps


class ScaledWorkspace(NamedTuple):
    """What the kernels write while they work on a block of rows (see `Workspace`), exponents (_e) beside mantissas."""

    codes: AnyArray
    column: AnyArray
    column_e: AnyArray
    values: AnyArray
    values_e: AnyArray
    derivatives: AnyArray
    derivatives_e: AnyArray
    below: AnyArray
    below_e: AnyArray
    tree_ones: AnyArray
    counters: AnyArray
    factors: AnyArray
    factors_e: AnyArray
    flow: AnyArray
    ones: AnyArray
    column_flow: AnyArray
    total: AnyArray
    total_e: AnyArray


def scaled_workspace(tape: Tape, rows: int, n_variables: int, places: int, down: bool) -> ScaledWorkspace:
    """Return a workspace for blocks of some rows; `places` values are kept at a time, with derivatives if `down`."""
    layout = tape.layout
    registers, tree = (layout.n_registers if down else 0), layout.largest_tree
    factors = layout.largest_arity + 1 if down else 0

    def table(height: int) -> FloatArray:
        return np.zeros((height, rows))

    return ScaledWorkspace(
        codes=np.zeros((n_variables, rows), dtype=np.uint8),
        column=table(layout.n_columns),
        column_e=table(layout.n_columns),
        values=table(places),
        values_e=table(places),
        derivatives=table(registers),
        derivatives_e=table(registers),
        below=table(2 * tree),
        below_e=table(2 * tree),
        tree_ones=table(3 * tree if down else 0),
        counters=new_counters(tape, rows),
        factors=table(factors),
        factors_e=table(factors),
        flow=table(2),
        ones=table(n_variables if down else 0),
        column_flow=table(layout.n_columns),
        total=np.zeros(rows),
        total_e=np.zeros(rows),
    )
