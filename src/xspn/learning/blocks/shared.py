"""EM for mixtures whose components share their blocks, compiled by numba.

Rows are the places of their counts in one table of all blocks' counts. Most rows have the usual count of most blocks
(no item of a shelf), so only the other places of a row are kept: what a row has in common with the usual one is added
once for each component.
"""

from itertools import pairwise
from math import exp, log
from typing import Any, NamedTuple

import numpy as np

from xspn.core.compilation import kept
from xspn.learning.blocks.laws import BETA_BINOMIAL, HISTOGRAM, log_probabilities

Array = Any
FIRST_PASSES = 15  # before laws are chosen: until components are told apart, all of them look smooth
HOPE = 50.0  # passes that gain as much as the last one, within which a score must come into reach
GONE = -1e300  # in place of log 0
FARTHEST = 40.0  # nats below the likeliest component, beyond which a component has no part in a row


class Places(NamedTuple):
    """Rows of counts.

    Attributes:
        first: Where the counts of each block start; the last entry is the number of all counts.
        usual: The place of each block's most frequent count.
        row: Where the places of each row start; the last entry is their number.
        place: The places of a row's counts that are not the usual ones.
    """

    first: Array
    usual: Array
    row: Array
    place: Array


def places_of(counts: Array, sizes: list[int], weights: Array) -> Places:
    """Return rows of counts as places: (rows, blocks)."""
    first = np.concatenate([[0], np.cumsum(np.array(sizes) + 1)])
    all_places = counts + first[:-1]
    seen = np.bincount(all_places.ravel(), np.repeat(weights, len(sizes)), minlength=first[-1])
    usual = np.array([start + np.argmax(seen[start:end]) for start, end in pairwise(first.tolist())])
    other = all_places != usual
    row = np.concatenate([[0], np.cumsum(other.sum(axis=1))])
    return Places(first, usual, row, all_places[other])


@kept(nogil=True, fastmath={"contract", "reassoc", "nsz"})
def em_of_shared_blocks(
    rows: Places,
    weights: Array,
    responsibilities: Array,
    log_factorials: Array,
    price: float,
    passes: int,
    tolerance: float,
    at_least: float,
) -> Any:
    """Fit a mixture by so many passes at most.

    Args:
        rows: The rows.
        weights: The weight of each row.
        responsibilities: Where to start: (rows, components); changed in place.
        log_factorials: log t! at [t].
        price: What a parameter costs, in nats, where laws are chosen.
        passes: How many passes.
        tolerance: EM ends when a pass gains less than this.
        at_least: A score that must come into reach, or EM is given up.

    Returns:
        How often each count was seen in each component (counts, components), the law of each block in each (blocks,
        components), the weight of rows in each, the log-likelihood of each row, the number of parameters, the score.
    """
    n_rows, k_all, n_places, n_blocks = len(weights), responsibilities.shape[1], rows.first[-1], len(rows.usual)
    seen, table, base = np.zeros((n_places, k_all)), np.zeros((n_places, k_all)), np.zeros(k_all)
    totals, law, found = np.zeros(k_all), np.full((n_blocks, k_all), HISTOGRAM), np.zeros(n_rows)
    own = np.zeros(k_all)
    previous, now, score, size = -np.inf, -np.inf, -np.inf, 0
    for done in range(passes):
        # How often each count was seen in each component.
        seen[:], totals[:] = 0.0, 0.0
        for r in range(n_rows):
            for k in range(k_all):
                own[k] = weights[r] * responsibilities[r, k]
                totals[k] += own[k]
            for p in range(rows.row[r], rows.row[r + 1]):
                at = rows.place[p]
                for k in range(k_all):
                    seen[at, k] += own[k]
        for b in range(n_blocks):
            usual = rows.usual[b]
            for k in range(k_all):
                rest = totals[k]
                for at in range(rows.first[b], rows.first[b + 1]):
                    if at != usual:
                        rest -= seen[at, k]
                seen[usual, k] = max(rest, 0.0)
        settled = done >= FIRST_PASSES
        size = k_all - 1 + _fit_laws(rows, seen, log_factorials, price if settled else 0.0, law, table)
        # What of a row is the usual, and what each other place changes.
        mass = totals.sum()
        for k in range(k_all):
            base[k] = log(totals[k] / mass) if totals[k] > 0.0 else GONE  # components may die out
        for b in range(n_blocks):
            usual = rows.usual[b]
            for k in range(k_all):
                base[k] += table[usual, k]
            for at in range(rows.first[b], rows.first[b + 1]):
                if at != usual:
                    for k in range(k_all):
                        table[at, k] -= table[usual, k]
        now = 0.0
        for r in range(n_rows):
            for k in range(k_all):
                own[k] = base[k]
            for p in range(rows.row[r], rows.row[r + 1]):
                at = rows.place[p]
                for k in range(k_all):
                    own[k] += table[at, k]
            top = own[0]
            for k in range(1, k_all):
                top = max(top, own[k])
            mass = 0.0
            for k in range(k_all):
                apart = own[k] - top
                responsibilities[r, k] = exp(apart) if apart > -FARTHEST else 0.0
                mass += responsibilities[r, k]
            for k in range(k_all):
                responsibilities[r, k] /= mass
            found[r] = top + log(mass)
            now += weights[r] * found[r]
        score = now - price * size
        if settled and (now - previous < tolerance or score + HOPE * (now - previous) < at_least):
            break
        previous = now if settled else -np.inf
    return seen, law, totals, found, size, score


@kept(nogil=True)
def _fit_laws(rows: Places, seen: Array, log_factorials: Array, price: float, law: Array, table: Array) -> int:
    """Fill in the best law of each block in each component and its log-probabilities; return how many parameters."""
    longest = 0
    for b in range(len(rows.usual)):
        longest = max(longest, rows.first[b + 1] - rows.first[b])
    counts, histogram, urn, size = np.empty(longest), np.empty(longest), np.empty(longest), 0
    for b in range(len(rows.usual)):
        start, end = rows.first[b], rows.first[b + 1]
        n = end - start - 1
        for k in range(seen.shape[1]):
            total = 0.0
            for t in range(n + 1):
                counts[t] = seen[start + t, k]
                total += counts[t]
            log_probabilities(counts, n, log_factorials, HISTOGRAM, histogram)
            law[b, k] = HISTOGRAM
            if n > 2 and total > 0.0:
                log_probabilities(counts, n, log_factorials, BETA_BINOMIAL, urn)
                gain = 0.0
                for t in range(n + 1):
                    gain += counts[t] * (histogram[t] - urn[t])
                if gain < price * (n - 2):
                    law[b, k] = BETA_BINOMIAL
            smooth = law[b, k] == BETA_BINOMIAL
            size += 2 if smooth else n
            for t in range(n + 1):
                table[start + t, k] = urn[t] if smooth else histogram[t]
    return size
