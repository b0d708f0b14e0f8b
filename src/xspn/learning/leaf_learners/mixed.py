"""Mixtures of the leaves of several learners: of all ("auto"), or of as few as predict best ("sparse", "evidence")."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations

import numpy as np

from xspn.core.arrays import FloatArray, IntArray
from xspn.core.logspace import logsumexp_quiet
from xspn.graph.nodes import Sum
from xspn.learning.em import fit_mixture_weights
from xspn.learning.leaf_learners.base import (
    BinaryLeafData,
    Candidate,
    LeafLearner,
    LeafOptions,
    TableLeafData,
    TableLeafLearner,
    leaf_learners,
)
from xspn.learning.leaf_learners.blocks import (
    evidence_blocks_leaf,
    several_blocks,
    several_blocks_by_evidence,
    sparse_blocks_leaf,
)
from xspn.learning.leaf_learners.chow_liu import WIDEST_TREE, chow_liu_leaf
from xspn.learning.leaf_learners.factorized import factorized_leaf, table_factorized_leaf
from xspn.learning.leaf_learners.gaussian import gaussian_leaf
from xspn.learning.methods import Can, Method

SMALLEST_WEIGHT = 0.05
PRIOR_ROWS = 3.0
# Densities differ by much more than probabilities of bits, so a weight that is not earned costs more.
PRIOR_ROWS_OF_TABLES = 0.5
EM_STEPS = 20
WEIGHT_TOLERANCE = 1e-3

Chooser = Callable[[Sequence[Candidate], FloatArray], Candidate]
Blocks = Callable[[TableLeafData, IntArray, LeafOptions], Candidate | None]


def mixed_by(choose: Chooser, blocks: LeafLearner = sparse_blocks_leaf, widest_tree: float = np.inf) -> LeafLearner:
    """Return the leaf learner that makes all candidates, `blocks` among them, and lets `choose` mix them.

    There is no Chow-Liu tree of more than `widest_tree` variables.
    """

    def learn(data: BinaryLeafData, variables: IntArray, options: LeafOptions) -> Candidate:
        if len(variables) == 1:
            return factorized_leaf(data, variables, options)
        learners: list[LeafLearner] = [factorized_leaf]
        if options.exchangeable:
            learners.append(blocks)
        # Constant variables have no mutual information that a tree could show.
        if len(variables) <= widest_tree and not data.own.constant().all():
            learners.append(chow_liu_leaf)
        return choose([make(data, variables, options) for make in learners], data.own.rows()[1])

    return learn


def table_mixed_by(choose: Chooser, blocks: Blocks = several_blocks) -> TableLeafLearner:
    """Return the leaf learner that makes all candidates, `blocks` among them, and lets `choose` mix them."""

    def learn(data: TableLeafData, variables: IntArray, options: LeafOptions) -> Candidate:
        factorized = table_factorized_leaf(data, variables, options)
        if len(variables) == 1:
            return factorized
        found = [factorized, gaussian_leaf(data, variables, options)]
        if options.exchangeable:
            found.append(blocks(data, variables, options))
        return choose([candidate for candidate in found if candidate is not None], data.own.weights)

    return learn


def best_candidate(candidates: Sequence[Candidate], weights: FloatArray, prior_rows: float = PRIOR_ROWS) -> Candidate:
    """Return the best leave-one-out score among the candidates and all mixtures of them; the smallest if several.

    One circuit is better with mixed leaves, which are never much surprised. Circuits that are mixed themselves need
    that less, and half as many parameters suffice.
    """
    possible = np.any([np.isfinite(candidate.leave_one_out) for candidate in candidates], axis=0)
    own = weights[possible]
    sizes = range(1, len(candidates) + 1)
    mixtures = [stack(some, weights, prior_rows) for size in sizes for some in combinations(candidates, size)]
    return max(mixtures, key=lambda found: float(own @ found.leave_one_out[possible]))


def stack(candidates: Sequence[Candidate], weights: FloatArray, prior_rows: float = PRIOR_ROWS) -> Candidate:
    """Return the mixture of candidates with the best leave-one-out score, or the only one worth its weight.

    A row that surprises one candidate may be ordinary to another, and a mixture is surprised by neither. The mixture
    weights come from EM on the leave-one-out probabilities. Each candidate has a prior of a few rows: with little data
    the mixture stays even, because the scores are noise then; with much data the better candidates take all.
    """
    logs = np.array([candidate.leave_one_out for candidate in candidates])  # (candidates, rows)
    mixture_weights = fit_mixture_weights(logs, weights, EM_STEPS, prior_rows, WEIGHT_TOLERANCE)
    kept = np.flatnonzero(mixture_weights >= SMALLEST_WEIGHT)
    chosen = [candidates[int(k)] for k in kept]
    if len(chosen) == 1:
        return chosen[0]
    mixture_weights = mixture_weights[kept] / mixture_weights[kept].sum()
    mixed = logsumexp_quiet(logs[kept] + np.log(mixture_weights)[:, None], axis=0)
    return Candidate(" + ".join(c.name for c in chosen), Sum(mixture_weights, [c.node for c in chosen]), mixed)


ALL = Can.ANY_TYPE | Can.ANY_ROWS | Can.OUT_OF_CORE
stack_of_tables = partial(stack, prior_rows=PRIOR_ROWS_OF_TABLES)
best_of_tables = partial(best_candidate, prior_rows=PRIOR_ROWS_OF_TABLES)
leaf_learners.add("auto", Method(bits=mixed_by(stack), tables=table_mixed_by(stack_of_tables), can=ALL))
leaf_learners.add("sparse", Method(bits=mixed_by(best_candidate), tables=table_mixed_by(best_of_tables), can=ALL))
leaf_learners.add(
    "evidence",
    Method(
        bits=mixed_by(best_candidate, evidence_blocks_leaf, WIDEST_TREE),
        tables=table_mixed_by(best_of_tables, several_blocks_by_evidence),
        can=Can.ANY_TYPE | Can.WEIGHTS | Can.OUT_OF_CORE,
    ),
)
