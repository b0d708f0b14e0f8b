"""A mixture of the fallbacks, in the shares that predict left-out rows best."""

from collections.abc import Sequence

import numpy as np

from xspn._core.arrays import FloatArray, IntArray
from xspn._core.logspace import logsumexp_quiet
from xspn.circuit.nodes import Sum
from xspn.learning.fallback.base import Candidate, Fallback, LeafData, LeafOptions, fallbacks
from xspn.learning.fallback.blocks import blocks_leaf
from xspn.learning.fallback.chow_liu import chow_liu_leaf
from xspn.learning.fallback.factorized import factorized_leaf

SMALLEST_SHARE = 0.05
PRIOR_ROWS = 3.0
EM_STEPS = 20
SHARE_TOLERANCE = 1e-3


def stack_of(*makers: Fallback) -> Fallback:
    """Return the fallback that makes all candidates and stacks them."""

    def choose(data: LeafData, variables: IntArray, options: LeafOptions) -> Candidate:
        if len(variables) == 1:
            return factorized_leaf(data, variables, options)
        # Constant variables have no mutual information that a tree could show.
        useful = [m for m in makers if m is not chow_liu_leaf] if data.own.constant().all() else makers
        return stack([make(data, variables, options) for make in useful], data.own.rows()[1])

    return choose


def stack(candidates: Sequence[Candidate], weights: FloatArray, prior_rows: float = PRIOR_ROWS) -> Candidate:
    """Return the mixture of candidates that predicts left-out rows best, or the only one worth its share.

    A row that surprises one candidate may be ordinary to another, and a mixture is surprised by neither. The shares
    come from EM on the leave-one-out probabilities. Each candidate has a prior of a few rows: with little data the
    mixture stays even, because the scores are noise then; with much data the better candidates take all.
    """
    logs = np.array([candidate.left_out for candidate in candidates])  # (candidates, rows)
    shares = _shares(logs, weights, prior_rows)
    kept = np.flatnonzero(shares >= SMALLEST_SHARE)
    chosen = [candidates[int(k)] for k in kept]
    if len(chosen) == 1:
        return chosen[0]
    shares = shares[kept] / shares[kept].sum()
    mixed = logsumexp_quiet(logs[kept] + np.log(shares)[:, None], axis=0)
    return Candidate(" + ".join(c.name for c in chosen), Sum(shares, [c.node for c in chosen]), mixed)


def _shares(logs: FloatArray, weights: FloatArray, prior_rows: float) -> FloatArray:
    """Return the candidates' shares by EM; rows that no candidate finds possible have no say."""
    top = logs.max(axis=0)
    possible = np.isfinite(top)
    relative = np.exp(logs[:, possible] - top[possible])
    own = weights[possible]
    shares = np.full(len(logs), 1.0 / len(logs))
    for _ in range(EM_STEPS):
        previous = shares
        shares = shares * (relative @ (own / (shares @ relative))) + prior_rows
        shares /= shares.sum()
        if abs(shares - previous).max() < SHARE_TOLERANCE:
            break
    return shares


stacked_fallback = stack_of(factorized_leaf, blocks_leaf, chow_liu_leaf)
conventional_fallback = stack_of(factorized_leaf, chow_liu_leaf)
fallbacks.add("auto", stacked_fallback)
