"""The probability of every row with one bit flipped: derivatives once more, times what each leaf would say instead.

A row that differs in one bit has the same derivative by the leaf with this bit, so one walk up and down is enough for
all of them. Leaves divide out the factor of the bit that is flipped, unless it is too small to divide by.
"""

from typing import Any

import numpy as np
from numba import njit

from xspn.core.compilation import kept
from xspn.engine.kernels.arrays import COUNT, FACTORS, MISSING, PRODUCT, SUM, WHOLE
from xspn.engine.kernels.both_ways import product_down, sum_down
from xspn.engine.kernels.up import count_ones, encode, upward

Array = Any
TINY = 1e-20  # smaller factors are not divided by


@njit(nogil=True, error_model="numpy")
def _bernoulli_flips(
    derivatives: Array,
    own: int,
    flow: Array,
    codes: Array,
    variables: Array,
    p: Array,
    a: int,
    b: int,
    mode: int,
    other: Array,
) -> None:
    for e in range(a, b):
        v, p0, p1 = variables[e], p[e, 0], p[e, 1]
        if p0 >= TINY and p1 >= TINY:
            to_one, to_zero = p1 / p0, p0 / p1
            found, code, reached = other[v], codes[v], flow[0]
            if mode == WHOLE:
                for r in range(len(found)):
                    found[r] += reached[r] * (to_zero if code[r] == 1 else to_one)
            else:
                for r in range(len(found)):
                    found[r] += reached[r] * (to_zero if code[r] == 1 else (to_one if code[r] == 0 else p1))
            continue
        for r in range(other.shape[1]):
            if codes[v, r] == MISSING:
                other[v, r] += flow[0, r] * p1
                continue
            here, there = (p1, p0) if codes[v, r] == 1 else (p0, p1)
            if here >= TINY:
                other[v, r] += flow[0, r] * (there / here)
                continue
            rest = derivatives[own, r] * there
            for f in range(a, b):
                code = codes[variables[f], r]
                if f != e and code != MISSING:
                    rest *= p[f, code]
            other[v, r] += rest


@njit(nogil=True)
def _count_flips(
    derivatives: Array,
    own: int,
    table: Array,
    start: int,
    codes: Array,
    variables: Array,
    a: int,
    b: int,
    mode: int,
    counters: Array,
    beside: Array,
    other: Array,
) -> None:
    """Look up one more one, one fewer, or one more value that is one, whichever variable it is."""
    n = b - a
    if_zero, if_one, if_missing = beside[0], beside[1], beside[2]
    if mode == WHOLE:  # at either end one of the two is not asked for
        d, ones = derivatives[own], counters[0]
        for r in range(other.shape[1]):
            s = int(ones[r])
            if_zero[r] = d[r] * table[start + min(s + 1, n)]
            if_one[r] = d[r] * table[start + max(s - 1, 0)]
    else:
        for r in range(other.shape[1]):
            s, k, d = int(counters[0, r]), int(counters[1, r]), derivatives[own, r]
            row = start + (k * (k + 1) >> 1)
            if_zero[r] = d * table[row + s + 1] if s < k else 0
            if_one[r] = d * table[row + s - 1] if s > 0 else 0
            if_missing[r] = d * table[row + k + 1 + s + 1] if k < n else 0
    # Loaded before the choice, so that there are no branches and several rows go at once.
    for e in range(a, b):
        found, code = other[variables[e]], codes[variables[e]]
        if mode == WHOLE:
            for r in range(len(found)):
                x, y = if_zero[r], if_one[r]
                found[r] += y if code[r] == 1 else x
        else:
            for r in range(len(found)):
                x, y, z = if_zero[r], if_one[r], if_missing[r]
                found[r] += y if code[r] == 1 else (x if code[r] == 0 else z)


@njit(nogil=True, error_model="numpy")
def _tree_flips(
    derivatives: Array,
    own: int,
    flow: Array,
    codes: Array,
    variables: Array,
    parents: Array,
    p: Array,
    a: int,
    b: int,
    ratio: Array,
    small: Array,
    other: Array,
) -> None:
    """Flip the bits of a tree of whole rows: the factors of a variable and of its children change.

    What is written for rows with missing cells means nothing.
    """
    for r in range(other.shape[1]):
        small[r] = 0
    for j in range(b - a):
        v, parent = variables[a + j], parents[a + j]
        q00, q01, q10, q11 = p[a + j, 0], p[a + j, 1], p[a + j, 2], p[a + j, 3]
        if parent < 0:
            for r in range(other.shape[1]):
                one = codes[v, r] == 1
                here, there = (q01 if one else q00), (q00 if one else q01)
                small[r] |= here < TINY
                ratio[j, r] = there / here
            continue
        u = variables[a + parent]
        for r in range(other.shape[1]):
            one, above = codes[v, r] == 1, codes[u, r] == 1
            given_zero, given_one = (q01 if one else q00), (q11 if one else q10)
            other_zero, other_one = (q00 if one else q01), (q10 if one else q11)
            here, there = (given_one if above else given_zero), (other_one if above else other_zero)
            small[r] |= here < TINY
            ratio[j, r] = there / here
            ratio[parent, r] *= (given_zero if above else given_one) / here
    for j in range(b - a):
        v = variables[a + j]
        for r in range(other.shape[1]):
            if small[r] == 0:
                other[v, r] += flow[0, r] * ratio[j, r]
    for r in range(other.shape[1]):
        if small[r] and derivatives[own, r] > 0 and _is_whole(codes, variables, a, b, r):
            for flipped in range(b - a):
                value = derivatives[own, r]
                for j in range(b - a):
                    parent = parents[a + j]
                    code = codes[variables[a + j], r] ^ (j == flipped)
                    above = 0 if parent < 0 else codes[variables[a + parent], r] ^ (parent == flipped)
                    value *= p[a + j, 2 * above + code]
                other[variables[a + flipped], r] += value


@njit(nogil=True)
def _is_whole(codes: Array, variables: Array, a: int, b: int, r: int) -> bool:
    whole = True
    for e in range(a, b):
        whole &= codes[variables[e], r] != MISSING
    return whole


@kept(nogil=True, error_model="numpy")
def flips(
    t: Any,
    X: Array,
    start: int,
    stop: int,
    inside: Array,
    segments: Array,
    identity: Array,
    workspace: Any,
    out: Array,
    probability: Array,
) -> int:
    """Write P(row with bit v flipped), and P(row, X_v = 1) where it is missing; return the first unusable row, or −1.

    Args:
        t: The tape's arrays.
        X: The rows; where there are trees, those with missing cells must be answered in another way.
        start: The first row.
        stop: One beyond the last row.
        inside: Which columns the circuit has variables for.
        segments: The parts of the tape.
        identity: 0, 1, 2, …
        workspace: Where kernels write.
        out: Where the probabilities are written: (rows, variables).
        probability: Where P(row) is written.
    """
    ops, register, begin_of, end_of, leaf = t.op, t.register, t.begin, t.end, t.leaf
    codes, other, total, values = workspace.codes, workspace.ones, workspace.total, workspace.values
    derivatives, flow, counters = workspace.derivatives, workspace.flow, workspace.counters
    beside, ratio = np.empty((3, codes.shape[1])), np.empty((max(1, workspace.below.shape[0]), codes.shape[1]))
    small = np.zeros(codes.shape[1], dtype=np.uint8)
    for begin in range(start, stop, codes.shape[1]):
        mode = encode(X, begin, stop, inside, codes)
        if mode == 2:
            return begin
        other[:] = 0
        total[:] = 0
        for segment in range(len(segments)):
            first, last, edge = segments[segment, 0], segments[segment, 1], segments[segment, 2]
            w = t.weight[edge] if edge >= 0 else workspace.one
            upward(t, first, last + 1, identity, first, mode, False, workspace)
            for r in range(len(total)):
                derivatives[register[last], r] = w
                total[r] += w * values[last - first, r]
            for i in range(last, first - 1, -1):
                op, a, b, own = ops[i], begin_of[i], end_of[i], register[i]
                if op == SUM:
                    sum_down(derivatives, own, register, t.fresh, t.argument, t.weight, a, b)
                    continue
                if op == PRODUCT:
                    product_down(
                        values, first, derivatives, own, register, t.fresh, t.argument, a, b, workspace.factors
                    )
                    continue
                for r in range(flow.shape[1]):
                    flow[0, r] = derivatives[own, r] * values[i - first, r]
                if op == FACTORS:
                    _bernoulli_flips(
                        derivatives, own, flow, codes, t.bernoulli_variable, t.bernoulli_p, a, b, mode, other
                    )
                elif op == COUNT:
                    count_ones(codes, t.count_variable, a, b, mode, counters)
                    table = t.count_w if mode == WHOLE else t.triangle
                    place = t.count_start[leaf[i]] if mode == WHOLE else t.triangle_start[leaf[i]]
                    _count_flips(
                        derivatives, own, table, place, codes, t.count_variable, a, b, mode, counters, beside, other
                    )
                else:
                    _tree_flips(
                        derivatives,
                        own,
                        flow,
                        codes,
                        t.tree_variable,
                        t.tree_parent,
                        t.tree_p,
                        a,
                        b,
                        ratio,
                        small,
                        other,
                    )
        for r in range(min(codes.shape[1], stop - begin)):
            probability[begin + r] = total[r]
            for v in range(codes.shape[0]):
                out[begin + r, v] = other[v, r]
    return -1
