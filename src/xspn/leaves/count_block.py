"""All exchangeable leaves that count ones: two sparse products and a table lookup."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array

from xspn.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from xspn.core.logspace import log_binomials
from xspn.core.memory import need_memory
from xspn.core.polynomials import Polynomials
from xspn.core.random import NodeRandom, RowRandom
from xspn.leaves.base import Leaf, Smoothing, pieces
from xspn.leaves.blocks import LoopBlock, RowBlock, Shape, ShapedBlock, fast_path, tally_of_leaf
from xspn.leaves.events import Mark
from xspn.leaves.exchangeable import Exchangeable
from xspn.statistics import Count

LARGE = 1 << 24  # entries
MOST_PICKED = 512  # variables of a leaf whose ones are picked: kernels count their arrangements in floating point


@dataclass(frozen=True, eq=False)
class Triangles:
    """Where the weights and the tables of several leaves stand, one leaf after the other.

    A leaf over n variables has n + 1 weights and a triangle of (n+1)(n+2)/2 entries: M[k, s] = M[k+1, s] + M[k+1, s+1]
    with M[n, s] = w_s. Row k of a triangle begins at place k(k+1)/2.
    """

    sizes: IntArray  # (leaves,): n

    @cached_property
    def weight_starts(self) -> IntArray:
        """Where each leaf's weights begin."""
        return np.asarray(np.cumsum(self.sizes + 1) - (self.sizes + 1))

    @cached_property
    def _entries(self) -> IntArray:
        return np.asarray((self.sizes + 1) * (self.sizes + 2) // 2)

    @cached_property
    def table_starts(self) -> IntArray:
        """Where each leaf's triangle begins."""
        return np.asarray(np.cumsum(self._entries) - self._entries)

    @cached_property
    def n_entries(self) -> int:
        """The number of entries of all triangles."""
        return int(self._entries.sum())

    @cached_property
    def by_size(self) -> list[tuple[int, IntArray]]:
        """The leaves of each size."""
        return [(int(n), np.flatnonzero(self.sizes == n)) for n in np.unique(self.sizes)]

    def row_places(self, leaves: IntArray, k: int) -> IntArray:
        """Return where row k stands in the triangles of some leaves: (leaves, k + 1)."""
        return np.asarray(self.table_starts[leaves, None] + k * (k + 1) // 2 + np.arange(k + 1))

    def weight_places(self, leaves: IntArray, n: int) -> IntArray:
        """Return where the weights of some leaves of n variables stand: (leaves, n + 1)."""
        return np.asarray(self.weight_starts[leaves, None] + np.arange(n + 1))

    def table(self, log_weights: FloatArray, combine: np.ufunc) -> FloatArray:
        """Return the logarithms of all triangles: with `logaddexp` of sums, with `maximum` of best completions."""
        if self.n_entries > LARGE:
            widest = int(self.sizes.max())
            need_memory(
                8 * self.n_entries,
                f"query: a leaf that counts ones over {widest:,} variables",
                lambda _: "marginalize the circuit to the variables of interest first",
            )
        table = np.empty(self.n_entries)
        for n, leaves in self.by_size:
            row = log_weights[self.weight_places(leaves, n)]
            for k in range(n, -1, -1):
                table[self.row_places(leaves, k)] = row
                row = combine(row[:, :-1], row[:, 1:])
        return table

    @cached_property
    def are_picked(self) -> BoolArray:
        """Of which leaves back ends pick the ones by themselves; larger leaves complete rows through the contract."""
        return (self.sizes <= MOST_PICKED) & (self.n_entries <= LARGE)

    def best_ones(self, log_weights: FloatArray) -> AnyArray:
        """Return the likeliest number of ones at each place of the triangles, the smallest of equals."""
        table = np.zeros(self.n_entries if self.n_entries <= LARGE else 0, dtype=np.int32)
        for n, leaves in self.by_size if len(table) else ():
            weights = log_weights[self.weight_places(leaves, n)]
            best = np.broadcast_to(np.arange(n + 1), weights.shape)
            for k in range(n, -1, -1):
                table[self.row_places(leaves, k)] = best
                fewer, more = best[:, :-1], best[:, 1:]
                of_fewer, of_more = (np.take_along_axis(weights, own, axis=1) for own in (fewer, more))
                best = np.where(of_more > of_fewer, more, fewer)
        return table


@fast_path(Exchangeable)
class CountBlock(ShapedBlock):
    """Exchangeable leaves over the count of ones.

    The marginal of a partial row depends on k, how many of the leaf's variables are observed, and on s, how many of
    those are one: M[k, s] = M[k+1, s] + M[k+1, s+1], with M[n, s] = w_s. The table of (n+1)(n+2)/2 entries is made
    once, when the first missing value is met; after that any marginal is a lookup.
    """

    shape = Shape.COUNT

    def __init__(self, leaves: Sequence[Exchangeable], n_variables: int) -> None:
        layout = _Counted.of(leaves, n_variables)
        numbers = np.array([leaf.counted for leaf in leaves])
        self._set(layout, np.concatenate([leaf.log_weights for leaf in leaves]), numbers)
        self.__dict__["_leaves"] = list(leaves)

    @classmethod
    def of_leaves(cls, leaves: Sequence[Exchangeable], n_variables: int) -> Self:
        """Return the block of some leaves."""
        return cls(leaves, n_variables)

    @staticmethod
    def takes(leaf: Exchangeable) -> bool:
        """Whether the leaf counts ones: other statistics are asked through the contract."""
        return type(leaf.statistic) is Count  # one that derives from it may count otherwise

    def _set(self, layout: "_Counted", log_weights: FloatArray, numbers: FloatArray) -> None:
        self._layout = layout
        self.n_slots, self.triangles, self._mask = len(layout.variables), layout.triangles, layout.mask
        self.entry_variables = layout.entry_variables
        self.log_weights = log_weights
        self._numbers = numbers  # (leaves, 2): what leaves have instead of free weights, or NaN

    @cached_property
    def _leaves(self) -> list[Exchangeable]:
        """The leaves; EM, which passes through many, asks for the last ones only."""
        layout, starts = self._layout, self.triangles.weight_starts.tolist()
        return [
            family.of_counted(own, self.log_weights[start : start + len(own) + 1], numbers)
            for family, own, start, numbers in zip(
                layout.families, layout.variables, starts, self._numbers.tolist(), strict=True
            )
        ]

    @property
    def _sizes(self) -> IntArray:
        return self.triangles.sizes

    @property
    def entry_ends(self) -> IntArray:
        """Where each leaf's variables end."""
        return np.cumsum(self._sizes)

    def layout_arrays(self) -> dict[str, AnyArray]:
        """Return the variables of all leaves, and how many each has."""
        return {"count_variable": self.entry_variables, "count_size": self._sizes}

    def number_arrays(self) -> dict[str, AnyArray]:
        """Return all log-weights."""
        return {"count_log_w": self.log_weights.copy()}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, AnyArray], ends: IntArray, n_variables: int) -> Self:
        """Return the block of exchangeable leaves."""
        sizes = np.diff(ends, prepend=0)
        weights, variables = (
            pieces(np.array(arrays["count_log_w"]), sizes + 1),
            pieces(arrays["count_variable"], sizes),
        )
        pairs = zip(variables, weights, strict=True)
        return cls([Exchangeable(own.tolist(), log_weights) for own, log_weights in pairs], n_variables)

    def counts_of_kernels(self, found: Any) -> FloatArray:
        """Return the flow of whole rows, then that of partial rows, if there were any."""
        counts = self.new_counts()
        counts[: len(found.whole)] = found.whole
        counts[len(found.whole) : len(found.whole) + len(found.partial)] = found.partial
        return counts

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

    def tally(self, rows: RowBlock, marks: Mapping[int, Mark]) -> list[Polynomials]:
        """Return M[k + c, s + j] · C(c, j) for j = 0..c, where ones of c missing variables count."""
        distinct = {id(mark): mark for mark in marks.values()}
        of_ones = {key for key, mark in distinct.items() if np.array_equal(np.asarray(mark), [0, 1])}
        plain = {v for v, mark in marks.items() if id(mark) in of_ones}
        column = np.zeros(self._mask.shape[1], dtype=bool)
        column[list(plain)] = True
        other = np.zeros(self._mask.shape[1])
        other[[v for v in marks if v not in plain]] = 1.0
        asked = np.asarray(self._mask @ other) > 0
        c = (self._mask @ (rows.missing & column[:, None]).astype(np.float64)).astype(np.int64)
        k, s = (self._mask @ rows.observed).astype(np.int64), self._ones(rows)
        in_table = (c + k < self._sizes[:, None]).any(axis=1) & (c > 0).any(axis=1)
        asked |= in_table & (self.triangles.n_entries > LARGE)
        observed = self.log_prob(rows)
        found = [Polynomials.constants(own) for own in observed]
        for slot in np.flatnonzero((c > 0).any(axis=1) & ~asked).tolist():
            found[slot] = self._tally_of_slot(slot, in_table[slot], k[slot], s[slot], c[slot], observed[slot])
        for slot in np.flatnonzero(asked).tolist():
            found[slot] = tally_of_leaf(self._leaves[slot], rows, marks)
        return found

    def _tally_of_slot(
        self, slot: int, in_table: bool, k: IntArray, s: IntArray, c: IntArray, observed: FloatArray
    ) -> Polynomials:
        if (k == k[0]).all() and (s == s[0]).all() and (c == c[0]).all():
            k, s, c = k[:1], s[:1], c[:1]
        most = int(c.max())
        j = np.arange(most + 1)
        if in_table:
            seen = k + c
            starts, source = self.triangles.table_starts[slot] + seen * (seen + 1) // 2 + s, self._sum_table
        else:
            starts, source = self.triangles.weight_starts[slot] + s, self.log_weights
        if len(c) == 1 or (c == most).all():
            logs = source[starts[:, None] + j] + log_binomials(most)
        else:
            ways = np.full((len(c), most + 1), -np.inf)
            for size in np.unique(c).tolist():
                ways[c == size, : size + 1] = log_binomials(size)
            logs = source[starts[:, None] + np.minimum(j, c[:, None])] + ways
        base = observed[: len(c)]
        return Polynomials(np.exp(logs - np.where(np.isneginf(base), 0.0, base)[:, None]), observed)

    def fill(self, rows: RowBlock, active: BoolArray, out: FloatArray, random: RowRandom | None) -> None:
        """Draw the number of ones, then where they are, as kernels do; large leaves go through the contract."""
        picked = np.zeros(self.n_slots, dtype=bool) if random is None else self._sizes <= MOST_PICKED
        LoopBlock(self._leaves).fill(rows, active & ~picked[:, None], out, random)
        for slot in np.flatnonzero(active.any(axis=1) & picked).tolist():
            assert random is not None
            leaf, where = self._leaves[slot], np.flatnonzero(active[slot])
            cells = np.ix_(where, np.array(leaf.variables))
            own, numbers = rows.values[cells], random.at(slot, where)
            t = leaf.draw_classes(own, numbers.random(len(own)))
            out[cells] = _place_ones(own, t - (own == 1).sum(axis=1), numbers)

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

    def add_alternatives(
        self, rows: RowBlock, log_derivative: FloatArray, values: FloatArray, out: FloatArray, best: bool
    ) -> None:
        """Add what stands beside (k, s) in the table: s − 1 where a one is replaced, s + 1 for a zero, k + 1 else."""
        s, across = self._ones(rows), self._mask.T
        here = (across @ np.exp(log_derivative + values)).T  # (rows, variables)
        if rows.whole:
            k, starts, table = self._sizes[:, None], self.triangles.weight_starts[:, None], self.log_weights
        else:
            k = (self._mask @ rows.observed).astype(np.int64)
            table = self._max_table if best else self._sum_table
            starts = self.triangles.table_starts[:, None] + k * (k + 1) // 2
        missing, one, zero = rows.missing.T, rows.values == 1, rows.values == 0
        out[:, :, 1] += np.where(one, here, 0.0)
        out[:, :, 0] += np.where(zero, here, 0.0)

        def add(value: int, where: BoolArray, possible: BoolArray, places: IntArray) -> None:
            logs = np.where(possible, table[np.where(possible, places, 0)], -np.inf)
            out[:, :, value] += np.where(where, (across @ np.exp(log_derivative + logs)).T, 0.0)

        if not best:
            add(0, one, s > 0, starts + s - 1)
            add(1, zero, s < k, starts + s + 1)
        if not rows.whole:
            more = starts + k + 1  # row k + 1 of the triangle
            add(0, missing, k < self._sizes[:, None], more + s)
            add(1, missing, k < self._sizes[:, None], more + s + 1)

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
        for n, leaves in self.triangles.by_size:
            counts = statistics[self.triangles.weight_places(leaves, n)]
            told = counts.sum(axis=1) + smoothing.mass > 0
            for family, members in self._layout.by_family:
                own = told & members[leaves]
                if own.any():
                    places = self.triangles.weight_places(leaves[own], n)
                    log_weights[places], numbers[leaves[own]] = family.fit_counts(counts[own], n, smoothing)
        block = type(self).__new__(type(self))
        block._set(self._layout, log_weights, numbers)
        return block


def _place_ones(x: FloatArray, ones: IntArray, numbers: NodeRandom) -> FloatArray:
    """Put so many ones into missing cells of each row, uniformly, and zeros into the others.

    Cells are picked until there are enough different ones: those of ones, or those of zeros if they are fewer.
    """
    missing = np.isnan(x)
    m = missing.sum(axis=1)
    order = np.argsort(~missing, axis=1, kind="stable")  # the missing cells first
    few = 2 * ones <= m
    filled = np.where(missing, np.where(few, 0.0, 1.0)[:, None], x)
    left = np.where(few, ones, m - ones)
    picked, rows = np.zeros(x.shape, dtype=bool), np.arange(len(x))
    while (left > 0).any():
        cell = order[rows, np.minimum((numbers.random(len(x)) * m).astype(np.int64), x.shape[1] - 1)]
        new = (left > 0) & ~picked[rows, cell]
        picked[rows[new], cell[new]] = True
        left -= new
    return np.where(picked, 1.0 - filled, filled)


@dataclass(frozen=True, eq=False)
class _Counted:
    """What all fits of a block have in common: which variables each leaf counts."""

    families: tuple[type[Exchangeable], ...]
    variables: tuple[tuple[int, ...], ...]
    triangles: Triangles
    entry_variables: IntArray
    mask: csr_array

    @cached_property
    def by_family(self) -> list[tuple[type[Exchangeable], BoolArray]]:
        """The leaves of each family: (leaves,) of bool."""
        return [(family, np.array([own is family for own in self.families])) for family in dict.fromkeys(self.families)]

    @classmethod
    def of(cls, leaves: Sequence[Exchangeable], n_variables: int) -> "_Counted":
        sizes = np.array([len(leaf.variables) for leaf in leaves], dtype=np.int64)
        variables = np.concatenate([np.array(leaf.variables, dtype=np.int64) for leaf in leaves])
        entries = (np.repeat(np.arange(len(leaves)), sizes), variables)
        mask = csr_array((np.ones(len(variables)), entries), shape=(len(leaves), n_variables))
        families = tuple(map(type, leaves))
        return cls(families, tuple(leaf.variables for leaf in leaves), Triangles(sizes), variables, mask)
