"""The tape as one kernel for CUDA devices: every group of threads walks it for its own rows, in a few registers.

Level by level, every value would travel to the device's memory and back for each edge. Depth first, the values that are
needed at a time stay in the cache, and the tape itself is read by all groups alike. This file needs Triton, which comes
with the CUDA builds of torch.
"""

import numpy as np
import torch
import triton
import triton.language as tl
from torch import Tensor

from xspn.core.arrays import AnyArray
from xspn.engine.tape import Op, Tape

ROWS = 128  # of a group: one for each thread, so that a thread reads back only what it has written itself
GROUPS = 16  # at a time, for each multiprocessor


class TapeKernel:
    """A tape without columns on a device."""

    def __init__(self, tape: Tape, device: torch.device, dtype: torch.dtype) -> None:
        layout, numbers = tape.layout, tape.numbers
        self._dtype, self._device = dtype, device
        starts = np.zeros(len(layout), dtype=np.int64)
        count = layout.op == Op.COUNT
        starts[count] = layout.triangles.table_starts[layout.leaf[count]]
        self._n_registers, self._n_messages = layout.n_registers, max(1, 2 * layout.largest_tree)
        self._n_instructions = len(layout)
        self._arguments = [
            *(self._places(a) for a in (layout.op, layout.begin, layout.end, starts, layout.register)),
            self._places(layout.register[layout.argument]),
            self._numbers(numbers.weight),
            self._places(layout.bernoulli_variable),
            self._numbers(numbers.bernoulli_p),
            self._places(layout.count_variable),
            self._numbers(tape.triangle_sum),
            self._places(layout.tree_variable),
            self._places(layout.tree_parent),
            self._numbers(numbers.tree_p),
        ]

    def _places(self, array: AnyArray) -> Tensor:
        return torch.as_tensor(np.append(array.astype(np.int32), np.int32(0)), device=self._device)

    def _numbers(self, array: AnyArray) -> Tensor:
        return torch.as_tensor(np.append(array.ravel(), 1.0), dtype=self._dtype, device=self._device)

    def run(self, codes: Tensor) -> Tensor:
        """Return the probability of each row of codes (0, 1, or 2 for missing): (variables, rows) → (rows,)."""
        n_rows = codes.shape[1]
        blocks = -(-n_rows // ROWS)
        groups = min(blocks, GROUPS * _multiprocessors(self._device))
        values = torch.empty((groups, self._n_registers, ROWS), dtype=self._dtype, device=self._device)
        below = torch.empty((groups, self._n_messages, ROWS), dtype=self._dtype, device=self._device)
        out = torch.empty(n_rows, dtype=self._dtype, device=self._device)
        _walk[(groups,)](
            *self._arguments,
            codes,
            values,
            below,
            out,
            n_rows,
            blocks,
            groups,
            self._n_instructions,
            self._n_registers,
            self._n_messages,
            ROWS=ROWS,
            FACTORS=int(Op.FACTORS),
            COUNT=int(Op.COUNT),
            TREE=int(Op.TREE),
            SUM=int(Op.SUM),
            num_warps=ROWS // 32,
        )
        return out


def _multiprocessors(device: torch.device) -> int:
    return int(torch.cuda.get_device_properties(device).multi_processor_count) if device.type == "cuda" else 1


@triton.jit  # type: ignore[untyped-decorator]
def _walk(  # type: ignore[no-untyped-def]
    ops,
    begins,
    ends,
    starts,
    registers,
    children,
    weights,
    bernoulli_variable,
    bernoulli_p,
    count_variable,
    table,
    tree_variable,
    tree_parent,
    tree_p,
    codes,
    values,
    below,
    out,
    n_rows,
    n_blocks,
    n_groups,
    n_instructions,
    n_registers,
    n_messages,
    ROWS: tl.constexpr,
    FACTORS: tl.constexpr,
    COUNT: tl.constexpr,
    TREE: tl.constexpr,
    SUM: tl.constexpr,
):
    group = tl.program_id(0)
    lane = tl.arange(0, ROWS)
    own = values + group.to(tl.int64) * n_registers * ROWS + lane
    messages = below + group.to(tl.int64) * n_messages * ROWS + lane
    one = tl.full([ROWS], 1.0, values.dtype.element_ty)
    nothing = tl.zeros([ROWS], values.dtype.element_ty)
    for block in range(group, n_blocks, n_groups):
        row = block * ROWS + lane
        inside = row < n_rows
        cells = codes + row
        for i in range(n_instructions):
            op = tl.load(ops + i)
            a = tl.load(begins + i)
            b = tl.load(ends + i)
            target = own + tl.load(registers + i) * ROWS
            result = one
            if op == FACTORS:
                for e in range(a, b):
                    code = tl.load(cells + tl.load(bernoulli_variable + e).to(tl.int64) * n_rows, inside, 0)
                    zero_p = tl.load(bernoulli_p + 2 * e)
                    one_p = tl.load(bernoulli_p + 2 * e + 1)
                    result *= tl.where(code == 1, one_p, tl.where(code == 0, zero_p, one))
            elif op == COUNT:
                ones = tl.zeros([ROWS], tl.int32)
                seen = tl.zeros([ROWS], tl.int32)
                for e in range(a, b):
                    code = tl.load(cells + tl.load(count_variable + e).to(tl.int64) * n_rows, inside, 0)
                    ones += (code == 1).to(tl.int32)
                    seen += (code != 2).to(tl.int32)
                result = tl.load(table + tl.load(starts + i) + seen * (seen + 1) // 2 + ones)
            elif op == TREE:
                for j in range(b - a):
                    code = tl.load(cells + tl.load(tree_variable + a + j).to(tl.int64) * n_rows, inside, 0)
                    tl.store(messages + 2 * j * ROWS, tl.where(code == 1, nothing, one))
                    tl.store(messages + (2 * j + 1) * ROWS, tl.where(code == 0, nothing, one))
                for k in range(b - a):
                    j = b - a - 1 - k
                    p = tree_p + 4 * (a + j)
                    parent = tl.load(tree_parent + a + j)
                    at_zero = tl.load(messages + 2 * j * ROWS)
                    at_one = tl.load(messages + (2 * j + 1) * ROWS)
                    to_zero = tl.load(p) * at_zero + tl.load(p + 1) * at_one
                    to_one = tl.load(p + 2) * at_zero + tl.load(p + 3) * at_one
                    result = tl.where(parent < 0, result * to_zero, result)
                    if parent >= 0:
                        above = messages + 2 * parent * ROWS
                        tl.store(above, tl.load(above) * to_zero)
                        tl.store(above + ROWS, tl.load(above + ROWS) * to_one)
            elif op == SUM:
                result = nothing
                for e in range(a, b):
                    result += tl.load(weights + e) * tl.load(own + tl.load(children + e) * ROWS)
            else:
                for e in range(a, b):
                    result *= tl.load(own + tl.load(children + e) * ROWS)
            tl.store(target, result)
        tl.store(out + row, tl.load(own + tl.load(registers + n_instructions - 1) * ROWS), inside)
