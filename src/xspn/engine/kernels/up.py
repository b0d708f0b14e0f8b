"""The pass up the tape for a block of rows: probabilities, from the leaves to the root.

Values are kept in a table of (places, rows); helpers name a place instead of taking a slice, which would cost more than
the arithmetic on it.
"""

from typing import Any

import numpy as np
from numba import njit

from xspn.core.compilation import kept
from xspn.engine.kernels.arrays import BEST, COLUMN, COUNT, FACTORS, MISSING, SUM, TREE, WHOLE
from xspn.engine.kernels.leaves import tree_messages, whole_tree

Array = Any  # numba infers the types; annotations are for readers


@njit(nogil=True)
def _bernoulli(
    values: Array, out: int, codes: Array, variables: Array, p: Array, a: int, b: int, mode: int, one: float
) -> None:
    """Write the product of the entries a..b: for each row the factor of its value, read by a comparison or two."""
    for r in range(values.shape[1]):
        values[out, r] = one
    for e in range(a, b):
        v, zero_p, one_p = variables[e], p[e, 0], p[e, 1]
        if mode == WHOLE:
            for r in range(values.shape[1]):
                values[out, r] *= one_p if codes[v, r] == 1 else zero_p
        else:
            other = max(zero_p, one_p) if mode == BEST else one
            for r in range(values.shape[1]):
                values[out, r] *= one_p if codes[v, r] == 1 else (zero_p if codes[v, r] == 0 else other)


@njit(nogil=True)
def count_ones(codes: Array, variables: Array, a: int, b: int, mode: int, counters: Array) -> None:
    """Count ones, and unless rows are whole also the observed values."""
    for r in range(counters.shape[1]):
        counters[0, r] = 0
        counters[1, r] = 0
    for e in range(a, b):
        v = variables[e]
        if mode == WHOLE:
            for r in range(counters.shape[1]):
                counters[0, r] += codes[v, r]
        else:
            for r in range(counters.shape[1]):
                counters[0, r] += np.uint16(codes[v, r] == 1)
                counters[1, r] += np.uint16(codes[v, r] != MISSING)


@njit(nogil=True)
def _look_up(values: Array, out: int, table: Array, start: int, mode: int, counters: Array) -> None:
    if mode == WHOLE:
        for r in range(values.shape[1]):
            values[out, r] = table[start + counters[0, r]]
    else:
        for r in range(values.shape[1]):
            k = np.int64(counters[1, r])
            values[out, r] = table[start + (k * (k + 1) >> 1) + counters[0, r]]


@njit(nogil=True)
def _sum(
    values: Array, out: int, place: Array, base: int, argument: Array, weight: Array, a: int, b: int, best: bool
) -> None:
    first, w = place[argument[a]] - base, weight[a]
    if b - a == 2 and not best:
        second, v = place[argument[a + 1]] - base, weight[a + 1]
        for r in range(values.shape[1]):
            values[out, r] = w * values[first, r] + v * values[second, r]
        return
    for r in range(values.shape[1]):
        values[out, r] = w * values[first, r]
    for e in range(a + 1, b):
        term, v = place[argument[e]] - base, weight[e]
        if best:
            for r in range(values.shape[1]):
                here = v * values[term, r]
                values[out, r] = here if here > values[out, r] else values[out, r]
        else:
            for r in range(values.shape[1]):
                values[out, r] += v * values[term, r]


@njit(nogil=True)
def _product(values: Array, out: int, place: Array, base: int, argument: Array, a: int, b: int) -> None:
    first, second = place[argument[a]] - base, place[argument[a + 1]] - base
    for r in range(values.shape[1]):
        values[out, r] = values[first, r] * values[second, r]
    for e in range(a + 2, b):
        factor = place[argument[e]] - base
        for r in range(values.shape[1]):
            values[out, r] *= values[factor, r]


@kept(nogil=True)
def upward(t: Any, first: int, last: int, place: Array, base: int, mode: int, best: bool, workspace: Any) -> None:
    """Run the instructions first..last on a block of rows: the value of i is left in workspace.values[place[i] − base].

    Args:
        t: The tape's arrays.
        first: The first instruction.
        last: One beyond the last instruction.
        place: Where each instruction's value is kept.
        base: What to subtract from it.
        mode: How leaves treat missing values.
        best: Whether sums take their best child.
        workspace: The rows and their codes, and where kernels write.
    """
    ops, begin, end, leaf, argument, weight = t.op, t.begin, t.end, t.leaf, t.argument, t.weight
    variables, p, counted = t.bernoulli_variable, t.bernoulli_p, t.count_variable
    in_tree, parents, tree_p = t.tree_variable, t.tree_parent, t.tree_p
    codes, values, below, counters, one = (
        workspace.codes,
        workspace.values,
        workspace.below,
        workspace.counters,
        workspace.one,
    )
    for i in range(first, last):
        op, a, b, out = ops[i], begin[i], end[i], place[i] - base
        if op == FACTORS:
            _bernoulli(values, out, codes, variables, p, a, b, mode, one)
        elif op == COUNT:
            count_ones(codes, counted, a, b, mode, counters)
            if mode == WHOLE:
                _look_up(values, out, t.count_w, t.count_start[leaf[i]], mode, counters)
            else:
                _look_up(values, out, t.triangle, t.triangle_start[leaf[i]], mode, counters)
        elif op == TREE:
            for r in range(values.shape[1]):
                values[out, r] = one
            if mode == WHOLE:
                whole_tree(values, out, codes, in_tree, parents, tree_p, a, b, below)
            else:
                tree_messages(
                    values, out, codes, in_tree, parents, t.tree_has_children, tree_p, a, b, mode == BEST, below, one
                )
        elif op == COLUMN:
            for r in range(values.shape[1]):
                values[out, r] = workspace.column[leaf[i], r]
        elif op == SUM:
            _sum(values, out, place, base, argument, weight, a, b, best)
        else:
            _product(values, out, place, base, argument, a, b)


@njit(nogil=True)
def encode(X: Array, start: int, stop: int, inside: Array, codes: Array) -> int:
    """Write rows start..stop as codes; return whether they are whole (0) or partial (1), or 2 for a value not binary.

    Rows beyond the table are written as zeros: blocks are always full.
    """
    some, bad = False, False
    for r in range(codes.shape[1]):
        if start + r >= stop:
            codes[:, r] = 0
            continue
        for v in range(codes.shape[0]):  # without branches: which cells are missing cannot be predicted
            x, own = X[start + r, v], inside[v]
            is_missing, is_one = own & (x != x), own & (x == 1)
            codes[v, r] = is_one + MISSING * is_missing
            some |= is_missing
            bad |= own & ~(is_missing | is_one | (x == 0))
    return 2 if bad else int(some)


@kept(nogil=True)
def score(t: Any, X: Array, start: int, stop: int, inside: Array, register: Array, workspace: Any, out: Array) -> int:
    """Write the probability of the rows start..stop, block by block; return the first row of an unusable block."""
    width, root = workspace.codes.shape[1], len(t.op) - 1
    for begin in range(start, stop, width):
        mode = encode(X, begin, stop, inside, workspace.codes)
        if mode == 2:
            return begin
        upward(t, 0, root + 1, register, 0, mode, False, workspace)
        for r in range(min(width, stop - begin)):
            out[begin + r] = workspace.values[register[root], r]
    return -1
