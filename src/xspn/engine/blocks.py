"""Leaf blocks: all leaves of one family, evaluated together.

A block owns consecutive slots of the program. Most blocks give each leaf a slot; the Bernoulli block folds all
Bernoulli leaves of one product into one slot, which is a sparse matrix product. The loop block serves every family
that has no faster one.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from xspn._core.arrays import BoolArray, FloatArray
from xspn.engine.rows import RowBlock
from xspn.leaves.base import Leaf


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


class LoopBlock(LeafBlock):
    """One leaf after the other: right for every family."""

    def __init__(self, leaves: Sequence[Leaf]) -> None:
        self._leaves = list(leaves)
        self._columns = [np.array(leaf.variables) for leaf in leaves]
        self.n_slots = len(self._leaves)

    def slot_leaves(self) -> Sequence[Sequence[Leaf]]:
        """Return one leaf per slot."""
        return [[leaf] for leaf in self._leaves]

    def log_prob(self, rows: RowBlock) -> FloatArray:
        """Ask each leaf."""
        out = np.empty((self.n_slots, len(rows)))
        for slot, (leaf, columns) in enumerate(zip(self._leaves, self._columns, strict=True)):
            out[slot] = leaf.log_prob(rows.values[:, columns])
        return out

    def log_mode(self, rows: RowBlock) -> FloatArray:
        """Ask each leaf."""
        out = np.empty((self.n_slots, len(rows)))
        for slot, (leaf, columns) in enumerate(zip(self._leaves, self._columns, strict=True)):
            out[slot] = leaf.mode(rows.values[:, columns])[1]
        return out

    def fill(self, rows: RowBlock, active: BoolArray, out: FloatArray, rng: np.random.Generator | None) -> None:
        """Ask each leaf that some row has come down to."""
        for slot in np.flatnonzero(active.any(axis=1)):
            leaf, columns, where = self._leaves[slot], self._columns[slot], np.flatnonzero(active[slot])
            own = rows.values[np.ix_(where, columns)]
            out[np.ix_(where, columns)] = leaf.mode(own)[0] if rng is None else leaf.sample(own, rng)

    def add_marginals(self, rows: RowBlock, flow: FloatArray, out: FloatArray) -> None:
        """Ask each leaf; real variables have no table and are passed over."""
        for slot, (leaf, columns) in enumerate(zip(self._leaves, self._columns, strict=True)):
            if all(domain.is_discrete for domain in leaf.domains):
                table = leaf.marginals(rows.values[:, columns])
                out[:, columns, : table.shape[2]] += flow[slot][:, None, None] * table
