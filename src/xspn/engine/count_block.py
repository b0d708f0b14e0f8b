"""All exchangeable leaves that count ones: two sparse products and a table lookup."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from xspn._core.arrays import BoolArray, FloatArray, IntArray
from xspn.engine.blocks import LeafBlock, LoopBlock
from xspn.engine.rows import RowBlock
from xspn.leaves.base import Leaf
from xspn.leaves.exchangeable import Exchangeable


class CountBlock(LeafBlock):
    """Exchangeable leaves over the count of ones.

    The marginal of a partial row depends on k, how many of the leaf's variables are observed, and on s, how many of
    those are one: M[k, s] = M[k+1, s] + M[k+1, s+1], with M[n, s] = w_s. The table of (n+1)(n+2)/2 entries is made
    once, when the first missing value is met; after that any marginal is a lookup.
    """

    def __init__(self, leaves: Sequence[Exchangeable], n_variables: int) -> None:
        self._leaves = list(leaves)
        self._one_by_one = LoopBlock(leaves)
        self.n_slots = len(self._leaves)
        self._sizes = np.array([len(leaf.variables) for leaf in leaves], dtype=np.int64)
        columns = np.concatenate([np.array(leaf.variables, dtype=np.int64) for leaf in leaves])
        entries = (np.ones(len(columns)), (np.repeat(np.arange(self.n_slots), self._sizes), columns))
        self._mask = csr_array(entries, shape=(self.n_slots, n_variables))
        self._weights = np.concatenate([leaf.log_weights for leaf in leaves])
        self._weight_starts = np.cumsum(self._sizes + 1) - (self._sizes + 1)
        entries_of = (self._sizes + 1) * (self._sizes + 2) // 2
        self._table_starts = np.cumsum(entries_of) - entries_of

    def slot_leaves(self) -> Sequence[Sequence[Leaf]]:
        """Return one leaf per slot."""
        return [[leaf] for leaf in self._leaves]

    @cached_property
    def _sum_table(self) -> FloatArray:
        return self._triangle(np.logaddexp)

    @cached_property
    def _max_table(self) -> FloatArray:
        return self._triangle(np.maximum)

    def _triangle(self, combine: np.ufunc) -> FloatArray:
        """Return the tables of all leaves in a row; row k of a leaf's table begins at its place k(k+1)/2."""
        table = np.empty(int(self._table_starts[-1] + (self._sizes[-1] + 1) * (self._sizes[-1] + 2) // 2))
        for leaf, start, n in zip(self._leaves, self._table_starts, self._sizes, strict=True):
            row = leaf.log_weights
            for k in range(int(n), -1, -1):
                place = start + k * (k + 1) // 2
                table[place : place + k + 1] = row
                row = combine(row[:-1], row[1:])
        return table

    def _ones(self, rows: RowBlock) -> IntArray:
        return np.asarray(self._mask @ rows.ones, dtype=np.int64)

    def _places(self, rows: RowBlock) -> IntArray:
        """Return where each row's (k, s) stands in the table of each leaf: (slots, rows)."""
        k = (self._mask @ rows.observed).astype(np.int64)
        return np.asarray(self._table_starts[:, None] + k * (k + 1) // 2 + self._ones(rows))

    def log_prob(self, rows: RowBlock) -> FloatArray:
        """Look up w_s for whole rows, M[k, s] for others."""
        if rows.whole:
            return np.asarray(self._weights[self._weight_starts[:, None] + self._ones(rows)])
        return np.asarray(self._sum_table[self._places(rows)])

    def log_mode(self, rows: RowBlock) -> FloatArray:
        """Look up the largest weight of a completion."""
        return np.asarray(self._max_table[self._places(rows)])

    def fill(self, rows: RowBlock, active: BoolArray, out: FloatArray, rng: np.random.Generator | None) -> None:
        """Let each leaf construct its completions."""
        self._one_by_one.fill(rows, active, out, rng)

    def add_marginals(self, rows: RowBlock, flow: FloatArray, out: FloatArray) -> None:
        """Add flow · M[k+1, s+1] / M[k, s], which is the same for all missing variables of a leaf."""
        k = (self._mask @ rows.observed).astype(np.int64)
        s = self._ones(rows)
        n = self._sizes[:, None]
        here = self._sum_table[self._table_starts[:, None] + k * (k + 1) // 2 + s]
        more = np.minimum(k + 1, n)  # where nothing is missing the entry is not used
        up = self._sum_table[self._table_starts[:, None] + more * (more + 1) // 2 + np.minimum(s + 1, more)]
        chance = np.exp(up - np.where(np.isneginf(here), 0.0, here)) * (k < n)
        one = (self._mask.T @ (flow * chance)).T  # (rows, variables)
        reach = (self._mask.T @ flow).T
        p_one = np.where(rows.missing.T, one, reach * (rows.values == 1))
        out[:, :, 1] += p_one
        out[:, :, 0] += reach - p_one
