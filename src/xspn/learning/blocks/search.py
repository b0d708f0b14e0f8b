"""Which variables form exchangeable blocks: the partition of best evidence, found by merging and moving.

The prior of a partition: the number of variables that stand alone is uniform, and so is which ones they are; the others
form blocks as the guests of a Chinese restaurant do. Up to a constant its logarithm is log s! + Σ log (m_b − 1)! for s
single variables and blocks of m_b. Of the restaurant only the seatings without a guest alone are partitions here, so
that the prior sums to less than one: to the mean of D_k / k! over k = 0..n (D_k: derangements), ½ for n = 1 and n = 2,
falling to 1/e. What is missing counts against each context alike.

Exchangeable variables have the same mean. So of many variables each is first merged with some that are next to it in
mean, or strongly associated with one of these; then blocks are merged with blocks, whatever they are made of, and
single variables move to the blocks that are most like them. Compiled by numba.
"""

from math import lgamma, log
from typing import Any, NamedTuple

import numpy as np

from xspn.core.compilation import kept
from xspn.learning.blocks.halves import halves, residual_pairs
from xspn.learning.blocks.laws import PRIOR_MASS, evidence_of_bit, evidence_of_pair, evidence_with
from xspn.learning.blocks.pairs import equal_columns, leader_of, ones_together, sorted_columns, sums_of_columns

Array = Any
SWEEPS = 30
IMPOSSIBLE = -1e300
HOPELESS = -10.0  # nats: two blocks that lose so much by merging are not looked at again
LEAST_GAIN = 1e-6  # nats, for a variable to be moved
LEAST_OF_SWEEP = 0.01  # nats for each variable, for another sweep over all of them
MOST_AT_ONCE = 600  # variables whose pairs are all looked at ...
IN_LIST = 200  # ... and of more, those that are first merged with each other
MOST_TARGETS = 8  # blocks that a variable is compared with
SMALLEST_CUT = 4  # variables of a block that may be cut in two


class Blocks(NamedTuple):
    """Variables in blocks; blocks are numbered as variables are, and an empty one has size 0."""

    bits: Array  # (variables, rows)
    weights: Array  # (rows,)
    total: float  # of the weights
    pairs: Array  # how often two variables are one together
    alone: Array  # the evidence of each variable on its own
    log_factorials: Array  # log t! at [t]
    of_total: float  # log Γ(N + 1), N being the total
    of_none: Array  # log Γ(1 / (n + 1)) at [n]
    of_draws: Array  # log Γ(n N + 1) at [n]
    label: Array  # the block of each variable
    size: Array  # of each block
    count: Array  # the number of ones of each block in each row: (blocks, rows)
    evidence: Array  # of each block
    ones: Array  # the weight of all ones of each block
    clock: Array  # how many times a variable has been moved
    changed: Array  # when each block was last changed, by the clock
    looked: Array  # when each variable was last looked at
    histogram: Array  # a workspace


@kept(nogil=True, error_model="numpy")
def blocks_of_bits(bits: Array, weights: Array, log_factorials: Array, start: Array) -> Array:
    """Return the block of each variable in the partition of best evidence, numbered from 0.

    What is found does not depend on the order of columns: they are looked at from rare to frequent ones.

    Args:
        bits: Zeros and ones: (rows, variables).
        weights: The weight of each row.
        log_factorials: log t! at [t].
        start: The block of each variable to start from; empty, to start from single variables.
    """
    n = bits.shape[1]
    ones, beside = sums_of_columns(bits, weights)
    order, columns = sorted_columns(bits, ones, beside)
    own = equal_columns(columns)
    if len(start) > 0:
        first = np.full(start.max() + 1, -1)
        for j in range(n):
            block = start[order[j]]
            if first[block] < 0:
                first[block] = j
            own[j] = first[block]
    found = best_partition(columns, weights, ones_together(columns, weights), log_factorials, own)
    number, label = np.zeros(n, np.int64), np.empty(n, np.int64)
    for j in range(n):
        label[order[j]] = order[found[j]]
        number[order[found[j]]] = 1
    number = np.cumsum(number) - 1
    for j in range(n):
        label[j] = number[label[j]]
    return label


@kept(nogil=True, error_model="numpy")
def best_partition(bits: Array, weights: Array, pairs: Array, log_factorials: Array, start: Array) -> Array:
    """Return the block of each variable.

    Args:
        bits: Zeros and ones: (variables, rows). Variables come sorted by their means.
        weights: The weight of each row.
        pairs: How often two variables are one together: (variables, variables).
        log_factorials: log t! at [t].
        start: The block of each variable to start from, named by one of its variables.
    """
    n, total = len(bits), weights.sum()
    alone, of_none, of_draws = np.empty(n), np.empty(n + 2), np.empty(n + 2)
    for j in range(n):
        alone[j] = evidence_of_bit(pairs[j, j], max(total - pairs[j, j], 0.0))
    for m in range(n + 2):
        of_none[m], of_draws[m] = lgamma(PRIOR_MASS / (m + 1)), lgamma(m * total + 1.0)
    label, size = start.copy(), np.zeros(n, np.int64)
    count, ones = np.zeros(bits.shape, np.int16), np.zeros(n)
    clock, changed, looked = np.zeros(1, np.int64), np.zeros(n, np.int64), np.full(n, -1)
    blocks = Blocks(
        bits, weights, total, pairs, alone, log_factorials, lgamma(total + PRIOR_MASS), of_none, of_draws,
        label, size, count, alone.copy(), ones, clock, changed, looked, np.zeros(n + 2),
    )  # fmt: skip
    for j in range(n):
        count[label[j]] += bits[j]
        size[label[j]] += 1
        ones[label[j]] += pairs[j, j]
    for b in range(n):
        if size[b] > 1:
            blocks.evidence[b] = _evidence_of(blocks, b)
    if (size > 0).sum() > MOST_AT_ONCE:
        for some in _neighborhoods(blocks):
            _merge(blocks, some)
    _sweep(blocks)
    if _is_trivial(blocks) and _cut(blocks):
        _sweep(blocks)
    return blocks.label


@kept(nogil=True, error_model="numpy")
def _sweep(blocks: Blocks) -> None:
    """Merge, dissolve, move and cut as long as that gains."""
    before = IMPOSSIBLE
    for _ in range(SWEEPS):
        _merge(blocks, np.flatnonzero(blocks.size > 0))
        dissolved = _dissolve(blocks)
        moved = _move(blocks)
        found = _evidence_of_all(blocks)
        if (not (moved or dissolved) or found < before + LEAST_OF_SWEEP * len(blocks.label)) and not _cut(blocks):
            break
        before = found


@kept(nogil=True, error_model="numpy")
def _neighborhoods(blocks: Blocks) -> list[Array]:
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
def _is_trivial(blocks: Blocks) -> bool:
    """Put all variables into one block, or each on its own, if that is better than what was found; tell whether it is.

    Merging may miss both.
    """
    n, found = len(blocks.label), _evidence_of_all(blocks)
    count = np.zeros(len(blocks.weights), np.int16)
    for j in range(n):
        count += blocks.bits[j]
    histogram = np.zeros(n + 1)
    for r in range(len(count)):
        histogram[count[r]] += blocks.weights[r]
    alone, together = np.arange(n), np.zeros(n, np.int64)
    whole = _evidence(blocks, histogram, n)
    value_alone, value_together = blocks.alone.sum() + log_prior(alone), whole + log_prior(together)
    if max(value_alone, value_together) <= found + 1e-6:
        return False
    is_alone = value_alone > value_together
    blocks.size[:] = 0
    for j in range(n):
        _settle(blocks, j, j if is_alone else 0, blocks.alone[j] if is_alone else whole)
    return True


@kept(nogil=True, error_model="numpy")
def _evidence_of_all(blocks: Blocks) -> float:
    found = log_prior(blocks.label)
    for b in range(len(blocks.size)):
        if blocks.size[b] > 0:
            found += blocks.evidence[b]
    return found


@kept(nogil=True, error_model="numpy")
def _evidence_of(blocks: Blocks, b: int) -> float:
    m = blocks.size[b]
    histogram = np.zeros(m + 1)
    for r in range(len(blocks.weights)):
        histogram[blocks.count[b, r]] += blocks.weights[r]
    return _evidence(blocks, histogram, m)


@kept(nogil=True, error_model="numpy")
def _evidence(blocks: Blocks, histogram: Array, m: int) -> float:
    """Return the evidence of a block of m variables whose counts have this histogram."""
    none, draws = blocks.of_none[m], blocks.of_draws[m]
    found, _ = evidence_with(histogram, m, blocks.log_factorials, blocks.of_total, none, draws)
    return float(found)


@kept(nogil=True, error_model="numpy")
def log_prior(label: Array) -> float:
    """Return the log-probability of a partition beforehand: log of s! Π (m_b − 1)! / (n! (n + 1))."""
    n = len(label)
    size = np.zeros(n, np.int64)
    for block in label:
        size[block] += 1
    single, found = 0, -lgamma(n + 1.0) - log(n + 1.0)
    for m in size:
        if m == 1:
            single += 1
        elif m > 1:
            found += lgamma(float(m))
    return found + lgamma(single + 1.0)


@kept(nogil=True, error_model="numpy")
def _merge(blocks: Blocks, some: Array) -> None:
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
            blocks.evidence[second] + gain[a, b] - _prior_gain(blocks.size[first], blocks.size[second])
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
def _linked(blocks: Blocks, some: Array) -> Array:
    """Return how often a variable of one block is one together with a variable of another: (blocks, blocks)."""
    place = np.full(len(blocks.label), -1)
    place[some] = np.arange(len(some))
    members = np.flatnonzero(place[blocks.label] >= 0)
    where = place[blocks.label[members]]
    linked = np.zeros((len(some), len(some)))
    for i in range(len(members)):
        row = linked[where[i]]
        pairs = blocks.pairs[members[i]]
        for j in range(len(members)):
            row[where[j]] += pairs[members[j]]
    return linked


@kept(nogil=True, error_model="numpy")
def _set_gain(gain: Array, guessed: Array, partner: Array, a: int, b: int, value: float) -> None:
    gain[a, b] = gain[b, a] = value
    guessed[a, b] = guessed[b, a] = False
    partner[a], partner[b] = np.argmax(gain[a]), np.argmax(gain[b])


@kept(nogil=True, error_model="numpy")
def _prior_gain(m: int, k: int) -> float:
    return lgamma(float(m + k)) - lgamma(float(m)) - lgamma(float(k))


@kept(nogil=True, error_model="numpy")
def _gains_of_merging(blocks: Blocks, some: Array, linked: Array) -> Array:
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
            if _may_be_one(total, x, y, x, y, both):
                one = max(x + y - 2.0 * both, 0.0)
                union = evidence_of_pair(max(total - one - both, 0.0), one, both, of_total, of_none, of_draws)
                gain[i, j] = union - own[i] - own[j]
    for i in range(n):
        for j in range(i):
            gain[j, i] = gain[i, j]
    return gain


@kept(nogil=True, error_model="numpy")
def _gain_of_merging(blocks: Blocks, some: Array, linked: Array, i: int, j: int) -> float:
    """Return the gain of merging two of some blocks that are not both single variables."""
    a, b, total = some[i], some[j], blocks.total
    m, k = blocks.size[a], blocks.size[b]
    x, y = blocks.ones[a] / m, blocks.ones[b] / k
    if not _may_be_one(total, x, y, linked[i, i] / m / m, linked[j, j] / k / k, linked[i, j] / m / k):
        return IMPOSSIBLE
    histogram = blocks.histogram[: m + k + 1]
    _count_sums(blocks.count[a], blocks.count[b], blocks.weights, histogram)
    union = _evidence(blocks, histogram, m + k)
    return float(union - blocks.evidence[a] - blocks.evidence[b] + _prior_gain(m, k))


@kept(nogil=True, error_model="numpy")
def _may_be_one(total: float, x1: float, y1: float, xx: float, yy: float, xy: float) -> bool:
    return _likeness(total, x1, y1, xx, yy, xy) > IMPOSSIBLE


@kept(nogil=True, error_model="numpy")
def _likeness(total: float, x1: float, y1: float, xx: float, yy: float, xy: float) -> float:
    """Return how much better two blocks might do as one, roughly, from moments that are not divided by N.

    IMPOSSIBLE, if means differ more than any dependence could make up for.
    """
    if total <= 0.0:  # no rows: nothing tells them apart
        return 0.0
    spread = xx + yy - 2.0 * xy
    against = 0.5 * (x1 - y1) ** 2 / spread if spread > 1e-12 * total else 0.0
    dependence, x_spread, y_spread = 0.0, xx - x1 * x1 / total, yy - y1 * y1 / total
    if x_spread > 0.0 and y_spread > 0.0:
        squared = min((xy - x1 * y1 / total) ** 2 / (x_spread * y_spread), 1.0 - 1e-9)
        if against < 6.0:
            return 0.5 * total * squared - against
        dependence = -0.5 * total * log(1.0 - squared)
    if against >= 6.0 and 2.0 * dependence + log(total + 1.0) + 6.0 <= against:
        return IMPOSSIBLE
    return dependence - against


@kept(nogil=True, error_model="numpy")
def _dissolve(blocks: Blocks) -> bool:
    """Dissolve blocks that are worth less than their variables alone, the worst one first; tell whether any was."""
    n, changed = len(blocks.label), False
    alone = np.zeros(n)
    for j in range(n):
        alone[blocks.label[j]] += blocks.alone[j]
    while True:
        single, worst, best_gain = _number_alone(blocks), -1, 1e-9
        for b in range(n):
            m = blocks.size[b]
            if m < 2:
                continue
            gain = lgamma(single + m + 1.0) - lgamma(single + 1.0) - lgamma(float(m)) - blocks.evidence[b] + alone[b]
            if gain > best_gain:
                worst, best_gain = b, gain
        if worst < 0:
            return changed
        changed = True
        blocks.size[worst] = 0
        for variable in np.flatnonzero(blocks.label == worst):
            _settle(blocks, int(variable), _empty(blocks), blocks.alone[variable])


@kept(nogil=True, error_model="numpy")
def _cut(blocks: Blocks) -> bool:
    """Cut each block in two where its pairs differ most, if that gains; tell whether any was."""
    n, changed = len(blocks.label), False
    for b in range(n):
        m = blocks.size[b]
        if m < SMALLEST_CUT:
            continue
        members = np.flatnonzero(blocks.label == b)
        residual = residual_pairs(blocks.bits[members], blocks.count[b], blocks.weights)
        best, evidence, other = LEAST_GAIN, 0.0, 0.0
        away = members[:0]
        for sign in (1.0, -1.0):
            half = members[halves(residual, sign)]
            k = len(half)
            if min(k, m - k) < 2:
                continue
            count = np.zeros(len(blocks.weights), np.int16)
            for j in half:
                count += blocks.bits[j]
            histogram, rest = np.zeros(k + 1), np.zeros(m - k + 1)
            for r in range(len(count)):
                histogram[count[r]] += blocks.weights[r]
                rest[blocks.count[b, r] - count[r]] += blocks.weights[r]
            own, of_rest = _evidence(blocks, histogram, k), _evidence(blocks, rest, m - k)
            gain = own + of_rest - blocks.evidence[b] - _prior_gain(k, m - k)
            if gain > best:
                best, away, evidence, other = gain, half, own, of_rest
        if len(away) > 0:
            changed, target = True, _empty(blocks)
            for j in away:
                blocks.count[b] -= blocks.bits[j]
                blocks.ones[b] -= blocks.pairs[j, j]
                _settle(blocks, int(j), target, evidence)
            blocks.size[b] -= len(away)
            blocks.evidence[b] = other
            blocks.changed[b] = blocks.clock[0]
    return changed


@kept(nogil=True, error_model="numpy")
def _number_alone(blocks: Blocks) -> int:
    single = 0
    for m in blocks.size:
        if m == 1:
            single += 1
    return single


@kept(nogil=True, error_model="numpy")
def _empty(blocks: Blocks) -> int:
    for b in range(len(blocks.size)):
        if blocks.size[b] == 0:
            return b
    return -1


@kept(nogil=True, error_model="numpy")
def _settle(blocks: Blocks, j: int, b: int, evidence: float) -> None:
    """Put a variable, taken from its block before, into another block."""
    if blocks.size[b] == 0:
        blocks.count[b] = 0
        blocks.ones[b] = 0.0
    blocks.count[b] += blocks.bits[j]
    blocks.ones[b] += blocks.pairs[j, j]
    blocks.label[j] = b
    blocks.size[b] += 1
    blocks.evidence[b] = evidence
    blocks.clock[0] += 1
    blocks.changed[b] = blocks.clock[0]


@kept(nogil=True, error_model="numpy")
def _move(blocks: Blocks) -> bool:
    """Move each variable to the block where it is worth most, or let it stand alone; tell whether any was moved.

    It is compared with the blocks that are most like it; if its own block is as it was when it was looked at before,
    with those of them that are not.
    """
    n, moved, single, pairs = len(blocks.label), False, _number_alone(blocks), blocks.pairs
    targets = np.flatnonzero(blocks.size > 1)
    slot = np.full(n, -1)
    slot[targets] = np.arange(len(targets))
    together, within = np.zeros((len(targets), n)), np.zeros(len(targets))
    for j in range(n):
        if slot[blocks.label[j]] >= 0:
            together[slot[blocks.label[j]]] += pairs[j]
    for j in range(n):
        if slot[blocks.label[j]] >= 0:
            within[slot[blocks.label[j]]] += together[slot[blocks.label[j]], j]
    likeness = np.empty(len(targets))
    for j in range(n):
        home, since = blocks.label[j], blocks.looked[j]
        if blocks.changed[home] > since:
            since = -1
        elif blocks.clock[0] <= since:
            continue
        blocks.looked[j] = blocks.clock[0]
        m, own = blocks.size[home], pairs[j, j]
        without = _evidence_without(blocks, j)
        others = single - 1 if m == 1 else (single + 1 if m == 2 else single)  # that stand alone once j is taken out
        stays = blocks.evidence[home] - without + _log_prior_of_joining(m - 1, others)
        target, best, best_evidence = -1, stays + LEAST_GAIN, 0.0
        if m > 1 and blocks.alone[j] + log(others + 1.0) > best:
            target, best, best_evidence = n, blocks.alone[j] + log(others + 1.0), blocks.alone[j]
        for t in range(len(targets)):
            b, k = targets[t], blocks.size[targets[t]]
            likeness[t] = IMPOSSIBLE
            if k > 1 and b != home:
                y1 = blocks.ones[b] / k
                likeness[t] = _likeness(blocks.total, own, y1, own, within[t] / k / k, together[t, j] / k)
        least = np.sort(likeness)[-MOST_TARGETS] if len(targets) > MOST_TARGETS else IMPOSSIBLE
        for t in range(len(targets)):
            b, k = targets[t], blocks.size[targets[t]]
            if likeness[t] == IMPOSSIBLE or likeness[t] < least or blocks.changed[b] <= since:
                continue
            joined = _evidence_joined(blocks, j, b)
            value = joined - blocks.evidence[b] + _log_prior_of_joining(k, others)
            if value > best:
                target, best, best_evidence = b, value, joined
        if target < 0:
            continue
        moved = True
        blocks.count[home] -= blocks.bits[j]
        blocks.ones[home] -= own
        blocks.size[home] -= 1
        blocks.evidence[home] = without
        if slot[home] >= 0:
            within[slot[home]] -= 2.0 * together[slot[home], j] - own
            together[slot[home]] -= pairs[j]
        single = others
        if target == n:
            target = _empty(blocks)
            slot[target] = -1
            single += 1
        else:
            within[slot[target]] += 2.0 * together[slot[target], j] + own
            together[slot[target]] += pairs[j]
        _settle(blocks, j, target, best_evidence)
        blocks.changed[home] = blocks.clock[0]
    return moved


@kept(nogil=True, error_model="numpy")
def _log_prior_of_joining(k: int, single: int) -> float:
    """Return what the prior gains by a variable that joins a block of k others, or none, beside so many single ones."""
    if k == 0:
        return log(single + 1.0)
    return -log(float(single)) if k == 1 else log(float(k))


@kept(nogil=True, error_model="numpy")
def _evidence_joined(blocks: Blocks, j: int, b: int) -> float:
    """Return the evidence of a block with one variable more."""
    k = blocks.size[b] + 1
    histogram = blocks.histogram[: k + 1]
    _count_sums(blocks.count[b], blocks.bits[j], blocks.weights, histogram)
    return _evidence(blocks, histogram, k)


@kept(nogil=True, error_model="numpy")
def _evidence_without(blocks: Blocks, j: int) -> float:
    """Return the evidence of a variable's block without it."""
    home = blocks.label[j]
    k = blocks.size[home] - 1
    if k == 0:
        return 0.0
    if k == 1:
        for i in range(len(blocks.label)):
            if i != j and blocks.label[i] == home:
                return float(blocks.alone[i])
    histogram = blocks.histogram[: k + 1]
    count, bits, weights = blocks.count[home], blocks.bits[j], blocks.weights
    histogram[:] = 0.0
    for r in range(len(weights)):
        histogram[count[r] - bits[r]] += weights[r]
    return _evidence(blocks, histogram, k)


@kept(nogil=True, error_model="numpy")
def _count_sums(count: Array, other: Array, weights: Array, histogram: Array) -> None:
    """Fill in the weight of the rows in which two counts have each sum."""
    histogram[:] = 0.0
    for r in range(len(weights)):
        histogram[count[r] + other[r]] += weights[r]
