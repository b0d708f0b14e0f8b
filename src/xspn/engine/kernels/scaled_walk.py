"""Walks up and down the tape for rows of any probability: scores, marginals and expected statistics.

As in `xspn.engine.kernels.both_ways`, with mantissas and exponents. Derivatives are those of log P(row) here: times a
value they are the probability, given the row, that a node is used. So flows are plain numbers again, and what is made
of them at the leaves is the same for all rows.
"""

from typing import Any

from numba import njit

from xspn.core.compilation import kept
from xspn.engine.kernels.arrays import BASE, COUNT, FACTORS, MISSING, NONE, PARTIAL, PRODUCT, STEP, SUM, TREE, WHOLE
from xspn.engine.kernels.leaves import (
    bernoulli_marginals,
    bernoulli_statistics,
    count_statistics,
    tree_marginals,
    tree_statistics,
    whole_tree_statistics,
)
from xspn.engine.kernels.scaled import power_of_base, scaled_upward, step_up, tree_messages
from xspn.engine.kernels.up import count_ones, encode

Array = Any
SCORE, MARGINALS, LEARN = 0, 1, 2  # what to do with rows


@njit(nogil=True)
def _add(derivatives: Array, derivatives_e: Array, out: int, fresh: bool, r: int, x: float, k: float) -> None:
    """Give a child its first derivative, or one more."""
    if not fresh:
        own, own_e = derivatives[out, r], derivatives_e[out, r]
        top = k if k > own_e else own_e
        x = x * power_of_base(k - top) + own * power_of_base(own_e - top)
        large = x >= BASE
        x = x * STEP if large else x
        k = top + 1.0 if large else top
    derivatives[out, r] = x
    derivatives_e[out, r] = k


@njit(nogil=True)
def _pass_on(
    derivatives: Array,
    derivatives_e: Array,
    out: int,
    fresh: bool,
    v: Array,
    e: Array,
    i: int,
    w: Array,
    f: Array,
    j: int,
) -> None:
    """Give the product of two values to a child."""
    for r in range(derivatives.shape[1]):
        x = v[i, r] * w[j, r]
        large = x >= BASE
        k = e[i, r] + f[j, r]
        _add(derivatives, derivatives_e, out, fresh, r, x * STEP if large else x, k + 1.0 if large else k)


@njit(nogil=True)
def _sum_down(
    derivatives: Array,
    derivatives_e: Array,
    own: int,
    register: Array,
    fresh: Array,
    argument: Array,
    weight: Array,
    weight_e: Array,
    a: int,
    b: int,
) -> None:
    for i in range(a, b):
        out, w, we, first = register[argument[i]], weight[i], weight_e[i], fresh[i]
        for r in range(derivatives.shape[1]):
            x = w * derivatives[own, r]
            small = x < 1.0
            k = derivatives_e[own, r] + we
            _add(derivatives, derivatives_e, out, first, r, x * BASE if small else x, k - 1.0 if small else k)


@njit(nogil=True)
def _product_down(
    values: Array,
    values_e: Array,
    base: int,
    derivatives: Array,
    derivatives_e: Array,
    own: int,
    register: Array,
    fresh: Array,
    argument: Array,
    a: int,
    b: int,
    factors: Array,
    factors_e: Array,
) -> None:
    """Factors after child k are kept in factors[k + 1]; those before it, and the derivative, in factors[0]."""
    if b - a == 2:
        first, second = argument[a], argument[a + 1]
        _pass_on(
            derivatives,
            derivatives_e,
            register[first],
            fresh[a],
            derivatives,
            derivatives_e,
            own,
            values,
            values_e,
            second - base,
        )
        _pass_on(
            derivatives,
            derivatives_e,
            register[second],
            fresh[a + 1],
            derivatives,
            derivatives_e,
            own,
            values,
            values_e,
            first - base,
        )
        return
    for r in range(derivatives.shape[1]):
        factors[0, r] = derivatives[own, r]
        factors_e[0, r] = derivatives_e[own, r]
        factors[b - a, r] = 1.0
        factors_e[b - a, r] = 0.0
    for i in range(b - 1, a, -1):
        _pass_on(factors, factors_e, i - a, True, factors, factors_e, i - a + 1, values, values_e, argument[i] - base)
    for i in range(a, b):
        k = i - a + 1
        _pass_on(
            derivatives, derivatives_e, register[argument[i]], fresh[i], factors, factors_e, 0, factors, factors_e, k
        )
        _pass_on(factors, factors_e, 0, True, factors, factors_e, 0, values, values_e, argument[i] - base)


@njit(nogil=True)
def _joint(v: float, e: float, w: float, f: float) -> float:
    """Return a product that is known to be a plain number: of a derivative and a value."""
    return v * (w * power_of_base(e + f))


@njit(nogil=True)
def _total_flow(
    derivatives: Array, derivatives_e: Array, i: int, values: Array, values_e: Array, j: int, w: float, we: float
) -> float:
    total = 0.0
    for r in range(derivatives.shape[1]):
        total += _joint(derivatives[i, r], derivatives_e[i, r], w * values[j, r], we + values_e[j, r])
    return total


@njit(nogil=True)
def _count_marginals(
    flow: Array,
    ones: Array,
    derivatives: Array,
    derivatives_e: Array,
    own: int,
    table: Array,
    table_e: Array,
    start: int,
    variables: Array,
    a: int,
    b: int,
    counters: Array,
) -> None:
    for r in range(flow.shape[1]):
        k, s = int(counters[1, r]) + 1, int(counters[0, r]) + 1
        flow[0, r] = 0.0
        if k <= b - a:
            place = start + (k * (k + 1) >> 1) + s
            flow[0, r] = _joint(derivatives[own, r], derivatives_e[own, r], table[place], table_e[place])
    for i in range(a, b):
        c = variables[i]
        for r in range(ones.shape[1]):
            ones[c, r] += flow[0, r]


@njit(nogil=True, error_model="numpy")
def _chance_of_one(
    out: Array, i: int, below: Array, below_e: Array, j: int, zero: float, zero_e: float, one: float, one_e: float
) -> None:
    """Write P(X_j = 1 | its parent's value, evidence); 0 where the evidence contradicts the parent's value."""
    for r in range(out.shape[1]):
        left, right = below_e[2 * j, r] + zero_e, below_e[2 * j + 1, r] + one_e
        top = left if left > right else right
        some = one * below[2 * j + 1, r] * power_of_base(right - top)
        total = zero * below[2 * j, r] * power_of_base(left - top) + some
        out[i, r] = some / total if total > 0 else 0.0


@njit(nogil=True)
def _tree_posteriors(t: Any, s: Any, a: int, b: int, codes: Array, below: Array, below_e: Array, ones: Array) -> None:
    """Write P(X_i = 1 | parent's value u, evidence) into ones[3i + u], and P(X_i = 1 | evidence) into ones[3i + 2]."""
    m, me = s.tree_m, s.tree_e
    for j in range(b - a):
        i, parent = a + j, t.tree_parent[a + j]
        for u in range(1 if parent < 0 else 2):
            if t.tree_has_children[i]:
                k = 2 * u
                _chance_of_one(ones, 3 * j + u, below, below_e, j, m[i, k], me[i, k], m[i, k + 1], me[i, k + 1])
            else:
                c, p = t.tree_variable[i], t.tree_p[i, 2 * u + 1]
                for r in range(ones.shape[1]):
                    ones[3 * j + u, r] = codes[c, r] if codes[c, r] < 2 else p
        if parent < 0:
            for r in range(ones.shape[1]):
                ones[3 * j + 2, r] = ones[3 * j, r]
            continue
        for r in range(ones.shape[1]):
            above = ones[3 * parent + 2, r]
            ones[3 * j + 2, r] = (1 - above) * ones[3 * j, r] + above * ones[3 * j + 1, r]


@njit(nogil=True)
def _walk_down(t: Any, s: Any, first: int, last: int, mode: int, learn: bool, workspace: Any, found: Any) -> None:
    """Visit last..first with derivatives; the first one is given. Values of i are at i − first."""
    ops, register, begin, end, leaf = t.op, t.register, t.begin, t.end, t.leaf
    argument, fresh, codes, counters, flow = t.argument, t.fresh, workspace.codes, workspace.counters, workspace.flow
    values, values_e, derivatives, derivatives_e = (
        workspace.values,
        workspace.values_e,
        workspace.derivatives,
        workspace.derivatives_e,
    )
    in_tree, parents, ones = t.tree_variable, t.tree_parent, workspace.ones
    for i in range(last, first - 1, -1):
        op, a, b, own = ops[i], begin[i], end[i], register[i]
        if op == SUM:
            if learn:
                for k in range(a, b):
                    found.sums[k] += _total_flow(
                        derivatives,
                        derivatives_e,
                        own,
                        values,
                        values_e,
                        argument[k] - first,
                        s.weight_m[k],
                        s.weight_e[k],
                    )
            _sum_down(derivatives, derivatives_e, own, register, fresh, argument, s.weight_m, s.weight_e, a, b)
            continue
        if op == PRODUCT:
            _product_down(
                values,
                values_e,
                first,
                derivatives,
                derivatives_e,
                own,
                register,
                fresh,
                argument,
                a,
                b,
                workspace.factors,
                workspace.factors_e,
            )
            continue
        here = i - first
        for r in range(flow.shape[1]):
            flow[0, r] = _joint(derivatives[own, r], derivatives_e[own, r], values[here, r], values_e[here, r])
        if op == FACTORS and learn:
            bernoulli_statistics(flow, codes, t.bernoulli_variable, a, b, found.bernoulli)
        elif op == FACTORS:
            bernoulli_marginals(flow, ones, t.bernoulli_variable, t.bernoulli_p, a, b)
        elif op == COUNT:
            count_ones(codes, t.count_variable, a, b, mode, counters)
            if not learn:
                start = t.triangle_start[leaf[i]]
                _count_marginals(
                    flow,
                    ones,
                    derivatives,
                    derivatives_e,
                    own,
                    s.triangle_m,
                    s.triangle_e,
                    start,
                    t.count_variable,
                    a,
                    b,
                    counters,
                )
            elif mode == WHOLE:
                count_statistics(flow, counters, mode, t.count_start[leaf[i]], found.whole)
            else:
                count_statistics(flow, counters, mode, t.triangle_start[leaf[i]], found.partial)
        elif op == TREE and mode == WHOLE:
            whole_tree_statistics(flow, codes, in_tree, parents, a, b, found.tree)
        elif op == TREE:
            tree_messages(
                values,
                values_e,
                here,
                codes,
                in_tree,
                parents,
                t.tree_has_children,
                s.tree_m,
                s.tree_e,
                a,
                b,
                False,
                workspace.below,
                workspace.below_e,
            )
            _tree_posteriors(t, s, a, b, codes, workspace.below, workspace.below_e, workspace.tree_ones)
            if learn:
                count_ones(codes, in_tree, a, b, mode, counters)
                tree_statistics(flow, counters, workspace.tree_ones, parents, a, b, found.tree)
            else:
                tree_marginals(flow, ones, workspace.tree_ones, in_tree, a, b)
        else:
            for r in range(flow.shape[1]):
                workspace.column_flow[leaf[i], r] = flow[0, r]


@njit(nogil=True)
def _down_segments(
    t: Any, s: Any, segments: Array, identity: Array, mode: int, task: int, weights: Array, begin: int, stop: int,
    workspace: Any, found: Any,
) -> None:  # fmt: skip
    """Walk down every segment; the values of one that is the whole tape are there already."""
    total, total_e, derivatives, derivatives_e = (
        workspace.total,
        workspace.total_e,
        workspace.derivatives,
        workspace.derivatives_e,
    )
    for segment in range(len(segments)):
        first, last, edge = segments[segment, 0], segments[segment, 1], segments[segment, 2]
        w, we = (s.weight_m[edge], s.weight_e[edge]) if edge >= 0 else (1.0, 0.0)
        if edge >= 0:
            scaled_upward(t, s, first, last + 1, identity, first, mode, False, workspace)
        own = t.register[last]
        for r in range(len(total)):
            counted = begin + r < stop and total[r] > 0.0
            weight = weights[begin + r] if task == LEARN and counted else 1.0
            x = w * weight / total[r] if counted else 0.0
            large = x >= BASE
            derivatives[own, r] = x * STEP if large else x
            derivatives_e[own, r] = (we - total_e[r] + (1.0 if large else 0.0)) if counted else NONE
        step_up(derivatives, derivatives_e, own)
        step_up(derivatives, derivatives_e, own)
        if task == LEARN and edge >= 0:
            found.sums[edge] += _total_flow(
                derivatives, derivatives_e, own, workspace.values, workspace.values_e, last - first, 1.0, 0.0
            )
        _walk_down(t, s, first, last, mode, task == LEARN, workspace, found)


@kept(nogil=True, error_model="numpy")
def scaled_walk(
    t: Any,
    s: Any,
    X: Array,
    start: int,
    stop: int,
    inside: Array,
    segments: Array,
    identity: Array,
    loaded: int,
    task: int,
    weights: Array,
    workspace: Any,
    found: Any,
    out: Array,
    mantissa: Array,
    exponent: Array,
) -> int:
    """Go through the rows start..stop, block by block; return the first row of a block that is unusable, or −1.

    Arguments are those of `both_ways`, with the task in place of `learn`, and P(row) as mantissa and exponent.
    """
    codes, ones, total, total_e, n = workspace.codes, workspace.ones, workspace.total, workspace.total_e, len(t.op)
    for begin in range(start, stop, codes.shape[1]):
        mode = loaded
        if loaded < 0:
            mode = encode(X, begin, stop, inside, codes)
            if mode == 2:
                return begin
        if task == MARGINALS:
            mode = PARTIAL  # where nothing is missing there is nothing to find
            ones[:] = 0.0
        whole = task != SCORE and segments[0, 2] < 0  # the only segment is the tape, whose values are kept
        place = identity if whole else t.register
        scaled_upward(t, s, 0, n, place, 0, mode, False, workspace)
        for r in range(min(codes.shape[1], stop - begin)):
            total[r], total_e[r] = workspace.values[place[n - 1], r], workspace.values_e[place[n - 1], r]
            mantissa[begin + r], exponent[begin + r] = total[r], total_e[r]
        if task == SCORE:
            continue
        _down_segments(t, s, segments, identity, mode, task, weights, begin, stop, workspace, found)
        if task == MARGINALS:
            for r in range(min(codes.shape[1], stop - begin)):
                for c in range(codes.shape[0]):
                    out[begin + r, c] = min(ones[c, r], 1.0) if codes[c, r] == MISSING else codes[c, r]
    return -1
