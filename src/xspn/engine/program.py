"""The flat program: leaf blocks fill the first slots, steps fill the others, the last one is the answer."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from scipy.sparse import csr_array

from xspn.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from xspn.core.checks import Names, cell_name
from xspn.core.errors import DataError
from xspn.data.domain import Domain
from xspn.leaves.blocks import LeafBlock, RowBlock, Shape, ShapedBlock


@dataclass(frozen=True, eq=False)
class SumStep:
    """Sums of one level and one number of children: slots start..start+k."""

    start: int
    children: IntArray  # (arity, k)
    log_weights: FloatArray  # (arity, k)
    nodes: IntArray  # (k,): the ids of the sums in the graph

    @property
    def stop(self) -> int:
        """One beyond the last slot."""
        return int(self.start + self.children.shape[1])

    @cached_property
    def distinct(self) -> tuple[bool, ...]:
        """Whether no two sums have the same child, for each place among the children."""
        return tuple(len(np.unique(child)) == len(child) for child in self.children)


@dataclass(frozen=True, eq=False)
class ProductStep:
    """Products of one level: slots start..start+k, as a sparse 0/1 matrix over the slots below."""

    start: int
    children: csr_array  # (k, start)

    @property
    def stop(self) -> int:
        """One beyond the last slot."""
        return int(self.start + self.children.shape[0])

    @cached_property
    def parents(self) -> tuple[IntArray, csr_array]:
        """The slots that some product reads, and which products read each of them: (slots, k)."""
        own, which = np.unique(self.children.indices, return_inverse=True)
        products = np.repeat(np.arange(self.children.shape[0]), np.diff(self.children.indptr))
        shape = (len(own), self.children.shape[0])
        return own, csr_array((np.ones(len(which)), (which.ravel(), products)), shape=shape)


Step = SumStep | ProductStep


BlockType = TypeVar("BlockType", bound="LeafBlock | type[LeafBlock]")


def in_order(blocks: Iterable[BlockType]) -> list[BlockType]:
    """Return blocks, or types of blocks, in the order in which they get their slots: by shape, columns last.

    Kernels evaluate one block of each shape; what else there is of that shape is a column.
    """
    native = {block.shape: block for block in reversed(list(blocks)) if block.shape is not Shape.COLUMN}
    first = [native[shape] for shape in sorted(native)]
    return [*first, *(block for block in blocks if all(block is not other for other in first))]


@dataclass(frozen=True, eq=False)
class Program:
    """A compiled circuit. It holds no state: any number of threads may run it."""

    blocks: Sequence[tuple[int, LeafBlock]]  # (first slot, block)
    steps: Sequence[Step]
    n_slots: int
    root: int
    domains: tuple[Domain | None, ...]

    @cached_property
    def native(self) -> dict[Shape, tuple[int, ShapedBlock]]:
        """The block of each shape that kernels evaluate by themselves, with its first slot."""
        found: dict[Shape, tuple[int, ShapedBlock]] = {}
        for start, block in self.blocks:
            if isinstance(block, ShapedBlock):
                found.setdefault(block.shape, (start, block))
        return found

    @cached_property
    def columns(self) -> list[tuple[int, LeafBlock]]:
        """All other blocks: those that fill a column for each slot before kernels walk the circuit."""
        native = [block for _, block in self.native.values()]
        return [(start, block) for start, block in self.blocks if all(block is not other for other in native)]

    @cached_property
    def real(self) -> BoolArray:
        """Which columns hold real numbers."""
        return np.array([domain is not None and not domain.is_discrete for domain in self.domains], dtype=bool)

    @cached_property
    def cardinalities(self) -> tuple[int, ...]:
        """The number of values of each variable; 0 for real and absent ones."""
        return tuple(0 if d is None or d.cardinality is None else d.cardinality for d in self.domains)

    @property
    def largest_cardinality(self) -> int:
        """The largest number of values, at least 2."""
        return max([2, *self.cardinalities])

    @cached_property
    def absent(self) -> BoolArray:
        """Which columns the circuit has no variable for."""
        return np.array([domain is None for domain in self.domains], dtype=bool)

    def row_blocks(
        self, X: AnyArray, names: Names | None = None, what: str = "X", cells: int = 1 << 18
    ) -> Iterator[tuple[int, int, RowBlock]]:
        """Cut a table into blocks of rows for which the values of all slots stay near the cache."""
        checker = RowChecker(self.domains, names)
        step = int(np.clip(cells // max(self.n_slots, X.shape[1], 1), 64, 8192))
        for start in range(0, len(X), step):
            stop = min(start + step, len(X))
            yield start, stop, checker.block(X, start, stop, what)


class RowChecker:
    """Turns slices of a user's table into row blocks, refusing values outside the variables' domains."""

    def __init__(self, domains: Sequence[Domain | None], names: Names | None = None) -> None:
        self._domains = domains
        self._names = names
        self._discrete = np.array([d is not None and d.is_discrete for d in domains], dtype=bool)
        self._in_scope = np.array([d is not None for d in domains], dtype=bool)
        self._all_discrete = bool(self._discrete.all())
        self._limit = np.array([np.inf if d is None or d.cardinality is None else d.cardinality for d in domains])

    def block(self, X: AnyArray, start: int, stop: int, what: str = "X") -> RowBlock:
        """Return rows start..stop as a checked block; columns outside the circuit are ignored (and read as 0)."""
        raw = X[start:stop]
        values = np.array(raw, dtype=np.float64)
        if not self._in_scope.all():
            values[:, ~self._in_scope] = 0.0
        bad = self._bad_integers(raw, values) if raw.dtype.kind in "bu" else self._bad_floats(values)
        if bad is not None and bad.any():
            self._refuse(values, bad, start, what)
        return RowBlock(values)

    def _bad_integers(self, raw: AnyArray, values: FloatArray) -> BoolArray | None:
        if raw.dtype.kind == "b" and self._all_discrete and self._limit.min(initial=2) >= 2:
            return None
        return np.asarray(values >= self._limit)

    def _bad_floats(self, values: FloatArray) -> BoolArray:
        with np.errstate(invalid="ignore"):
            bad = (values < 0) | (values >= self._limit) | (values != np.floor(values))
        missing = np.isnan(values)
        if self._all_discrete:
            return np.asarray(bad & ~missing)
        return np.asarray(np.where(self._discrete, bad & ~missing, np.isinf(values)))

    def _refuse(self, values: FloatArray, bad: BoolArray, start: int, what: str) -> None:
        row, column = (int(i) for i in np.argwhere(bad)[0])
        domain = self._domains[column]
        expected = domain.describe() if domain is not None else "a number"
        raise DataError(
            f"{what}: expected {expected} or NaN, found {values[row, column]:g} "
            f"at {cell_name((start + row, column), self._names)}"
        )
