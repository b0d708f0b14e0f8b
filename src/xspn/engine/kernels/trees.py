"""Chow-Liu trees for a block of rows: messages to the roots, and what evidence says on the way back.

`below[2i + v]` is P(evidence at and below i | X_i = v). A variable without children needs no messages: what it tells
its parent is a parameter, or 1 where it is missing.
"""

from typing import Any

from numba import njit

Array = Any


@njit(nogil=True)
def whole_tree(
    values: Array, out: int, codes: Array, variables: Array, parents: Array, p: Array, a: int, b: int, below: Array
) -> None:
    """Multiply from the leaves of the tree to its roots: the order in which messages would be multiplied."""
    for j in range(b - a):
        v, parent = variables[a + j], parents[a + j]
        p00, p01 = p[a + j, 0], p[a + j, 1]
        if parent < 0:
            for r in range(values.shape[1]):
                below[2 * j, r] = p01 if codes[v, r] == 1 else p00
        else:
            u, p10, p11 = variables[a + parent], p[a + j, 2], p[a + j, 3]
            for r in range(values.shape[1]):
                given_zero, given_one = (p01 if codes[v, r] == 1 else p00), (p11 if codes[v, r] == 1 else p10)
                below[2 * j, r] = given_one if codes[u, r] == 1 else given_zero
    for j in range(b - a - 1, -1, -1):
        parent = parents[a + j]
        if parent < 0:
            for r in range(values.shape[1]):
                values[out, r] *= below[2 * j, r]
        else:
            for r in range(values.shape[1]):
                below[2 * parent, r] *= below[2 * j, r]


@njit(nogil=True)
def _tell(
    values: Array,
    out: int,
    below: Array,
    j: int,
    codes: Array,
    v: int,
    zero_p: float,
    one_p: float,
    has_children: bool,
    best: bool,
    one: float,
) -> None:
    """Multiply by what node j tells a parent of one value."""
    if not has_children:
        other = max(zero_p, one_p) if best else one
        for r in range(values.shape[1]):
            values[out, r] *= one_p if codes[v, r] == 1 else (zero_p if codes[v, r] == 0 else other)
    elif best:
        for r in range(values.shape[1]):
            some, other = zero_p * below[2 * j, r], one_p * below[2 * j + 1, r]
            values[out, r] *= some if some > other else other
    else:
        for r in range(values.shape[1]):
            values[out, r] *= zero_p * below[2 * j, r] + one_p * below[2 * j + 1, r]


@njit(nogil=True)
def tree_messages(
    values: Array,
    out: int,
    codes: Array,
    variables: Array,
    parents: Array,
    has_children: Array,
    p: Array,
    a: int,
    b: int,
    best: bool,
    below: Array,
    one: float,
) -> None:
    """Fill the messages of variables that have children, and multiply the value by that of the whole tree."""
    for j in range(b - a):
        v = variables[a + j]
        if has_children[a + j]:
            for r in range(values.shape[1]):
                below[2 * j, r] = one - one if codes[v, r] == 1 else one
            for r in range(values.shape[1]):
                below[2 * j + 1, r] = one - one if codes[v, r] == 0 else one
    for j in range(b - a - 1, -1, -1):
        e, parent = a + j, parents[a + j]
        if parent < 0:
            _tell(values, out, below, j, codes, variables[e], p[e, 0], p[e, 1], has_children[e], best, one)
        else:
            _tell(below, 2 * parent, below, j, codes, variables[e], p[e, 0], p[e, 1], has_children[e], best, one)
            _tell(below, 2 * parent + 1, below, j, codes, variables[e], p[e, 2], p[e, 3], has_children[e], best, one)


@njit(nogil=True, error_model="numpy")  # no check for zero, which would keep rows apart
def _chance_of_one(
    out: Array, i: int, below: Array, j: int, codes: Array, v: int, zero_p: float, one_p: float, has_children: bool
) -> None:
    """Write P(X_j = 1 | its parent's value, evidence); 0 where the evidence contradicts the parent's value."""
    if not has_children:
        for r in range(out.shape[1]):
            out[i, r] = codes[v, r] if codes[v, r] < 2 else one_p
        return
    for r in range(out.shape[1]):
        some = one_p * below[2 * j + 1, r]
        total = zero_p * below[2 * j, r] + some
        out[i, r] = some / total if total > 0 else some


@njit(nogil=True)
def tree_posteriors(
    codes: Array,
    variables: Array,
    parents: Array,
    has_children: Array,
    p: Array,
    a: int,
    b: int,
    below: Array,
    ones: Array,
) -> None:
    """Write P(X_i = 1 | parent's value u, evidence) into ones[3i + u], and P(X_i = 1 | evidence) into ones[3i + 2]."""
    for j in range(b - a):
        e, parent = a + j, parents[a + j]
        _chance_of_one(ones, 3 * j, below, j, codes, variables[e], p[e, 0], p[e, 1], has_children[e])
        if parent < 0:
            for r in range(ones.shape[1]):
                ones[3 * j + 2, r] = ones[3 * j, r]
            continue
        _chance_of_one(ones, 3 * j + 1, below, j, codes, variables[e], p[e, 2], p[e, 3], has_children[e])
        for r in range(ones.shape[1]):
            above = ones[3 * parent + 2, r]
            ones[3 * j + 2, r] = (1 - above) * ones[3 * j, r] + above * ones[3 * j + 1, r]
