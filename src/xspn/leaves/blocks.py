"""Leaf blocks: all leaves of one family, evaluated together. How a family gives its leaves a fast path.

A block owns consecutive slots of the program. Most blocks give each leaf a slot; one of shape `FACTORS` folds all of
its leaves in one product into one slot. A block becomes a family's own under `@fast_path(Family)`; `LoopBlock`, which
asks one leaf after the other through the contract, serves every family without one.

The numpy back end calls the block's own methods. Numba kernels and torch evaluate three shapes by themselves, from the
arrays that blocks of that shape lay out; any other block fills a column of values for each block of rows first.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from xspn.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from xspn.core.polynomials import Polynomials, product
from xspn.core.random import RowRandom
from xspn.leaves.base import Completed, Leaf, Smoothing, Together
from xspn.leaves.events import Mark, distinct_rows

LOOP, LOOP_VARIABLE = 200, 20  # what a leaf costs that is asked by itself, in slots, and each of its variables
B = TypeVar("B", bound="type[LeafBlock]")
shaped_blocks: "dict[Shape, type[ShapedBlock]]" = {}  # what reads the leaves of a shape back from a program file


def fast_path(family: type[Leaf]) -> Callable[[B], B]:
    """Make a block the fast path of a family, and of those derived from it: compiler and back ends will find it."""

    def decorate(block: B) -> B:
        family.block_type = block
        if issubclass(block, ShapedBlock):
            shaped_blocks.setdefault(block.shape, block)
        return block

    return decorate


def block_type_of(leaf: Leaf) -> "type[LeafBlock]":
    """Return the block that evaluates a leaf."""
    block = leaf.block_type
    return LoopBlock if block is None or not block.takes(leaf) else block


class Shape(IntEnum):
    """What kernels have to do for a block; the numbers are those of instructions in program files."""

    FACTORS = 0  # products of factors, each a probability of one bit (`leaves.bernoulli`)
    COUNT = 1  # tables by the number of ones (`leaves.count_block`)
    TREE = 2  # trees of bits (`leaves.chow_liu`)
    COLUMN = 3  # nothing: the block has filled a column of values before


class RowBlock:
    """Some rows as floats; NaN is missing. Transposed views are (variables, rows), as the passes want them."""

    def __init__(self, values: FloatArray) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def missing(self) -> BoolArray:
        """Which cells are missing: (variables, rows)."""
        return np.ascontiguousarray(np.isnan(self.values).T)

    @cached_property
    def whole(self) -> bool:
        """Whether nothing is missing."""
        return not self.missing.any()

    @cached_property
    def ones(self) -> FloatArray:
        """1.0 where the value is one: (variables, rows)."""
        return np.ascontiguousarray((self.values == 1).T).astype(np.float64)

    @cached_property
    def zeros(self) -> FloatArray:
        """1.0 where the value is zero: (variables, rows)."""
        return np.ascontiguousarray((self.values == 0).T).astype(np.float64)

    @cached_property
    def observed(self) -> FloatArray:
        """1.0 where there is a value: (variables, rows)."""
        return (~self.missing).astype(np.float64)


class LeafBlock(ABC):
    """The leaves behind consecutive slots; arrays are (slots, rows)."""

    shape: ClassVar[Shape] = Shape.COLUMN
    n_slots: int

    @classmethod
    @abstractmethod
    def of_leaves(cls, leaves: Sequence[Any], n_variables: int) -> Self:
        """Return the block of some leaves, each with a slot, of a circuit over so many variables."""

    @staticmethod
    def takes(leaf: Any) -> bool:
        """Whether the block evaluates a leaf of its family; the contract serves those that it does not take."""
        return True

    @property
    def cost(self) -> int:
        """What a row costs in NumPy, in slots."""
        return self.n_slots

    @abstractmethod
    def log_prob(self, rows: RowBlock) -> FloatArray:
        """Return the log-probability of the observed part of each row."""

    @abstractmethod
    def log_mode(self, rows: RowBlock) -> FloatArray:
        """Return the log-probability of each row's best completion."""

    def column(self, rows: RowBlock, best: bool, device: Any = None) -> FloatArray:
        """Return what kernels read of a block that they do not evaluate themselves: `log_prob` or `log_mode`.

        A block may use code compiled by numba here, or torch where a device is given.
        """
        return self.log_mode(rows) if best else self.log_prob(rows)

    @abstractmethod
    def fill(self, rows: RowBlock, active: BoolArray, out: FloatArray, random: RowRandom | None) -> None:
        """Complete the active rows in `out` (rows, variables): with the best values, or with random ones.

        A slot's random numbers are those of the node of the same number.
        """

    @abstractmethod
    def add_marginals(self, rows: RowBlock, flow: FloatArray, out: FloatArray) -> None:
        """Add flow · P(X_i = v | row) to `out` (rows, variables, values)."""

    @abstractmethod
    def add_alternatives(
        self, rows: RowBlock, log_derivative: FloatArray, values: FloatArray, out: FloatArray, best: bool
    ) -> None:
        """Add derivative · P(row with one value replaced) to `out` (rows, variables, entries), as leaves give them.

        Args:
            rows: The rows.
            log_derivative: Of the root, relative to its own value, by each slot.
            values: What `log_prob`, or `log_mode` if `best`, gives.
            out: Where to add, in linear space.
            best: Whether missing values are completed in the best way; then only these may be asked.
        """

    def tally(self, rows: RowBlock, marks: Mapping[int, Mark]) -> list[Polynomials]:
        """Return what `Leaf.tally` gives for the leaves behind each slot; marks are given by column."""
        observed = self.log_prob(rows)
        found = []
        for slot, leaves in enumerate(self.slot_leaves()):
            if any(v in marks for leaf in leaves for v in leaf.variables):
                found.append(product(tally_of_leaf(leaf, rows, marks) for leaf in leaves))
            else:
                found.append(Polynomials.constants(observed[slot]))
        return found

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


def tally_of_leaf(leaf: Leaf, rows: RowBlock, marks: Mapping[int, Mark]) -> Polynomials:
    """Ask one leaf through the contract, once for rows that are alike in its variables."""
    own = rows.values[:, list(leaf.variables)]
    distinct, which = distinct_rows(own)
    logs = leaf.tally(distinct, [marks.get(v) for v in leaf.variables])
    return Polynomials.of_logarithms(logs if len(distinct) == 1 else logs[which])


class ShapedBlock(LeafBlock):
    """A block that numba kernels and torch evaluate directly, from arrays of its entries, slot after slot.

    `xspn.engine.tape` documents the arrays of each shape, under the same names.
    """

    @property
    @abstractmethod
    def entry_ends(self) -> IntArray:
        """Where each slot's entries end."""

    @abstractmethod
    def layout_arrays(self) -> dict[str, AnyArray]:
        """Return what does not change when parameters are fitted."""

    @abstractmethod
    def number_arrays(self) -> dict[str, AnyArray]:
        """Return the parameters."""

    @classmethod
    @abstractmethod
    def of_arrays(cls, arrays: Mapping[str, AnyArray], ends: IntArray, n_variables: int) -> Self:
        """Return a block with these arrays and ends of entries: of the plainest leaves that have them."""

    @abstractmethod
    def counts_of_kernels(self, found: Any) -> FloatArray:
        """Return the block's counts from the statistics that kernels have gathered for its entries."""


class LoopBlock(LeafBlock):
    """One leaf after the other: right for every family."""

    def __init__(self, leaves: Sequence[Leaf]) -> None:
        self.leaves = list(leaves)
        self.n_slots = len(self.leaves)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.leaves,)

    @classmethod
    def of_leaves(cls, leaves: Sequence[Leaf], n_variables: int) -> Self:
        """Return the block of some leaves."""
        return cls(leaves)

    @property
    def cost(self) -> int:
        """The cost in slots; a leaf that is evaluated alone costs far more than a slot."""
        return self.n_slots + sum(LOOP + LOOP_VARIABLE * len(leaf.variables) for leaf in self.leaves)

    @cached_property
    def _columns(self) -> list[IntArray]:
        return [np.array(leaf.variables) for leaf in self.leaves]

    @cached_property
    def _numpy(self) -> "_Evaluation":
        return _Evaluation(self.leaves, lambda family, own: family.together(own))

    @cached_property
    def _numba(self) -> "_Evaluation":
        return _Evaluation(self.leaves, lambda family, own: family.together_numba(own) or family.together(own))

    @cached_property
    def _on_devices(self) -> "dict[str, _Evaluation]":
        return {}

    def _torch(self, device: Any) -> "_Evaluation":
        if str(device) not in self._on_devices:
            self._on_devices[str(device)] = _Evaluation(
                self.leaves, lambda family, own: family.together_torch(own, device) or family.together(own)
            )
        return self._on_devices[str(device)]

    def slot_leaves(self) -> Sequence[Sequence[Leaf]]:
        """Return one leaf per slot."""
        return [[leaf] for leaf in self.leaves]

    def log_prob(self, rows: RowBlock) -> FloatArray:
        """Ask each family, or each leaf."""
        return self._numpy(rows, best=False)

    def log_mode(self, rows: RowBlock) -> FloatArray:
        """Ask each family, or each leaf."""
        return self._numpy(rows, best=True)

    def column(self, rows: RowBlock, best: bool, device: Any = None) -> FloatArray:
        """Ask each family, by its own code for numba or torch if it has some."""
        return (self._numba if device is None else self._torch(device))(rows, best)

    @cached_property
    def _completed(self) -> "list[tuple[IntArray, IntArray, Completed]]":
        """The families that complete many rows at once: their slots, the variables of these, and how."""
        families: dict[type[Leaf], list[int]] = {}
        for slot, leaf in enumerate(self.leaves):
            if len(leaf.variables) == 1:
                families.setdefault(type(leaf), []).append(slot)
        found = []
        for family, slots in families.items():
            function = family.completed_together([self.leaves[slot] for slot in slots])
            if function is not None:
                variables = np.array([self.leaves[slot].variables[0] for slot in slots])
                found.append((np.array(slots), variables, function))
        return found

    def fill(self, rows: RowBlock, active: BoolArray, out: FloatArray, random: RowRandom | None) -> None:
        """Ask each family, or each leaf that some row has come down to."""
        alone = np.asarray(active.any(axis=1))
        for slots, variables, function in self._completed:
            which, where = np.nonzero(active[slots])
            columns = variables[which]
            own = None if random is None else random.at(slots[which], where)
            out[where, columns] = function(rows.values[where, columns], which, own)
            alone[slots] = False
        for slot in np.flatnonzero(alone).tolist():
            where = np.flatnonzero(active[slot])
            self._fill_by(slot, where, rows, out, random)

    def _fill_by(self, slot: int, where: IntArray, rows: RowBlock, out: FloatArray, random: RowRandom | None) -> None:
        """Ask one leaf."""
        cells = np.ix_(where, self._columns[slot])
        own, leaf = rows.values[cells], self.leaves[slot]
        out[cells] = leaf.mode(own)[0] if random is None else leaf.sample(own, random.at(slot, where))

    def add_marginals(self, rows: RowBlock, flow: FloatArray, out: FloatArray) -> None:
        """Ask each leaf; real variables have no table and are passed over."""
        for slot, (leaf, columns) in enumerate(zip(self.leaves, self._columns, strict=True)):
            if all(domain.is_discrete for domain in leaf.domains):
                table = leaf.marginals(rows.values[:, columns])
                out[:, columns, : table.shape[2]] += flow[slot][:, None, None] * table

    def add_alternatives(
        self, rows: RowBlock, log_derivative: FloatArray, values: FloatArray, out: FloatArray, best: bool
    ) -> None:
        """Ask each leaf, of the rows that reach it."""
        for slot, (leaf, columns) in enumerate(zip(self.leaves, self._columns, strict=True)):
            some = np.flatnonzero(log_derivative[slot] > -np.inf)
            if len(some) == len(rows):
                found = leaf.alternatives(rows.values[:, columns], best) + log_derivative[slot][:, None, None]
                out[:, columns, : found.shape[2]] += np.exp(found, out=found)
            elif len(some):
                found = leaf.alternatives(rows.values[np.ix_(some, columns)], best)
                part = np.ix_(some, columns, np.arange(found.shape[2]))
                out[part] += np.exp(found + log_derivative[slot, some][:, None, None])

    # -- parameters --------------------------------------------------------------------------------------------------

    @cached_property
    def _ends(self) -> IntArray:
        """Where each leaf's statistics end; their number is found by asking for the statistics of zero rows."""
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


class _Evaluation:
    """Leaves of several families: those that have a function for many leaves at once by it, the others one by one."""

    def __init__(
        self, leaves: Sequence[Leaf], together: Callable[[type[Leaf], Sequence[Leaf]], Together | None]
    ) -> None:
        families: dict[type[Leaf], list[int]] = {}
        for slot, leaf in enumerate(leaves):
            families.setdefault(type(leaf), []).append(slot)
        self._n_slots = len(leaves)
        self._together: list[tuple[IntArray, Together]] = []
        self._alone: list[tuple[int, Leaf, IntArray]] = []
        for family, slots in families.items():
            function = together(family, [leaves[slot] for slot in slots])
            if function is None:
                self._alone += [(slot, leaves[slot], np.array(leaves[slot].variables)) for slot in slots]
            else:
                self._together.append((np.array(slots), function))

    def __call__(self, rows: RowBlock, best: bool) -> FloatArray:
        """Return log-probabilities: (leaves, rows)."""
        out = np.empty((self._n_slots, len(rows)))
        for slots, function in self._together:
            out[slots] = function(rows.values, best)
        for slot, leaf, columns in self._alone:
            own = rows.values[:, columns]
            out[slot] = leaf.mode(own)[1] if best else leaf.log_prob(own)
        return out
