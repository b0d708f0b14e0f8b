"""The pass up the tape for rows of any probability: every value has an exponent of its own.

A value is v · BASE^e with 1 ≤ v < BASE, and e = −inf where it is 0. Products multiply the one and add the other; sums
shift their terms to the largest exponent. Scaling by a power of two is exact, so this is the arithmetic of
`xspn.engine.kernels.up` without an end of the range, at about twice its cost. Parameters come as m · BASE^e with
1/BASE < m ≤ 1: whatever is multiplied by one of them needs at most one step up afterwards.
"""

from typing import Any

import numpy as np
from numba import njit

from xspn.core.compilation import kept
from xspn.engine.kernels.arrays import BASE, BEST, COLUMN, COUNT, FACTORS, NONE, STEP, SUM, TREE, TWO_STEPS, WHOLE
from xspn.engine.kernels.up import count_ones

Array = Any


@njit(nogil=True)
def power_of_base(distance: float) -> float:
    """Return BASE^distance for a distance of 0, −1 or −2; what is farther below the largest term is nothing."""
    return 1.0 if distance == 0.0 else (STEP if distance == -1.0 else (TWO_STEPS if distance == -2.0 else 0.0))


@njit(nogil=True)
def step_up(v: Array, e: Array, out: int) -> None:
    """Bring what was multiplied by parameters back to 1 or above."""
    for r in range(v.shape[1]):
        small = v[out, r] < 1.0
        x = v[out, r] * BASE if small else v[out, r]
        v[out, r] = x
        e[out, r] = (e[out, r] - 1.0 if small else e[out, r]) if x > 0.0 else NONE


@njit(nogil=True)
def multiply(v: Array, e: Array, out: int, w: Array, f: Array, j: int) -> None:
    """Multiply by another value."""
    for r in range(v.shape[1]):
        x = v[out, r] * w[j, r]
        large = x >= BASE
        v[out, r] = x * STEP if large else x
        e[out, r] = e[out, r] + f[j, r] + (1.0 if large else 0.0)


# -- instructions ------------------------------------------------------------------------------------------------------


@njit(nogil=True)
def _bernoulli(
    v: Array,
    e: Array,
    out: int,
    codes: Array,
    variables: Array,
    m: Array,
    me: Array,
    a: int,
    b: int,
    mode: int,
    gap: int,
) -> None:
    for r in range(v.shape[1]):
        v[out, r] = 1.0
        e[out, r] = 0.0
    for i in range(a, b):
        c, zero, one, zero_e, one_e, other, other_e = variables[i], m[i, 0], m[i, 1], me[i, 0], me[i, 1], 1.0, 0.0
        if mode == BEST:
            first = zero > 0.0 and (one == 0.0 or zero_e > one_e or (zero_e == one_e and zero > one))
            other, other_e = (zero, zero_e) if first else (one, one_e)
        for r in range(v.shape[1]):
            v[out, r] *= one if codes[c, r] == 1 else (zero if codes[c, r] == 0 else other)
        if zero_e != 0.0 or one_e != 0.0:
            for r in range(v.shape[1]):
                e[out, r] += one_e if codes[c, r] == 1 else (zero_e if codes[c, r] == 0 else other_e)
        if (i - a + 1) % gap == 0:
            step_up(v, e, out)
    step_up(v, e, out)


@njit(nogil=True)
def _look_up(v: Array, e: Array, out: int, m: Array, me: Array, start: int, mode: int, counters: Array) -> None:
    for r in range(v.shape[1]):
        k = np.int64(counters[1, r])
        place = start + counters[0, r] + (0 if mode == WHOLE else k * (k + 1) >> 1)
        v[out, r] = m[place]
        e[out, r] = me[place]


@njit(nogil=True)
def _whole_tree(
    v: Array,
    e: Array,
    out: int,
    codes: Array,
    variables: Array,
    parents: Array,
    m: Array,
    me: Array,
    a: int,
    b: int,
    gap: int,
) -> None:
    for r in range(v.shape[1]):
        v[out, r] = 1.0
        e[out, r] = 0.0
    for i in range(a, b):
        c, parent = variables[i], parents[i]
        u = variables[a + parent] if parent >= 0 else -1
        m00, m01, m10, m11 = m[i, 0], m[i, 1], m[i, 2], m[i, 3]
        if u < 0:
            for r in range(v.shape[1]):
                v[out, r] *= m01 if codes[c, r] == 1 else m00
        else:
            for r in range(v.shape[1]):
                given_zero, given_one = (m01 if codes[c, r] == 1 else m00), (m11 if codes[c, r] == 1 else m10)
                v[out, r] *= given_one if codes[u, r] == 1 else given_zero
        if me[i, 0] != 0.0 or me[i, 1] != 0.0 or me[i, 2] != 0.0 or me[i, 3] != 0.0:
            for r in range(v.shape[1]):
                e[out, r] += me[i, codes[c, r] + (2 * codes[u, r] if u >= 0 else 0)]
        if (i - a + 1) % gap == 0:
            step_up(v, e, out)
    step_up(v, e, out)


@njit(nogil=True)
def _tell(
    v: Array,
    e: Array,
    out: int,
    below: Array,
    below_e: Array,
    j: int,
    zero: float,
    zero_e: float,
    one: float,
    one_e: float,
    best: bool,
) -> None:
    """Multiply by what node j of a tree tells a parent of one value."""
    for r in range(v.shape[1]):
        left, right = below_e[2 * j, r] + zero_e, below_e[2 * j + 1, r] + one_e
        top = left if left > right else right
        some = zero * below[2 * j, r] * power_of_base(left - top)
        other = one * below[2 * j + 1, r] * power_of_base(right - top)
        told = (some if some > other else other) if best else some + other
        small = told < 1.0
        told = told * BASE if small else told
        x = v[out, r] * told
        large = x >= BASE
        v[out, r] = x * STEP if large else x
        e[out, r] = e[out, r] + top - (1.0 if small else 0.0) + (1.0 if large else 0.0) if x > 0.0 else NONE


@njit(nogil=True)
def _tell_alone(
    v: Array,
    e: Array,
    out: int,
    codes: Array,
    c: int,
    zero: float,
    zero_e: float,
    one: float,
    one_e: float,
    best: bool,
) -> None:
    """The same for a node without children, which has a parameter to tell, or nothing where it is missing."""
    other, other_e = 1.0, 0.0
    if best:
        first = zero_e > one_e or (zero_e == one_e and zero > one)
        other, other_e = (zero, zero_e) if first else (one, one_e)
    for r in range(v.shape[1]):
        x = v[out, r] * (one if codes[c, r] == 1 else (zero if codes[c, r] == 0 else other))
        k = e[out, r] + (one_e if codes[c, r] == 1 else (zero_e if codes[c, r] == 0 else other_e))
        small = x < 1.0
        v[out, r] = x * BASE if small else x
        e[out, r] = k - 1.0 if small else k


@njit(nogil=True)
def tree_messages(
    v: Array,
    e: Array,
    out: int,
    codes: Array,
    variables: Array,
    parents: Array,
    has_children: Array,
    m: Array,
    me: Array,
    a: int,
    b: int,
    best: bool,
    below: Array,
    below_e: Array,
) -> None:
    """Fill the messages of a tree, and write the value of the whole."""
    for r in range(v.shape[1]):
        v[out, r] = 1.0
        e[out, r] = 0.0
    for j in range(b - a):
        c = variables[a + j]
        for value in range(2 if has_children[a + j] else 0):
            for r in range(v.shape[1]):
                ruled_out = codes[c, r] == 1 - value
                below[2 * j + value, r] = 0.0 if ruled_out else 1.0
                below_e[2 * j + value, r] = NONE if ruled_out else 0.0
    for j in range(b - a - 1, -1, -1):
        i, parent = a + j, parents[a + j]
        for u in range(1 if parent < 0 else 2):
            zero, zero_e, one, one_e = m[i, 2 * u], me[i, 2 * u], m[i, 2 * u + 1], me[i, 2 * u + 1]
            to, to_e, k = (v, e, out) if parent < 0 else (below, below_e, 2 * parent + u)
            if has_children[i]:
                _tell(to, to_e, k, below, below_e, j, zero, zero_e, one, one_e, best)
            else:
                _tell_alone(to, to_e, k, codes, variables[i], zero, zero_e, one, one_e, best)


@njit(nogil=True)
def _sum(
    v: Array,
    e: Array,
    out: int,
    place: Array,
    base: int,
    argument: Array,
    w: Array,
    we: Array,
    a: int,
    b: int,
    best: bool,
) -> None:
    first, first_e = place[argument[a]] - base, we[a]
    for r in range(v.shape[1]):
        e[out, r] = e[first, r] + first_e
        v[out, r] = 0.0
    for i in range(a + 1, b):
        term, term_e = place[argument[i]] - base, we[i]
        for r in range(v.shape[1]):
            here = e[term, r] + term_e
            e[out, r] = here if here > e[out, r] else e[out, r]
    for i in range(a, b):
        term, weight, term_e = place[argument[i]] - base, w[i], we[i]
        if best:
            for r in range(v.shape[1]):
                here = weight * v[term, r] * power_of_base(e[term, r] + term_e - e[out, r])
                v[out, r] = here if here > v[out, r] else v[out, r]
        else:
            for r in range(v.shape[1]):
                v[out, r] += weight * v[term, r] * power_of_base(e[term, r] + term_e - e[out, r])
    step_up(v, e, out)


@njit(nogil=True)
def _product(v: Array, e: Array, out: int, place: Array, base: int, argument: Array, a: int, b: int) -> None:
    first = place[argument[a]] - base
    for r in range(v.shape[1]):
        v[out, r] = v[first, r]
        e[out, r] = e[first, r]
    for i in range(a + 1, b):
        multiply(v, e, out, v, e, place[argument[i]] - base)


@kept(nogil=True)
def scaled_upward(
    t: Any, s: Any, first: int, last: int, place: Array, base: int, mode: int, best: bool, workspace: Any
) -> None:
    """Run the instructions first..last on a block of rows, as `upward` does, with mantissas and exponents."""
    ops, begin, end, leaf, argument = t.op, t.begin, t.end, t.leaf, t.argument
    codes, v, e, counters = workspace.codes, workspace.values, workspace.values_e, workspace.counters
    for i in range(first, last):
        op, a, b, out = ops[i], begin[i], end[i], place[i] - base
        if op == FACTORS:
            _bernoulli(v, e, out, codes, t.bernoulli_variable, s.bernoulli_m, s.bernoulli_e, a, b, mode, s.gap[i])
        elif op == COUNT:
            count_ones(codes, t.count_variable, a, b, mode, counters)
            if mode == WHOLE:
                _look_up(v, e, out, s.count_m, s.count_e, t.count_start[leaf[i]], mode, counters)
            else:
                _look_up(v, e, out, s.triangle_m, s.triangle_e, t.triangle_start[leaf[i]], mode, counters)
        elif op == TREE and mode == WHOLE:
            _whole_tree(v, e, out, codes, t.tree_variable, t.tree_parent, s.tree_m, s.tree_e, a, b, s.gap[i])
        elif op == TREE:
            tree_messages(
                v,
                e,
                out,
                codes,
                t.tree_variable,
                t.tree_parent,
                t.tree_has_children,
                s.tree_m,
                s.tree_e,
                a,
                b,
                mode == BEST,
                workspace.below,
                workspace.below_e,
            )
        elif op == COLUMN:
            for r in range(v.shape[1]):
                v[out, r] = workspace.column[leaf[i], r]
                e[out, r] = workspace.column_e[leaf[i], r]
        elif op == SUM:
            _sum(v, e, out, place, base, argument, s.weight_m, s.weight_e, a, b, best)
        else:
            _product(v, e, out, place, base, argument, a, b)
