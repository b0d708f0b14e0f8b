"""EM for mixtures of products of exchangeable blocks, compiled by numba, on rows of which a word holds 64 variables.

The ones of a block in a row are counted by the words that have a variable of the block: a mask and a population count
each. All contexts of a mixture are one `Plan`, and all passes of EM one call, because most mixtures are small.
"""

from math import exp, log
from typing import Any, NamedTuple

import numpy as np

from xspn.core.arrays import AnyArray
from xspn.core.compilation import kept
from xspn.learning.blocks.laws import HISTOGRAM, evidence_of_counts, log_probabilities

Array = Any
BITS = 64  # of a word
ODD, PAIRS, NIBBLES, BYTES = (np.uint64(int(f"0x{own * 8}", 16)) for own in ("55", "33", "0f", "01"))
ONE, TWO, FOUR, LAST_BYTE = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)
MOST_PLACES = 1 << 24  # of counts of all rows, that passes remember
NEGLIGIBLE = 1e-14  # a responsibility that adds nothing to any count


class Plan(NamedTuple):
    """Where the blocks of contexts are.

    Attributes:
        blocks: The first block of each context; the last entry is the number of all blocks.
        first: Where the counts of each block start; the last entry is the number of all counts.
        pieces: The first piece of each block; a piece is a word with variables of the block.
        word: Which word a piece is.
        mask: Which of its bits are variables of the block.
    """

    blocks: Array
    first: Array
    pieces: Array
    word: Array
    mask: Array


def words_of(bits: AnyArray) -> AnyArray:
    """Return rows of bits as words, the first variable being the lowest bit: (rows, words)."""
    n_rows, n = bits.shape
    padded = np.zeros((n_rows, -(-n // BITS) * BITS // 8), dtype=np.uint8)
    padded[:, : -(-n // 8)] = np.packbits(bits, axis=1, bitorder="little")
    return padded.view(np.uint64)


@kept(nogil=True)
def plan_of(labels: Array) -> Plan:
    """Return the plan of contexts, given the block of each variable, numbered from 0: (contexts, variables)."""
    n_contexts, n = labels.shape
    n_words = -(-n // BITS)
    blocks = np.zeros(n_contexts + 1, np.int64)
    for k in range(n_contexts):
        blocks[k + 1] = blocks[k] + labels[k].max() + 1
    first, pieces = np.zeros(blocks[-1] + 1, np.int64), np.zeros(blocks[-1] + 1, np.int64)
    word, mask, found = np.empty(labels.size, np.int64), np.empty(labels.size, np.uint64), 0
    for k in range(n_contexts):
        n_blocks = blocks[k + 1] - blocks[k]
        masks = np.zeros((n_blocks, n_words), np.uint64)
        for j in range(n):
            masks[labels[k, j], j // BITS] |= ONE << np.uint64(j % BITS)
            first[blocks[k] + labels[k, j] + 1] += 1
        for b in range(n_blocks):
            for w in range(n_words):
                if masks[b, w] != 0:
                    word[found], mask[found] = w, masks[b, w]
                    found += 1
            pieces[blocks[k] + b + 1] = found
    for b in range(blocks[-1]):
        first[b + 1] += first[b] + 1  # a block of m variables has m + 1 counts
    return Plan(blocks, first, pieces, word[:found], mask[:found])


@kept(nogil=True)
def _ones(words: Array, plan: Plan, b: int) -> Any:
    """Return how many variables of a block are one in a row."""
    found = np.uint64(0)
    for p in range(plan.pieces[b], plan.pieces[b + 1]):
        x = words[plan.word[p]] & plan.mask[p]
        x = x - ((x >> ONE) & ODD)
        x = (x & PAIRS) + ((x >> TWO) & PAIRS)
        x = (x + (x >> FOUR)) & NIBBLES
        found += (x * BYTES) >> LAST_BYTE
    return np.int64(found)


@kept(nogil=True)
def counts_of_blocks(words: Array, weights: Array, plan: Plan) -> Array:
    """Return how often each count of each block of a single context was seen."""
    counts = np.zeros(plan.first[-1])
    for r in range(len(words)):
        for b in range(len(plan.first) - 1):
            counts[plan.first[b] + _ones(words[r], plan, b)] += weights[r]
    return counts


@kept(nogil=True)
def log_prob_of_rows(words: Array, plan: Plan, table: Array) -> Array:
    """Return the log-probability of each row under a single context."""
    found = np.zeros(len(words))
    for r in range(len(words)):
        for b in range(len(plan.first) - 1):
            found[r] += table[plan.first[b] + _ones(words[r], plan, b)]
    return found


@kept(nogil=True)
def laws_of_counts(plan: Plan, counts: Array, log_factorials: Array) -> tuple[Array, Array, Array]:
    """Return the law of each block, the log-probabilities of single assignments, and each context's evidence."""
    n_contexts, n_blocks = len(plan.blocks) - 1, len(plan.first) - 1
    law, table, evidence = np.full(n_blocks, HISTOGRAM), np.zeros(len(counts)), np.zeros(n_contexts)
    for k in range(n_contexts):
        for b in range(plan.blocks[k], plan.blocks[k + 1]):
            start, end = plan.first[b], plan.first[b + 1]
            own, m = counts[start:end], end - start - 1
            found, law[b] = evidence_of_counts(own, m, log_factorials)
            evidence[k] += found
            log_probabilities(own, m, log_factorials, law[b], table[start:end])
    return law, table, evidence


@kept(nogil=True)
def em(
    words: Array,
    weights: Array,
    plan: Plan,
    table: Array,
    totals: Array,
    log_factorials: Array,
    passes: int,
    tolerance: float,
) -> Any:
    """Fit the laws and the weights of contexts whose blocks are known, by so many passes over the rows at most.

    Args:
        words: The rows.
        weights: The weight of each row.
        plan: The contexts.
        table: The log-probability of a single assignment with so many ones in a block.
        totals: The weight of the rows of each context.
        log_factorials: log t! at [t].
        passes: How many passes.
        tolerance: EM ends when a pass gains less than this.

    Returns:
        The responsibilities (rows, contexts), the counts of all blocks, their laws, the new table, the evidence of each
        context's counts, and the totals.
    """
    n_rows, n_contexts, n_blocks = len(words), len(plan.blocks) - 1, len(plan.first) - 1
    own, counts = np.zeros((n_rows, n_contexts)), np.zeros(plan.first[-1])
    law, evidence = np.full(n_blocks, HISTOGRAM), np.zeros(n_contexts)
    logs, log_sizes = np.zeros(n_contexts), np.zeros(n_contexts)
    remembered = n_rows * n_blocks <= MOST_PLACES
    places = np.zeros((n_rows if remembered else 1, n_blocks), np.int32)
    totals, previous = totals.copy(), -np.inf
    for done in range(passes):
        for k in range(n_contexts):
            log_sizes[k] = log(totals[k] + 1.0)
        counts[:], totals[:], current = 0.0, 0.0, 0.0
        for r in range(n_rows):
            top, at = -np.inf, places[r if remembered else 0]
            if done == 0 or not remembered:
                for b in range(n_blocks):
                    at[b] = plan.first[b] + _ones(words[r], plan, b)
            for k in range(n_contexts):
                found = log_sizes[k]
                for b in range(plan.blocks[k], plan.blocks[k + 1]):
                    found += table[at[b]]
                logs[k] = found
                top = max(top, found)
            mass = 0.0
            for k in range(n_contexts):
                logs[k] = exp(logs[k] - top)
                mass += logs[k]
            current += weights[r] * (top + log(mass))
            for k in range(n_contexts):
                own[r, k] = logs[k] / mass
                part = weights[r] * own[r, k]
                totals[k] += part
                if own[r, k] > NEGLIGIBLE:
                    for b in range(plan.blocks[k], plan.blocks[k + 1]):
                        counts[at[b]] += part
        law, table, evidence = laws_of_counts(plan, counts, log_factorials)
        if current - previous < tolerance:
            break
        previous = current
    return own, counts, law, table, evidence, totals
