"""Which variables form exchangeable blocks: the partition of best evidence, found by merging, moving and cutting.

The prior of a partition: the number of variables that stand alone is uniform, and so is which ones they are; the others
form blocks as the guests of a Chinese restaurant do. Up to a constant its logarithm is log s! + Σ log (m_b − 1)! for s
single variables and blocks of m_b. Of the restaurant only the seatings without a guest alone are partitions here, so
that the prior sums to less than one: to the mean of D_k / k! over k = 0..n (D_k: derangements), ½ for n = 1 and n = 2,
falling to 1/e. What is missing counts against each context alike.

Exchangeable variables have the same mean. So of many variables each is first merged with some that are next to it in
mean, or strongly associated with one of these; then blocks are merged with blocks, whatever they are made of, and
single variables move to the blocks that are most like them.

Neither finds two large blocks in one. Of variables that exclude each other in two groups ("exactly one of these twelve,
and exactly one of those") no two are clearly dependent, so that all of them are merged; but all of their pairs together
tell the groups apart. So blocks are cut in two, too, by the main direction in which their pairs differ. Compiled by
numba.
"""

from math import lgamma, log, sqrt
from typing import Any

import numpy as np

from xspn.core.compilation import kept
from xspn.learning.blocks.laws import PRIOR_MASS, evidence_of_bit
from xspn.learning.blocks.merging import merge_blocks, neighborhoods, prior_gain
from xspn.learning.blocks.moving import LEAST_GAIN, dissolve, empty, move, settle
from xspn.learning.blocks.pairs import equal_columns, ones_together, sorted_columns, sums_of_columns
from xspn.learning.blocks.state import IMPOSSIBLE, BlockState, evidence_of_block, evidence_of_histogram, rarer_rows

Array = Any
SWEEPS = 30
LEAST_OF_SWEEP = 0.01  # nats for each variable, for another sweep over all of them
MOST_AT_ONCE = 600  # variables that are all tried with each other at first; of more, neighbors are
ITERATIONS = 40
CONVERGED = 1e-6
SMALLEST = 4  # variables of a block that may be cut


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
    mostly_one, odd_from, odd = rarer_rows(bits)
    blocks = BlockState(
        bits, mostly_one, odd_from, odd, weights, total, pairs, alone, log_factorials, lgamma(total + PRIOR_MASS),
        of_none, of_draws, label, size, count, alone.copy(), ones, clock, changed, looked, np.zeros(n + 2),
    )  # fmt: skip
    for j in range(n):
        count[label[j]] += bits[j]
        size[label[j]] += 1
        ones[label[j]] += pairs[j, j]
    for b in range(n):
        if size[b] > 1:
            blocks.evidence[b] = evidence_of_block(blocks, b)
    if (size > 0).sum() > MOST_AT_ONCE:
        for some in neighborhoods(blocks):
            merge_blocks(blocks, some)
    _sweep(blocks)
    if _is_trivial(blocks) and cut(blocks):
        _sweep(blocks)
    return blocks.label


@kept(nogil=True, error_model="numpy")
def _sweep(blocks: BlockState) -> None:
    """Merge, dissolve, move and cut as long as that gains."""
    before = IMPOSSIBLE
    for _ in range(SWEEPS):
        merge_blocks(blocks, np.flatnonzero(blocks.size > 0))
        dissolved = dissolve(blocks)
        moved = move(blocks)
        found = evidence_of_all(blocks)
        if (not (moved or dissolved) or found < before + LEAST_OF_SWEEP * len(blocks.label)) and not cut(blocks):
            break
        before = found


@kept(nogil=True, error_model="numpy")
def _is_trivial(blocks: BlockState) -> bool:
    """Put all variables into one block, or each on its own, if that is better than what was found; tell whether it is.

    Merging may miss both.
    """
    n, found = len(blocks.label), evidence_of_all(blocks)
    count = np.zeros(len(blocks.weights), np.int16)
    for j in range(n):
        count += blocks.bits[j]
    histogram = np.zeros(n + 1)
    for r in range(len(count)):
        histogram[count[r]] += blocks.weights[r]
    alone, together = np.arange(n), np.zeros(n, np.int64)
    whole = evidence_of_histogram(blocks, histogram, n)
    value_alone, value_together = blocks.alone.sum() + log_prior(alone), whole + log_prior(together)
    if max(value_alone, value_together) <= found + 1e-6:
        return False
    is_alone = value_alone > value_together
    blocks.size[:] = 0
    for j in range(n):
        settle(blocks, j, j if is_alone else 0, blocks.alone[j] if is_alone else whole)
    return True


@kept(nogil=True, error_model="numpy")
def evidence_of_all(blocks: BlockState) -> float:
    """Return the evidence of all blocks, that of the partition included."""
    found = log_prior(blocks.label)
    for b in range(len(blocks.size)):
        if blocks.size[b] > 0:
            found += blocks.evidence[b]
    return found


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


# -- cutting -----------------------------------------------------------------------------------------------------------


@kept(nogil=True, error_model="numpy")
def cut(blocks: BlockState) -> bool:
    """Cut each block in two where its pairs differ most, if that gains; tell whether any was."""
    n, changed = len(blocks.label), False
    for b in range(n):
        m = blocks.size[b]
        if m < SMALLEST:
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
            own, of_rest = evidence_of_histogram(blocks, histogram, k), evidence_of_histogram(blocks, rest, m - k)
            gain = own + of_rest - blocks.evidence[b] - prior_gain(k, m - k)
            if gain > best:
                best, away, evidence, other = gain, half, own, of_rest
        if len(away) > 0:
            changed, target = True, empty(blocks)
            for j in away:
                blocks.count[b] -= blocks.bits[j]
                blocks.ones[b] -= blocks.pairs[j, j]
                settle(blocks, int(j), target, evidence)
            blocks.size[b] -= len(away)
            blocks.evidence[b] = other
            blocks.changed[b] = blocks.clock[0]
    return changed


@kept(nogil=True, error_model="numpy")
def residual_pairs(columns: Array, counts: Array, weights: Array) -> Array:
    """Return what neither the mean nor the variables' own effects explain of how often two are one together.

    Under exchangeability all of it is chance (the part S of the global test). Rows weigh less the more of this chance
    they bring, so that a few with many ones do not drown the others.

    Args:
        columns: The variables of a block, at least four: (variables, rows).
        counts: The number of ones of each row.
        weights: The weight of each row.
    """
    m, n_rows = len(columns), columns.shape[1]
    own = np.zeros(n_rows)
    for r in range(n_rows):
        two = counts[r] * (counts[r] - 1.0) / (m * (m - 1.0))  # the chance that two variables are one
        three = two * (counts[r] - 2.0) / (m - 2.0)
        variance = two - 2.0 * three + three * (counts[r] - 3.0) / (m - 3.0)
        if variance > 1e-12:
            own[r] = weights[r] / variance
    found, effect, mean = ones_together(columns, own), np.zeros(m), 0.0
    for i in range(m):
        found[i, i] = 0.0
        for j in range(m):
            effect[i] += found[i, j]
        mean += effect[i]
    mean /= m * (m - 1.0)
    for i in range(m):
        effect[i] = (effect[i] - (m - 1.0) * mean) / (m - 2.0)
    for i in range(m):
        for j in range(m):
            if i != j:
                found[i, j] -= mean + effect[i] + effect[j]
    return found


@kept(nogil=True, error_model="numpy")
def halves(residual: Array, sign: float) -> Array:
    """Mark one half of the variables: by the sign of the eigenvector of the largest eigenvalue of the signed residual.

    Two groups in each of which variables go together have the sign +1, two in each of which they exclude each other −1.
    """
    m = len(residual)
    scale, first, largest = 0.0, 0, -1.0
    for i in range(m):
        own = 0.0
        for j in range(m):
            own += residual[i, j] ** 2
        scale += own
        if own > largest:
            first, largest = i, own
    shift = sqrt(scale)  # no eigenvalue is below −shift
    vector = sign * residual[first]
    vector[first] = sqrt(largest / m)
    for _ in range(ITERATIONS):
        longer, length = shift * vector, 0.0
        for i in range(m):
            for j in range(m):
                longer[i] += sign * residual[i, j] * vector[j]
            length += longer[i] ** 2
        if length == 0.0:
            break
        longer /= sqrt(length)
        apart = 0.0
        for i in range(m):
            apart += (longer[i] - vector[i]) ** 2
        vector = longer
        if apart < CONVERGED:
            break
    return vector > 0.0
