"""Mixtures of the leaves of several learners, and all leaf learners for tables under their names."""

from collections.abc import Callable, Sequence
from functools import partial

from xspn.core.arrays import FloatArray, IntArray
from xspn.learning.leaf_learners import Candidate, LeafOptions, best_of, stack
from xspn.learning.tables.leaf_learners.base import TableLeafData, TableLeafLearner, table_leaf_learners
from xspn.learning.tables.leaf_learners.blocks import blocks_leaf, several_blocks, several_blocks_by_evidence
from xspn.learning.tables.leaf_learners.exchangeable import exchangeable_leaf
from xspn.learning.tables.leaf_learners.gaussian import gaussian_leaf
from xspn.learning.tables.leaf_learners.univariate import factorized_leaves

# Densities differ by much more than probabilities of bits, so a weight that is not earned costs more.
PRIOR_ROWS = 0.5

Chooser = Callable[[Sequence[Candidate], FloatArray], Candidate]
Blocks = Callable[[TableLeafData, IntArray, float], Candidate | None]


def mixed_by(choose: Chooser, blocks: Blocks = several_blocks) -> TableLeafLearner:
    """Return the leaf learner that makes all candidates, `blocks` among them, and lets `choose` mix them."""

    def learn(data: TableLeafData, variables: IntArray, options: LeafOptions) -> Candidate:
        alpha = options.smoothing
        factorized = factorized_leaves(data, variables, alpha)
        if len(variables) == 1:
            return factorized
        found = [factorized, gaussian_leaf(data, variables, alpha)]
        if options.exchangeable:
            found.append(blocks(data, variables, alpha))
        return choose([candidate for candidate in found if candidate is not None], data.own.weights)

    return learn


def _exchangeable(data: TableLeafData, variables: IntArray, options: LeafOptions) -> Candidate:
    found = exchangeable_leaf(data, variables, options.smoothing) if data.own.one_distribution else None
    return blocks_leaf(data, variables, options.smoothing) if found is None else found


table_leaf_learners.add("auto", mixed_by(partial(stack, prior_rows=PRIOR_ROWS)))
table_leaf_learners.add("sparse", mixed_by(partial(best_of, prior_rows=PRIOR_ROWS)))
table_leaf_learners.add("evidence", mixed_by(partial(best_of, prior_rows=PRIOR_ROWS), several_blocks_by_evidence))
table_leaf_learners.add(
    "factorized", lambda data, variables, options: factorized_leaves(data, variables, options.smoothing)
)
table_leaf_learners.add("exchangeable", _exchangeable)
table_leaf_learners.add("blocks", lambda data, variables, options: blocks_leaf(data, variables, options.smoothing))
