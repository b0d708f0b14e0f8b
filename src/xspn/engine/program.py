"""The flat program: leaf blocks fill the first slots, steps fill the others, the last one is the answer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from xspn.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from xspn.core.checks import Names
from xspn.data.domain import Domain
from xspn.engine.blocks import LeafBlock
from xspn.engine.rows import RowBlock, RowChecker


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


@dataclass(frozen=True, eq=False)
class Program:
    """A compiled circuit. It holds no state: any number of threads may run it."""

    blocks: Sequence[tuple[int, LeafBlock]]  # (first slot, block)
    steps: Sequence[Step]
    n_slots: int
    root: int
    domains: tuple[Domain | None, ...]

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
