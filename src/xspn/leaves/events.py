"""What is asked of single columns: sets of values, intervals of numbers, values that count.

An event gives columns marks. The mark of a discrete column says for each of its values what it adds to a count, and
−1 for a value that is excluded; the mark of a real column is the set of numbers that it allows. Every leaf answers for
all marks of its columns at once (`Leaf.tally`); what is here serves families that have no closed form of their own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from xspn.core.arrays import BoolArray, FloatArray, IntArray
from xspn.core.errors import QueryError, counted
from xspn.core.logspace import log_binomials, logsumexp_quiet

if TYPE_CHECKING:
    from xspn.leaves.base import Leaf

MOST_CASES = 1 << 14  # combinations of values that a leaf without a closed form adds up
AT_ONCE = 1 << 20  # cells of rows that are evaluated at a time
EXCLUDED = -1


@dataclass(frozen=True)
class Intervals:
    """A set of real numbers: disjoint closed intervals in order. A strict bound is the next number inside of it.

    Examples:
        >>> low = Intervals.of((-np.inf, 2.0))
        >>> (low & Intervals.of((1.0, 3.0))).bounds
        ((1.0, 2.0),)
        >>> [low.complement().contains(x) for x in (2.0, 2.5)]
        [False, True]
    """

    bounds: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, *bounds: tuple[float, float]) -> "Intervals":
        """Return the union of some closed intervals; those whose ends are out of order are empty."""
        merged: list[tuple[float, float]] = []
        for low, high in sorted(own for own in bounds if own[0] <= own[1]):
            if merged and low <= np.nextafter(merged[-1][1], np.inf):
                merged[-1] = (merged[-1][0], max(merged[-1][1], high))
            else:
                merged.append((float(low), float(high)))
        return cls(tuple(merged))

    def __and__(self, other: "Intervals") -> "Intervals":
        pairs = product(self.bounds, other.bounds)
        return Intervals.of(*((max(a[0], b[0]), min(a[1], b[1])) for a, b in pairs))

    def __or__(self, other: "Intervals") -> "Intervals":
        return Intervals.of(*self.bounds, *other.bounds)

    def complement(self) -> "Intervals":
        """Return all other numbers."""
        ends = [-np.inf, *(end for own in self.bounds for end in own), np.inf]
        gaps = list(zip(ends[::2], ends[1::2], strict=True))
        last = len(gaps) - 1
        inner = [
            (
                low if k == 0 else float(np.nextafter(low, np.inf)),
                high if k == last else float(np.nextafter(high, -np.inf)),
            )
            for k, (low, high) in enumerate(gaps)
            if (k > 0 or high > -np.inf) and (k < last or low < np.inf)
        ]
        return Intervals.of(*inner)

    def contains(self, value: float) -> bool:
        """Whether a number is in the set."""
        return any(low <= value <= high for low, high in self.bounds)

    @property
    def is_empty(self) -> bool:
        """Whether no number is in the set."""
        return not self.bounds


Mark = IntArray | Intervals


def allows(intervals: Intervals, values: FloatArray) -> BoolArray:
    """Mark the numbers that are in a set; missing ones pass."""
    good = np.isnan(values)
    for low, high in intervals.bounds:
        good |= (values >= low) & (values <= high)
    return np.asarray(good)


def degree_of(marks: Sequence[Mark | None]) -> int:
    """Return the largest count that columns with these marks can reach."""
    most: dict[int, int] = {}  # of each mark: mostly all columns share one
    for mark in marks:
        if id(mark) not in most:
            plain = mark is None or isinstance(mark, Intervals)
            most[id(mark)] = 0 if plain else int(np.max(np.asarray(mark), initial=0))
    return sum(most[id(mark)] for mark in marks)


def case_by_case(leaf: "Leaf", x: FloatArray, marks: Sequence[Mark | None]) -> FloatArray:
    """Return what `Leaf.tally` promises by adding up all values that marks allow, whatever the family."""
    marked = [(i, mark) for i, mark in enumerate(marks) if mark is not None]
    values: list[IntArray] = []
    for _, mark in marked:
        if isinstance(mark, Intervals):
            raise QueryError(f"{type(leaf).__name__}: no way is known to integrate its density over intervals")
        values.append(np.flatnonzero(mark != EXCLUDED))
    cases = float(np.prod([float(len(own)) for own in values]))
    if cases > MOST_CASES:
        raise QueryError(
            f"{type(leaf).__name__}: an event over {counted(len(marked), 'column')} of one leaf has {cases:,.0f} "
            f"cases, more than the {MOST_CASES:,} that are added up; ask about fewer of them"
        )
    out = np.full((len(x), degree_of(marks) + 1), -np.inf)
    step = max(1, AT_ONCE // max(x.size, 1))
    every = list(product(*values))
    for first in range(0, len(every), step):
        some = every[first : first + step]
        rows = np.repeat(x[None], len(some), axis=0)  # (cases, rows, variables)
        adds = np.zeros((len(some), len(x)), dtype=np.int64)
        dead = np.zeros((len(some), len(x)), dtype=bool)
        for place, (i, mark) in enumerate(marked):
            own = np.array([case[place] for case in some])
            missing = np.isnan(x[:, i])
            rows[:, missing, i] = own[:, None]
            adds[:, missing] += np.asarray(mark)[own][:, None]
            dead[:, ~missing] |= (own != values[place][0])[:, None]  # an observed value is one case, not many
        logs = leaf.log_prob(rows.reshape(-1, x.shape[1])).reshape(dead.shape)
        logs[dead] = -np.inf
        for case_logs, case_adds in zip(logs, adds, strict=True):
            cells = (np.arange(len(x)), case_adds)
            out[cells] = np.logaddexp(out[cells], case_logs)
    return out


def distinct_rows(x: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the different rows, missing values being alike, and which of them each row is."""
    if len(x) == 1:
        return x, np.zeros(1, dtype=np.int64)
    if (np.isnan(x) == np.isnan(x[0])).all() and (np.nan_to_num(x) == np.nan_to_num(x[0])).all():
        return x[:1], np.zeros(len(x), dtype=np.int64)
    filled = np.where(np.isnan(x), np.inf, x)  # infinite numbers are none that a table has
    _, first, which = np.unique(filled, axis=0, return_index=True, return_inverse=True)
    return x[first], which.reshape(-1)


# -- bits of which only the number of ones matters ---------------------------------------------------------------------


def tally_of_ones(log_weights: FloatArray, x: FloatArray, marks: Sequence[Mark | None]) -> FloatArray:
    """Return `Leaf.tally` of a leaf over the number of ones.

    Variables with the same mark are interchangeable. Of m missing ones with marks (a, b) for 0 and 1, j ones add
    (m − j)·a + j·b to the count in C(m, j) ways; a group after the other is added up.
    """
    pairs = [(0, 0) if mark is None else (int(mark[0]), int(mark[1])) for mark in marks]  # type: ignore[index]
    kinds = sorted(dict.fromkeys(pairs), key=lambda pair: (pair[0] != pair[1], pair))  # free ones first
    kind_of = np.array([kinds.index(pair) for pair in pairs])
    missing = np.isnan(x)
    key = np.column_stack([(x == 1).sum(axis=1), *(missing[:, kind_of == k].sum(axis=1) for k in range(len(kinds)))])
    distinct, which = np.unique(key, axis=0, return_inverse=True)
    out = np.full((len(distinct), degree_of(marks) + 1), -np.inf)
    for place, (ones, *sizes) in enumerate(distinct.tolist()):
        table = log_weights[ones : ones + sum(sizes) + 1, None]  # (ones among those that are left, count)
        for (zero, one), size in zip(kinds, sizes, strict=True):
            table = _without_group(table, zero, one, size)
        out[place, : table.shape[1]] = table[0]
    return out[which.reshape(-1)]


def _without_group(table: FloatArray, zero: int, one: int, size: int) -> FloatArray:
    """Add up what `size` alike variables can be, each 0 or 1 with these additions to the count (−1: excluded)."""
    if not size:
        return table
    ways = log_binomials(size)
    possible = [j for j in range(size + 1) if (zero >= 0 or j == size) and (one >= 0 or j == 0)]
    adds = {j: (size - j) * max(zero, 0) + j * max(one, 0) for j in possible}
    left, width = len(table) - size, table.shape[1]
    out = np.full((left, width + max(adds.values(), default=0)), -np.inf)
    if possible and zero == one and width == 1:  # all additions are the same: one sum over windows
        windows = np.lib.stride_tricks.sliding_window_view(table[:, 0], size + 1)  # (left, size + 1)
        out[:, -1] = logsumexp_quiet(windows + ways, axis=1)
        return out
    if width == left == 1 and possible:  # zero and one add differently: each count has one case
        out[0, [adds[j] for j in possible]] = (table[:, 0] + ways)[possible]
        return out
    for j in possible:
        part = out[:, adds[j] : adds[j] + width]
        np.logaddexp(part, table[j : j + left] + ways[j], out=part)
    return out
