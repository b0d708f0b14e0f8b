"""The flat program that a circuit is compiled to, and the compiler.

Leaf blocks fill the first slots, steps of sums or products fill the others level by level; the last slot is the answer.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import csr_array

from xspn.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from xspn.core.checks import Names, cell_name
from xspn.core.errors import DataError
from xspn.core.logspace import safe_log
from xspn.data.domain import Domain
from xspn.graph.graph import Graph
from xspn.graph.nodes import Node, Sum
from xspn.leaves.base import Leaf
from xspn.leaves.blocks import LeafBlock, LoopBlock, RowBlock, Shape, ShapedBlock, block_type_of

SUM, PRODUCT, LEAF = range(3)  # leaves of the first block are LEAF, those of the next one LEAF + 1, …


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


def by_shape(blocks: Iterable[BlockType]) -> list[BlockType]:
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
    def parents(self) -> IntArray:
        """How many edges lead to each slot."""
        steps = [own.children.indices if isinstance(own, ProductStep) else own.children.ravel() for own in self.steps]
        return np.bincount(np.concatenate([np.empty(0, dtype=np.int64), *steps]), minlength=self.n_slots)

    @cached_property
    def column_leaves(self) -> list[Leaf]:
        """The leaves behind these columns, slot by slot."""
        return [leaf for _, block in self.columns for own in block.slot_leaves() for leaf in own]

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


# -- from an ordered graph to its program ------------------------------------------------------------------------------


def compile_graph(graph: Graph) -> Program:
    """Compile a circuit: leaves into blocks, inner nodes into steps by level."""
    return _Compiler(graph).program()


class _Compiler:
    """Works on all nodes at once, in arrays: a million of them take less than a second."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.block_types, self.kind = _kinds(graph)
        self.folding = bool(self.block_types) and self.block_types[0].shape is Shape.FACTORS
        self.parent = np.repeat(np.arange(len(graph)), np.diff(graph.edges.begin))  # (edges,)
        self.slot: IntArray = np.full(len(graph), -1, dtype=np.int64)  # of each node
        self.folded: IntArray = np.full(len(graph), -1, dtype=np.int64)  # of each product's factors
        self.blocks: list[tuple[int, LeafBlock]] = []
        self.n_slots = 0

    def program(self) -> Program:
        for place, block_type in enumerate(self.block_types):
            own = self.kind == LEAF + place
            if place == 0 and self.folding:
                self._place_factors(block_type)
            else:
                self.slot[own] = self.n_slots + np.arange(int(own.sum()))
                self._append(block_type.of_leaves(self._nodes(own), self.graph.n_variables))
        steps = self._place_inner_nodes()
        root = int(self.slot[-1])
        return Program(self.blocks, steps, self.n_slots, root, self.graph.domains)

    def _nodes(self, chosen: BoolArray) -> list[Node]:
        return list(compress(self.graph.nodes, chosen.tolist()))

    def _append(self, block: LeafBlock) -> None:
        self.blocks.append((self.n_slots, block))
        self.n_slots += block.n_slots

    def _place_factors(self, block_type: Any) -> None:
        """Fold the factors among the children of each product into one slot; others get a slot each."""
        child = self.graph.edges.child
        of_factor = self.kind[child] == LEAF
        in_products = of_factor & (self.kind[self.parent] == PRODUCT)
        parent = self.parent[in_products]  # in order
        first = np.concatenate([[True], parent[1:] != parent[:-1]])[: len(parent)]
        products, slots = parent[first], np.cumsum(first) - 1
        alone = np.unique(child[of_factor & (self.kind[self.parent] == SUM)])
        if self.kind[-1] == LEAF:
            alone = np.array([len(self.graph) - 1])
        entries = np.concatenate([child[in_products], alone])
        self.folded[products] = np.arange(len(products))
        self.slot[alone] = len(products) + np.arange(len(alone))
        slots = np.concatenate([slots, self.slot[alone]])
        own = self.kind == LEAF
        which = (np.cumsum(own) - 1)[entries]
        self._append(block_type.of_entries(self._nodes(own), slots, which, self.graph.n_variables))

    # -- inner nodes -------------------------------------------------------------------------------------------------

    def _place_inner_nodes(self) -> list[Step]:
        levels = self.graph.levels
        order = np.argsort(levels, kind="stable")
        bounds = np.searchsorted(levels[order], np.arange(1, int(levels[-1]) + 2))
        steps: list[Step] = []
        for start, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            own = order[start:stop]
            steps += self._product_steps(own[self.kind[own] == PRODUCT]) + self._sum_steps(own[self.kind[own] == SUM])
        return steps

    def _bounds(self, nodes: IntArray) -> tuple[IntArray, IntArray]:
        """Return where the edges of some nodes begin and end."""
        return self.graph.edges.begin[nodes], self.graph.edges.begin[nodes + 1]

    def _product_steps(self, products: IntArray) -> list[Step]:
        if not len(products):
            return []
        edges, row = ranges(*self._bounds(products))
        child = self.graph.edges.child[edges]
        rest = (self.kind[child] != LEAF) | (not self.folding)
        has_folded = np.flatnonzero(self.folded[products] >= 0)
        row = np.concatenate([has_folded, row[rest]])
        below = np.concatenate([self.folded[products[has_folded]], self.slot[child[rest]]])
        count = np.bincount(row, minlength=len(products))
        # A product of nothing but factors is its folded slot.
        single = count == 1
        self.slot[products[row[single[row]]]] = below[single[row]]
        several = products[~single]
        if not len(several):
            return []
        self.slot[several] = self.n_slots + np.arange(len(several))
        kept = ~single[row]
        order = np.lexsort((below[kept], row[kept]))
        ends = np.concatenate([[0], np.cumsum(count[~single])])
        matrix = csr_array((np.ones(int(ends[-1])), below[kept][order], ends), shape=(len(several), self.n_slots))
        step = ProductStep(self.n_slots, matrix)
        self.n_slots = step.stop
        return [step]

    def _sum_steps(self, sums: IntArray) -> list[Step]:
        begin, end = self._bounds(sums)
        arities = end - begin
        steps: list[Step] = []
        for arity in np.unique(arities).tolist():
            own = sums[arities == arity]
            edges, _ = ranges(*self._bounds(own))
            children = self.slot[self.graph.edges.child[edges]].reshape(-1, arity).T
            weights = np.concatenate([_weights(self.graph.nodes[i]) for i in own.tolist()]).reshape(-1, arity).T
            step = SumStep(self.n_slots, np.ascontiguousarray(children), safe_log(weights), own)
            self.slot[own] = np.arange(step.start, step.stop)
            self.n_slots = step.stop
            steps.append(step)
        return steps


def _weights(node: Any) -> FloatArray:
    weights: FloatArray = node.weights
    return weights


def _kinds(graph: Graph) -> tuple[list[type[LeafBlock]], IntArray]:
    """Return the types of blocks, and what each node is. Types of nodes are asked once each, which makes this fast."""
    types = list(map(type, graph.nodes))
    place = {own: index for index, own in enumerate(dict.fromkeys(types))}
    which = np.fromiter(map(place.__getitem__, types), dtype=np.int64, count=len(types))
    kind = np.full(len(types), PRODUCT)
    members: dict[type[LeafBlock], list[IntArray]] = {}
    for own, index in place.items():
        nodes = np.flatnonzero(which == index)
        if issubclass(own, Sum):
            kind[nodes] = SUM
        elif issubclass(own, Leaf):
            block = own.block_type or LoopBlock
            if block.takes is LeafBlock.takes:
                members.setdefault(block, []).append(nodes)
            else:
                found: list[Any] = [block_type_of(graph.nodes[i]) for i in nodes.tolist()]  # type: ignore[arg-type]
                for other in dict.fromkeys(found):
                    members.setdefault(other, []).append(nodes[[taken is other for taken in found]])
    block_types = by_shape(members)
    for place_of_block, block in enumerate(block_types):
        kind[np.concatenate(members[block])] = LEAF + place_of_block
    return block_types, kind


def ranges(begin: IntArray, end: IntArray) -> tuple[IntArray, IntArray]:
    """Return begin, begin + 1, …, end − 1 of each range, one after the other, and which range each belongs to."""
    lengths = end - begin
    ends = np.cumsum(lengths)
    which = np.repeat(np.arange(len(lengths)), lengths)
    return np.arange(len(which)) + (begin - (ends - lengths))[which], which
