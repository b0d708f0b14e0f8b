"""Where a block might be cut in two: by the main direction in which its pairs differ. Compiled by numba.

Blocks grow by merging, and single variables leave them; neither finds two large blocks in one. Of variables that
exclude each other in two groups ("exactly one of these twelve, and exactly one of those") no two are clearly dependent,
so that all of them are merged; but all of their pairs together tell the groups apart.
"""

from math import sqrt
from typing import Any

import numpy as np

from xspn.core.compilation import kept
from xspn.learning.blocks.merging import prior_gain
from xspn.learning.blocks.moving import LEAST_GAIN, empty, settle
from xspn.learning.blocks.pairs import ones_together
from xspn.learning.blocks.state import BlockState, evidence_of_histogram

Array = Any
ITERATIONS = 40
CONVERGED = 1e-6
SMALLEST = 4  # variables of a block that may be cut


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
