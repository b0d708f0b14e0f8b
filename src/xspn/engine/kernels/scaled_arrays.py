"""What scaled kernels are told about a tape, and numbers as mantissas and exponents.

A number is m · BASE^e with 1 ≤ m < BASE, and e = −inf where it is 0.
"""

from typing import NamedTuple

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.logspace import safe_log
from xspn.engine.kernels.arrays import new_counters
from xspn.engine.tape import Op, Tape

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
