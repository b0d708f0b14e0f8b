"""The tape: a program as flat arrays in the order of a depth-first walk, for compiled kernels and accelerators.

A program's steps go level by level, so a block of rows needs the values of all slots at once. The tape goes depth
first instead: a value is used soon after it was made, its register is free again after its last use, and a whole
ensemble of circuits is evaluated within a few registers, which stay in the cache. Values on the tape are probabilities,
not logarithms: sums and products are all there is to do. `xspn.engine.numba_backend` says why that is safe.

A tape is arrays and nothing else (leaves that kernels do not evaluate stand beside it): it can be pickled, sent and
memory-mapped.
"""

from dataclasses import dataclass, fields
from enum import IntEnum
from functools import cached_property

import numpy as np

from xspn.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from xspn.leaves.blocks import Shape
from xspn.leaves.count_block import Triangles


class Op(IntEnum):
    """What an instruction does: evaluate a leaf of some shape, or an inner node."""

    FACTORS = Shape.FACTORS
    COUNT = Shape.COUNT
    TREE = Shape.TREE
    COLUMN = Shape.COLUMN
    SUM = 4
    PRODUCT = 5


@dataclass(frozen=True, eq=False)
class TapeLayout:
    """What does not change when parameters are fitted. Entries of instruction i are begin[i]..end[i] of its family."""

    op: AnyArray  # (instructions,) of Op
    slot: IntArray  # (instructions,): the program's slot of the same value
    begin: IntArray
    end: IntArray
    leaf: IntArray  # (instructions,): the number of a leaf among those of COUNT or of COLUMN, else 0
    register: IntArray  # (instructions,): where the value is kept while it is needed
    argument: IntArray  # (edges,): the instructions that sums and products read
    fresh: AnyArray  # (edges,) of bool: whether this is the first edge to the argument on the way down
    bernoulli_variable: IntArray  # (Bernoulli entries,)
    bernoulli_leaf: IntArray  # (Bernoulli entries,): the leaf within its block
    count_variable: IntArray  # (count entries,)
    count_size: IntArray  # (count leaves,): the number of its variables
    tree_variable: IntArray  # (tree entries,): parents before children
    tree_parent: IntArray  # (tree entries,): the parent's place within the tree, −1 for a root
    tree_has_children: AnyArray  # (tree entries,) of bool
    weight_source: IntArray  # (edges,): a sum's weight within the program's, one step after the other; −1 at products
    tree_source: IntArray  # (tree entries,): the tree's entry within the program's, one leaf after the other

    def __len__(self) -> int:
        return len(self.op)

    @cached_property
    def n_registers(self) -> int:
        """The number of values that are needed at the same time."""
        return int(self.register.max()) + 1

    @cached_property
    def largest_tree(self) -> int:
        """The number of variables of the largest Chow-Liu tree."""
        return self._most_entries(Op.TREE)

    @cached_property
    def largest_count(self) -> int:
        """The number of variables of the largest leaf that counts: one that counts ones, or a Chow-Liu tree."""
        return max(self._most_entries(Op.COUNT), self.largest_tree)

    @cached_property
    def largest_arity(self) -> int:
        """The largest number of children."""
        return max(self._most_entries(Op.SUM), self._most_entries(Op.PRODUCT))

    @cached_property
    def n_columns(self) -> int:
        """The number of leaves that kernels do not evaluate."""
        return int((self.op == Op.COLUMN).sum())

    @cached_property
    def largest_segment(self) -> int:
        """The number of instructions of the largest segment."""
        return int((self.segments[:, 1] - self.segments[:, 0]).max()) + 1

    @cached_property
    def triangles(self) -> Triangles:
        """Where the weights and tables of count leaves stand."""
        return Triangles(self.count_size)

    def _most_entries(self, op: Op) -> int:
        own = self.op == op
        return int((self.end - self.begin)[own].max(initial=0))

    @cached_property
    def segments(self) -> IntArray:
        """Parts that can be walked up and down one after the other: (segments, 3) of first, last and the root's edge.

        A bagged ensemble is a sum over members that share nothing. The derivative of a mixture by a member is its
        weight, which is known beforehand, so each member can be finished before the next is begun. Otherwise there is
        one segment.
        """
        root = len(self) - 1
        if self.op[root] == Op.SUM:
            edges = np.arange(self.begin[root], self.end[root])
            order = np.argsort(self.argument[edges])
            last = self.argument[edges][order]
            first = np.concatenate([[0], last[:-1] + 1])
            if len(np.unique(last)) == len(last) and last[-1] == root - 1 and self._closed(first, last):
                return np.stack([first, last, edges[order]], axis=1)
        return np.array([[0, root, -1]])

    def _closed(self, first: IntArray, last: IntArray) -> bool:
        """Whether no instruction reads from another part."""
        inner = np.flatnonzero(self.op[:-1] >= Op.SUM)
        edges, which = ranges(self.begin[inner], self.end[inner])
        part = np.searchsorted(last, inner[which])
        return bool((np.searchsorted(last, self.argument[edges]) == part).all())

    @cached_property
    def depth_of_rounding(self) -> int:
        """How many roundings a value can have gone through: |Δ log P| is at most this times the unit roundoff.

        All terms are positive, so relative errors do not grow in sums: a sum of k terms adds k roundings to those of
        its worst term; a product adds up those of its factors. Parameters are rounded once each.
        """
        depth = np.zeros(len(self), dtype=np.int64)
        length = self.end - self.begin
        depth[self.op == Op.FACTORS] = 2 * length[self.op == Op.FACTORS]
        depth[self.op == Op.COUNT] = 1
        depth[self.op == Op.TREE] = 5 * length[self.op == Op.TREE]
        depth[self.op == Op.COLUMN] = 1
        found, argument = depth.tolist(), self.argument.tolist()
        inner = np.flatnonzero(self.op >= Op.SUM)
        for i, begin, end in zip(inner.tolist(), self.begin[inner].tolist(), self.end[inner].tolist(), strict=True):
            below = [found[j] for j in argument[begin:end]]
            found[i] = max(below) + end - begin + 1 if self.op[i] == Op.SUM else sum(below) + end - begin
        return int(found[-1])


@dataclass(frozen=True, eq=False)
class TapeNumbers:
    """The parameters, as probabilities."""

    weight: FloatArray  # (edges,): 1 at products
    bernoulli_p: FloatArray  # (Bernoulli entries, 2): of 0 and of 1
    tree_p: FloatArray  # (tree entries, 4): of (parent, own) = 00, 01, 10, 11
    count_log_w: FloatArray  # the weights of all count leaves, in logarithms: those of large leaves are very small

    def __post_init__(self) -> None:
        for field in fields(self):
            getattr(self, field.name).flags.writeable = False


@dataclass(frozen=True, eq=False)
class Tape:
    """A compiled circuit for kernels: what to do, and with which parameters."""

    layout: TapeLayout
    numbers: TapeNumbers

    @cached_property
    def triangle_sum(self) -> FloatArray:
        """M[k, s] of all count leaves: what partial rows are worth."""
        return np.exp(self.layout.triangles.table(self.numbers.count_log_w, np.logaddexp))

    @cached_property
    def triangle_max(self) -> FloatArray:
        """The same for best completions."""
        return np.exp(self.layout.triangles.table(self.numbers.count_log_w, np.maximum))


def ranges(begin: IntArray, end: IntArray) -> tuple[IntArray, IntArray]:
    """Return begin, begin + 1, …, end − 1 of each range, one after the other, and which range each belongs to."""
    lengths = end - begin
    ends = np.cumsum(lengths)
    which = np.repeat(np.arange(len(lengths)), lengths)
    return np.arange(len(which)) + (begin - (ends - lengths))[which], which


def first_edges_down(inner: IntArray, begin: IntArray, end: IntArray, argument: IntArray) -> BoolArray:
    """Mark for each argument the edge that a walk down reaches first: the first edge of its last reader.

    Args:
        inner: The sums and products, in order.
        begin: Where the edges of each instruction begin.
        end: Where they end.
        argument: What each edge reads.
    """
    edges, _ = ranges(begin[inner[::-1]], end[inner[::-1]])
    fresh = np.zeros(len(argument), dtype=bool)
    fresh[edges[np.unique(argument[edges], return_index=True)[1]]] = True
    return fresh
