"""All Bernoulli leaves of a circuit, folded product by product."""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from xspn._core.arrays import AnyArray, BoolArray, FloatArray
from xspn.engine.blocks import LeafBlock
from xspn.engine.rows import RowBlock
from xspn.leaves.base import Leaf
from xspn.leaves.bernoulli import Bernoulli


class BernoulliBlock(LeafBlock):
    """Each slot is a product of Bernoulli leaves: a row of log-probabilities times the bits of the data.

    Leaves with p = 0 or 1 would put −inf into that product. They are counted apart: a slot with an impossible value
    is −inf, and only then.
    """

    def __init__(self, groups: Sequence[Sequence[Bernoulli]], n_variables: int) -> None:
        self._groups = [list(group) for group in groups]
        self.n_slots = len(self._groups)
        slots = np.repeat(np.arange(self.n_slots), [len(group) for group in self._groups])
        leaves = [leaf for group in self._groups for leaf in group]
        variables = np.array([leaf.variables[0] for leaf in leaves], dtype=np.int64)
        log_p = np.array([leaf.log_p for leaf in leaves]).reshape(-1, 2)
        certain = np.isneginf(log_p)  # (leaves, 2): this value is impossible

        def matrix(entries: AnyArray) -> csr_array:
            return csr_array((entries, (slots, variables)), shape=(self.n_slots, n_variables), dtype=np.float64)

        def impossible(value: int) -> csr_array:
            which = certain[:, value]
            entries = (np.ones(which.sum()), (slots[which], variables[which]))
            return csr_array(entries, shape=(self.n_slots, n_variables), dtype=np.float64)

        finite = np.where(certain, 0.0, log_p)
        self._log = [matrix(finite[:, 0]), matrix(finite[:, 1])]
        self._log_odds = matrix(finite[:, 1] - finite[:, 0])
        self._all_zero = np.bincount(slots, weights=finite[:, 0], minlength=self.n_slots)
        self._log_best = matrix(log_p.max(axis=1, initial=-np.inf))
        self._p = matrix(np.array([leaf.p for leaf in leaves]))
        self._reach = matrix(np.ones(len(leaves)))  # 1 where a slot has a leaf for a variable
        self._impossible = [impossible(0), impossible(1)]
        self._variables = [variables[slots == slot] for slot in range(self.n_slots)]
        self._probabilities = [np.array([leaf.p for leaf in group]) for group in self._groups]

    def slot_leaves(self) -> Sequence[Sequence[Leaf]]:
        """Return the Bernoulli leaves of each product."""
        return self._groups

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
            where, columns, p = np.flatnonzero(active[slot]), self._variables[slot], self._probabilities[slot]
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
