"""Groups of variables that look independent of each other and have their contexts in common.

What goes together in one context and not in the others shows little in all rows. So where a group of variables has
contexts, these are fitted to the groups that look independent of it, too, and evidence decides which of them belong to
it.
"""

from collections.abc import Sequence

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.learning.blocks.contexts import Mixture, find_contexts, fit_contexts, one_context

MOST_JOINED = 600  # variables; of more, contexts are not looked for twice


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


def _belongs(of_all: Mixture, bits: AnyArray, weights: FloatArray, group: IntArray, alone: float) -> bool:
    """Whether a group shares a block with other variables in a context, or gains by a law for each context."""
    inside, apart = np.zeros(bits.shape[1], dtype=bool), 0.0
    inside[group] = True
    for context, own in zip(of_all.contexts, of_all.responsibilities.T, strict=True):
        if np.isin(context.label[~inside], context.label[group]).any():
            return True
        apart += one_context(bits[:, group], weights * own).evidence
    return apart > alone
