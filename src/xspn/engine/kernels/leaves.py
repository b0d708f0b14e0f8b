"""What the flow into a leaf says about its variables (marginals) and about its parameters (EM)."""

from typing import Any

from numba import njit

from xspn.engine.kernels.arrays import WHOLE

Array = Any
IN_ANY_ORDER = {"reassoc", "nsz"}


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
