"""From a tape back to its program: the same slots, steps and leaves, for the questions that need them."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeVar, overload

import numpy as np
from scipy.sparse import csr_array

from xspn.core.arrays import IntArray
from xspn.core.logspace import safe_log
from xspn.data.domain import Domain
from xspn.engine.bernoulli_block import BernoulliBlock
from xspn.engine.blocks import LeafBlock, LoopBlock
from xspn.engine.count_block import CountBlock
from xspn.engine.program import ProductStep, Program, Step, SumStep
from xspn.engine.tape import Op, Tape, ranges
from xspn.engine.tree_block import TreeBlock
from xspn.leaves.base import Leaf
from xspn.leaves.chow_liu import ChowLiu
from xspn.leaves.exchangeable import Exchangeable

T = TypeVar("T")


def program_of(tape: Tape, domains: tuple[Domain | None, ...], given: Sequence[Leaf], steps: IntArray) -> Program:
    """Return the program that a tape was written from; its blocks and steps are made when they are first needed.

    Args:
        tape: The tape.
        domains: The domains of the variables.
        given: The leaves of families that have no instruction of their own.
        steps: The first and last slot of each step: (steps, 2).
    """
    reader = _Reader(tape, domains, given)
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
    def __init__(self, tape: Tape, domains: tuple[Domain | None, ...], given: Sequence[Leaf]) -> None:
        self.layout, self.numbers = tape.layout, tape.numbers
        self.domains, self.given = domains, given
        self.order = np.argsort(self.layout.slot)  # the instruction of each slot

    def blocks(self) -> list[tuple[int, LeafBlock]]:
        blocks: list[tuple[int, LeafBlock]] = []
        for op in (Op.BERNOULLI, Op.COUNT, Op.TREE, Op.GIVEN):
            own = self.order[self.layout.op[self.order] == op]
            if len(own):
                blocks.append((int(self.layout.slot[own[0]]), self._block(op, own)))
        return blocks

    def steps(self, bounds: IntArray) -> list[Step]:
        return [self._step(start, stop) for start, stop in bounds.tolist()]

    def _block(self, op: Op, own: IntArray) -> LeafBlock:
        n = len(self.domains)
        if op == Op.BERNOULLI:
            return self._bernoullis(own)
        if op == Op.COUNT:
            return CountBlock([self._count(i) for i in own], n)
        return TreeBlock([self._tree(i) for i in own]) if op == Op.TREE else LoopBlock(self.given)

    def _entries(self, i: int) -> slice:
        return slice(int(self.layout.begin[i]), int(self.layout.end[i]))

    def _bernoullis(self, own: IntArray) -> BernoulliBlock:
        """Return the block of leaves, one for each entry."""
        entries, slots = ranges(self.layout.begin[own], self.layout.end[own])
        variables, p = self.layout.bernoulli_variable[entries], self.numbers.bernoulli_p[entries, 1]
        return BernoulliBlock(np.array(variables), np.array(p), slots, np.arange(len(slots)), len(self.domains))

    def _count(self, i: int) -> Exchangeable:
        start = int(self.layout.triangles.weight_starts[self.layout.leaf[i]])
        variables = self.layout.count_variable[self._entries(i)].tolist()
        return Exchangeable(variables, np.array(self.numbers.count_log_w[start : start + len(variables) + 1]))

    def _tree(self, i: int) -> ChowLiu:
        own = self._entries(i)
        source = self.layout.tree_source[own]
        order = source - source.min()  # where each entry stands in the leaf's own order
        parents, variables, p = np.full(len(order), -1), np.empty_like(order), np.empty((len(order), 4))
        above = self.layout.tree_parent[own]
        parents[order] = np.where(above < 0, -1, order[above])
        variables[order] = self.layout.tree_variable[own]
        p[order] = self.numbers.tree_p[own]
        return ChowLiu(variables.tolist(), parents.tolist(), p[:, [1, 3]], p[:, [0, 2]])

    def _step(self, start: int, stop: int) -> Step:
        own = self.order[start:stop]
        edges, which = ranges(self.layout.begin[own], self.layout.end[own])
        if self.layout.op[own[0]] == Op.SUM:
            together = edges.reshape(stop - start, -1).T  # (arity, sums)
            children = self.layout.slot[self.layout.argument[together]]
            return SumStep(start, children, safe_log(self.numbers.weight[together]), np.arange(start, stop))
        below = self.layout.slot[self.layout.argument[edges]]
        return ProductStep(start, csr_array((np.ones(len(below)), (which, below)), shape=(stop - start, start)))
