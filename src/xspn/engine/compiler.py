"""From an ordered graph to a flat program."""

from itertools import compress
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from xspn.core.arrays import BoolArray, FloatArray, IntArray
from xspn.core.logspace import safe_log
from xspn.engine.program import ProductStep, Program, Step, SumStep, in_order
from xspn.engine.tape import ranges
from xspn.graph.graph import Graph
from xspn.graph.nodes import Node, Sum
from xspn.leaves.base import Leaf
from xspn.leaves.blocks import LeafBlock, LoopBlock, Shape, block_type_of

SUM, PRODUCT, LEAF = range(3)  # leaves of the first block are LEAF, those of the next one LEAF + 1, …


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
    block_types = in_order(members)
    for place_of_block, block in enumerate(block_types):
        kind[np.concatenate(members[block])] = LEAF + place_of_block
    return block_types, kind
