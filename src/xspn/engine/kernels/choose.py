"""Walks from the root to the leaves, where rows are completed: with the best values, or with random ones.

Rows that go the same way go together: a list of rows at a sum is parted into one list for each child, and all children
of a product get the list of the product. So a node is looked at once for all rows that come to it, and a row costs as
much as its own way down, however large the circuit is.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from xspn.core.arrays import AnyArray
from xspn.core.compilation import kept
from xspn.core.random import FIRST_FACTOR, FRACTION, NODE_STEP, SECOND_FACTOR, STEP
from xspn.engine.kernels.arrays import BEST, COUNT, FACTORS, MISSING, PARTIAL, PRODUCT, SUM, WHOLE
from xspn.engine.kernels.up import upward

Array = Any
FEW = 16  # numbers that are compared with one another rather than searched
AT = np.uint64  # an index: numba asks a signed one that it knows nothing of whether it counts from the end


class ChoiceArrays(NamedTuple):
    """What walks need to know of a tape beside `Arrays`; all of them are read-only, as there."""

    slot: AnyArray  # (instructions,): the node whose random numbers an instruction uses
    rest: AnyArray  # (instructions,): the place of a leaf that completes rows by itself, afterwards; or −1
    weight_ends: AnyArray  # (edges,): the sum of a sum's weights up to this one
    tree_place: AnyArray  # (tree entries,): the place of a variable in the tree's own order
    count_ends: AnyArray  # in the places of count leaves' weights: P(number of ones ≤ t)
    best_ones: AnyArray  # in the places of their triangles: the likeliest number of ones
    binomials: AnyArray  # C(n, k) at n(n+1)/2 + k


class Walkers(NamedTuple):
    """What walks write on the way; every thread has its own."""

    order: AnyArray  # (walkers,): lists of walkers
    spare: AnyArray  # (walkers,)
    child: AnyArray  # (walkers,): which child of a sum
    column: AnyArray  # (walkers,): the column of the workspace's values
    part: AnyArray  # (walkers,): the segment of the tape
    stack: AnyArray  # (3, edges + 2): instructions to visit, and the first and last place of their lists
    missing: AnyArray  # (largest leaf,): the variables of a leaf to be completed
    below: AnyArray  # (2, largest tree): messages
    totals: AnyArray  # (largest arity + 1,)


def walkers_for(tape: Any, count: int) -> Walkers:
    """Return what so many rows need to walk down a tape."""
    layout = tape.layout

    def places(n: int) -> AnyArray:
        return np.zeros(n, dtype=np.int64)

    return Walkers(
        order=places(count),
        spare=places(count),
        child=places(count),
        column=places(count),
        part=places(count),
        stack=np.zeros((3, len(layout.argument) + 2), dtype=np.int64),
        missing=places(max(1, layout.largest_count)),
        below=np.zeros((2, max(1, layout.largest_tree))),
        totals=places(layout.largest_arity + 1),
    )


# -- random numbers: those of `xspn.core.random`, bit for bit ----------------------------------------------------------

A, B = np.uint64(FIRST_FACTOR), np.uint64(SECOND_FACTOR)
OF_NUMBER, OF_NODE, ONE = np.uint64(STEP), np.uint64(NODE_STEP), np.uint64(1)
FIRST, SECOND, THIRD, DROPPED = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


@njit(nogil=True)
def _mixed(z: Any) -> Any:
    z = (z ^ (z >> FIRST)) * A
    z = (z ^ (z >> SECOND)) * B
    return z ^ (z >> THIRD)


@njit(nogil=True)
def _node_key(key: Any, slot: int) -> Any:
    """Return what the random numbers of one row at one node come from."""
    return key + (np.uint64(slot) + ONE) * OF_NODE


@njit(nogil=True)
def _uniform(key: Any, place: int) -> float:
    """Return one of a node's random numbers: from 0 to just below 1."""
    return np.float64(_mixed(key + (np.uint64(place) + ONE) * OF_NUMBER) >> DROPPED) * FRACTION


# -- sums --------------------------------------------------------------------------------------------------------------


@njit(nogil=True)
def _choose_by_weight(
    t: Any, c: Any, i: int, slot: int, keys: Array, order: Array, lo: int, hi: int, child: Array
) -> None:
    """Draw a child for each walker where nothing is known."""
    ends, last = c.weight_ends, t.end[i] - 1
    for k in range(AT(lo), AT(hi)):
        target = _uniform(_node_key(keys[AT(order[k])], slot), 0) * ends[last]
        chosen = 0
        for e in range(AT(t.begin[i]), AT(last)):  # without branches: the child cannot be foreseen
            chosen += ends[e] <= target
        child[k] = chosen


@njit(nogil=True)
def _choose(
    t: Any,
    i: int,
    place: Array,
    base: int,
    values: Array,
    chance: bool,
    slot: int,
    keys: Array,
    column: Array,
    order: Array,
    lo: int,
    hi: int,
    child: Array,
) -> None:
    """Draw a child for each walker given what is known of its row, or take the best one, the first of equals."""
    argument, weight, a, b = t.argument, t.weight, t.begin[i], t.end[i]
    for k in range(lo, hi):
        d = AT(order[k])
        c, chosen = AT(column[d]), 0
        end = weight[a] * values[AT(place[AT(argument[a])] - base), c]
        if chance:
            total = end
            for e in range(a + 1, b):
                total += weight[e] * values[AT(place[AT(argument[e])] - base), c]
            target = _uniform(_node_key(keys[d], slot), 0) * total
            while end <= target and chosen < b - a - 1:
                chosen += 1
                end += weight[a + chosen] * values[AT(place[AT(argument[a + chosen])] - base), c]
        else:
            for e in range(a + 1, b):
                here = weight[e] * values[AT(place[AT(argument[e])] - base), c]
                if here > end:
                    end, chosen = here, e - a
        child[k] = chosen


@njit(nogil=True)
def _part(order: Array, lo: int, hi: int, child: Array, arity: int, totals: Array, spare: Array) -> None:
    """Sort a list of walkers by their child, stably; totals[k] is left as the end of the k-th child's list."""
    if arity == 2:
        first, others = lo, 0
        for k in range(AT(lo), AT(hi)):  # without branches: the child cannot be foreseen
            d, second = order[k], child[k]
            order[AT(first)], spare[AT(others)] = d, d
            first += 1 - second
            others += second
        for k in range(others):
            order[first + k] = spare[k]
        totals[0], totals[1] = first, hi
        return
    for k in range(arity + 1):
        totals[k] = 0
    for k in range(AT(lo), AT(hi)):
        totals[AT(child[k] + 1)] += 1
        spare[k] = order[k]
    totals[0] = lo
    for k in range(1, arity):
        totals[k] += totals[k - 1]
    for k in range(AT(lo), AT(hi)):
        to = AT(child[k])
        order[AT(totals[to])] = spare[k]
        totals[to] += 1


# -- leaves ------------------------------------------------------------------------------------------------------------


@njit(nogil=True)
def _draw_factors(
    variables: Array, p: Array, a: int, b: int, slot: int, keys: Array, order: Array, lo: int, hi: int, cells: Array
) -> None:
    """Draw bits of rows of which nothing is known."""
    for k in range(lo, hi):
        d = AT(order[k])
        key = _node_key(keys[d], slot)
        for e in range(a, b):
            cells[d, AT(variables[e])] = _uniform(key, e - a) < p[e, 1]


@njit(nogil=True)
def _fill_factors(
    variables: Array,
    p: Array,
    a: int,
    b: int,
    chance: bool,
    slot: int,
    keys: Array,
    order: Array,
    lo: int,
    hi: int,
    cells: Array,
) -> None:
    """Fill missing bits: with random ones, or with the likelier ones."""
    for k in range(lo, hi):
        d = AT(order[k])
        key = _node_key(keys[d], slot)
        for e in range(a, b):  # without branches: which cells are missing cannot be foreseen
            v = AT(variables[e])
            x, drawn = cells[d, v], np.uint8((_uniform(key, e - a) if chance else 0.5) < p[e, 1])
            cells[d, v] = drawn if x == MISSING else x


@njit(nogil=True, forceinline=True)
def _first_beyond(ends: Array, start: int, n: int, target: float) -> int:
    """Return the first place of n whose end is beyond the target, the last one at most."""
    low, high = 0, n - 1
    if n <= FEW:
        for j in range(n - 1):
            low += ends[start + j] <= target
        return low
    while low < high:
        middle = (low + high) >> 1
        if ends[start + middle] > target:
            high = middle
        else:
            low = middle + 1
    return low


@njit(nogil=True)
def _ones_by_chance(w: Array, start: int, m: int, binomials: Array, target: float) -> int:
    """Return how many of m missing variables are one: by C(m, j) w[start + j], up to a target below their sum."""
    row, j = m * (m + 1) >> 1, 0
    end = binomials[row] * w[start]
    while end <= target and j < m:
        j += 1
        end += binomials[row + j] * w[start + j]
    return j


@njit(nogil=True, forceinline=True)
def _place_ones(missing: Array, m: int, ones: int, key: Any, cells: Array, d: Any) -> None:
    """Put so many ones into missing cells, zeros into the others: cells are picked until there are enough of them."""
    few = 2 * ones <= m
    picked, other = np.uint8(few), np.uint8(not few)
    for j in range(m):
        cells[d, AT(missing[j])] = other
    left, place = ones if few else m - ones, 2
    v = AT(missing[AT(_uniform(key, 1) * m)])
    cells[d, v] = picked if left > 0 else other  # that is all for up to three cells
    while left > 1:
        v = AT(missing[AT(_uniform(key, place) * m)])
        place += 1
        left -= cells[d, v] == other
        cells[d, v] = picked


@njit(nogil=True)
def _draw_counts(
    variables: Array,
    a: int,
    b: int,
    ends: Array,
    start: int,
    slot: int,
    keys: Array,
    order: Array,
    lo: int,
    hi: int,
    missing: Array,
    cells: Array,
) -> None:
    """Draw bits that are counted, of rows of which nothing is known."""
    m = b - a
    for j in range(m):
        missing[j] = variables[a + j]
    for k in range(lo, hi):
        d = AT(order[k])
        key = _node_key(keys[d], slot)
        ones = _first_beyond(ends, start, m + 1, _uniform(key, 0) * ends[start + m])
        _place_ones(missing, m, ones, key, cells, d)


@njit(nogil=True)
def _fill_counts(
    variables: Array,
    a: int,
    b: int,
    w: Array,
    ends: Array,
    start: int,
    triangle: Array,
    best_ones: Array,
    triangle_start: int,
    binomials: Array,
    chance: bool,
    slot: int,
    keys: Array,
    order: Array,
    lo: int,
    hi: int,
    missing: Array,
    cells: Array,
) -> None:
    """Fill missing bits that are counted: by chance, or with the likeliest number of ones, the first cells first."""
    for k in range(lo, hi):
        d = AT(order[k])
        m, seen = 0, 0
        for e in range(a, b):
            x = cells[d, AT(variables[e])]
            missing[AT(m)] = variables[e]
            m += x == MISSING
            seen += x == 1
        n = b - a - m
        table = triangle_start + (n * (n + 1) >> 1)
        if m and chance:
            key = _node_key(keys[d], slot)
            u = _uniform(key, 0)
            if m == b - a:
                ones = _first_beyond(ends, start, m + 1, u * ends[start + m])
            else:
                ones = _ones_by_chance(w, start + seen, m, binomials, u * triangle[table + seen])
            _place_ones(missing, m, ones, key, cells, d)
        elif m:
            ones = best_ones[table + seen] - seen
            for j in range(m):
                cells[d, AT(missing[j])] = j < ones


@njit(nogil=True)
def _draw_trees(
    variables: Array,
    parents: Array,
    p: Array,
    places: Array,
    a: int,
    b: int,
    slot: int,
    keys: Array,
    order: Array,
    lo: int,
    hi: int,
    cells: Array,
) -> None:
    """Draw the bits of a tree, of rows of which nothing is known."""
    for k in range(lo, hi):
        d = AT(order[k])
        key = _node_key(keys[d], slot)
        for e in range(a, b):
            above = 0 if parents[e] < 0 else 2 * np.int64(cells[d, AT(variables[a + parents[e]])])
            zero, one = p[e, above], p[e, above + 1]
            cells[d, AT(variables[e])] = _uniform(key, places[e]) * (zero + one) < one


@njit(nogil=True)
def _fill_trees(
    variables: Array,
    parents: Array,
    p: Array,
    places: Array,
    a: int,
    b: int,
    chance: bool,
    slot: int,
    keys: Array,
    order: Array,
    lo: int,
    hi: int,
    below: Array,
    cells: Array,
) -> None:
    """Fill the missing bits of a tree: messages to the roots, and values on the way back."""
    for k in range(lo, hi):
        d = AT(order[k])
        missing = 0
        for e in range(a, b):
            x = cells[d, AT(variables[e])]
            missing += x == MISSING
            below[0, e - a] = 0.0 if x == 1 else 1.0
            below[1, e - a] = 0.0 if x == 0 else 1.0
        if not missing:
            continue
        for e in range(b - 1, a - 1, -1):
            if parents[e] >= 0:
                parent, zero, one = AT(parents[e]), below[0, e - a], below[1, e - a]
                if chance:
                    below[0, parent] *= p[e, 0] * zero + p[e, 1] * one
                    below[1, parent] *= p[e, 2] * zero + p[e, 3] * one
                else:
                    below[0, parent] *= max(p[e, 0] * zero, p[e, 1] * one)
                    below[1, parent] *= max(p[e, 2] * zero, p[e, 3] * one)
        key = _node_key(keys[d], slot)
        for e in range(a, b):
            v = AT(variables[e])
            if cells[d, v] == MISSING:
                above = 0 if parents[e] < 0 else 2 * np.int64(cells[d, AT(variables[a + parents[e]])])
                zero, one = p[e, above] * below[0, e - a], p[e, above + 1] * below[1, e - a]
                u = _uniform(key, places[e]) * (zero + one) if chance else zero
                cells[d, v] = u < one


# -- the walk ----------------------------------------------------------------------------------------------------------


@kept(nogil=True)
def walk(
    t: Any,
    c: Any,
    top: int,
    place: Array,
    base: int,
    values: Array,
    chance: bool,
    known: bool,
    keys: Array,
    walkers: Any,
    first: int,
    last: int,
    cells: Array,
    reached: Array,
) -> None:
    """Take the walkers order[first..last] down from an instruction, and complete their rows.

    Args:
        t: The tape's arrays.
        c: What else walks need to know.
        top: The instruction to begin with.
        place: Where each instruction's values are kept.
        base: What to subtract from it.
        values: What the pass up gave.
        chance: Whether to draw, or else to take the best.
        known: Whether something is known of the rows; otherwise values are not needed.
        keys: What the random numbers of each walker come from.
        walkers: Their lists, and the column of values that each goes by.
        first: The first walker of the list.
        last: One beyond the last walker of the list.
        cells: The codes of rows, to be completed; where nothing is known they need not be set: (walkers, variables).
        reached: Where walkers are marked that have come to a leaf that is to complete them by itself.
    """
    ops, begin, end, argument = t.op, t.begin, t.end, t.argument
    order, child, stack = walkers.order, walkers.child, walkers.stack
    slots, rest, variables, p = c.slot, c.rest, t.bernoulli_variable, t.bernoulli_p
    stack[0, 0], stack[1, 0], stack[2, 0] = top, first, last
    n = 1
    while n:
        n -= 1
        i, lo, hi = stack[0, n], stack[1, n], stack[2, n]
        op, a, b = ops[i], begin[i], end[i]
        if op == SUM:
            if known:
                _choose(t, i, place, base, values, chance, slots[i], keys, walkers.column, order, lo, hi, child)
            else:
                _choose_by_weight(t, c, i, slots[i], keys, order, lo, hi, child)
            _part(order, lo, hi, child, b - a, walkers.totals, walkers.spare)
            start = lo
            for e in range(a, b):
                stop = walkers.totals[e - a]
                if stop > start:
                    stack[0, n], stack[1, n], stack[2, n] = argument[e], start, stop
                    n += 1
                start = stop
        elif op == PRODUCT:
            for e in range(a, b):
                stack[0, n], stack[1, n], stack[2, n] = argument[e], lo, hi
                n += 1
        elif rest[i] >= 0:
            for k in range(lo, hi):
                reached[rest[i], AT(order[k])] = 1
        elif op == FACTORS and known:
            _fill_factors(variables, p, a, b, chance, slots[i], keys, order, lo, hi, cells)
        elif op == FACTORS:
            _draw_factors(variables, p, a, b, slots[i], keys, order, lo, hi, cells)
        elif op == COUNT:
            start = t.count_start[t.leaf[i]]
            if known:
                _fill_counts(
                    t.count_variable,
                    a,
                    b,
                    t.count_w,
                    c.count_ends,
                    start,
                    t.triangle,
                    c.best_ones,
                    t.triangle_start[t.leaf[i]],
                    c.binomials,
                    chance,
                    slots[i],
                    keys,
                    order,
                    lo,
                    hi,
                    walkers.missing,
                    cells,
                )
            else:
                _draw_counts(
                    t.count_variable, a, b, c.count_ends, start, slots[i], keys, order, lo, hi, walkers.missing, cells
                )
        elif known:
            _fill_trees(
                t.tree_variable,
                t.tree_parent,
                t.tree_p,
                c.tree_place,
                a,
                b,
                chance,
                slots[i],
                keys,
                order,
                lo,
                hi,
                walkers.below,
                cells,
            )
        else:
            _draw_trees(
                t.tree_variable, t.tree_parent, t.tree_p, c.tree_place, a, b, slots[i], keys, order, lo, hi, cells
            )


@njit(nogil=True)
def _gather(codes: Array, column: Array, rows: Array, n: int, workspace: Any) -> None:
    """Write some rows into a workspace."""
    into = workspace.codes
    for k in range(n):
        for v in range(codes.shape[1]):
            into[v, k] = codes[AT(rows[k]), v]
    for j in range(column.shape[0]):
        for k in range(n):
            workspace.column[j, k] = column[j, rows[k]]


@njit(nogil=True)
def _choose_segments(
    t: Any,
    c: Any,
    codes: Array,
    column: Array,
    which: Array,
    keys: Array,
    segments: Array,
    chance: bool,
    workspace: Any,
    walkers: Any,
    probability: Array,
) -> None:
    """Choose among the children of a root whose parts share nothing: for that, no other values need be kept."""
    root, width = len(t.op) - 1, workspace.codes.shape[1]
    totals, spare, d = walkers.totals, walkers.spare, 0
    for begin in range(0, len(codes), width):
        n = min(width, len(codes) - begin)
        for k in range(n):
            spare[k] = begin + k
        _gather(codes, column, spare, n, workspace)
        upward(t, 0, root + 1, t.register, 0, PARTIAL if chance else BEST, not chance, workspace)
        for k in range(n):
            probability[begin + k] = workspace.values[t.register[root], k]
        first = d
        while d < len(which) and which[d] < begin + n:
            walkers.order[d] = d
            walkers.column[d] = which[d] - begin
            d += 1
        _choose(
            t,
            root,
            t.register,
            0,
            workspace.values,
            chance,
            c.slot[root],
            keys,
            walkers.column,
            walkers.order,
            first,
            d,
            walkers.child,
        )
    for part in range(len(segments)):
        totals[segments[part, 2] - t.begin[root]] = part
    for k in range(len(which)):
        walkers.part[k] = totals[walkers.child[k]]


@kept(nogil=True)
def complete(
    t: Any,
    c: Any,
    codes: Array,
    column: Array,
    is_open: Array,
    which: Array,
    keys: Array,
    segments: Array,
    identity: Array,
    chance: bool,
    narrow: Any,
    workspace: Any,
    walkers: Any,
    cells: Array,
    reached: Array,
    probability: Array,
    completed: Array,
) -> None:
    """Complete rows of which something is known: up the tape, and down again.

    Where the tape has several parts, as that of a bagged ensemble, a first pass up tells in which one each row ends up;
    only there it goes up and down once more.

    Args:
        t: The tape's arrays.
        c: What else walks need to know.
        codes: The codes of rows: (rows, variables).
        column: The values of leaves that kernels do not evaluate: (leaves, rows).
        is_open: Of which rows nothing is known, so that there is no way up.
        which: The row of each walker, in order; every row has one.
        keys: What the random numbers of each walker come from.
        segments: The parts of the tape.
        identity: 0, 1, 2, …
        chance: Whether to draw, or else to take the best.
        narrow: A workspace that keeps as many values as are needed at the same time.
        workspace: A workspace that keeps the values of a part.
        walkers: Their lists.
        cells: The codes of the walkers' rows, to be completed: (walkers, variables).
        reached: Where walkers are marked that have come to a leaf that is to complete them by itself.
        probability: Where the root's value is written: (rows,).
        completed: Where the probability of the completed rows is written; empty if it is not asked for, or if there
            are leaves that kernels do not evaluate.
    """
    width, order, spare = workspace.codes.shape[1], walkers.order, walkers.spare
    if len(segments) > 1:
        _choose_segments(t, c, codes, column, which, keys, segments, chance, narrow, walkers, probability)
    for part in range(len(segments)):
        first, last = segments[part, 0], segments[part, 1]
        d = 0
        while d < len(which):
            n, lists, row = 0, 0, -1  # rows in the workspace, walkers that go by them
            while d < len(which):
                if is_open[which[d]] or (len(segments) > 1 and walkers.part[d] != part):
                    d += 1
                    continue
                if which[d] != row:
                    if n == width:
                        break
                    row = which[d]
                    spare[n] = row
                    n += 1
                walkers.column[d] = n - 1
                order[lists] = d
                lists += 1
                d += 1
            if lists == 0:
                break
            _gather(codes, column, spare, n, workspace)
            upward(t, first, last + 1, identity, first, PARTIAL if chance else BEST, not chance, workspace)
            if len(segments) == 1:
                for k in range(n):
                    probability[spare[k]] = workspace.values[last - first, k]
            walk(t, c, last, identity, first, workspace.values, chance, True, keys, walkers, 0, lists, cells, reached)
    lists = 0
    for d in range(len(which)):
        order[lists] = d
        lists += is_open[which[d]]
    if lists:
        walk(t, c, len(t.op) - 1, identity, 0, workspace.values, chance, False, keys, walkers, 0, lists, cells, reached)
    for r in range(len(is_open)):
        probability[r] = 1 if is_open[r] else probability[r]
    if len(completed):
        width = narrow.codes.shape[1]
        for begin in range(0, len(cells), width):
            n = min(width, len(cells) - begin)
            for k in range(n):
                spare[k] = begin + k
            _gather(cells, column, spare, n, narrow)
            upward(t, 0, len(t.op), t.register, 0, WHOLE, False, narrow)
            for k in range(n):
                completed[begin + k] = narrow.values[t.register[len(t.op) - 1], k]


# -- codes -------------------------------------------------------------------------------------------------------------


@kept(nogil=True)
def encode_rows(X: Array, inside: Array, codes: Array, is_open: Array) -> bool:
    """Write rows of bits as codes: (rows, variables); return whether all values of the circuit's variables are bits.

    Rows of which nothing is known are marked; columns outside the circuit count as missing.
    """
    bad = False
    for r in range(X.shape[0]):
        known = False
        for v in range(X.shape[1]):  # without branches: which cells are missing cannot be foreseen
            x = X[r, v]
            is_missing, is_one = (x != x) | ~inside[v], x == 1
            codes[r, v] = MISSING if is_missing else np.uint8(is_one)
            known |= ~is_missing
            bad |= ~(is_missing | is_one | (x == 0))
        is_open[r] = not known
    return not bad


@kept(nogil=True)
def decode_rows(codes: Array, binary: Array, out: Array) -> None:
    """Write codes of binary variables as numbers; those that are still missing are left to others."""
    for r in range(codes.shape[0]):
        for v in range(codes.shape[1]):
            out[r, v] = codes[r, v] if binary[v] and codes[r, v] != MISSING else out[r, v]
