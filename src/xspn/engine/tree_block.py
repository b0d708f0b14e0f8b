"""All Chow-Liu leaves of a circuit: asked one by one, and laid out in a row for compiled kernels."""

from functools import cached_property

import numpy as np

from xspn.core.arrays import BoolArray, FloatArray, IntArray
from xspn.engine.blocks import LoopBlock
from xspn.leaves.chow_liu import ChowLiu


class TreeBlock(LoopBlock):
    """Chow-Liu trees. Entries are the variables of one tree after the other, in each tree parents before children."""

    @cached_property
    def trees(self) -> list[ChowLiu]:
        """The leaves."""
        return [leaf for leaf in self.leaves if isinstance(leaf, ChowLiu)]

    @cached_property
    def _sizes(self) -> IntArray:
        return np.array([len(tree.variables) for tree in self.trees], dtype=np.int64)

    @cached_property
    def entry_ends(self) -> IntArray:
        """Where each tree's entries end."""
        return np.cumsum(self._sizes)

    @cached_property
    def entry_sources(self) -> IntArray:
        """Where each entry stands among all trees' variables in their own orders."""
        starts = self.entry_ends - self._sizes
        return np.concatenate([start + np.array(tree.order) for tree, start in zip(self.trees, starts, strict=True)])

    @cached_property
    def entry_variables(self) -> IntArray:
        """The variable of each entry."""
        return np.concatenate([np.array(tree.variables)[list(tree.order)] for tree in self.trees])

    @cached_property
    def entry_parents(self) -> IntArray:
        """The place of each entry's parent among the entries of its tree; −1 for a root."""
        found = []
        for tree in self.trees:
            place = {old: new for new, old in enumerate(tree.order)}
            found += [place.get(tree.parents[i], -1) for i in tree.order]
        return np.array(found, dtype=np.int64)

    @cached_property
    def entry_has_children(self) -> BoolArray:
        """Whether some other variable depends on that of each entry."""
        starts = np.repeat(self.entry_ends - self._sizes, self._sizes)
        has = np.zeros(len(starts), dtype=bool)
        has[(starts + self.entry_parents)[self.entry_parents >= 0]] = True
        return has

    @cached_property
    def tables(self) -> FloatArray:
        """P(own | parent) of (parent, own) = 00, 01, 10, 11, in the trees' own orders: (variables of all trees, 4)."""
        p, q = (np.concatenate([getattr(tree, name) for tree in self.trees]) for name in "pq")
        return np.stack([q[:, 0], p[:, 0], q[:, 1], p[:, 1]], axis=1)
