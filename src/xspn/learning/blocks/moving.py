"""Moving single variables to the blocks where they are worth most, and dissolving blocks. Compiled by numba.

What a block's counts become with one variable more or less is told by the rows in which this has its rarer value.
"""

from math import lgamma, log
from typing import Any

import numpy as np

from xspn.core.compilation import kept
from xspn.learning.blocks.state import IMPOSSIBLE, BlockState, evidence_of_histogram, likeness_of

Array = Any
LEAST_GAIN = 1e-6  # nats, for a variable to be moved
MOST_TARGETS = 8  # blocks that a variable is compared with
ROUNDING = 1e-12  # of all rows: less of a count is what differences of weights leave


@kept(nogil=True, error_model="numpy")
def dissolve(blocks: BlockState) -> bool:
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
            settle(blocks, int(variable), empty(blocks), blocks.alone[variable])


@kept(nogil=True, error_model="numpy")
def _number_alone(blocks: BlockState) -> int:
    single = 0
    for m in blocks.size:
        if m == 1:
            single += 1
    return single


@kept(nogil=True, error_model="numpy")
def empty(blocks: BlockState) -> int:
    """Return the number of a block without variables; −1 if there is none."""
    for b in range(len(blocks.size)):
        if blocks.size[b] == 0:
            return b
    return -1


@kept(nogil=True, error_model="numpy")
def settle(blocks: BlockState, j: int, b: int, evidence: float) -> None:
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
def move(blocks: BlockState) -> bool:
    """Move each variable to the block where it is worth most, or let it stand alone; tell whether any was moved.

    It is compared with the blocks that are most like it; if its own block is as it was when it was looked at before,
    with those of them that are not.
    """
    n, moved, single, pairs = len(blocks.label), False, _number_alone(blocks), blocks.pairs
    total = blocks.total
    targets = np.flatnonzero(blocks.size > 1)
    slot = np.full(n, -1)
    slot[targets] = np.arange(len(targets))
    together, within, histograms = _of_targets(blocks, targets, slot)
    likeness = np.empty(len(targets))
    for j in range(n):
        home, since = blocks.label[j], blocks.looked[j]
        if blocks.changed[home] > since:
            since = -1
        elif blocks.clock[0] <= since:
            continue
        blocks.looked[j] = blocks.clock[0]
        m, own = blocks.size[home], pairs[j, j]
        without = _evidence_without(blocks, j, histograms[max(slot[home], 0)])
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
                likeness[t] = likeness_of(total, own, y1, own, within[t] / k / k, together[t, j] / k)
        least = np.sort(likeness)[-MOST_TARGETS] if len(targets) > MOST_TARGETS else IMPOSSIBLE
        for t in range(len(targets)):
            b, k = targets[t], blocks.size[targets[t]]
            if likeness[t] == IMPOSSIBLE or likeness[t] < least or blocks.changed[b] <= since:
                continue
            joined = _evidence_joined(blocks, j, b, histograms[t])
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
            target = empty(blocks)
            slot[target] = -1
            single += 1
        else:
            within[slot[target]] += 2.0 * together[slot[target], j] + own
            together[slot[target]] += pairs[j]
        settle(blocks, j, target, best_evidence)
        blocks.changed[home] = blocks.clock[0]
        for b in (home, target):
            if slot[b] >= 0:
                _fill_histogram(blocks, b, histograms[slot[b]])
    return moved


@kept(nogil=True, error_model="numpy")
def _of_targets(blocks: BlockState, targets: Array, slot: Array) -> tuple[Array, Array, Array]:
    """Return how often ones of blocks come with those of each variable, with their own, and the counts' histograms."""
    n = len(blocks.label)
    together, within = np.zeros((len(targets), n)), np.zeros(len(targets))
    histograms = np.zeros((len(targets) + 1, n + 2))
    for t in range(len(targets)):
        _fill_histogram(blocks, targets[t], histograms[t])
        count, of_all = blocks.count[targets[t]], blocks.ones[targets[t]]
        heavy = blocks.weights * count
        for j in range(n):
            found = 0.0
            for place in range(blocks.odd_from[j], blocks.odd_from[j + 1]):
                found += heavy[blocks.odd[place]]
            together[t, j] = max(of_all - found, 0.0) if blocks.mostly_one[j] else found
    for j in range(n):
        if slot[blocks.label[j]] >= 0:
            within[slot[blocks.label[j]]] += together[slot[blocks.label[j]], j]
    return together, within, histograms


@kept(nogil=True, error_model="numpy")
def _fill_histogram(blocks: BlockState, b: int, histogram: Array) -> None:
    histogram[:] = 0.0
    count = blocks.count[b]
    for r in range(len(count)):
        histogram[count[r]] += blocks.weights[r]


@kept(nogil=True, error_model="numpy")
def _log_prior_of_joining(k: int, single: int) -> float:
    """Return what the prior gains by a variable that joins a block of k others, or none, beside so many single ones."""
    if k == 0:
        return log(single + 1.0)
    return -log(float(single)) if k == 1 else log(float(k))


@kept(nogil=True, error_model="numpy")
def _evidence_joined(blocks: BlockState, j: int, b: int, histogram: Array) -> float:
    """Return the evidence of a block with one variable more, given the histogram of its counts."""
    k, count, weights, odd = blocks.size[b] + 1, blocks.count[b], blocks.weights, blocks.odd
    found, start, end = blocks.histogram[: k + 1], blocks.odd_from[j], blocks.odd_from[j + 1]
    if blocks.mostly_one[j]:
        found[0] = 0.0
        found[1:] = histogram[:k]
        for place in range(start, end):
            r = odd[place]
            found[count[r] + 1] -= weights[r]
            found[count[r]] += weights[r]
    else:
        found[:] = histogram[: k + 1]
        for place in range(start, end):
            r = odd[place]
            found[count[r]] -= weights[r]
            found[count[r] + 1] += weights[r]
    _without_rounding(found, blocks.total)
    return evidence_of_histogram(blocks, found, k)


@kept(nogil=True, error_model="numpy")
def _evidence_without(blocks: BlockState, j: int, histogram: Array) -> float:
    """Return the evidence of a variable's block without it, given the histogram of the block's counts."""
    home = blocks.label[j]
    k, count, weights, odd = blocks.size[home] - 1, blocks.count[home], blocks.weights, blocks.odd
    if k == 0:
        return 0.0
    if k == 1:
        for i in range(len(blocks.label)):
            if i != j and blocks.label[i] == home:
                return float(blocks.alone[i])
    found, start, end = blocks.histogram[: k + 1], blocks.odd_from[j], blocks.odd_from[j + 1]
    if blocks.mostly_one[j]:
        found[:] = histogram[1 : k + 2]
        for place in range(start, end):
            r = odd[place]
            found[count[r]] += weights[r]
            if count[r] > 0:
                found[count[r] - 1] -= weights[r]
    else:
        found[:] = histogram[: k + 1]
        for place in range(start, end):
            r = odd[place]
            if count[r] <= k:
                found[count[r]] -= weights[r]
            found[count[r] - 1] += weights[r]
    _without_rounding(found, blocks.total)
    return evidence_of_histogram(blocks, found, k)


@kept(nogil=True, error_model="numpy")
def _without_rounding(histogram: Array, total: float) -> None:
    for t in range(len(histogram)):
        if histogram[t] < ROUNDING * total:
            histogram[t] = 0.0
