"""All exchangeable leaves that count ones: two sparse products and a table lookup."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy.sparse import csr_array

from xspn.core.arrays import BoolArray, FloatArray, IntArray
from xspn.engine.blocks import LeafBlock, LoopBlock
from xspn.engine.rows import RowBlock
from xspn.engine.triangles import Triangles
from xspn.leaves.base import Leaf
from xspn.leaves.beta_binomial import BetaBinomial, log_weights_of, parameters_of_counts
from xspn.leaves.exchangeable import Exchangeable, log_weights_of_counts
from xspn.leaves.smoothing import Smoothing
from xspn.statistics import Count


class CountBlock(LeafBlock):
    """Exchangeable leaves over the count of ones.

    The marginal of a partial row depends on k, how many of the leaf's variables are observed, and on s, how many of
    those are one: M[k, s] = M[k+1, s] + M[k+1, s+1], with M[n, s] = w_s. The table of (n+1)(n+2)/2 entries is made
    once, when the first missing value is met; after that any marginal is a lookup.
    """

    def __init__(self, leaves: Sequence[Exchangeable], n_variables: int) -> None:
        layout = _Layout.of(leaves, n_variables)
        numbers = np.array([_two_numbers(leaf) for leaf in leaves])
        self._set(layout, np.concatenate([leaf.log_weights for leaf in leaves]), numbers)
        self.__dict__["_leaves"] = list(leaves)

    def _set(self, layout: "_Layout", log_weights: FloatArray, numbers: FloatArray) -> None:
        self._layout = layout
        self.n_slots, self.triangles, self._mask = len(layout.variables), layout.triangles, layout.mask
        self.entry_variables = layout.entry_variables
        self.log_weights = log_weights
        self._numbers = numbers  # (leaves, 2): mean and dispersion of beta-binomial leaves, NaN for free ones

    @cached_property
    def _leaves(self) -> list[Exchangeable]:
        """The leaves; EM, which passes through many, asks for the last ones only."""
        made: list[Exchangeable] = []
        for variables, (mean, dispersion), start in zip(
            self._layout.variables, self._numbers.tolist(), self.triangles.weight_starts.tolist(), strict=True
        ):
            if np.isnan(mean):
                made.append(Exchangeable(variables, self.log_weights[start : start + len(variables) + 1]))
            else:
                made.append(BetaBinomial(variables, mean, dispersion))
        return made

    @property
    def _sizes(self) -> IntArray:
        return self.triangles.sizes

    @property
    def entry_ends(self) -> IntArray:
        """Where each leaf's variables end."""
        return np.cumsum(self._sizes)

    def slot_leaves(self) -> Sequence[Sequence[Leaf]]:
        """Return one leaf per slot."""
        return [[leaf] for leaf in self._leaves]

    @cached_property
    def _sum_table(self) -> FloatArray:
        return self.triangles.table(self.log_weights, np.logaddexp)

    @cached_property
    def _max_table(self) -> FloatArray:
        return self.triangles.table(self.log_weights, np.maximum)

    def _ones(self, rows: RowBlock) -> IntArray:
        return np.asarray(self._mask @ rows.ones, dtype=np.int64)

    def _places(self, rows: RowBlock) -> IntArray:
        """Return where each row's (k, s) stands in the table of each leaf: (slots, rows)."""
        k = (self._mask @ rows.observed).astype(np.int64)
        return np.asarray(self.triangles.table_starts[:, None] + k * (k + 1) // 2 + self._ones(rows))

    def log_prob(self, rows: RowBlock) -> FloatArray:
        """Look up w_s for whole rows, M[k, s] for others."""
        if rows.whole:
            return np.asarray(self.log_weights[self.triangles.weight_starts[:, None] + self._ones(rows)])
        return np.asarray(self._sum_table[self._places(rows)])

    def log_mode(self, rows: RowBlock) -> FloatArray:
        """Look up the largest weight of a completion."""
        return np.asarray(self._max_table[self._places(rows)])

    def fill(self, rows: RowBlock, active: BoolArray, out: FloatArray, rng: np.random.Generator | None) -> None:
        """Let each leaf construct its completions."""
        LoopBlock(self._leaves).fill(rows, active, out, rng)

    def add_marginals(self, rows: RowBlock, flow: FloatArray, out: FloatArray) -> None:
        """Add flow · M[k+1, s+1] / M[k, s], which is the same for all missing variables of a leaf."""
        k = (self._mask @ rows.observed).astype(np.int64)
        s = self._ones(rows)
        n = self._sizes[:, None]
        here = self._sum_table[self.triangles.table_starts[:, None] + k * (k + 1) // 2 + s]
        more = np.minimum(k + 1, n)
        up = self._sum_table[self.triangles.table_starts[:, None] + more * (more + 1) // 2 + np.minimum(s + 1, more)]
        # Where nothing is missing the entry above is that of other rows, and may be larger by any factor.
        chance = np.exp(np.where(k < n, up - np.where(np.isneginf(here), 0.0, here), -np.inf))
        one = (self._mask.T @ (flow * chance)).T  # (rows, variables)
        reach = (self._mask.T @ flow).T
        p_one = np.where(rows.missing.T, one, reach * (rows.values == 1))
        out[:, :, 1] += p_one
        out[:, :, 0] += reach - p_one

    # -- parameters --------------------------------------------------------------------------------------------------

    def new_counts(self) -> FloatArray:
        """Return the flow of whole rows at each count of ones, and then that of partial rows at each (k, s)."""
        return np.zeros(len(self.log_weights) + self.triangles.n_entries)

    def add_counts(self, rows: RowBlock, flow: FloatArray, out: FloatArray) -> None:
        """Add each row's flow at its place in each leaf's table."""
        whole, partial = out[: len(self.log_weights)], out[len(self.log_weights) :]
        if rows.whole:
            places, own = self.triangles.weight_starts[:, None] + self._ones(rows), whole
        else:
            places, own = self._places(rows), partial
        own += np.bincount(places.ravel(), weights=flow.ravel(), minlength=len(own))

    def expected_statistics(self, counts: FloatArray) -> FloatArray:
        """Return the expected flow at each count of ones, leaf by leaf."""
        whole, partial = counts[: len(self.log_weights)], counts[len(self.log_weights) :]
        if not partial.any():
            return whole
        statistics = whole.copy()
        for n, leaves in self.triangles.by_size:
            statistics[self.triangles.weight_places(leaves, n)] += self._trickle(n, leaves, partial)
        return statistics

    def _trickle(self, n: int, leaves: IntArray, flow_at: FloatArray) -> FloatArray:
        """Return the flow that partial rows are expected to have at each count: (leaves, n + 1).

        Revealing one more variable takes (k, s) to (k+1, s+1) if it is one, with probability M[k+1, s+1] / M[k, s], and
        to (k+1, s) otherwise. So all flow trickles through the table to row n, where nothing is missing.
        """
        places = self.triangles.row_places(leaves, 0)
        flow = np.zeros(places.shape)  # a row of which nothing is known tells nothing
        for k in range(n):
            below = self.triangles.row_places(leaves, k + 1)
            M, revealed = self._sum_table[places], self._sum_table[below]
            M = np.where(np.isneginf(M), 0.0, M)  # nothing flows where a row is impossible
            here = flow_at[below]
            here[:, :-1] += flow * np.exp(revealed[:, :-1] - M)
            here[:, 1:] += flow * np.exp(revealed[:, 1:] - M)
            flow, places = here, below
        return flow

    def refit(self, statistics: FloatArray, smoothing: Smoothing) -> Self:
        """Fit all leaves of a size at once; those without any mass stay."""
        log_weights, numbers = self.log_weights.copy(), self._numbers.copy()
        sparing = ~np.isnan(numbers[:, 0])
        for n, leaves in self.triangles.by_size:
            counts = statistics[self.triangles.weight_places(leaves, n)]
            told = counts.sum(axis=1) + smoothing.mass > 0
            free, bound = told & ~sparing[leaves], told & sparing[leaves]
            places = self.triangles.weight_places(leaves[free], n)
            log_weights[places] = log_weights_of_counts(counts[free], n, smoothing, Count())
            if bound.any():
                means, dispersions = parameters_of_counts(counts[bound], n, smoothing)
                numbers[leaves[bound]] = np.column_stack([means, dispersions])
                log_weights[self.triangles.weight_places(leaves[bound], n)] = log_weights_of(n, means, dispersions)
        block = type(self).__new__(type(self))
        block._set(self._layout, log_weights, numbers)
        return block


@dataclass(frozen=True, eq=False)
class _Layout:
    """What all fits of a block have in common: which variables each leaf counts."""

    variables: tuple[tuple[int, ...], ...]
    triangles: Triangles
    entry_variables: IntArray
    mask: csr_array

    @classmethod
    def of(cls, leaves: Sequence[Exchangeable], n_variables: int) -> "_Layout":
        sizes = np.array([len(leaf.variables) for leaf in leaves], dtype=np.int64)
        variables = np.concatenate([np.array(leaf.variables, dtype=np.int64) for leaf in leaves])
        entries = (np.repeat(np.arange(len(leaves)), sizes), variables)
        mask = csr_array((np.ones(len(variables)), entries), shape=(len(leaves), n_variables))
        return cls(tuple(leaf.variables for leaf in leaves), Triangles(sizes), variables, mask)


def _two_numbers(leaf: Exchangeable) -> tuple[float, float]:
    return (leaf.mean, leaf.dispersion) if isinstance(leaf, BetaBinomial) else (np.nan, np.nan)
