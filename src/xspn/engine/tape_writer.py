"""From a program to its tape: the order of a depth-first walk, registers, and parameters as probabilities."""

from itertools import compress

import numpy as np

from xspn.core.arrays import AnyArray, BoolArray, IntArray
from xspn.engine.program import ProductStep, Program, SumStep
from xspn.engine.tape import Op, Tape, TapeLayout, TapeNumbers, first_edges_down
from xspn.leaves.blocks import Shape


def tape_of(program: Program) -> Tape:
    """Return the tape of a program."""
    layout = _Writer(program).layout()
    return Tape(layout, numbers_of(program, layout))


def numbers_of(program: Program, layout: TapeLayout) -> TapeNumbers:
    """Return the parameters of a program in the order of a tape: its own, or that of the program it was fitted from."""
    weights = [np.exp(step.log_weights.ravel()) for step in program.steps if isinstance(step, SumStep)]
    own = np.concatenate([*weights, [1.0]])  # the last one is what −1, a product's edge, reads
    arrays: dict[str, AnyArray] = {
        "bernoulli_p": np.empty((0, 2)),
        "tree_p": np.empty((0, 4)),
        "count_log_w": np.empty(0),
    }
    for _, block in program.native.values():
        arrays |= block.number_arrays()
    return TapeNumbers(weight=own[layout.weight_source], **arrays)


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
