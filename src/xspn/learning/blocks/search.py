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
from typing import Any

import numpy as np

from xspn.core.compilation import kept
from xspn.learning.blocks.cutting import cut
from xspn.learning.blocks.laws import PRIOR_MASS, evidence_of_bit
from xspn.learning.blocks.merging import merge_blocks, neighborhoods
from xspn.learning.blocks.moving import dissolve, move, settle
from xspn.learning.blocks.pairs import equal_columns, ones_together, sorted_columns, sums_of_columns
from xspn.learning.blocks.state import IMPOSSIBLE, BlockState, evidence_of_block, evidence_of_histogram, rarer_rows

Array = Any
SWEEPS = 30
LEAST_OF_SWEEP = 0.01  # nats for each variable, for another sweep over all of them
MOST_AT_ONCE = 600  # variables that are all tried with each other at first; of more, neighbors are


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
