"""Mixtures of fallbacks: of all of them, or the smallest that predicts left-out rows as well as any."""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from xspn.core.arrays import FloatArray, IntArray
from xspn.core.logspace import logsumexp_quiet
from xspn.graph.nodes import Sum
from xspn.learning.fallback.base import Candidate, Fallback, LeafData, LeafOptions, fallbacks
from xspn.learning.fallback.blocks import sparing_blocks_leaf
from xspn.learning.fallback.chow_liu import chow_liu_leaf
from xspn.learning.fallback.factorized import factorized_leaf
from xspn.learning.shares import likeliest_shares

SMALLEST_SHARE = 0.05
PRIOR_ROWS = 3.0
EM_STEPS = 20
SHARE_TOLERANCE = 1e-3

Chooser = Callable[[Sequence[Candidate], FloatArray], Candidate]


def mixed_by(choose: Chooser, *makers: Fallback) -> Fallback:
    """Return the fallback that makes all candidates and lets `choose` mix them."""

    def make(data: LeafData, variables: IntArray, options: LeafOptions) -> Candidate:
        if len(variables) == 1:
            return factorized_leaf(data, variables, options)
        # Constant variables have no mutual information that a tree could show.
        useful = [m for m in makers if m is not chow_liu_leaf] if data.own.constant().all() else makers
        return choose([make(data, variables, options) for make in useful], data.own.rows()[1])

    return make


def best_of(candidates: Sequence[Candidate], weights: FloatArray, prior_rows: float = PRIOR_ROWS) -> Candidate:
    """Return what predicts left-out rows best among the candidates and the mixtures of some; the smallest if several.

    One circuit is better with mixed leaves, which are never much surprised. Circuits that are mixed themselves need
    that less, and half as many parameters then do.
    """
    possible = np.any([np.isfinite(candidate.left_out) for candidate in candidates], axis=0)
    own = weights[possible]
    sizes = range(1, len(candidates) + 1)
    mixtures = [stack(some, weights, prior_rows) for size in sizes for some in combinations(candidates, size)]
    return max(mixtures, key=lambda found: float(own @ found.left_out[possible]))


def stack(candidates: Sequence[Candidate], weights: FloatArray, prior_rows: float = PRIOR_ROWS) -> Candidate:
    """Return the mixture of candidates that predicts left-out rows best, or the only one worth its share.

    A row that surprises one candidate may be ordinary to another, and a mixture is surprised by neither. The shares
    come from EM on the leave-one-out probabilities. Each candidate has a prior of a few rows: with little data the
    mixture stays even, because the scores are noise then; with much data the better candidates take all.
    """
    logs = np.array([candidate.left_out for candidate in candidates])  # (candidates, rows)
    shares = likeliest_shares(logs, weights, EM_STEPS, prior_rows, SHARE_TOLERANCE)
    kept = np.flatnonzero(shares >= SMALLEST_SHARE)
    chosen = [candidates[int(k)] for k in kept]
    if len(chosen) == 1:
        return chosen[0]
    shares = shares[kept] / shares[kept].sum()
    mixed = logsumexp_quiet(logs[kept] + np.log(shares)[:, None], axis=0)
    return Candidate(" + ".join(c.name for c in chosen), Sum(shares, [c.node for c in chosen]), mixed)


CONVENTIONAL = (factorized_leaf, chow_liu_leaf)
CHOOSERS: dict[str, Chooser] = {"auto": stack, "sparing": best_of}
conventional_fallbacks = {name: mixed_by(choose, *CONVENTIONAL) for name, choose in CHOOSERS.items()}
for name, choose in CHOOSERS.items():
    fallbacks.add(name, mixed_by(choose, factorized_leaf, sparing_blocks_leaf, chow_liu_leaf))
