"""EM for mixtures whose components share their blocks, compiled by numba.

Rows are the places of their counts in one table of all blocks' counts. Most rows have the usual count of most blocks
(no item of a shelf), so only the other places of a row are kept: what a row has in common with the usual one is added
once for each component.
"""

from itertools import pairwise
from math import exp, log, sqrt
from typing import Any, NamedTuple

import numpy as np

from xspn.core.compilation import kept
from xspn.learning.blocks.laws import BETA_BINOMIAL, HISTOGRAM, log_probabilities
from xspn.learning.blocks.mixtures import draw_nearer

Array = Any
NEARLY_SURE = 0.9  # at first, of the nearest of random rows
FIRST_PASSES = 15  # before laws are chosen: until components are told apart, all of them look smooth
HOPE = 50.0  # passes that gain as much as the last one, within which a score must come into reach
GONE = -1e300  # in place of log 0
FARTHEST = 40.0  # nats below the likeliest component, beyond which a component has no part in a row


class CountPlaces(NamedTuple):
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


def places_of(counts: Array, sizes: list[int], weights: Array) -> CountPlaces:
    """Return rows of counts as places: (rows, blocks)."""
    first = np.concatenate([[0], np.cumsum(np.array(sizes) + 1)])
    all_places = counts + first[:-1]
    seen = np.bincount(all_places.ravel(), np.repeat(weights, len(sizes)), minlength=first[-1])
    usual = np.array([start + np.argmax(seen[start:end]) for start, end in pairwise(first.tolist())])
    other = all_places != usual
    row = np.concatenate([[0], np.cumsum(other.sum(axis=1))])
    return CountPlaces(first, usual, row, all_places[other])


@kept(nogil=True, error_model="numpy")
def features_of(counts: Array, weights: Array) -> Array:
    """Return counts on the scale of their spread: (rows, blocks)."""
    n_rows, n_blocks = counts.shape
    found, total = np.empty((n_rows, n_blocks)), weights.sum()
    for b in range(n_blocks):
        mean, spread = 0.0, 0.0
        for r in range(n_rows):
            mean += weights[r] * counts[r, b]
        mean /= total
        for r in range(n_rows):
            found[r, b] = counts[r, b] - mean
            spread += weights[r] * found[r, b] ** 2
        if spread > 0.0:
            found[:, b] /= sqrt(spread / total)
    return found


@kept(nogil=True, error_model="numpy")
def most_likely_score(rows: CountPlaces, weights: Array, log_factorials: Array) -> float:
    """Return the log-likelihood of the rows under their own frequencies: no mixture has more."""
    found, total, usual = 0.0, weights.sum(), 0.0
    of_place = np.empty(rows.first[-1])
    for b in range(len(rows.usual)):
        start, n = rows.first[b], rows.first[b + 1] - rows.first[b] - 1
        for t in range(n + 1):
            of_place[start + t] = log_factorials[n] - log_factorials[t] - log_factorials[n - t]
        usual += of_place[rows.usual[b]]
        of_place[start : start + n + 1] -= of_place[rows.usual[b]]
    for r in range(len(weights)):
        if weights[r] > 0.0:
            ways = usual
            for p in range(rows.row[r], rows.row[r + 1]):
                ways += of_place[rows.place[p]]
            found += weights[r] * (log(weights[r] / total) - ways)
    return found


@kept(nogil=True, error_model="numpy")
def random_responsibilities(drawn: Array) -> Array:
    """Return random responsibilities, all of them equally likely, from exponentially distributed numbers."""
    for r in range(len(drawn)):
        drawn[r] /= drawn[r].sum()
    return drawn


@kept(nogil=True, error_model="numpy")
def near_rows(features: Array, weights: Array, drawn: Array) -> Array:
    """Return responsibilities by the nearest of some rows, drawn far from each other (k-means++): (rows, components).

    Args:
        features: Of the rows: (rows, features).
        weights: The weight of each row.
        drawn: A random number between 0 and 1 for each component.
    """
    n_rows, k_all = len(features), len(drawn)
    nearest, distance = np.zeros(n_rows, np.int64), np.full(n_rows, np.inf)
    below = np.cumsum(weights)
    for k in range(k_all):
        if below[-1] <= 0.0:  # fewer different rows than components
            break
        row = min(np.searchsorted(below, drawn[k] * below[-1], side="right"), n_rows - 1)
        draw_nearer(features, row, k, nearest, distance)
        below = np.cumsum(weights * distance)
    found = np.full((n_rows, k_all), (1.0 - NEARLY_SURE) / k_all)
    for r in range(n_rows):
        found[r, nearest[r]] += NEARLY_SURE
    return found


@kept(nogil=True, fastmath={"contract", "reassoc", "nsz"})
def em_of_shared_blocks(
    rows: CountPlaces,
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
    n_first = FIRST_PASSES if k_all > 1 else 0
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
        settled = done >= n_first
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
def _fit_laws(rows: CountPlaces, seen: Array, log_factorials: Array, price: float, law: Array, table: Array) -> int:
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
