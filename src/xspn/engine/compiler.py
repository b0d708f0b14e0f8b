"""From an ordered graph to a flat program."""

from collections.abc import Iterator
from itertools import compress
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from xspn.core.arrays import BoolArray, FloatArray, IntArray
from xspn.core.logspace import safe_log
from xspn.engine.bernoulli_block import BernoulliBlock
from xspn.engine.blocks import LeafBlock, LoopBlock
from xspn.engine.count_block import CountBlock
from xspn.engine.program import ProductStep, Program, Step, SumStep
from xspn.engine.tape import ranges
from xspn.engine.tree_block import TreeBlock
from xspn.graph.graph import Graph
from xspn.graph.nodes import Node, Product, Sum
from xspn.leaves.bernoulli import Bernoulli
from xspn.leaves.chow_liu import ChowLiu
from xspn.leaves.exchangeable import Exchangeable
from xspn.statistics import Count

SUM, PRODUCT, BERNOULLI, COUNT, TREE, OTHER = range(6)


def compile_graph(graph: Graph) -> Program:
    """Compile a circuit: leaves into blocks, inner nodes into steps by level."""
    return _Compiler(graph).program()


class _Compiler:
    """Works on all nodes at once, in arrays: a million of them take less than a second."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.kind = np.fromiter(_kinds(graph), dtype=np.uint8, count=len(graph))
        self.parent = np.repeat(np.arange(len(graph)), np.diff(graph.edges.begin))  # (edges,)
        self.slot: IntArray = np.full(len(graph), -1, dtype=np.int64)  # of each node
        self.folded: IntArray = np.full(len(graph), -1, dtype=np.int64)  # of each product's Bernoulli leaves
        self.blocks: list[tuple[int, LeafBlock]] = []
        self.n_slots = 0

    def program(self) -> Program:
        self._place_bernoullis()
        n_variables = self.graph.n_variables
        for kind in (COUNT, TREE, OTHER):
            own: list[Any] = self._nodes(self.kind == kind)
            if own:
                self.slot[self.kind == kind] = self.n_slots + np.arange(len(own))
                block = CountBlock(own, n_variables) if kind == COUNT else TreeBlock(own) if kind == TREE else None
                self._append(LoopBlock(own) if block is None else block)
        steps = self._place_inner_nodes()
        root = int(self.slot[-1])
        return Program(self.blocks, steps, self.n_slots, root, self.graph.domains)

    def _nodes(self, chosen: BoolArray) -> list[Node]:
        return list(compress(self.graph.nodes, chosen.tolist()))

    def _append(self, block: LeafBlock) -> None:
        self.blocks.append((self.n_slots, block))
        self.n_slots += block.n_slots

    def _place_bernoullis(self) -> None:
        """Fold the Bernoulli children of each product into one slot; others get a slot each."""
        child = self.graph.edges.child
        of_bernoulli = self.kind[child] == BERNOULLI
        in_products = of_bernoulli & (self.kind[self.parent] == PRODUCT)
        parent = self.parent[in_products]  # in order
        first = np.concatenate([[True], parent[1:] != parent[:-1]])[: len(parent)]
        products, slots = parent[first], np.cumsum(first) - 1
        alone = np.unique(child[of_bernoulli & (self.kind[self.parent] == SUM)])
        if self.kind[-1] == BERNOULLI:
            alone = np.array([len(self.graph) - 1])
        entries = np.concatenate([child[in_products], alone])
        if not len(entries):
            return
        self.folded[products] = np.arange(len(products))
        self.slot[alone] = len(products) + np.arange(len(alone))
        slots = np.concatenate([slots, self.slot[alone]])
        leaves: list[Any] = self._nodes(self.kind == BERNOULLI)
        which = (np.cumsum(self.kind == BERNOULLI) - 1)[entries]
        variables = np.fromiter((leaf.variables[0] for leaf in leaves), dtype=np.int64, count=len(leaves))
        p = np.fromiter((leaf.p for leaf in leaves), dtype=np.float64, count=len(leaves))
        self._append(BernoulliBlock(variables, p, slots, which, self.graph.n_variables, leaves))

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
        rest = self.kind[child] != BERNOULLI
        has_folded = np.flatnonzero(self.folded[products] >= 0)
        row = np.concatenate([has_folded, row[rest]])
        below = np.concatenate([self.folded[products[has_folded]], self.slot[child[rest]]])
        count = np.bincount(row, minlength=len(products))
        # A product of Bernoulli leaves alone is its folded slot.
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


def _kinds(graph: Graph) -> Iterator[int]:
    """Yield what each node is; types are asked once each, which is what makes this fast."""
    types = list(map(type, graph.nodes))
    known = {own: _kind(own) for own in set(types)}
    counts: dict[type, bool] = {}

    def kind(node: Any, own: type) -> int:
        if known[own] != COUNT:
            return known[own]
        statistic = type(node.statistic)
        if statistic not in counts:
            counts[statistic] = issubclass(statistic, Count)
        return COUNT if counts[statistic] else OTHER

    return map(kind, graph.nodes, types) if COUNT in known.values() else map(known.__getitem__, types)


def _kind(own: type) -> int:
    families = {Sum: SUM, Product: PRODUCT, Bernoulli: BERNOULLI, Exchangeable: COUNT, ChowLiu: TREE}
    return next((kind for family, kind in families.items() if issubclass(own, family)), OTHER)
