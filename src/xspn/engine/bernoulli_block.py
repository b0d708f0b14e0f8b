"""All Bernoulli leaves of a circuit, folded product by product."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy.sparse import csr_array

from xspn.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from xspn.core.logspace import safe_log
from xspn.engine.blocks import LeafBlock
from xspn.engine.rows import RowBlock
from xspn.leaves.base import Leaf
from xspn.leaves.bernoulli import Bernoulli
from xspn.leaves.smoothing import Smoothing

SLOTS_AT_ONCE = 1024  # slots × variables are counted densely: this bounds the memory


@dataclass(frozen=True, eq=False)
class _Layout:
    """Which leaf stands where, whatever its parameter: entries are (slot, leaf), sorted by slot."""

    slots: IntArray  # (entries,)
    which: IntArray  # (entries,): the leaf; one that several products share has several entries
    variables: IntArray  # (leaves,)
    n_slots: int
    n_variables: int

    @cached_property
    def _order(self) -> IntArray:
        """The entries by slot, and those of a slot by variable, as the rows of sparse matrices want them."""
        places = self.slots * self.n_variables + self.variables[self.which]
        return np.arange(len(places)) if (places[1:] >= places[:-1]).all() else np.argsort(places, kind="stable")

    @cached_property
    def _pattern(self) -> tuple[AnyArray, AnyArray, AnyArray]:
        return self._pattern_of(self._order)

    def _pattern_of(self, entries: IntArray) -> tuple[AnyArray, AnyArray, AnyArray]:
        """Return the leaves, the columns and the ends of rows of a matrix with these entries."""
        index = np.int32 if max(len(self.which), self.n_variables) < 1 << 31 else np.int64
        which = self.which[entries]
        ends = np.cumsum(np.bincount(self.slots[entries] + 1, minlength=self.n_slots + 1))
        return which, self.variables[which].astype(index), ends.astype(index)

    def matrix(self, values: AnyArray, chosen: BoolArray | None = None) -> csr_array:
        """Return a matrix (slots, variables) with the leaves' values at the chosen entries."""
        which, columns, ends = self._pattern if chosen is None else self._pattern_of(self._order[chosen[self._order]])
        return csr_array((values[which], columns, ends), shape=(self.n_slots, self.n_variables), dtype=np.float64)


class BernoulliBlock(LeafBlock):
    """Each slot is a product of Bernoulli leaves: a row of log-probabilities times the bits of the data.

    Leaves with p = 0 or 1 would put −inf into that product. They are counted apart: a slot with an impossible value
    is −inf, and only then.
    """

    def __init__(
        self,
        variables: IntArray,
        p: FloatArray,
        slots: IntArray,
        which: IntArray,
        n_variables: int,
        leaves: list[Bernoulli] | None = None,
    ) -> None:
        """Lay out leaves by their variables and parameters.

        Args:
            variables: The variable of each leaf.
            p: The parameter of each leaf.
            slots: The slot of each entry; slots are in order, and each has an entry.
            which: The leaf of each entry.
            n_variables: The number of variables of the circuit.
            leaves: The leaves themselves, if they are there already.
        """
        self._set(_Layout(slots, which, variables, int(slots[-1]) + 1, n_variables), p)
        if leaves is not None:
            self._leaves = leaves

    def _set(self, layout: _Layout, p: FloatArray) -> None:
        self._layout, self.p = layout, p
        self.n_slots = layout.n_slots
        log_p = safe_log(np.stack([1 - p, p], axis=1))
        certain = np.isneginf(log_p)  # (leaves, 2): this value is impossible
        finite = np.where(certain, 0.0, log_p)
        self._log = [layout.matrix(finite[:, 0]), layout.matrix(finite[:, 1])]
        self._log_odds = layout.matrix(finite[:, 1] - finite[:, 0])
        self._all_zero = np.bincount(layout.slots, weights=finite[layout.which, 0], minlength=self.n_slots)
        self._impossible = [layout.matrix(np.ones(len(p)), certain[layout.which, value]) for value in (0, 1)]

    @property
    def entry_leaves(self) -> IntArray:
        """The leaf at each entry; entries are the leaves of one slot after the other."""
        return self._layout.which

    @property
    def entry_variables(self) -> IntArray:
        """The variable at each entry."""
        return np.asarray(self._layout.variables[self._layout.which])

    @property
    def entry_ends(self) -> IntArray:
        """Where each slot's entries end."""
        return np.cumsum(np.bincount(self._layout.slots, minlength=self.n_slots))

    @cached_property
    def _leaves(self) -> list[Bernoulli]:
        return [Bernoulli(int(v), p=p) for v, p in zip(self._layout.variables, self.p, strict=True)]

    @cached_property
    def _log_best(self) -> csr_array:
        p = self.p
        return self._layout.matrix(safe_log(np.maximum(p, 1 - p)))

    @cached_property
    def _p(self) -> csr_array:
        return self._layout.matrix(self.p)

    @cached_property
    def _reach(self) -> csr_array:
        """1 where a slot has a leaf for a variable."""
        return self._layout.matrix(np.ones(len(self.p)))

    @cached_property
    def _of_slot(self) -> list[IntArray]:
        """The leaves of each slot."""
        return np.split(self._layout.which, np.searchsorted(self._layout.slots, np.arange(1, self.n_slots)))

    def slot_leaves(self) -> Sequence[Sequence[Leaf]]:
        """Return the Bernoulli leaves of each product."""
        return [[self._leaves[i] for i in own] for own in self._of_slot]

    def log_prob(self, rows: RowBlock) -> FloatArray:
        """Return the sum of the leaves' log-probabilities."""
        if rows.whole:
            out = self._log_odds @ rows.ones
            out += self._all_zero[:, None]
        else:
            out = self._log[0] @ rows.observed
            out += self._log_odds @ rows.ones
        return self._without_impossible(out, rows)

    def log_mode(self, rows: RowBlock) -> FloatArray:
        """Return the same with the likelier value where one is missing."""
        out = self._log[0] @ rows.zeros + self._log[1] @ rows.ones + self._log_best @ rows.missing.astype(np.float64)
        return self._without_impossible(out, rows)

    def _without_impossible(self, out: FloatArray, rows: RowBlock) -> FloatArray:
        if self._impossible[0].nnz:
            out[self._impossible[0] @ rows.zeros > 0] = -np.inf
        if self._impossible[1].nnz:
            out[self._impossible[1] @ rows.ones > 0] = -np.inf
        return out

    def fill(self, rows: RowBlock, active: BoolArray, out: FloatArray, rng: np.random.Generator | None) -> None:
        """Fill each product's missing bits."""
        for slot in np.flatnonzero(active.any(axis=1)):
            where, leaves = np.flatnonzero(active[slot]), self._of_slot[slot]
            columns, p = self._layout.variables[leaves], self.p[leaves]
            own = rows.values[np.ix_(where, columns)]
            drawn = p > 0.5 if rng is None else rng.random(own.shape) < p
            out[np.ix_(where, columns)] = np.where(np.isnan(own), drawn, own)

    def add_marginals(self, rows: RowBlock, flow: FloatArray, out: FloatArray) -> None:
        """Add flow · p for missing bits and flow for observed ones: two sparse products for all leaves."""
        one = (self._p.T @ flow).T  # (rows, variables)
        reach = (self._reach.T @ flow).T
        observed = ~rows.missing.T
        p_one = np.where(observed, reach * (rows.values == 1), one)
        out[:, :, 1] += p_one
        out[:, :, 0] += reach - p_one

    # -- parameters --------------------------------------------------------------------------------------------------

    def new_counts(self) -> FloatArray:
        """Return zeros and ones of each leaf: (leaves, 2)."""
        return np.zeros((len(self.p), 2))

    def add_counts(self, rows: RowBlock, flow: FloatArray, out: FloatArray) -> None:
        """Add the flow on zeros and ones: dense products of (slots, rows) by (rows, variables), leaves picked out."""
        layout = self._layout
        for first in range(0, self.n_slots, SLOTS_AT_ONCE):
            own = flow[first : first + SLOTS_AT_ONCE]
            chosen = slice(*np.searchsorted(layout.slots, (first, first + SLOTS_AT_ONCE)))
            slots, which = layout.slots[chosen] - first, layout.which[chosen]
            ones = (own @ rows.ones.T)[slots, layout.variables[which]]
            seen = own.sum(axis=1)[slots] if rows.whole else (own @ rows.observed.T)[slots, layout.variables[which]]
            # A difference of two sums may round to just below 0.
            out[:, 0] += np.bincount(which, weights=np.maximum(seen - ones, 0.0), minlength=len(out))
            out[:, 1] += np.bincount(which, weights=ones, minlength=len(out))

    def expected_statistics(self, counts: FloatArray) -> FloatArray:
        """Return the counts: a missing bit tells nothing."""
        return counts

    def refit(self, statistics: FloatArray, smoothing: Smoothing) -> Self:
        """Return p = (n₁ + α) / (n + 2α) for every leaf at once; indicators have nothing to fit."""
        total = statistics.sum(axis=1) + 2 * smoothing.mass
        free = (total > 0) & (self.p > 0) & (self.p < 1)
        fitted = (statistics[:, 1] + smoothing.mass) / np.where(total > 0, total, 1.0)
        block = type(self).__new__(type(self))
        block._set(self._layout, np.where(free, np.clip(fitted, 0.0, 1.0), self.p))
        return block
