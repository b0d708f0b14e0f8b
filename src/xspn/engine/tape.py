"""The tape: a program as flat arrays in the order of a depth-first walk, for compiled kernels and accelerators.

A program's steps go level by level, so a block of rows needs the values of all slots at once. The tape goes depth
first instead: a value is used soon after it was made, its register is free again after its last use, and a whole
ensemble of circuits is evaluated within a few registers, which stay in the cache. Values on the tape are probabilities,
not logarithms: sums and products are all there is to do. `xspn.engine.numba_backend` says why that is safe.

A tape is arrays and nothing else (leaves that kernels do not evaluate stand beside it): it can be pickled, sent and
memory-mapped. `tape_of` writes the tape of a program, `program_of` finds the program in a tape again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from functools import cached_property
from itertools import compress, groupby
from typing import Any, TypeVar, overload

import numpy as np
from scipy.sparse import csr_array

from xspn.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from xspn.data.domain import Domain
from xspn.engine.program import ProductStep, Program, Step, SumStep, ranges
from xspn.leaves.base import Leaf
from xspn.leaves.blocks import LeafBlock, Shape, block_type_of, shaped_blocks
from xspn.leaves.count_block import Triangles

T = TypeVar("T")
MOST_TWICE = 0.1  # of the instructions may be written twice to keep the parts of a tape apart


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
    def parts(self) -> "tuple[TapeLayout, IntArray] | None":
        """The layout in which what several children of the root share is written out for each, and the edges' origins.

        An ensemble whose members have a leaf in common has one segment, however little it is; this one has one for
        each member, so that few values are kept at a time. None where that would not help. A slot may be there twice.
        """
        root = len(self) - 1
        children = self.argument[self.begin[root] : self.end[root]]
        if self.op[root] != Op.SUM or len(self.segments) > 1 or len(np.unique(children)) < 2:
            return None
        reached = [self._below(int(child)) for child in np.unique(children)]
        sizes = np.array([len(own) for own in reached])
        if len(np.unique(children)) < len(children) or sizes.sum() > (1 + MOST_TWICE) * root:
            return None
        source = np.concatenate([*reached, [root]])
        if (self.op[source] == Op.COLUMN).sum() > self.n_columns:  # whose flow is gathered once
            return None
        inner = self.op[source] >= Op.SUM
        edges, which = ranges(self.begin[source[inner]], self.end[source[inner]])
        first = np.repeat(np.cumsum([0, *sizes[:-1]]), sizes)  # where the part of each instruction begins
        of_part = np.append(np.repeat(np.arange(len(sizes)), sizes), -1)
        argument, place = np.empty(len(edges), dtype=np.int64), np.empty(len(self), dtype=np.int64)
        reader = of_part[np.flatnonzero(inner)[which]]
        for part, own in enumerate(reached):
            place[own] = first[np.searchsorted(of_part[:-1], part)] + np.arange(len(own))
            argument[reader == part] = place[self.argument[edges[reader == part]]]
        ends = np.cumsum([0, *sizes])
        argument[reader < 0] = ends[1:][np.searchsorted(np.unique(children), children)] - 1
        begin, end = self.begin[source], self.end[source]
        lengths = (end - begin)[inner]
        end[inner] = np.cumsum(lengths)
        begin[inner] = end[inner] - lengths
        fresh = first_edges_down(np.flatnonzero(inner), begin, end, argument)
        layout = replace(
            self,
            op=self.op[source],
            slot=self.slot[source],
            begin=begin,
            end=end,
            leaf=self.leaf[source],
            register=_registers(inner, begin, end, argument, fresh),
            argument=argument,
            fresh=fresh,
            weight_source=self.weight_source[edges],
        )
        return layout, edges

    def _below(self, top: int) -> IntArray:
        """Return the instructions that one needs, itself last."""
        found, stack = {top}, [top]
        while stack:
            i = stack.pop()
            if self.op[i] >= Op.SUM:
                for j in self.argument[self.begin[i] : self.end[i]].tolist():
                    if j not in found:
                        found.add(j)
                        stack.append(j)
        return np.array(sorted(found), dtype=np.int64)

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
    log_weight: FloatArray  # the same as the program has it: taken from `weight`, last digits would differ
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
    def apart(self) -> "Tape | None":
        """The tape in the layout whose parts share nothing, if there is one."""
        if self.layout.parts is None:
            return None
        layout, edges = self.layout.parts
        numbers = self.numbers
        return Tape(layout, replace(numbers, weight=numbers.weight[edges], log_weight=numbers.log_weight[edges]))

    @cached_property
    def triangle_sum(self) -> FloatArray:
        """M[k, s] of all count leaves: what partial rows are worth."""
        return np.exp(self.layout.triangles.table(self.numbers.count_log_w, np.logaddexp))

    @cached_property
    def triangle_max(self) -> FloatArray:
        """The same for best completions."""
        return np.exp(self.layout.triangles.table(self.numbers.count_log_w, np.maximum))


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


# -- from a program to its tape ----------------------------------------------------------------------------------------


def tape_of(program: Program) -> Tape:
    """Return the tape of a program."""
    layout = _Writer(program).layout()
    return Tape(layout, tape_numbers(program, layout))


def tape_numbers(program: Program, layout: TapeLayout) -> TapeNumbers:
    """Return the parameters of a program in the order of a tape: its own, or that of the program it was fitted from."""
    log_weights = [step.log_weights.ravel() for step in program.steps if isinstance(step, SumStep)]
    own = np.concatenate([*log_weights, [0.0]])[layout.weight_source]  # the last one is what −1, a product's, reads
    arrays: dict[str, AnyArray] = {
        "bernoulli_p": np.empty((0, 2)),
        "tree_p": np.empty((0, 4)),
        "count_log_w": np.empty(0),
    }
    for _, block in program.native.values():
        arrays |= block.number_arrays()
    return TapeNumbers(weight=np.exp(own), log_weight=own, **arrays)


class _Writer:
    def __init__(self, program: Program) -> None:
        self.program = program
        n = program.n_slots
        self.op = np.zeros(n, dtype=np.int64)
        self.begin = np.zeros(n, dtype=np.int64)
        self.end = np.zeros(n, dtype=np.int64)
        self.leaf = np.zeros(n, dtype=np.int64)
        self.below: list[IntArray] = []  # the slots that sums and products read, and where sums' weights are
        self.sources: list[IntArray] = []
        self.n_edges = 0

    def layout(self) -> TapeLayout:
        self._leaves()
        self._inner_nodes()
        order = self._walk()
        place = np.full(len(self.op), -1)
        place[order] = np.arange(len(order))
        argument = np.concatenate([*self.below, np.empty(0, dtype=np.int64)])
        none = np.empty(0, dtype=np.int64)
        of_leaves: dict[str, AnyArray] = {
            **dict.fromkeys(("bernoulli_variable", "bernoulli_leaf", "count_variable", "count_size"), none),
            **dict.fromkeys(("tree_variable", "tree_parent", "tree_source"), none),
            "tree_has_children": np.empty(0, dtype=bool),
        }
        for _, block in self.program.native.values():
            of_leaves |= block.layout_arrays()
        begin, end, inner = self.begin[order], self.end[order], self.op[order] >= Op.SUM
        fresh = first_edges_down(np.flatnonzero(inner), begin, end, place[argument])
        return TapeLayout(
            op=self.op[order].astype(np.uint8),
            slot=order,
            begin=begin,
            end=end,
            leaf=self.leaf[order],
            register=_registers(inner, begin, end, place[argument], fresh),
            argument=place[argument],
            fresh=fresh,
            weight_source=np.concatenate([*self.sources, none]),
            **of_leaves,
        )

    def _leaves(self) -> None:
        for shape, (start, block) in self.program.native.items():
            self._set(start, Op(shape), block.entry_ends)
            if shape is Shape.COUNT:
                self.leaf[start : start + block.n_slots] = np.arange(block.n_slots)
        first = 0
        for start, column in self.program.columns:
            self._set(start, Op.COLUMN, np.zeros(column.n_slots, dtype=np.int64))
            self.leaf[start : start + column.n_slots] = first + np.arange(column.n_slots)
            first += column.n_slots

    def _set(self, start: int, op: Op, ends: IntArray) -> None:
        """Write the instructions of consecutive slots, whose entries follow one another up to `ends`."""
        own = slice(start, start + len(ends))
        self.op[own] = op
        self.begin[own], self.end[own] = np.concatenate([[0], ends[:-1]]), ends

    def _inner_nodes(self) -> None:
        read = 0  # weights of the sums of earlier steps
        for step in self.program.steps:
            if isinstance(step, ProductStep):
                below, lengths = step.children.indices, np.diff(step.children.indptr)
                sources = np.full(len(below), -1)
            else:
                arity, k = step.children.shape
                below, lengths = step.children.T.ravel(), np.full(k, arity)
                sources = read + np.arange(arity * k).reshape(arity, k).T.ravel()
                read += arity * k
            self._set(step.start, Op.PRODUCT if isinstance(step, ProductStep) else Op.SUM, np.cumsum(lengths))
            own = slice(step.start, step.stop)
            self.begin[own] += self.n_edges
            self.end[own] += self.n_edges
            self.below.append(np.asarray(below, dtype=np.int64))
            self.sources.append(np.asarray(sources, dtype=np.int64))
            self.n_edges += len(below)

    def _walk(self) -> IntArray:
        """Return the slots, children before parents, each soon before it is needed."""
        argument = np.concatenate([*self.below, np.empty(0, dtype=np.int64)]).tolist()
        inner, begin, end = (self.op >= Op.SUM).tolist(), self.begin.tolist(), self.end.tolist()
        order: list[int] = []
        done = bytearray(len(inner))
        stack = [self.program.root]
        while stack:
            slot = stack.pop()
            if slot < 0:
                order.append(~slot)
            elif not done[slot]:
                done[slot] = 1
                if inner[slot]:
                    stack.append(~slot)
                    stack.extend(reversed(argument[begin[slot] : end[slot]]))
                else:
                    order.append(slot)
        return np.array(order, dtype=np.int64)


def _registers(inner: BoolArray, begin: IntArray, end: IntArray, argument: IntArray, fresh: BoolArray) -> IntArray:
    """Give each instruction a register; it is free again after the last instruction that reads it."""
    register: list[int] = []
    free: list[int] = []
    used = 0
    read, first = argument.tolist(), fresh.tolist()
    for is_inner, start, stop in zip(inner.tolist(), begin.tolist(), end.tolist(), strict=True):
        if free:
            register.append(free.pop())
        else:
            register.append(used)
            used += 1
        if is_inner:
            free += [register[i] for i in compress(read[start:stop], first[start:stop])]
    return np.array(register, dtype=np.int64)


# -- from a tape back to its program -----------------------------------------------------------------------------------


def program_of(tape: Tape, domains: tuple[Domain | None, ...], columns: Sequence[Leaf], steps: IntArray) -> Program:
    """Return the program that a tape was written from; its blocks and steps are made when they are first needed.

    Args:
        tape: The tape.
        domains: The domains of the variables.
        columns: The leaves that kernels do not evaluate.
        steps: The first and last slot of each step: (steps, 2).
    """
    reader = _Reader(tape, domains, columns)
    root = int(tape.layout.slot[-1])
    return Program(Deferred(reader.blocks), Deferred(lambda: reader.steps(steps)), len(tape.layout), root, domains)


class Deferred(Sequence[T]):
    """A list that is made at its first use."""

    def __init__(self, make: Callable[[], list[T]]) -> None:
        self._make = make

    @cached_property
    def _items(self) -> list[T]:
        return self._make()

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (self._items,)


class _Reader:
    def __init__(self, tape: Tape, domains: tuple[Domain | None, ...], columns: Sequence[Leaf]) -> None:
        self.layout, self.numbers = tape.layout, tape.numbers
        self.domains, self.columns = domains, columns
        self.order = np.argsort(self.layout.slot)  # the instruction of each slot

    def blocks(self) -> list[tuple[int, LeafBlock]]:
        n, arrays = len(self.domains), {**vars(self.layout), **vars(self.numbers)}
        blocks: list[tuple[int, LeafBlock]] = []
        for shape, block_type in sorted(shaped_blocks.items()):
            own = self.order[self.layout.op[self.order] == shape]
            if len(own):
                blocks.append((int(self.layout.slot[own[0]]), block_type.of_arrays(arrays, self.layout.end[own], n)))
        start = int(self.layout.slot[self.layout.op == Op.COLUMN].min(initial=len(self.layout)))
        for column_type, alike in groupby(self.columns, block_type_of):
            blocks.append((start, column_type.of_leaves(list(alike), n)))
            start += blocks[-1][1].n_slots
        return blocks

    def steps(self, bounds: IntArray) -> list[Step]:
        return [self._step(start, stop) for start, stop in bounds.tolist()]

    def _step(self, start: int, stop: int) -> Step:
        own = self.order[start:stop]
        edges, which = ranges(self.layout.begin[own], self.layout.end[own])
        if self.layout.op[own[0]] == Op.SUM:
            together = edges.reshape(stop - start, -1).T  # (arity, sums)
            children = self.layout.slot[self.layout.argument[together]]
            return SumStep(start, children, np.array(self.numbers.log_weight[together]), np.arange(start, stop))
        below = self.layout.slot[self.layout.argument[edges]]
        return ProductStep(start, csr_array((np.ones(len(below)), (which, below)), shape=(stop - start, start)))
