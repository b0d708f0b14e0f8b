"""Leaf blocks: all leaves of one family, evaluated together.

A block owns consecutive slots of the program. Most blocks give each leaf a slot; the Bernoulli block folds all
Bernoulli leaves of one product into one slot, which is a sparse matrix product. The loop block serves every family
that has no faster one.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from xspn.core.arrays import BoolArray, FloatArray, IntArray
from xspn.engine.rows import RowBlock
from xspn.leaves.base import Leaf, Together
from xspn.leaves.smoothing import Smoothing


class LeafBlock(ABC):
    """The leaves behind consecutive slots; arrays are (slots, rows)."""

    n_slots: int

    @abstractmethod
    def log_prob(self, rows: RowBlock) -> FloatArray:
        """Return the log-probability of the observed part of each row."""

    @abstractmethod
    def log_mode(self, rows: RowBlock) -> FloatArray:
        """Return the log-probability of each row's best completion."""

    @abstractmethod
    def fill(self, rows: RowBlock, active: BoolArray, out: FloatArray, rng: np.random.Generator | None) -> None:
        """Complete the active rows in `out` (rows, variables): with the best values, or with random ones by `rng`."""

    @abstractmethod
    def add_marginals(self, rows: RowBlock, flow: FloatArray, out: FloatArray) -> None:
        """Add flow · P(X_i = v | row) to `out` (rows, variables, values)."""

    @abstractmethod
    def slot_leaves(self) -> Sequence[Sequence[Leaf]]:
        """Return the leaves behind each slot."""

    # -- parameters: counts are gathered over blocks of rows, then turned into expected statistics once ---------------

    @abstractmethod
    def new_counts(self) -> FloatArray:
        """Return zeros in the shape of the block's counts."""

    @abstractmethod
    def add_counts(self, rows: RowBlock, flow: FloatArray, out: FloatArray) -> None:
        """Add what rows, weighted by their flow into each slot, tell about the leaves; additive over rows."""

    @abstractmethod
    def expected_statistics(self, counts: FloatArray) -> FloatArray:
        """Return the expected sufficient statistics of all leaves under their present parameters."""

    @abstractmethod
    def refit(self, statistics: FloatArray, smoothing: Smoothing) -> Self:
        """Return the block with the leaves that the statistics make most likely; leaves without parameters stay."""

    def recentered(self, statistics: FloatArray) -> Self:
        """Return the block with leaves that lose none of the rows' spread (see `Leaf`); itself if it has them."""
        return self

    def restate(self, statistics: FloatArray, origin: Self) -> FloatArray:
        """Return statistics taken by another fit of this block as this one would have taken them (see `Leaf`)."""
        return statistics


class LoopBlock(LeafBlock):
    """One leaf after the other: right for every family."""

    def __init__(self, leaves: Sequence[Leaf]) -> None:
        self.leaves = list(leaves)
        self.n_slots = len(self.leaves)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.leaves,)

    @cached_property
    def _columns(self) -> list[IntArray]:
        return [np.array(leaf.variables) for leaf in self.leaves]

    @cached_property
    def _together(self) -> list[tuple[IntArray, Together]]:
        """The slots of families that evaluate many leaves at once, and how."""
        families: dict[type[Leaf], list[int]] = {}
        for slot, leaf in enumerate(self.leaves):
            families.setdefault(type(leaf), []).append(slot)
        found = ((slots, family.together([self.leaves[i] for i in slots])) for family, slots in families.items())
        return [(np.array(slots), function) for slots, function in found if function is not None]

    @cached_property
    def _alone(self) -> list[int]:
        """The slots of leaves that are asked one by one."""
        done = {int(slot) for slots, _ in self._together for slot in slots}
        return [slot for slot in range(self.n_slots) if slot not in done]

    def slot_leaves(self) -> Sequence[Sequence[Leaf]]:
        """Return one leaf per slot."""
        return [[leaf] for leaf in self.leaves]

    def log_prob(self, rows: RowBlock) -> FloatArray:
        """Ask each family, or each leaf."""
        out = self._of_families(rows, best=False)
        for slot in self._alone:
            out[slot] = self.leaves[slot].log_prob(rows.values[:, self._columns[slot]])
        return out

    def log_mode(self, rows: RowBlock) -> FloatArray:
        """Ask each family, or each leaf."""
        out = self._of_families(rows, best=True)
        for slot in self._alone:
            out[slot] = self.leaves[slot].mode(rows.values[:, self._columns[slot]])[1]
        return out

    def _of_families(self, rows: RowBlock, best: bool) -> FloatArray:
        out = np.empty((self.n_slots, len(rows)))
        for slots, function in self._together:
            out[slots] = function(rows.values, best)
        return out

    def fill(self, rows: RowBlock, active: BoolArray, out: FloatArray, rng: np.random.Generator | None) -> None:
        """Ask each leaf that some row has come down to."""
        for slot in np.flatnonzero(active.any(axis=1)):
            leaf, columns, where = self.leaves[slot], self._columns[slot], np.flatnonzero(active[slot])
            own = rows.values[np.ix_(where, columns)]
            out[np.ix_(where, columns)] = leaf.mode(own)[0] if rng is None else leaf.sample(own, rng)

    def add_marginals(self, rows: RowBlock, flow: FloatArray, out: FloatArray) -> None:
        """Ask each leaf; real variables have no table and are passed over."""
        for slot, (leaf, columns) in enumerate(zip(self.leaves, self._columns, strict=True)):
            if all(domain.is_discrete for domain in leaf.domains):
                table = leaf.marginals(rows.values[:, columns])
                out[:, columns, : table.shape[2]] += flow[slot][:, None, None] * table

    # -- parameters --------------------------------------------------------------------------------------------------

    @cached_property
    def _ends(self) -> IntArray:
        """Where each leaf's statistics end; a leaf tells their number by those of no rows."""
        sizes = [
            len(leaf.statistics(np.empty((0, len(columns))), np.empty(0)))
            for leaf, columns in zip(self.leaves, self._columns, strict=True)
        ]
        return np.cumsum(np.array([0, *sizes], dtype=np.int64))

    def new_counts(self) -> FloatArray:
        """Return the leaves' statistics one after the other, all zero."""
        return np.zeros(int(self._ends[-1]))

    def _of_leaf(self, statistics: FloatArray, slot: int) -> FloatArray:
        return statistics[self._ends[slot] : self._ends[slot + 1]]

    def add_counts(self, rows: RowBlock, flow: FloatArray, out: FloatArray) -> None:
        """Ask each leaf for its expected statistics."""
        for slot, (leaf, columns) in enumerate(zip(self.leaves, self._columns, strict=True)):
            reached = flow[slot] > 0
            if reached.any():
                own = rows.values[np.ix_(reached, columns)]
                self._of_leaf(out, slot)[:] += leaf.statistics(own, flow[slot][reached])

    def expected_statistics(self, counts: FloatArray) -> FloatArray:
        """Return the counts: they are the statistics."""
        return counts

    def refit(self, statistics: FloatArray, smoothing: Smoothing) -> Self:
        """Let each leaf fit itself."""
        return type(self)(
            [
                leaf.from_statistics(self._of_leaf(statistics, slot), smoothing) if leaf.n_parameters else leaf
                for slot, leaf in enumerate(self.leaves)
            ]
        )

    def recentered(self, statistics: FloatArray) -> Self:
        """Let each leaf decide."""
        leaves = [leaf.recentered(self._of_leaf(statistics, slot)) for slot, leaf in enumerate(self.leaves)]
        changed = any(new is not old for new, old in zip(leaves, self.leaves, strict=True))
        return type(self)(leaves) if changed else self

    def restate(self, statistics: FloatArray, origin: Self) -> FloatArray:
        """Let each leaf restate its own."""
        pairs = enumerate(zip(self.leaves, origin.leaves, strict=True))
        parts = [leaf.restate(self._of_leaf(statistics, slot), old) for slot, (leaf, old) in pairs]
        return np.concatenate([np.empty(0), *parts])
