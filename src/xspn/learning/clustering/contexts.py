"""Contexts by evidence: clusters of rows in each of which the variables form exchangeable blocks."""

from collections.abc import Sequence

import numpy as np
from scipy.special import betaln

from xspn.core.arrays import FloatArray, IntArray
from xspn.learning.clustering.base import Split, clusterings
from xspn.learning.clustering.mixture import best_split
from xspn.learning.leaf_learners.chow_liu import WIDEST_TREE
from xspn.learning.methods import Can, Method
from xspn.learning.summary import BinarySummary
from xspn.learning.table_summary import TableSummary
from xspn.learning.task import SMALLEST_RESPONSIBILITY
from xspn.leaves.chow_liu_tree import most_informative_tree

MANY_VARIABLES = 600


def contexts_split(summary: BinarySummary, seed: int) -> Split | None:
    """Return the contexts of best evidence; where there are none, rows are split in two as "auto" does.

    A tree that is learned below may still predict better.
    """
    found = several_contexts(summary, seed)
    return best_split(summary, seed) if found is None and worth_splitting(summary) else found


def worth_splitting(summary: BinarySummary) -> bool:
    """Whether rows of one context may be split in two: not if they are few and variables many.

    Halves would hardly tell anything of so many variables; nearly all of what is learned from them is pruned.
    """
    return bool(summary.n <= MANY_VARIABLES or summary.total >= summary.n)


def several_contexts(summary: BinarySummary | TableSummary, seed: int) -> Split | None:
    """Return the contexts of best evidence, as many as there are, with their responsibilities for each row.

    None where there is one context only; of bits also where a Chow-Liu tree has more evidence than several.
    """
    if isinstance(summary, TableSummary):
        from xspn.learning.blocks.table_contexts import find_contexts as find_contexts_of_columns  # takes numba along

        return _split_by(find_contexts_of_columns(summary, seed).responsibilities, summary.weights)
    from xspn.learning.blocks.contexts import find_contexts

    bits, weights = summary.complete_rows()
    found = find_contexts(bits, weights, seed, alone=summary.exchangeable_blocks)
    if len(found.contexts) == 1 or found.evidence < evidence_of_tree(summary):
        return None
    return _split_by(found.responsibilities, weights, [context.label for context in found.contexts])


def two_contexts(summary: TableSummary, seed: int) -> Split | None:
    """Return the two contexts of best evidence, even if one has more."""
    from xspn.learning.blocks.table_contexts import find_two_contexts  # takes numba along

    found = find_two_contexts(summary, seed)
    return None if found is None else _split_by(found.responsibilities, summary.weights)


def _split_by(
    responsibilities: FloatArray, weights: FloatArray, blocks: Sequence[IntArray] | None = None
) -> Split | None:
    """Return the split into contexts of these responsibilities and blocks; what is small goes to the others."""
    own = np.where(responsibilities < SMALLEST_RESPONSIBILITY, 0.0, responsibilities)
    own /= own.sum(axis=1, keepdims=True)
    alive = np.flatnonzero(weights @ own > 0)
    if len(alive) < 2:
        return None
    own = own[:, alive]
    kept = None if blocks is None else tuple(blocks[k] for k in alive.tolist())
    return Split(np.argmax(own, axis=1), own, blocks=kept)


def evidence_of_tree(summary: BinarySummary) -> float:
    """Return the log-evidence of the Chow-Liu tree: Beta(½, ½) priors, all trees equally likely beforehand.

    −inf for more variables than trees are looked for.
    """
    if summary.n > WIDEST_TREE:
        return float("-inf")
    n, total, ones = summary.n, summary.total, summary.ones
    parents, both = most_informative_tree(summary.pairs, ones, total, 0.0)
    root, children = int(np.argmin(parents)), np.flatnonzero(parents >= 0)
    above, n11 = ones[parents[children]], both[children]
    of_edges = _evidence_of_bits(n11, above - n11)
    of_edges += _evidence_of_bits(ones[children] - n11, total - above - ones[children] + n11)
    of_root = _evidence_of_bits(ones[root], total - ones[root])
    return float(of_edges.sum() + of_root - max(n - 2, 0) * np.log(n))  # there are n^(n − 2) trees


def _evidence_of_bits(ones: FloatArray, zeros: FloatArray) -> FloatArray:
    return np.asarray(betaln(np.maximum(ones, 0.0) + 0.5, np.maximum(zeros, 0.0) + 0.5) - betaln(0.5, 0.5))


clusterings.add("contexts", Method(bits=contexts_split, tables=several_contexts, can=Can.ANY_TYPE | Can.WEIGHTS))
