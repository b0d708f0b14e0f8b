"""A program's leaf blocks as torch tensors: all leaves of a family at once; rows are the last axis."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from xspn.core.arrays import AnyArray, IntArray
from xspn.core.logspace import safe_log
from xspn.engine.bernoulli_block import BernoulliBlock
from xspn.engine.count_block import CountBlock
from xspn.engine.tree_block import TreeBlock


class Cells:
    """A block of rows on the device: (variables, rows), 1 where a value is zero, is one, is there; 0 elsewhere."""

    def __init__(self, zeros: Tensor, ones: Tensor, dtype: torch.dtype) -> None:
        self._is_zero, self._is_one, self._dtype = zeros, ones, dtype

    @cached_property
    def zeros(self) -> Tensor:
        """1 where a value is zero."""
        return self._is_zero.to(self._dtype)

    @cached_property
    def ones(self) -> Tensor:
        """1 where a value is one."""
        return self._is_one.to(self._dtype)

    @cached_property
    def seen(self) -> Tensor:
        """1 where there is a value."""
        return self.zeros + self.ones

    @property
    def codes(self) -> Tensor:
        """0, 1, or 2 for missing, as small integers."""
        return torch.where(self._is_zero, 0, torch.where(self._is_one, 1, 2)).to(torch.uint8).contiguous()


class Tables:
    """Puts arrays where they are needed, in one precision."""

    def __init__(self, device: torch.device, dtype: torch.dtype) -> None:
        self.device, self.dtype = device, dtype

    def numbers(self, array: AnyArray) -> Tensor:
        """Return parameters on the device."""
        return torch.as_tensor(np.ascontiguousarray(array), dtype=self.dtype, device=self.device)

    def indices(self, array: AnyArray | list[int]) -> Tensor:
        """Return places on the device."""
        return torch.as_tensor(np.ascontiguousarray(array), dtype=torch.int64, device=self.device)


class Bernoullis:
    """Each slot is a product of Bernoulli leaves: a matrix product of logarithms, and one exponential."""

    def __init__(self, block: BernoulliBlock, n_variables: int, to: Tables) -> None:
        ends = block.entry_ends
        slots = np.repeat(np.arange(block.n_slots), np.diff(ends, prepend=0))
        p = block.p[block.entry_leaves]
        log_p = safe_log(np.stack([1 - p, p]))
        impossible = np.isneginf(log_p)
        self._log = to.numbers(self._matrix(np.where(impossible, 0.0, log_p), slots, block, n_variables))
        self._p_one = to.numbers(self._matrix(np.stack([p]), slots, block, n_variables).T)
        never = self._matrix(impossible.astype(float), slots, block, n_variables)
        self._never = to.numbers(never) if impossible.any() else None

    @staticmethod
    def _matrix(values: AnyArray, slots: IntArray, block: BernoulliBlock, n_variables: int) -> AnyArray:
        """Return values of zero and of one, side by side: (slots, 2 · variables)."""
        out = np.zeros((block.n_slots, len(values), n_variables))
        for which, own in enumerate(values):
            out[slots, which, block.entry_variables] = own
        return out.reshape(block.n_slots, -1)

    def values(self, cells: Cells) -> Tensor:
        """Return the probability of what is seen: (slots, rows)."""
        both = torch.cat([cells.zeros, cells.ones])
        out = (self._log @ both).exp_()
        if self._never is not None:
            out[(self._never @ both) > 0] = 0
        return out

    def add_marginals(self, cells: Cells, values: Tensor, slopes: Tensor, out: Tensor) -> None:
        """Add P(X_v = 1, evidence) for missing v."""
        out += self._p_one @ (values * slopes)


class Counts:
    """Exchangeable leaves over counts: matrix products count, a table answers."""

    def __init__(self, block: CountBlock, n_variables: int, to: Tables) -> None:
        own = block.triangles
        mask = np.zeros((block.n_slots, n_variables))
        mask[np.repeat(np.arange(block.n_slots), own.sizes), block.entry_variables] = 1
        self._mask = to.numbers(mask)
        self._starts = to.indices(own.table_starts)[:, None]
        self._sizes = to.numbers(own.sizes)[:, None]
        self._table = to.numbers(np.exp(own.table(block.log_weights, np.logaddexp)))

    def _at(self, k: Tensor, s: Tensor) -> Tensor:
        place = (k * (k + 1) * 0.5 + s).long().add_(self._starts)
        return self._table[place]

    def values(self, cells: Cells) -> Tensor:
        """Return M[k, s]: (slots, rows)."""
        return self._at(self._mask @ cells.seen, self._mask @ cells.ones)

    def add_marginals(self, cells: Cells, values: Tensor, slopes: Tensor, out: Tensor) -> None:
        """Add P(X_v = 1, evidence) for missing v: one more one takes (k, s) to (k+1, s+1)."""
        k, s = self._mask @ cells.seen + 1, self._mask @ cells.ones + 1
        room = k <= self._sizes
        more = self._at(torch.where(room, k, 0 * k), torch.where(room, s, 0 * s))
        out += self._mask.T @ torch.where(room, more * slopes, 0 * slopes)


@dataclass(frozen=True)
class _Group:
    """Entries of trees whose parents are all different, so that they can be told at the same time."""

    entries: Tensor
    parents: Tensor  # entries; for roots the trees
    is_root: bool


class Trees:
    """Chow-Liu trees, all of them level by level: messages to the roots, and posteriors back."""

    def __init__(self, block: TreeBlock, to: Tables) -> None:
        self.n_slots = block.n_slots
        self._variables = to.indices(block.entry_variables)
        self._p = to.numbers(block.tables[block.entry_sources].T)[:, :, None]  # (4, entries, 1)
        sizes = np.diff(block.entry_ends, prepend=0)
        self._tree = to.indices(np.repeat(np.arange(block.n_slots), sizes))
        self._groups = _groups(block, to)

    def _messages(self, cells: Cells) -> tuple[Tensor, Tensor, Tensor]:
        """Return P(evidence at and below i | X_i = 0 or 1), and that of whole trees."""
        zero, one = 1 - cells.ones[self._variables], 1 - cells.zeros[self._variables]
        value = torch.ones((self.n_slots, zero.shape[1]), dtype=zero.dtype, device=zero.device)
        for group in self._groups:
            p, b0, b1 = self._p[:, group.entries], zero[group.entries], one[group.entries]
            told = p[0] * b0 + p[1] * b1
            if group.is_root:
                value[group.parents] *= told
            else:
                zero[group.parents] *= told
                one[group.parents] *= p[2] * b0 + p[3] * b1
        return zero, one, value

    def values(self, cells: Cells) -> Tensor:
        """Return the probability of what is seen: (trees, rows)."""
        return self._messages(cells)[2]

    def add_marginals(self, cells: Cells, values: Tensor, slopes: Tensor, out: Tensor) -> None:
        """Add P(X_v = 1, evidence) for missing v."""
        zero, one, _ = self._messages(cells)
        single = torch.empty_like(zero)  # P(X_i = 1 | evidence)
        for group in reversed(self._groups):
            p, b0, b1 = self._p[:, group.entries], zero[group.entries], one[group.entries]
            given_zero = _share(p[1] * b1, p[0] * b0)
            if group.is_root:
                single[group.entries] = given_zero
            else:
                above = single[group.parents]
                single[group.entries] = (1 - above) * given_zero + above * _share(p[3] * b1, p[2] * b0)
        out.index_add_(0, self._variables, single * (values * slopes)[self._tree])


def _share(part: Tensor, rest: Tensor) -> Tensor:
    total = part + rest
    return torch.where(total > 0, part / torch.where(total > 0, total, torch.ones_like(total)), part)


def _groups(block: TreeBlock, to: Tables) -> list[_Group]:
    """Return groups in the order in which they tell their parents: the deepest first, one child of each at a time."""
    sizes = np.diff(block.entry_ends, prepend=0)
    starts = np.repeat(block.entry_ends - sizes, sizes)
    parents = np.where(block.entry_parents < 0, -1, starts + block.entry_parents)
    tree = np.repeat(np.arange(block.n_slots), sizes)
    depth = np.zeros(len(parents), dtype=np.int64)
    for i, parent in enumerate(parents):  # parents come before children
        depth[i] = 0 if parent < 0 else depth[parent] + 1
    told: dict[Any, int] = {}
    rank = np.zeros(len(parents), dtype=np.int64)
    for i in range(len(parents) - 1, -1, -1):  # the order in which the other back ends multiply
        key = (depth[i], tree[i]) if parents[i] < 0 else int(parents[i])
        rank[i] = told[key] = told.get(key, -1) + 1
    groups = []
    for level in range(int(depth.max()), -1, -1):
        for place in range(int(rank[depth == level].max()) + 1):
            own = np.flatnonzero((depth == level) & (rank == place))
            above = tree[own] if level == 0 else parents[own]
            groups.append(_Group(to.indices(own), to.indices(above), level == 0))
    return groups
