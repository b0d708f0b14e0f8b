"""Merging blocks as long as that gains, and which of many are tried with each other first. Compiled by numba."""

from math import lgamma, log
from typing import Any

import numpy as np

from xspn.core.compilation import kept
from xspn.learning.blocks.laws import evidence_of_pair
from xspn.learning.blocks.pairs import leader_of
from xspn.learning.blocks.state import IMPOSSIBLE, BlockState, evidence_of_histogram, may_be_one

Array = Any
HOPELESS = -10.0  # nats: two blocks that lose so much by merging are not looked at again
IN_LIST = 200  # variables of many that are first merged with each other


@kept(nogil=True, error_model="numpy")
def neighborhoods(blocks: BlockState) -> list[Array]:
    """Return blocks in lists of which each is to be merged on its own.

    By mean, so that each list has neighbors; but variables that are strongly associated, whose means are alike, too,
    stand where the first of them does.
    """
    n, total, pairs = len(blocks.label), blocks.total, blocks.pairs
    leader, nearest, best = np.arange(n), np.full(n, -1), np.zeros(n)
    least = log(float(n)) + 0.5 * log(total + 1.0)
    for i in range(n):
        for j in range(i):
            own = _association(total, pairs[i, i], pairs[j, j], pairs[i, j])
            if own > least:
                if own > best[i]:
                    nearest[i], best[i] = j, own
                if own > best[j]:
                    nearest[j], best[j] = i, own
    for i in range(n):
        if nearest[i] >= 0:
            a, b = leader_of(leader, i), leader_of(leader, nearest[i])
            leader[max(a, b)] = min(a, b)
    place = np.empty(n, np.int64)
    for i in range(n):
        place[i] = leader_of(leader, i)
    order = np.argsort(place, kind="mergesort")
    order = order[blocks.size[order] > 0]
    n_lists = -(-len(order) // IN_LIST)
    return [order[len(order) * k // n_lists : len(order) * (k + 1) // n_lists] for k in range(n_lists)]


@kept(nogil=True, error_model="numpy")
def _association(total: float, x: float, y: float, both: float) -> float:
    """Return about how many nats the dependence of two variables is worth, less what their different means cost."""
    squared = (both - x * y / total) ** 2
    spread = x * (total - x) * y * (total - y) / (total * total)
    apart = x + y - 2.0 * both
    if spread <= 0.0:
        return 0.0
    dependence = min(squared / spread, 1.0)
    against = 0.5 * (x - y) ** 2 / apart if apart > 0.0 else 0.0
    return 0.5 * total * dependence - against


@kept(nogil=True, error_model="numpy")
def merge_blocks(blocks: BlockState, some: Array) -> None:
    """Merge the two of some blocks whose union has the best evidence, as long as that gains.

    Merging is weighed as if any partition of the restaurant would do: to pass from single variables to a large block
    one must be allowed through pairs that are hardly dependent. What does not pay in the end is dissolved. Once two
    blocks are one, its gains with others are guessed from theirs, and computed when they come first.
    """
    n, linked = len(some), _linked(blocks, some)
    gain, guessed = _gains_of_merging(blocks, some, linked), np.zeros((n, n), np.bool_)
    partner, alive, into = np.empty(n, np.int64), np.ones(n, np.bool_), np.arange(n)
    for i in range(n):
        partner[i] = np.argmax(gain[i])  # the best one of each block
    while n > 1:
        a = -1
        for i in range(n):
            if alive[i] and (a < 0 or gain[i, partner[i]] > gain[a, partner[a]]):
                a = i
        b = partner[a]
        if gain[a, b] <= HOPELESS:
            break
        if guessed[a, b]:
            _set_gain(gain, guessed, partner, a, b, _gain_of_merging(blocks, some, linked, a, b))
            continue
        if gain[a, b] <= 0.0:  # a guess below may still be wrong
            found = False
            for i in range(n):
                for j in range(i):
                    if guessed[i, j] and alive[i] and alive[j]:
                        gain[i, j] = gain[j, i] = _gain_of_merging(blocks, some, linked, i, j)
                        guessed[i, j] = guessed[j, i] = False
                        found = found or gain[i, j] > 0.0
            if not found:
                break
            for i in range(n):
                partner[i] = np.argmax(gain[i])
            continue
        first, second = some[a], some[b]
        blocks.evidence[first] += (
            blocks.evidence[second] + gain[a, b] - prior_gain(blocks.size[first], blocks.size[second])
        )
        blocks.size[first] += blocks.size[second]
        blocks.size[second] = 0
        blocks.count[first] += blocks.count[second]
        blocks.ones[first] += blocks.ones[second]
        linked[a] += linked[b]
        linked[:, a] += linked[:, b]
        alive[b], into[b] = False, a
        for c in range(n):
            if alive[c] and c != a:
                likely = max(gain[a, c], gain[b, c])  # what fits with neither half does not fit the whole
                guessed[a, c] = guessed[c, a] = likely > HOPELESS
                gain[a, c] = gain[c, a] = likely if likely > HOPELESS else IMPOSSIBLE
            gain[b, c] = gain[c, b] = IMPOSSIBLE
        for i in range(n):
            if alive[i]:
                if i == a or partner[i] == a or partner[i] == b:
                    partner[i] = np.argmax(gain[i])
                elif gain[i, a] > gain[i, partner[i]]:
                    partner[i] = a
    place = np.full(len(blocks.label), -1)
    for i in range(n):
        place[some[i]] = some[leader_of(into, i)]
    for j in range(len(blocks.label)):
        if place[blocks.label[j]] >= 0:
            blocks.label[j] = place[blocks.label[j]]


@kept(nogil=True, error_model="numpy")
def _linked(blocks: BlockState, some: Array) -> Array:
    """Return how often a variable of one block is one together with a variable of another: (blocks, blocks)."""
    place = np.full(len(blocks.label), -1)
    place[some] = np.arange(len(some))
    members = np.flatnonzero(place[blocks.label] >= 0)
    if len(some) * len(some) * len(blocks.weights) < len(members) * len(members):
        return _linked_by_counts(blocks, some)
    where = place[blocks.label[members]]
    linked = np.zeros((len(some), len(some)))
    for i in range(len(members)):
        row = linked[where[i]]
        pairs = blocks.pairs[members[i]]
        for j in range(len(members)):
            row[where[j]] += pairs[members[j]]
    return linked


@kept(nogil=True, error_model="numpy")
def _linked_by_counts(blocks: BlockState, some: Array) -> Array:
    """Return the same by the blocks' counts in each row: faster where there are few blocks of many variables."""
    linked = np.empty((len(some), len(some)))
    for i in range(len(some)):
        heavy = blocks.weights * blocks.count[some[i]]
        for j in range(i + 1):
            other, found = blocks.count[some[j]], 0.0
            for r in range(len(heavy)):
                found += heavy[r] * other[r]
            linked[i, j] = linked[j, i] = found
    return linked


@kept(nogil=True, error_model="numpy")
def _set_gain(gain: Array, guessed: Array, partner: Array, a: int, b: int, value: float) -> None:
    gain[a, b] = gain[b, a] = value
    guessed[a, b] = guessed[b, a] = False
    partner[a], partner[b] = np.argmax(gain[a]), np.argmax(gain[b])


@kept(nogil=True, error_model="numpy")
def prior_gain(m: int, k: int) -> float:
    """Return what the prior gains by merging blocks of these sizes."""
    return lgamma(float(m + k)) - lgamma(float(m)) - lgamma(float(k))


@kept(nogil=True, error_model="numpy")
def _gains_of_merging(blocks: BlockState, some: Array, linked: Array) -> Array:
    """Return the gain of merging every two of some blocks, in whose variables ones come together so often.

    Of two single variables these numbers are all that is needed.
    """
    n, total, of_total = len(some), blocks.total, blocks.of_total
    size, own = blocks.size[some], blocks.evidence[some]
    of_none, of_draws = blocks.of_none[2], blocks.of_draws[2]
    gain = np.full((n, n), IMPOSSIBLE)
    for i in range(n):
        x = linked[i, i]
        for j in range(i):
            if size[i] > 1 or size[j] > 1:
                gain[i, j] = _gain_of_merging(blocks, some, linked, i, j)
                continue
            y, both = linked[j, j], linked[i, j]
            if may_be_one(total, x, y, x, y, both):
                one = max(x + y - 2.0 * both, 0.0)
                union = evidence_of_pair(max(total - one - both, 0.0), one, both, of_total, of_none, of_draws)
                gain[i, j] = union - own[i] - own[j]
    for i in range(n):
        for j in range(i):
            gain[j, i] = gain[i, j]
    return gain


@kept(nogil=True, error_model="numpy")
def _gain_of_merging(blocks: BlockState, some: Array, linked: Array, i: int, j: int) -> float:
    """Return the gain of merging two of some blocks that are not both single variables."""
    a, b, total = some[i], some[j], blocks.total
    m, k = blocks.size[a], blocks.size[b]
    x, y = blocks.ones[a] / m, blocks.ones[b] / k
    if not may_be_one(total, x, y, linked[i, i] / m / m, linked[j, j] / k / k, linked[i, j] / m / k):
        return IMPOSSIBLE
    histogram = blocks.histogram[: m + k + 1]
    _count_sums(blocks.count[a], blocks.count[b], blocks.weights, histogram)
    union = evidence_of_histogram(blocks, histogram, m + k)
    return float(union - blocks.evidence[a] - blocks.evidence[b] + prior_gain(m, k))


@kept(nogil=True, error_model="numpy")
def _count_sums(count: Array, other: Array, weights: Array, histogram: Array) -> None:
    """Fill in the weight of the rows in which two counts have each sum."""
    histogram[:] = 0.0
    for r in range(len(weights)):
        histogram[count[r] + other[r]] += weights[r]
