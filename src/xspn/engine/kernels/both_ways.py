"""Walks up and down the tape, segment by segment: marginals of all variables, and expected statistics.

The pass down computes the derivative of the root's probability by every value. Times the value of the node it is the
joint probability of the evidence and of the node being used. All of it is sums and products of probabilities again:
nothing is divided, so zeros do no harm. A derivative lives from the visit of the first parent to that of the node: just
as long, the other way round, as the value on the way up. So derivatives use the same registers.
"""

from typing import Any

import numpy as np
from numba import njit

from xspn.core.compilation import kept
from xspn.engine.kernels.arrays import COLUMN, COUNT, FACTORS, MISSING, PARTIAL, PRODUCT, SUM, TREE, WHOLE
from xspn.engine.kernels.leaves import (
    bernoulli_marginals,
    bernoulli_statistics,
    count_marginals,
    count_statistics,
    dot,
    tree_marginals,
    tree_messages,
    tree_posteriors,
    tree_statistics,
    whole_tree_statistics,
)
from xspn.engine.kernels.up import count_ones, encode, upward

Array = Any


@njit(nogil=True)
def _pass_on(derivatives: Array, out: int, fresh: bool, left: Array, i: int, right: Array, j: int) -> None:
    """Give left · right to a child: its first derivative, or one more."""
    if fresh:
        for r in range(derivatives.shape[1]):
            derivatives[out, r] = left[i, r] * right[j, r]
    else:
        for r in range(derivatives.shape[1]):
            derivatives[out, r] += left[i, r] * right[j, r]


@njit(nogil=True)
def sum_down(
    derivatives: Array, own: int, register: Array, fresh: Array, argument: Array, weight: Array, a: int, b: int
) -> None:
    """Pass the derivative by a sum on to its children, by their weights."""
    for e in range(a, b):
        out, w = register[argument[e]], weight[e]
        if fresh[e]:
            for r in range(derivatives.shape[1]):
                derivatives[out, r] = w * derivatives[own, r]
        else:
            for r in range(derivatives.shape[1]):
                derivatives[out, r] += w * derivatives[own, r]


@njit(nogil=True)
def product_down(
    values: Array,
    base: int,
    derivatives: Array,
    own: int,
    register: Array,
    fresh: Array,
    argument: Array,
    a: int,
    b: int,
    factors: Array,
) -> None:
    """Pass the derivative by a product on to its children, multiplied by the other factors.

    Those after child k are kept in factors[k + 1]; those before it, and the derivative, are gathered in factors[0].
    """
    if b - a == 2:
        first, second = argument[a], argument[a + 1]
        _pass_on(derivatives, register[first], fresh[a], derivatives, own, values, second - base)
        _pass_on(derivatives, register[second], fresh[a + 1], derivatives, own, values, first - base)
        return
    for r in range(derivatives.shape[1]):
        factors[0, r] = derivatives[own, r]
        factors[b - a, r] = 1
    for e in range(b - 1, a, -1):
        k, child = e - a, argument[e] - base
        for r in range(derivatives.shape[1]):
            factors[k, r] = factors[k + 1, r] * values[child, r]
    for e in range(a, b):
        child = argument[e] - base
        _pass_on(derivatives, register[argument[e]], fresh[e], factors, 0, factors, e - a + 1)
        for r in range(derivatives.shape[1]):
            factors[0, r] *= values[child, r]


@njit(nogil=True)
def _walk_down(t: Any, first: int, last: int, mode: int, learn: bool, workspace: Any, found: Any) -> None:
    """Visit last..first with derivatives; the first one is given. Values of i are at i − first.

    Arrays get names of their own: reading them from a tuple for each instruction would cost more than the arithmetic.
    """
    ops, register, begin, end, leaf = t.op, t.register, t.begin, t.end, t.leaf
    argument, fresh, weight, triangle = t.argument, t.fresh, t.weight, t.triangle
    triangle_start, count_start, counted = t.triangle_start, t.count_start, t.count_variable
    variables, p = t.bernoulli_variable, t.bernoulli_p
    in_tree, parents, has_children, tree_p = t.tree_variable, t.tree_parent, t.tree_has_children, t.tree_p
    values, derivatives, flow, factors, codes = (
        workspace.values,
        workspace.derivatives,
        workspace.flow,
        workspace.factors,
        workspace.codes,
    )
    ones, counters, below, tree_ones, one = (
        workspace.ones,
        workspace.counters,
        workspace.below,
        workspace.tree_ones,
        workspace.one,
    )
    sums, of_bernoulli, of_whole, of_partial, of_tree = (
        found.sums,
        found.bernoulli,
        found.whole,
        found.partial,
        found.tree,
    )
    for i in range(last, first - 1, -1):
        op, a, b, own = ops[i], begin[i], end[i], register[i]
        if op == SUM:
            if learn:
                for e in range(a, b):
                    sums[e] += weight[e] * dot(derivatives, own, values, argument[e] - first)
            sum_down(derivatives, own, register, fresh, argument, weight, a, b)
            continue
        if op == PRODUCT:
            product_down(values, first, derivatives, own, register, fresh, argument, a, b, factors)
            continue
        here = i - first
        for r in range(flow.shape[1]):
            flow[0, r] = derivatives[own, r] * values[here, r]
        if op == FACTORS and learn:
            bernoulli_statistics(flow, codes, variables, a, b, of_bernoulli)
        elif op == FACTORS:
            bernoulli_marginals(flow, ones, variables, p, a, b)
        elif op == COUNT:
            count_ones(codes, counted, a, b, mode, counters)
            if not learn:
                start = triangle_start[leaf[i]]
                count_marginals(flow, ones, derivatives, own, triangle, start, counted, a, b, counters)
            elif mode == WHOLE:
                count_statistics(flow, counters, mode, count_start[leaf[i]], of_whole)
            else:
                count_statistics(flow, counters, mode, triangle_start[leaf[i]], of_partial)
        elif op == TREE and mode == WHOLE:
            whole_tree_statistics(flow, codes, in_tree, parents, a, b, of_tree)
        elif op == TREE:
            tree_messages(flow, 1, codes, in_tree, parents, has_children, tree_p, a, b, False, below, one)
            tree_posteriors(codes, in_tree, parents, has_children, tree_p, a, b, below, tree_ones)
            if learn:
                count_ones(codes, in_tree, a, b, mode, counters)
                tree_statistics(flow, counters, tree_ones, parents, a, b, of_tree)
            else:
                tree_marginals(flow, ones, tree_ones, in_tree, a, b)
        else:
            for r in range(flow.shape[1]):
                workspace.column_flow[leaf[i], r] = flow[0, r]


@njit(nogil=True, error_model="numpy")  # no check for zero, which would prevent vectorizing over rows
def _finish(codes: Array, ones: Array, total: Array, begin: int, stop: int, out: Array, probability: Array) -> None:
    """Write P(X_v = 1 | row): P(X_v = 1, row) / P(row), or the observed value."""
    for r in range(min(codes.shape[1], stop - begin)):
        probability[begin + r] = total[r]
        scale = 1 / total[r] if total[r] > 0 else 0
        for v in range(codes.shape[0]):
            out[begin + r, v] = min(ones[v, r] * scale, 1) if codes[v, r] == MISSING else codes[v, r]


@kept(nogil=True, error_model="numpy")
def both_ways(
    t: Any,
    X: Array,
    start: int,
    stop: int,
    inside: Array,
    segments: Array,
    identity: Array,
    loaded: int,
    learn: bool,
    weights: Array,
    least: float,
    workspace: Any,
    found: Any,
    out: Array,
    probability: Array,
) -> int:
    """Go through the rows start..stop, block by block; return the first row of a block that is unusable, or −1.

    Args:
        t: The tape's arrays.
        X: The rows.
        start: The first row.
        stop: One beyond the last row.
        inside: Which columns the circuit has variables for.
        segments: The parts of the tape.
        identity: 0, 1, 2, …
        loaded: The mode of rows that are in the workspace already, as one block, or −1: then they are read from X.
        learn: Whether to add to the expected statistics, or else to write marginals.
        weights: The weight of each row, for learning.
        least: The least probability of a row to learn from.
        workspace: Where kernels write.
        found: The expected statistics.
        out: Where P(X_v = 1 | row) is written: (rows, variables).
        probability: Where P(row) is written.
    """
    codes, ones, total, n = workspace.codes, workspace.ones, workspace.total, len(t.op)
    for begin in range(start, stop, codes.shape[1]):
        mode = loaded
        if loaded < 0:
            mode = encode(X, begin, stop, inside, codes)
            if mode == 2:
                return begin
        if learn:
            upward(t, 0, n, t.register, 0, mode, False, workspace)
            for r in range(len(total)):
                total[r] = workspace.values[t.register[n - 1], r]
        else:
            mode = PARTIAL  # where nothing is missing there is nothing to find
            ones[:] = 0
            total[:] = 0
        for segment in range(len(segments)):
            first, last, edge = segments[segment, 0], segments[segment, 1], segments[segment, 2]
            w = t.weight[edge] if edge >= 0 else workspace.one
            upward(t, first, last + 1, identity, first, mode, False, workspace)
            value, derivative, reached = last - first, t.register[last], False
            for r in range(len(total)):
                workspace.derivatives[derivative, r] = w
                if learn:
                    counted = begin + r < stop and total[r] >= least
                    workspace.derivatives[derivative, r] = w * weights[begin + r] / total[r] if counted else 0
                else:
                    total[r] += w * workspace.values[value, r]
                reached = reached or workspace.derivatives[derivative, r] * workspace.values[value, r] > 0
            if not reached:  # impossible here, or out of range: there is no flow, and rows may be computed again
                for i in range(first, last + 1):
                    if t.op[i] == COLUMN:
                        workspace.column_flow[t.leaf[i], :] = 0
                continue
            if learn and edge >= 0:
                found.sums[edge] += dot(workspace.derivatives, derivative, workspace.values, value)
            _walk_down(t, first, last, mode, learn, workspace, found)
        if learn:
            for r in range(min(codes.shape[1], stop - begin)):
                probability[begin + r] = total[r]
        else:
            _finish(codes, ones, total, begin, stop, out, probability)
    return -1


@kept(nogil=True)
def write_pairs(ones: Array, absent: Array, table: Array) -> None:
    """Write P(X_v = 0 | row) and P(X_v = 1 | row) of binary variables, NaN for absent ones: (rows, variables, 2)."""
    for r in range(ones.shape[0]):
        for v in range(ones.shape[1]):
            one = np.nan if absent[v] else np.float64(ones[r, v])
            table[r, v, 0] = 1.0 - one
            table[r, v, 1] = one
