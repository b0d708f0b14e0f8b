"""From a tape back to its program: the same slots, steps and leaves, for the questions that need them."""

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import groupby
from typing import Any, TypeVar, overload

import numpy as np
from scipy.sparse import csr_array

from xspn.core.arrays import IntArray
from xspn.core.logspace import safe_log
from xspn.data.domain import Domain
from xspn.engine.program import ProductStep, Program, Step, SumStep
from xspn.engine.tape import Op, Tape, ranges
from xspn.leaves.base import Leaf
from xspn.leaves.blocks import LeafBlock, block_type_of, shaped_blocks

T = TypeVar("T")


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
            return SumStep(start, children, safe_log(self.numbers.weight[together]), np.arange(start, stop))
        below = self.layout.slot[self.layout.argument[edges]]
        return ProductStep(start, csr_array((np.ones(len(below)), (which, below)), shape=(stop - start, start)))
