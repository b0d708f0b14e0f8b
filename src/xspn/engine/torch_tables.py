"""Leaf blocks of a program on a device of torch, by their shapes; rows are the last axis."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.core.logspace import log_binomials, safe_log
from xspn.engine.kernels.arrays import MISSING
from xspn.engine.torch_walks import Walkers, in_lists, uniform
from xspn.leaves.blocks import RowBlock, Shape, ShapedBlock
from xspn.leaves.count_block import Triangles


class Cells:
    """A block of rows on the device: (variables, rows), 1 where a value is zero, is one, is seen; 0 otherwise.

    Attributes:
        rows: The rows for leaves that the device does not evaluate, if there are such leaves.
        log_scale: What to add to the logarithm of the root's value (see `ColumnLeaves`).
    """

    def __init__(
        self,
        zeros: Tensor,
        ones: Tensor,
        dtype: torch.dtype,
        missing: Tensor | None = None,
        rows: RowBlock | None = None,
    ) -> None:
        self._is_zero, self._is_one, self._dtype = zeros, ones, dtype
        self._missing = missing
        self.rows = rows
        self.log_scale: FloatArray | float = 0.0

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
        return self.zeros + self.ones if self._missing is None else (~self._missing).to(self._dtype)

    @property
    def codes(self) -> Tensor:
        """0, 1, or 2 for missing, as small integers."""
        return torch.where(self._is_zero, 0, torch.where(self._is_one, 1, MISSING)).to(torch.uint8).contiguous()


class DeviceArrays:
    """Puts arrays where they are needed, in one precision."""

    def __init__(self, device: torch.device, dtype: torch.dtype) -> None:
        self.device, self.dtype = device, dtype

    def numbers(self, array: AnyArray) -> Tensor:
        """Return parameters on the device."""
        return torch.as_tensor(np.ascontiguousarray(array), dtype=self.dtype, device=self.device)

    def indices(self, array: AnyArray | list[int]) -> Tensor:
        """Return places on the device."""
        return torch.as_tensor(np.ascontiguousarray(array), dtype=torch.int64, device=self.device)


class LeafTensors(Protocol):
    """All leaves of one shape.

    Attributes:
        left_out: The slots whose leaves complete rows by themselves.
    """

    left_out: IntArray

    def values(self, cells: Cells, best: bool = False) -> Tensor:
        """Return the probability of what is seen, or of its best completion: (slots, rows)."""

    def fill(self, active: Tensor, first: int, walkers: Walkers) -> None:
        """Complete the walkers that have come to each slot, (slots, walkers), of which the first has this number."""

    def add_marginals(self, cells: Cells, values: Tensor, derivatives: Tensor, out: Tensor) -> None:
        """Add P(X_v = 1, evidence) for missing v: (variables, rows)."""

    def statistics(self, cells: Cells, flow: Tensor) -> dict[str, Tensor]:
        """Return what rows tell about parameters, by their flow into each slot, under the names of kernels' fields."""


class FactorTensors:
    """Each slot is a product of factors: a matrix product of logarithms, and one exponential."""

    def __init__(self, block: ShapedBlock, n_variables: int, to: DeviceArrays) -> None:
        variables, p = block.layout_arrays()["bernoulli_variable"], block.number_arrays()["bernoulli_p"].T
        slots = np.repeat(np.arange(block.n_slots), np.diff(block.entry_ends, prepend=0))
        self.left_out = slots[:0]

        def matrix(values: AnyArray) -> AnyArray:
            """Return values of zero and of one, side by side: (slots, 2 · variables)."""
            out = np.zeros((block.n_slots, len(values), n_variables))
            for which, own in enumerate(values):
                out[slots, which, variables] = own
            return out.reshape(block.n_slots, -1)

        log_p = safe_log(p)
        impossible = np.isneginf(log_p)
        self._log = to.numbers(matrix(np.where(impossible, 0.0, log_p)))
        self._p_one = to.numbers(matrix(p[1:]).T)
        self._slots, self._variables = to.indices(slots), to.indices(variables)  # of entries
        self._never = to.numbers(matrix(impossible.astype(float))) if impossible.any() else None

    @cached_property
    def _log_best(self) -> Tensor:
        """The logarithm of the larger factor: (slots, variables); where the other one is zero it is that of 1."""
        return self._log.view(len(self._log), 2, -1).amax(dim=1)

    def values(self, cells: Cells, best: bool = False) -> Tensor:
        """Return the probability of what is seen, times the larger factors of what is not: (slots, rows)."""
        both = torch.cat([cells.zeros, cells.ones])
        out = self._log @ both
        if best:
            out += self._log_best @ (1 - cells.seen)
        out.exp_()
        if self._never is not None:
            out[(self._never @ both) > 0] = 0
        return out

    @cached_property
    def _sizes(self) -> Tensor:
        return torch.bincount(self._slots, minlength=len(self._log))

    def fill(self, active: Tensor, first: int, walkers: Walkers) -> None:
        """Fill each factor's bit: by chance, or with the likelier value."""
        slot, walker = active.nonzero(as_tuple=True)
        which, place = in_lists(self._sizes[slot])
        slot, walker = slot[which], walker[which]
        variable = self._variables[(self._sizes.cumsum(dim=0) - self._sizes)[slot] + place]
        chance = walkers.uniform(first + slot, walker, place) if walkers.keys is not None else 0.5
        walkers.fill(variable, walker, self._p_one[variable, slot] > chance)

    def add_marginals(self, cells: Cells, values: Tensor, derivatives: Tensor, out: Tensor) -> None:
        """Add P(X_v = 1, evidence) for missing v."""
        out += self._p_one @ (values * derivatives)

    def statistics(self, cells: Cells, flow: Tensor) -> dict[str, Tensor]:
        """Return the flow of zeros and of ones: (entries, 2)."""
        both = [(flow @ own.T)[self._slots, self._variables] for own in (cells.zeros, cells.ones)]
        return {"bernoulli": torch.stack(both, dim=1)}


class CountTensors:
    """Leaves that count ones: matrix products count, a table answers."""

    def __init__(self, block: ShapedBlock, n_variables: int, to: DeviceArrays) -> None:
        arrays = block.layout_arrays()
        own = Triangles(arrays["count_size"])
        mask = np.zeros((block.n_slots, n_variables))
        mask[np.repeat(np.arange(block.n_slots), own.sizes), arrays["count_variable"]] = 1
        self._to, self._triangles, self._variables = to, own, arrays["count_variable"]
        self.left_out = np.flatnonzero(~own.are_picked)
        self._mask = to.numbers(mask)
        self._starts = to.indices(own.table_starts)[:, None]
        self._weight_starts = to.indices(own.weight_starts)[:, None]
        self._n_weights = int((own.sizes + 1).sum())
        self._sizes = to.numbers(own.sizes)[:, None]
        self._log_w = block.number_arrays()["count_log_w"]
        self._table = to.numbers(np.exp(own.table(self._log_w, np.logaddexp)))

    @cached_property
    def _table_of_best(self) -> Tensor:
        return self._to.numbers(np.exp(self._triangles.table(self._log_w, np.maximum)))

    def _places(self, k: Tensor, s: Tensor) -> Tensor:
        return (k * (k + 1) * 0.5 + s).long().add_(self._starts)

    def _at(self, k: Tensor, s: Tensor) -> Tensor:
        return self._table[self._places(k, s)]

    def values(self, cells: Cells, best: bool = False) -> Tensor:
        """Return M[k, s], or the largest weight of a completion: (slots, rows)."""
        table = self._table_of_best if best else self._table
        return table[self._places(self._mask @ cells.seen, self._mask @ cells.ones)]

    @cached_property
    def _by_size(self) -> list[tuple[Tensor, Tensor]]:
        """The leaves of each size that complete rows here, and the variables of each: (leaves,), (leaves, size)."""
        starts = np.cumsum(self._triangles.sizes) - self._triangles.sizes
        found = []
        for n, leaves in self._triangles.by_size:
            own = leaves[self._triangles.are_picked[leaves]]
            if len(own):
                places = starts[own, None] + np.arange(n)
                found.append((self._to.indices(own), self._to.indices(self._variables[places])))
        return found

    @cached_property
    def _best_ones(self) -> Tensor:
        return self._to.indices(self._triangles.best_ones(self._log_w))

    @cached_property
    def _log_weights(self) -> Tensor:
        return self._to.numbers(self._log_w)

    @cached_property
    def _log_binomials(self) -> Tensor:
        """Logarithms of C(m, j), with −inf where j is larger: (m, j)."""
        sizes = self._triangles.sizes[self._triangles.are_picked]
        table = np.full((sizes.max() + 1,) * 2, -np.inf)
        for m in range(len(table)):
            table[m, : m + 1] = log_binomials(m)
        return self._to.numbers(table)

    def fill(self, active: Tensor, first: int, walkers: Walkers) -> None:
        """Fill bits that are counted: by chance, or with the likeliest number of ones, the first cells first."""
        for leaves, variables in self._by_size:
            which, walker = active[leaves].nonzero(as_tuple=True)
            slot, own = leaves[which], variables[which]  # own: (pairs of leaf and walker, size)
            codes = walkers.codes[own, walker[:, None]]
            missing = codes == MISSING
            m, s = missing.sum(dim=1), (codes == 1).sum(dim=1)
            if walkers.keys is None:
                k = own.shape[1] - m
                ones = self._best_ones[self._starts[slot, 0] + k * (k + 1) // 2 + s] - s
                is_one = missing.cumsum(dim=1) <= ones[:, None]
            else:
                keys = walkers.keys_at(first + slot, walker)
                is_one = _placed(missing, m, self._drawn(slot, m, s, own.shape[1], uniform(keys, 0)), keys)
            walkers.fill(own, walker[:, None], is_one)

    def _drawn(self, slot: Tensor, m: Tensor, s: Tensor, n: int, chance: Tensor) -> Tensor:
        """Return how many of m missing variables are one where s others are: j by C(m, j) w[s + j]."""
        t = (s[:, None] + torch.arange(n + 1, device=s.device)).clamp(max=n)
        logs = self._log_weights[self._weight_starts[slot] + t] + self._log_binomials[:, : n + 1][m]
        ends = (logs - logs.amax(dim=1, keepdim=True)).exp_().cumsum(dim=1)
        return torch.minimum((ends <= chance[:, None] * ends[:, -1:]).sum(dim=1), m)

    def add_marginals(self, cells: Cells, values: Tensor, derivatives: Tensor, out: Tensor) -> None:
        """Add P(X_v = 1, evidence) for missing v: one more one takes (k, s) to (k+1, s+1)."""
        k, s = self._mask @ cells.seen + 1, self._mask @ cells.ones + 1
        free = k <= self._sizes
        more = self._at(torch.where(free, k, 0 * k), torch.where(free, s, 0 * s))
        out += self._mask.T @ torch.where(free, more * derivatives, 0 * derivatives)

    def statistics(self, cells: Cells, flow: Tensor) -> dict[str, Tensor]:
        """Return the flow of each number of ones, where all of a leaf is seen, and of values and ones elsewhere."""
        k, s = self._mask @ cells.seen, self._mask @ cells.ones
        whole = s.long().add_(self._weight_starts)
        places = torch.where(k == self._sizes, whole, self._places(k, s).add_(self._n_weights))
        out = torch.zeros(self._n_weights + len(self._table), dtype=flow.dtype, device=flow.device)
        out.index_put_((places.view(-1),), flow.reshape(-1), accumulate=True)
        return {"whole": out[: self._n_weights], "partial": out[self._n_weights :]}


def _placed(missing: Tensor, m: Tensor, ones: Tensor, keys: Tensor) -> Tensor:
    """Return where so many ones are put into m missing cells of each row, as `count_block` does: (rows, cells)."""
    few = 2 * ones <= m
    order = torch.argsort((~missing).to(torch.uint8), dim=1, stable=True)  # the missing cells first
    picked, left, place = torch.zeros_like(missing), torch.where(few, ones, m - ones), 1
    rows = left.nonzero()[:, 0]
    while len(rows):
        cell = order[rows, (uniform(keys[rows], place) * m[rows]).long()]
        left[rows] -= (~picked[rows, cell]).long()
        picked[rows, cell] = True
        rows, place = rows[left[rows] > 0], place + 1
    return picked == few[:, None]


@dataclass(frozen=True)
class _Group:
    """Entries of trees whose parents are all different, so that they can be told at the same time."""

    entries: Tensor
    parents: Tensor  # entries; for roots the trees
    is_root: bool


class TreeTensors:
    """Chow-Liu trees, all of them level by level: messages to the roots, and posteriors back."""

    def __init__(self, block: ShapedBlock, n_variables: int, to: DeviceArrays) -> None:
        arrays = block.layout_arrays()
        self.n_slots, self.left_out = block.n_slots, np.empty(0, dtype=np.int64)
        self._variables = to.indices(arrays["tree_variable"])
        self._p = to.numbers(block.number_arrays()["tree_p"].T)[:, :, None]  # (4, entries, 1)
        sizes = np.diff(block.entry_ends, prepend=0)
        tree = np.repeat(np.arange(block.n_slots), sizes)
        starts = np.repeat(block.entry_ends - sizes, sizes)
        self._tree = to.indices(tree)
        self._places = to.indices(arrays["tree_source"] - starts)  # in the tree's own order
        own = np.zeros((block.n_slots, n_variables))
        own[tree, arrays["tree_variable"]] = 1
        self._mask = to.numbers(own)
        self._groups = _groups(np.where(arrays["tree_parent"] < 0, -1, starts + arrays["tree_parent"]), tree, to)

    def _messages(self, cells: Cells, best: bool = False) -> tuple[Tensor, Tensor, Tensor]:
        """Return P(evidence at and below i | X_i = 0 or 1), or of its best completion, and that of whole trees."""
        combine = torch.maximum if best else torch.add
        zero, one = 1 - cells.ones[self._variables], 1 - cells.zeros[self._variables]
        value = torch.ones((self.n_slots, zero.shape[1]), dtype=zero.dtype, device=zero.device)
        for group in self._groups:
            p, b0, b1 = self._p[:, group.entries], zero[group.entries], one[group.entries]
            told = combine(p[0] * b0, p[1] * b1)
            if group.is_root:
                value[group.parents] *= told
            else:
                zero[group.parents] *= told
                one[group.parents] *= combine(p[2] * b0, p[3] * b1)
        return zero, one, value

    def values(self, cells: Cells, best: bool = False) -> Tensor:
        """Return the probability of what is seen, or of its best completion: (trees, rows)."""
        return self._messages(cells, best)[2]

    def fill(self, active: Tensor, first: int, walkers: Walkers) -> None:
        """Fill bits from the roots on, each by its parent's and the messages from below.

        A walker has come to one tree of each variable at most, so messages are kept by variables: (variables, walkers).
        """
        combine = torch.maximum if walkers.keys is None else torch.add
        zero, one = ((walkers.codes != other).to(self._p.dtype) for other in (1, 0))
        reached = []
        for group in self._groups:
            which, walker = active[self._tree[group.entries]].nonzero(as_tuple=True)
            entry = group.entries[which]
            cell = self._variables[entry], walker
            above = None if group.is_root else (self._variables[group.parents[which]], walker)
            reached.append((entry, cell, above))
            if above is not None and walkers.values is not None:  # messages of nothing are 1
                p, b0, b1 = self._p[:, entry, 0], zero[cell], one[cell]
                zero[above] *= combine(p[0] * b0, p[1] * b1)
                one[above] *= combine(p[2] * b0, p[3] * b1)
        for entry, cell, above in reversed(reached):
            p = self._p[:, entry, 0]
            p0, p1 = p[:2] if above is None else torch.where(walkers.codes[above] == 1, p[2:], p[:2])
            b0, b1 = p0 * zero[cell], p1 * one[cell]
            if walkers.keys is not None:
                b0 = walkers.uniform(first + self._tree[entry], cell[1], self._places[entry]) * (b0 + b1)
            walkers.fill(*cell, b0 < b1)

    def add_marginals(self, cells: Cells, values: Tensor, derivatives: Tensor, out: Tensor) -> None:
        """Add P(X_v = 1, evidence) for missing v."""
        one_and_zero, one_and_one = self._posteriors(cells)
        out.index_add_(0, self._variables, (one_and_zero + one_and_one) * (values * derivatives)[self._tree])

    def statistics(self, cells: Cells, flow: Tensor) -> dict[str, Tensor]:
        """Return the flow of (parent, own) = 00, 01, 10, 11; a root counts as having a parent of value 0: (entries, 4).

        A row of which nothing is known tells nothing.
        """
        one_and_zero, one_and_one = self._posteriors(cells)
        single = one_and_zero + one_and_one
        above = torch.zeros_like(single)
        for group in self._groups:
            if not group.is_root:
                above[group.entries] = single[group.parents]
        own = (flow * ((self._mask @ cells.seen) > 0))[self._tree]
        zero_one, one_any = (own * one_and_zero).sum(dim=1), (own * above).sum(dim=1)
        one_one, total = (own * one_and_one).sum(dim=1), own.sum(dim=1)
        zeros = [(total - one_any - zero_one).clamp(min=0), (one_any - one_one).clamp(min=0)]
        return {"tree": torch.stack([zeros[0], zero_one, zeros[1], one_one], dim=1)}

    def _posteriors(self, cells: Cells) -> tuple[Tensor, Tensor]:
        """Return P(X_i = 1, its parent = 0 | evidence) and P(X_i = 1, its parent = 1 | evidence): (entries, rows)."""
        zero, one, _ = self._messages(cells)
        with_zero, with_one = torch.empty_like(zero), torch.zeros_like(zero)
        for group in reversed(self._groups):
            p, b0, b1 = self._p[:, group.entries], zero[group.entries], one[group.entries]
            with_zero[group.entries] = _fraction(p[1] * b1, p[0] * b0)
            if not group.is_root:
                above = with_zero[group.parents] + with_one[group.parents]
                with_zero[group.entries] *= 1 - above
                with_one[group.entries] = above * _fraction(p[3] * b1, p[2] * b0)
        return with_zero, with_one


def _fraction(part: Tensor, rest: Tensor) -> Tensor:
    total = part + rest
    return torch.where(total > 0, part / torch.where(total > 0, total, torch.ones_like(total)), part)


def _groups(parents: IntArray, tree: IntArray, to: DeviceArrays) -> list[_Group]:
    """Return groups in the order in which they tell their parents: the deepest first, one child of each at a time."""
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


# How each shape is evaluated; other blocks are columns, computed by the leaves' contract.
TENSORS: dict[Shape, Callable[[ShapedBlock, int, DeviceArrays], LeafTensors]] = {
    Shape.FACTORS: FactorTensors,
    Shape.COUNT: CountTensors,
    Shape.TREE: TreeTensors,
}
