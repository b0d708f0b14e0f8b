"""Which variables form exchangeable blocks: the partition of best evidence, found by merging and moving.

The prior of a partition: the number of variables that stand alone is uniform, and so is which ones they are; the others
form blocks as the guests of a Chinese restaurant do. Up to a constant its logarithm is log s! + Σ log (m_b − 1)! for s
single variables and blocks of m_b. Of the restaurant only the seatings without a guest alone are partitions here, so
that the prior sums to less than one: to the mean of D_k / k! over k = 0..n (D_k: derangements), ½ for n = 1 and n = 2,
falling to 1/e. What is missing counts against each context alike. Compiled by numba.
"""

from math import lgamma, log
from typing import Any, NamedTuple

import numpy as np

from xspn.core.compilation import kept
from xspn.learning.blocks.laws import evidence_of_bit, evidence_of_counts

Array = Any
SWEEPS = 8
IMPOSSIBLE = -1e300
EXPECTED = 0.25  # of the smaller gain of two blocks, beside the larger one, when they have become one
HOPELESS = -10.0  # nats: two blocks that lose so much by merging are not looked at again


class Blocks(NamedTuple):
    """Variables in blocks; blocks are numbered as variables are, and an empty one has size 0."""

    bits: Array  # (variables, rows)
    weights: Array  # (rows,)
    total: float  # of the weights
    alone: Array  # the evidence of each variable on its own
    log_factorials: Array  # log t! at [t]
    label: Array  # the block of each variable
    size: Array  # of each block
    count: Array  # the number of ones of each block in each row: (blocks, rows)
    evidence: Array  # of each block
    ones: Array  # the weight of all ones of each block
    together: Array  # how often a variable is one together with one of a block: (variables, blocks)
    clock: Array  # how many times a variable has been moved
    changed: Array  # when each block was last changed, by the clock
    looked: Array  # when each variable was last looked at


@kept(nogil=True)
def best_partition(bits: Array, weights: Array, pairs: Array, log_factorials: Array, start: Array) -> Array:
    """Return the block of each variable.

    Args:
        bits: Zeros and ones: (variables, rows).
        weights: The weight of each row.
        pairs: How often two variables are one together: (variables, variables).
        log_factorials: log t! at [t].
        start: The block of each variable to start from, named by one of its variables.
    """
    n, total = len(bits), weights.sum()
    alone = np.empty(n)
    for j in range(n):
        alone[j] = evidence_of_bit(pairs[j, j], max(total - pairs[j, j], 0.0))
    count, size = np.zeros(bits.shape, np.int16), np.zeros(n, np.int64)
    ones, together = np.zeros(n), np.zeros((n, n))
    clock, changed, looked = np.zeros(1, np.int64), np.zeros(n, np.int64), np.full(n, -1)
    blocks = Blocks(
        bits, weights, total, alone, log_factorials, start.copy(), size, count, alone.copy(), ones, together,
        clock, changed, looked,
    )  # fmt: skip
    for j in range(n):
        count[start[j]] += bits[j]
        size[start[j]] += 1
        ones[start[j]] += pairs[j, j]
        together[:, start[j]] += pairs[:, j]
    for b in range(n):
        if size[b] > 1:
            blocks.evidence[b] = _evidence_of(blocks, b)
    for _ in range(SWEEPS):
        _merge(blocks, pairs)
        dissolved = _dissolve(blocks, pairs)
        if not _move(blocks, pairs) and not dissolved:
            break
    return _or_trivial(blocks)


@kept(nogil=True)
def _or_trivial(blocks: Blocks) -> Array:
    """Return the partition found, or all variables alone or in one block if that is better: merging may miss both."""
    n = len(blocks.label)
    found = log_prior(blocks.label)
    for b in range(n):
        if blocks.size[b] > 0:
            found += blocks.evidence[b]
    histogram = np.zeros(n + 1)
    ones = np.zeros(len(blocks.weights), np.int64)
    for j in range(n):
        ones += blocks.bits[j]
    for r in range(len(ones)):
        histogram[ones[r]] += blocks.weights[r]
    alone, together = np.arange(n), np.zeros(n, np.int64)
    whole, _ = evidence_of_counts(histogram, n, blocks.log_factorials)
    value_alone, value_together = blocks.alone.sum() + log_prior(alone), whole + log_prior(together)
    if max(value_alone, value_together) <= found + 1e-6:
        return blocks.label
    return alone if value_alone > value_together else together


@kept(nogil=True)
def _evidence_of(blocks: Blocks, b: int) -> float:
    m = blocks.size[b]
    histogram = np.zeros(m + 1)
    for r in range(len(blocks.weights)):
        histogram[blocks.count[b, r]] += blocks.weights[r]
    found, _ = evidence_of_counts(histogram, m, blocks.log_factorials)
    return float(found)


@kept(nogil=True)
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


@kept(nogil=True)
def _merge(blocks: Blocks, pairs: Array) -> None:
    """Merge the two blocks whose union has the best evidence, as long as that gains.

    Merging is weighed as if any partition of the restaurant would do: to pass from single variables to a large block
    one must be allowed through pairs that are hardly dependent. What does not pay in the end is dissolved. Once two
    blocks are one, its gains with others are guessed from theirs, and computed when they come first.
    """
    n = len(blocks.label)
    gain, guessed = np.full((n, n), IMPOSSIBLE), np.zeros((n, n), np.bool_)
    for i in range(n):
        for j in range(i):
            if blocks.size[i] == 1 and blocks.size[j] == 1:
                gain[i, j] = gain[j, i] = _gain_of_pair(blocks, i, j, pairs)
            elif blocks.size[i] > 0 and blocks.size[j] > 0:
                gain[i, j] = gain[j, i] = _gain_of_merging(blocks, i, j)
    partner = np.empty(n, np.int64)  # the best one of each block
    for i in range(n):
        partner[i] = np.argmax(gain[i])
    while n > 1:
        a = -1
        for i in range(n):
            if blocks.size[i] > 0 and (a < 0 or gain[i, partner[i]] > gain[a, partner[a]]):
                a = i
        b = partner[a]
        if gain[a, b] <= HOPELESS:
            return
        if guessed[a, b]:
            _set_gain(gain, guessed, partner, a, b, _gain_of_merging(blocks, a, b))
            continue
        if gain[a, b] <= 0.0:  # a guess below may still be wrong
            _compute_guesses(blocks, gain, guessed, partner)
            if gain.max() <= 0.0:
                return
            continue
        blocks.evidence[a] += blocks.evidence[b] + gain[a, b] - _prior_gain(blocks.size[a], blocks.size[b])
        blocks.size[a] += blocks.size[b]
        blocks.size[b] = 0
        blocks.count[a] += blocks.count[b]
        blocks.ones[a] += blocks.ones[b]
        blocks.together[:, a] += blocks.together[:, b]
        for c in range(n):
            if blocks.label[c] == b:
                blocks.label[c] = a
            if blocks.size[c] > 0 and c != a:
                likely = max(gain[a, c], gain[b, c]) + EXPECTED * max(min(gain[a, c], gain[b, c]), 0.0)
                guessed[a, c] = guessed[c, a] = likely > HOPELESS  # what fits with neither half does not fit the whole
                gain[a, c] = gain[c, a] = likely if likely > HOPELESS else IMPOSSIBLE
            gain[b, c] = gain[c, b] = IMPOSSIBLE
        for i in range(n):
            if blocks.size[i] > 0:
                if i == a or partner[i] == a or partner[i] == b:
                    partner[i] = np.argmax(gain[i])
                elif gain[i, a] > gain[i, partner[i]]:
                    partner[i] = a


@kept(nogil=True)
def _set_gain(gain: Array, guessed: Array, partner: Array, a: int, b: int, value: float) -> None:
    gain[a, b] = gain[b, a] = value
    guessed[a, b] = guessed[b, a] = False
    partner[a], partner[b] = np.argmax(gain[a]), np.argmax(gain[b])


@kept(nogil=True)
def _compute_guesses(blocks: Blocks, gain: Array, guessed: Array, partner: Array) -> None:
    for i in range(len(gain)):
        for j in range(i):
            if guessed[i, j] and blocks.size[i] > 0 and blocks.size[j] > 0:
                _set_gain(gain, guessed, partner, i, j, _gain_of_merging(blocks, i, j))


@kept(nogil=True)
def _prior_gain(m: int, k: int) -> float:
    return lgamma(float(m + k)) - lgamma(float(m)) - lgamma(float(k))


@kept(nogil=True)
def _gain_of_merging(blocks: Blocks, a: int, b: int) -> float:
    m = blocks.size[a] + blocks.size[b]
    if not _promising(blocks, a, b):
        return IMPOSSIBLE
    histogram = np.zeros(m + 1)
    for r in range(len(blocks.weights)):
        histogram[blocks.count[a, r] + blocks.count[b, r]] += blocks.weights[r]
    union, _ = evidence_of_counts(histogram, m, blocks.log_factorials)
    return float(union - blocks.evidence[a] - blocks.evidence[b] + _prior_gain(blocks.size[a], blocks.size[b]))


@kept(nogil=True)
def _gain_of_pair(blocks: Blocks, i: int, j: int, pairs: Array) -> float:
    """Return the gain of merging two single variables, from their pair counts."""
    total, both = blocks.total, pairs[i, j]
    if not _may_be_one(total, pairs[i, i], pairs[j, j], pairs[i, i], pairs[j, j], both):
        return IMPOSSIBLE
    histogram = np.empty(3)
    histogram[2] = both
    histogram[1] = max(pairs[i, i] + pairs[j, j] - 2.0 * both, 0.0)
    histogram[0] = max(total - histogram[1] - both, 0.0)
    union, _ = evidence_of_counts(histogram, 2, blocks.log_factorials)
    return float(union - blocks.alone[i] - blocks.alone[j])


@kept(nogil=True)
def _promising(blocks: Blocks, a: int, b: int) -> bool:
    """Whether two blocks might be one."""
    xx, yy, xy = 0.0, 0.0, 0.0
    for j in range(len(blocks.label)):
        if blocks.label[j] == a:
            xx += blocks.together[j, a]
            xy += blocks.together[j, b]
        elif blocks.label[j] == b:
            yy += blocks.together[j, b]
    m, k = blocks.size[a], blocks.size[b]
    x1, y1 = blocks.ones[a] / m, blocks.ones[b] / k
    return _may_be_one(blocks.total, x1, y1, xx / m / m, yy / k / k, xy / m / k)


@kept(nogil=True)
def _may_join(blocks: Blocks, j: int, b: int, pairs: Array) -> bool:
    """Whether a variable might belong to a block."""
    yy, k = 0.0, blocks.size[b]
    for i in range(len(blocks.label)):
        if blocks.label[i] == b:
            yy += blocks.together[i, b]
    own = pairs[j, j]
    return _may_be_one(blocks.total, own, blocks.ones[b] / k, own, yy / k / k, blocks.together[j, b] / k)


@kept(nogil=True)
def _may_be_one(total: float, x1: float, y1: float, xx: float, yy: float, xy: float) -> bool:
    """Tell from moments that are not divided by N; no, if means differ more than any dependence could make up for."""
    spread = xx + yy - 2.0 * xy
    if spread <= 1e-12 * total:
        return True
    against = 0.5 * (x1 - y1) ** 2 / spread
    if against < 6.0:
        return True
    dependence, x_spread, y_spread = 0.0, xx - x1 * x1 / total, yy - y1 * y1 / total
    if x_spread > 0.0 and y_spread > 0.0:
        squared = min((xy - x1 * y1 / total) ** 2 / (x_spread * y_spread), 1.0 - 1e-9)
        dependence = -0.5 * total * log(1.0 - squared)
    return bool(2.0 * dependence + log(total + 1.0) + 6.0 > against)


@kept(nogil=True)
def _dissolve(blocks: Blocks, pairs: Array) -> bool:
    """Dissolve blocks that are worth less than their variables alone, the worst one first; tell whether any was."""
    n, changed = len(blocks.label), False
    while True:
        single, worst, best_gain = 0, -1, 1e-9
        for m in blocks.size:
            if m == 1:
                single += 1
        for b in range(n):
            m = blocks.size[b]
            if m < 2:
                continue
            gain = lgamma(single + m + 1.0) - lgamma(single + 1.0) - lgamma(float(m)) - blocks.evidence[b]
            for j in range(n):
                if blocks.label[j] == b:
                    gain += blocks.alone[j]
            if gain > best_gain:
                worst, best_gain = b, gain
        if worst < 0:
            return changed
        changed = True
        blocks.size[worst] = 0
        for variable in np.flatnonzero(blocks.label == worst):
            _settle(blocks, int(variable), _empty(blocks), blocks.alone[variable], pairs)


@kept(nogil=True)
def _empty(blocks: Blocks) -> int:
    for b in range(len(blocks.size)):
        if blocks.size[b] == 0:
            return b
    return -1


@kept(nogil=True)
def _settle(blocks: Blocks, j: int, b: int, evidence: float, pairs: Array) -> None:
    """Put a variable, taken from its block before, into another block."""
    if blocks.size[b] == 0:
        blocks.count[b] = 0
        blocks.ones[b] = 0.0
        blocks.together[:, b] = 0.0
    blocks.count[b] += blocks.bits[j]
    blocks.ones[b] += pairs[j, j]
    blocks.together[:, b] += pairs[:, j]
    blocks.label[j] = b
    blocks.size[b] += 1
    blocks.evidence[b] = evidence
    blocks.clock[0] += 1
    blocks.changed[b] = blocks.clock[0]


@kept(nogil=True)
def _move(blocks: Blocks, pairs: Array) -> bool:
    """Move each variable to the block where it is worth most, or let it stand alone; tell whether any was moved.

    A variable whose own block is as it was when it was looked at before is compared with the blocks that are not.
    """
    n, moved = len(blocks.label), False
    single = 0
    for m in blocks.size:
        if m == 1:
            single += 1
    for j in range(n):
        home, since = blocks.label[j], blocks.looked[j]
        if blocks.changed[home] > since:
            since = -1
        elif blocks.changed.max() <= since:
            continue
        blocks.looked[j] = blocks.clock[0]
        m = blocks.size[home]
        without = _evidence_without(blocks, j)
        others = single - 1 if m == 1 else (single + 1 if m == 2 else single)  # that stand alone once j is taken out
        stays = blocks.evidence[home] - without + _log_prior_of_joining(m - 1, others)
        target, best, best_evidence = -1, stays + 1e-6, 0.0
        if m > 1 and blocks.alone[j] + log(others + 1.0) > best:
            target, best, best_evidence = n, blocks.alone[j] + log(others + 1.0), blocks.alone[j]
        for b in range(n):
            k = blocks.size[b]
            if k < 2 or b == home or blocks.changed[b] <= since or not _may_join(blocks, j, b, pairs):
                continue
            histogram = np.zeros(k + 2)
            for r in range(len(blocks.weights)):
                histogram[blocks.count[b, r] + blocks.bits[j, r]] += blocks.weights[r]
            joined, _ = evidence_of_counts(histogram, k + 1, blocks.log_factorials)
            value = joined - blocks.evidence[b] + _log_prior_of_joining(k, others)
            if value > best:
                target, best, best_evidence = b, value, joined
        if target < 0:
            continue
        moved = True
        blocks.count[home] -= blocks.bits[j]
        blocks.ones[home] -= pairs[j, j]
        blocks.together[:, home] -= pairs[:, j]
        blocks.size[home] -= 1
        blocks.evidence[home] = without
        single = others
        if target == n:
            target = _empty(blocks)
            single += 1
        elif blocks.size[target] == 1:
            single -= 1
        _settle(blocks, j, target, best_evidence, pairs)
        blocks.changed[home] = blocks.clock[0]
    return moved


@kept(nogil=True)
def _log_prior_of_joining(k: int, single: int) -> float:
    """Return what the prior gains by a variable that joins a block of k others, or none, beside so many single ones."""
    if k == 0:
        return log(single + 1.0)
    return -log(float(single)) if k == 1 else log(float(k))


@kept(nogil=True)
def _evidence_without(blocks: Blocks, j: int) -> float:
    """Return the evidence of a variable's block without it."""
    home = blocks.label[j]
    m = blocks.size[home]
    if m == 1:
        return 0.0
    if m == 2:
        for i in range(len(blocks.label)):
            if i != j and blocks.label[i] == home:
                return float(blocks.alone[i])
    histogram = np.zeros(m)
    for r in range(len(blocks.weights)):
        histogram[blocks.count[home, r] - blocks.bits[j, r]] += blocks.weights[r]
    found, _ = evidence_of_counts(histogram, m - 1, blocks.log_factorials)
    return float(found)
