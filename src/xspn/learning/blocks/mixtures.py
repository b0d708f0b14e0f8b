"""EM for mixtures of products of exchangeable blocks, compiled by numba, on rows of which a word holds 64 variables.

The ones of a block in a row are counted by the words that have a variable of the block: a mask and a population count
each. All contexts of a mixture are one `Plan`, and all passes of EM one call, because most mixtures are small.
"""

from math import exp, log, sqrt
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
POWER_STEPS, SHORTEST = 15, 1e-300


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


@kept(nogil=True, error_model="numpy")
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


@kept(nogil=True, error_model="numpy")
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


@kept(nogil=True, error_model="numpy")
def counts_of_blocks(words: Array, weights: Array, plan: Plan) -> Array:
    """Return how often each count of each block of a single context was seen."""
    counts = np.zeros(plan.first[-1])
    for r in range(len(words)):
        for b in range(len(plan.first) - 1):
            counts[plan.first[b] + _ones(words[r], plan, b)] += weights[r]
    return counts


@kept(nogil=True, error_model="numpy")
def log_prob_of_rows(words: Array, plan: Plan, table: Array) -> Array:
    """Return the log-probability of each row under a single context."""
    found = np.zeros(len(words))
    for r in range(len(words)):
        for b in range(len(plan.first) - 1):
            found[r] += table[plan.first[b] + _ones(words[r], plan, b)]
    return found


@kept(nogil=True, error_model="numpy")
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


@kept(nogil=True, error_model="numpy")
def places_of_rows(words: Array, plan: Plan) -> Array:
    """Return where each row's count of each block is in a table of all counts; only of one row if that is too much."""
    n_rows, n_blocks = len(words), len(plan.first) - 1
    if n_rows * n_blocks > MOST_PLACES:
        return np.zeros((1, n_blocks), np.int32)
    places = np.empty((n_rows, n_blocks), np.int32)
    for r in range(n_rows):
        _fill_places(words[r], plan, places[r])
    return places


@kept(nogil=True, error_model="numpy")
def _fill_places(words: Array, plan: Plan, at: Array) -> None:
    for b in range(len(at)):
        at[b] = plan.first[b] + _ones(words, plan, b)


@kept(nogil=True, error_model="numpy")
def em_from(
    words: Array,
    weights: Array,
    labels: Array,
    responsibilities: Array,
    log_factorials: Array,
    passes: int,
    tolerance: float,
) -> Any:
    """Fit contexts whose blocks are known by EM, from first responsibilities.

    Args:
        words: The rows.
        weights: The weight of each row.
        labels: The block of each variable, numbered from 0: (contexts, variables).
        responsibilities: Where to start: (rows, contexts).
        log_factorials: log t! at [t].
        passes: How many passes over the rows at most, after the laws are fitted to the first responsibilities.
        tolerance: EM ends when a pass gains less than this.

    Returns:
        The plan, and what `em` returns.
    """
    plan = plan_of(labels)
    n_contexts = len(labels)
    counts, totals, places = np.zeros(plan.first[-1]), np.zeros(n_contexts), places_of_rows(words, plan)
    remembered = len(places) == len(words)
    for r in range(len(words)):
        at = places[r if remembered else 0]
        if not remembered:
            _fill_places(words[r], plan, at)
        for k in range(n_contexts):
            part = weights[r] * responsibilities[r, k]
            totals[k] += part
            if part > 0.0:
                for b in range(plan.blocks[k], plan.blocks[k + 1]):
                    counts[at[b]] += part
    _, table, _ = laws_of_counts(plan, counts, log_factorials)
    return plan, _passes(words, weights, plan, places, table, totals, log_factorials, passes, tolerance)


@kept(nogil=True, error_model="numpy")
def em(
    words: Array,
    weights: Array,
    labels: Array,
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
        labels: The block of each variable, numbered from 0: (contexts, variables).
        table: The log-probability of a single assignment with so many ones in a block.
        totals: The weight of the rows of each context.
        log_factorials: log t! at [t].
        passes: How many passes.
        tolerance: EM ends when a pass gains less than this.

    Returns:
        The plan; and the responsibilities (rows, contexts), the counts of all blocks, their laws, the new table, the
        evidence of each context's counts, the totals, and the entropy of the responsibilities.
    """
    plan = plan_of(labels)
    places = places_of_rows(words, plan)
    return plan, _passes(words, weights, plan, places, table, totals.copy(), log_factorials, passes, tolerance)


@kept(nogil=True, error_model="numpy")
def _passes(
    words: Array,
    weights: Array,
    plan: Plan,
    places: Array,
    table: Array,
    totals: Array,
    log_factorials: Array,
    passes: int,
    tolerance: float,
) -> Any:
    n_rows, n_contexts, n_blocks = len(words), len(plan.blocks) - 1, len(plan.first) - 1
    own, counts = np.zeros((n_rows, n_contexts)), np.zeros(plan.first[-1])
    law, evidence = np.full(n_blocks, HISTOGRAM), np.zeros(n_contexts)
    logs, log_sizes = np.zeros(n_contexts), np.zeros(n_contexts)
    remembered = len(places) == n_rows
    previous = -np.inf
    for _ in range(passes):
        for k in range(n_contexts):
            log_sizes[k] = log(totals[k] + 1.0)
        counts[:], totals[:], current = 0.0, 0.0, 0.0
        for r in range(n_rows):
            top, at = -np.inf, places[r if remembered else 0]
            if not remembered:
                _fill_places(words[r], plan, at)
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
    return own, counts, law, table, evidence, totals, _entropy(own, weights)


@kept(nogil=True, error_model="numpy")
def _entropy(responsibilities: Array, weights: Array) -> float:
    found = 0.0
    for r in range(len(weights)):
        for k in range(responsibilities.shape[1]):
            own = responsibilities[r, k]
            if 0.0 < own < 1.0:
                found -= weights[r] * own * log(own)
    return found


@kept(nogil=True, error_model="numpy")
def standardized_counts(words: Array, weights: Array, plan: Plan) -> Array:
    """Return the count of ones in each block of a single context, on the scale of its spread: (rows, blocks)."""
    n_rows, n_blocks, total = len(words), len(plan.first) - 1, weights.sum()
    found, mean, spread = np.empty((n_rows, n_blocks)), np.zeros(n_blocks), np.zeros(n_blocks)
    for r in range(n_rows):
        for b in range(n_blocks):
            found[r, b] = _ones(words[r], plan, b)
            mean[b] += weights[r] * found[r, b]
    mean /= total
    for r in range(n_rows):
        for b in range(n_blocks):
            found[r, b] -= mean[b]
            spread[b] += weights[r] * found[r, b] ** 2
    for b in range(n_blocks):
        spread[b] = 1.0 / sqrt(spread[b] / total) if spread[b] > 0.0 else 1.0
    for r in range(n_rows):
        for b in range(n_blocks):
            found[r, b] *= spread[b]
    return found


@kept(nogil=True, error_model="numpy")
def beyond_the_mean(features: Array, weights: Array) -> Array:
    """Return the rows on the far side of the mean along the main direction of features; a rough direction will do."""
    n_rows, n = features.shape
    direction, along = np.empty(n), np.empty(n_rows)
    for b in range(n):
        direction[b] = 1.0 + 0.1 * b / n
    for done in range(POWER_STEPS + 1):
        for r in range(n_rows):
            along[r] = 0.0
            for b in range(n):
                along[r] += features[r, b] * direction[b]
        if done == POWER_STEPS:
            break
        direction[:] = 0.0
        for r in range(n_rows):
            heavy = weights[r] * along[r]
            for b in range(n):
                direction[b] += heavy * features[r, b]
        length = 0.0
        for b in range(n):
            length += direction[b] ** 2
        direction /= max(sqrt(length), SHORTEST)
    return along > 0.0


@kept(nogil=True, error_model="numpy")
def draw_nearer(features: Array, row: int, cluster: int, nearest: Array, distance: Array) -> None:
    """Let the rows that are nearer to a given row than to those before join its cluster; changed in place.

    Args:
        features: Of the rows: (rows, features).
        row: The row in the middle of the cluster.
        cluster: The number of the cluster.
        nearest: The cluster of each row.
        distance: The squared distance of each row from the middle of its cluster.
    """
    for r in range(len(features)):
        apart = 0.0
        for b in range(features.shape[1]):
            apart += (float(features[r, b]) - float(features[row, b])) ** 2
        if apart < distance[r]:
            nearest[r], distance[r] = cluster, apart
