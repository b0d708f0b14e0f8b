"""Leaves for a block of rows: Chow-Liu trees, and what the flow into any leaf says of its variables and parameters.

In a tree messages go to the roots, and what evidence says on the way back: `below[2i + v]` is P(evidence at and below
i | X_i = v). A variable without children needs no messages: what it tells its parent is a parameter, or 1 where it is
missing.
"""

from typing import Any

from numba import njit

from xspn.engine.kernels.arrays import WHOLE

Array = Any
IN_ANY_ORDER = {"reassoc", "nsz"}


# -- Chow-Liu trees ----------------------------------------------------------------------------------------------------


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


# -- marginals: what the flow into a leaf says of its variables --------------------------------------------------------


@njit(nogil=True)
def bernoulli_marginals(flow: Array, ones: Array, variables: Array, p: Array, a: int, b: int) -> None:
    """Add P(X_v = 1, evidence) to ones[v] for the entries a..b; only where v is missing is that what it says."""
    for e in range(a, b):
        v, one_p = variables[e], p[e, 1]
        for r in range(ones.shape[1]):
            ones[v, r] += flow[0, r] * one_p


@njit(nogil=True)
def count_marginals(
    flow: Array,
    ones: Array,
    derivatives: Array,
    own: int,
    table: Array,
    start: int,
    variables: Array,
    a: int,
    b: int,
    counters: Array,
) -> None:
    """The same for a count leaf: one more value that is one takes (k, s) to (k+1, s+1), whichever variable it is."""
    for r in range(flow.shape[1]):
        k, s = int(counters[1, r]) + 1, int(counters[0, r]) + 1
        flow[0, r] = derivatives[own, r] * table[start + (k * (k + 1) >> 1) + s] if k <= b - a else 0
    for e in range(a, b):
        v = variables[e]
        for r in range(ones.shape[1]):
            ones[v, r] += flow[0, r]


@njit(nogil=True)
def tree_marginals(flow: Array, ones: Array, tree_ones: Array, variables: Array, a: int, b: int) -> None:
    """The same for a Chow-Liu tree whose posteriors are known."""
    for e in range(a, b):
        v, one = variables[e], 3 * (e - a) + 2
        for r in range(ones.shape[1]):
            ones[v, r] += flow[0, r] * tree_ones[one, r]


# -- statistics: what it says of the leaf's parameters, for EM ---------------------------------------------------------


@njit(nogil=True, fastmath=IN_ANY_ORDER)
def dot(left: Array, i: int, right: Array, j: int) -> float:
    """Return Σ left · right over the rows."""
    total = 0.0
    for r in range(left.shape[1]):
        total += left[i, r] * right[j, r]
    return total


@njit(nogil=True, fastmath=IN_ANY_ORDER)
def _total_where(flow: Array, codes: Array, v: int, code: int) -> float:
    total = 0.0
    for r in range(flow.shape[1]):
        total += flow[0, r] if codes[v, r] == code else 0.0
    return total


@njit(nogil=True)
def whole_tree_statistics(
    flow: Array, codes: Array, variables: Array, parents: Array, a: int, b: int, tree: Array
) -> None:
    """Add the flow of each parent's and own value of whole rows."""
    for e in range(a, b):
        v, parent = variables[e], parents[e]
        for r in range(flow.shape[1]):
            above = 0 if parent < 0 else codes[variables[a + parent], r]
            tree[e, 2 * above + codes[v, r]] += flow[0, r]


@njit(nogil=True, fastmath=IN_ANY_ORDER)
def _pairs(flow: Array, ones: Array, j: int, parent: int, tree: Array, e: int) -> None:
    """Add the flow of (parent, own) = 00, 01, 10, 11; a root counts as having a parent of value 0."""
    zero_one, zero_any, one_one, one_any = 0.0, 0.0, 0.0, 0.0
    for r in range(flow.shape[1]):
        above = flow[0, r] * ones[3 * parent + 2, r] if parent >= 0 else 0.0
        rest = flow[0, r] - above
        zero_any += rest
        zero_one += rest * ones[3 * j, r]
        one_any += above
        one_one += above * ones[3 * j + 1, r] if parent >= 0 else 0.0
    tree[e, 0] += max(zero_any - zero_one, 0.0)
    tree[e, 1] += zero_one
    tree[e, 2] += max(one_any - one_one, 0.0)
    tree[e, 3] += one_one


@njit(nogil=True)
def bernoulli_statistics(flow: Array, codes: Array, variables: Array, a: int, b: int, found: Array) -> None:
    """Add the flow of zeros and of ones."""
    for e in range(a, b):
        found[e, 0] += _total_where(flow, codes, variables[e], 0)
        found[e, 1] += _total_where(flow, codes, variables[e], 1)


@njit(nogil=True)
def count_statistics(flow: Array, counters: Array, mode: int, start: int, found: Array) -> None:
    """Add the flow of each number of ones, or of values and ones."""
    for r in range(flow.shape[1]):
        k = int(counters[1, r])
        place = counters[0, r] if mode == WHOLE else (k * (k + 1) >> 1) + counters[0, r]
        found[start + place] += flow[0, r]


@njit(nogil=True)
def tree_statistics(
    flow: Array, counters: Array, tree_ones: Array, parents: Array, a: int, b: int, found: Array
) -> None:
    """Add the flow of each parent's and own value; a row of which nothing is known tells nothing."""
    for r in range(flow.shape[1]):
        if counters[1, r] == 0:
            flow[0, r] = 0
    for e in range(a, b):
        _pairs(flow, tree_ones, e - a, parents[e], found, e)
