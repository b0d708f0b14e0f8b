"""Contexts by evidence: clusters of rows in each of which the variables form exchangeable blocks.

What goes together in one context and not in the others shows little in all rows. So where a group of variables has
contexts, these are fitted to the groups that look independent of it, too, and evidence decides which of them belong to
it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betaln

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.learning.clustering.base import Split, clusterings
from xspn.learning.clustering.mixture import best_split
from xspn.learning.leaf_learners.chow_liu import WIDEST_TREE
from xspn.learning.methods import Can, Method
from xspn.learning.summary import BinarySummary
from xspn.learning.table_summary import TableSummary
from xspn.learning.task import SMALLEST_RESPONSIBILITY
from xspn.leaves.chow_liu_tree import most_informative_tree

if TYPE_CHECKING:
    from xspn.learning.blocks.contexts import Mixture

MANY_VARIABLES = 600
MOST_JOINED = 600  # variables; of more, contexts are not looked for twice


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


def joined_by_contexts(
    bits: AnyArray, weights: FloatArray, groups: Sequence[IntArray], blocks: Sequence[IntArray]
) -> list[IntArray]:
    """Return the groups, those joined that have contexts in common, in the order of their first variable.

    Args:
        bits: Zeros and ones, of type uint8: (rows, variables).
        weights: The weight of each row.
        groups: The variables of each group, between which no dependence was found.
        blocks: The exchangeable blocks that the groups are made of. A group of several has contexts, perhaps.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> many = rng.integers(0, 2, size=400)  # of two contexts; in one of them variables 8 and 9 are copies
        >>> bits = (rng.random((400, 10)) < np.where(many, 0.8, 0.2)[:, None]).astype(np.uint8)
        >>> bits[:, 4:8] = bits[:, 3:4] * many[:, None]
        >>> bits[:, 8:] = rng.integers(0, 2, size=(400, 2))
        >>> bits[:, 9] = np.where(many, bits[:, 8], 1 - bits[:, 8])  # and in the other one opposites
        >>> blocks = [np.arange(4), np.arange(4, 8), np.array([8]), np.array([9])]
        >>> groups = [np.arange(8), np.array([8]), np.array([9])]
        >>> [group.tolist() for group in joined_by_contexts(bits, np.ones(400), groups, blocks)]
        [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]]
    """
    from xspn.learning.blocks.contexts import find_contexts, fit_contexts, one_context  # takes numba along

    block_of = np.empty(bits.shape[1], dtype=np.int64)
    for number, block in enumerate(blocks):
        block_of[block] = number
    several = [len(np.unique(block_of[group])) > 1 for group in groups]
    if len(groups) == 1 or not any(several) or bits.shape[1] > MOST_JOINED:
        return list(groups)
    mixtures = {g: find_contexts(bits[:, groups[g]], weights, 0) for g in np.flatnonzero(several).tolist()}
    first = max(mixtures, key=lambda g: (len(mixtures[g].contexts) > 1, len(groups[g])))
    if len(mixtures[first].contexts) == 1:
        return list(groups)
    alone = [
        mixtures[g].evidence if g in mixtures else one_context(bits[:, group], weights).evidence
        for g, group in enumerate(groups)
    ]
    of_all = fit_contexts(bits, weights, mixtures[first].responsibilities)
    members = [g for g, group in enumerate(groups) if g == first or _belongs(of_all, bits, weights, group, alone[g])]
    if len(members) == 1:
        return list(groups)
    own = np.sort(np.concatenate([groups[g] for g in members]))
    joined = fit_contexts(bits[:, own], weights, of_all.responsibilities)
    if joined.evidence <= sum(alone[g] for g in members):
        return list(groups)
    rest = [group for g, group in enumerate(groups) if g not in members]
    return sorted([own, *rest], key=lambda group: int(group[0]))


def _belongs(of_all: "Mixture", bits: AnyArray, weights: FloatArray, group: IntArray, alone: float) -> bool:
    """Whether a group shares a block with other variables in a context, or gains by a law for each context."""
    from xspn.learning.blocks.contexts import one_context

    inside, apart = np.zeros(bits.shape[1], dtype=bool), 0.0
    inside[group] = True
    for context, own in zip(of_all.contexts, of_all.responsibilities.T, strict=True):
        if np.isin(context.label[~inside], context.label[group]).any():
            return True
        apart += one_context(bits[:, group], weights * own).evidence
    return apart > alone


clusterings.add("contexts", Method(bits=contexts_split, tables=several_contexts, can=Can.ANY_TYPE | Can.WEIGHTS))
