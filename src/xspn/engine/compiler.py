"""From an ordered graph to a flat program."""

from collections import defaultdict

import numpy as np
from scipy.sparse import csr_array

from xspn._core.arrays import IntArray
from xspn._core.logspace import safe_log
from xspn.circuit.graph import Graph
from xspn.circuit.nodes import Node, Product, Sum
from xspn.engine.bernoulli_block import BernoulliBlock
from xspn.engine.blocks import LeafBlock, LoopBlock
from xspn.engine.count_block import CountBlock
from xspn.engine.program import ProductStep, Program, Step, SumStep
from xspn.engine.tree_block import TreeBlock
from xspn.leaves.base import Leaf
from xspn.leaves.bernoulli import Bernoulli
from xspn.leaves.chow_liu import ChowLiu
from xspn.leaves.exchangeable import Exchangeable
from xspn.statistics import Count


def compile_graph(graph: Graph) -> Program:
    """Compile a circuit: leaves into blocks, inner nodes into steps by level."""
    return _Compiler(graph).program()


class _Compiler:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.slot_of_node: IntArray = np.full(len(graph), -1, dtype=np.int64)
        self.folded: dict[int, int] = {}  # product's id → slot of its Bernoulli leaves
        self.blocks: list[tuple[int, LeafBlock]] = []
        self.n_slots = 0

    def program(self) -> Program:
        self._place_leaves()
        steps = self._place_inner_nodes()
        return Program(
            blocks=self.blocks,
            steps=steps,
            n_slots=self.n_slots,
            root=int(self.slot_of_node[-1]),
            domains=self.graph.domains,
        )

    # -- leaves ------------------------------------------------------------------------------------------------------

    def _place_leaves(self) -> None:
        self._place_bernoullis()
        counts: list[Exchangeable] = []
        trees: list[Leaf] = []
        others: list[Leaf] = []
        for leaf in self.graph.leaves:
            if isinstance(leaf, Exchangeable) and isinstance(leaf.statistic, Count):
                counts.append(leaf)
            elif isinstance(leaf, ChowLiu):
                trees.append(leaf)
            elif isinstance(leaf, Leaf) and not isinstance(leaf, Bernoulli):
                others.append(leaf)
        if counts:
            self._add_block(CountBlock(counts, self.graph.n_variables), counts)
        if trees:
            self._add_block(TreeBlock(trees), trees)
        if others:
            self._add_block(LoopBlock(others), others)

    def _add_block(self, block: LeafBlock, leaves: list[Exchangeable] | list[Leaf]) -> None:
        for offset, leaf in enumerate(leaves):
            self.slot_of_node[self.graph.id_of(leaf)] = self.n_slots + offset
        self._append(block)

    def _append(self, block: LeafBlock) -> None:
        self.blocks.append((self.n_slots, block))
        self.n_slots += block.n_slots

    def _place_bernoullis(self) -> None:
        """Fold the Bernoulli children of each product into one slot; others get a slot each."""
        groups: list[list[Bernoulli]] = []
        alone: dict[int, Bernoulli] = {}
        for index, node in enumerate(self.graph.nodes):
            leaves = [child for child in node.children if isinstance(child, Bernoulli)]
            if isinstance(node, Product) and leaves:
                self.folded[index] = len(groups)
                groups.append(leaves)
            elif isinstance(node, Sum):
                alone.update((self.graph.id_of(leaf), leaf) for leaf in leaves)
        if isinstance(self.graph.root, Bernoulli):
            alone[len(self.graph) - 1] = self.graph.root
        for index, leaf in sorted(alone.items()):
            self.slot_of_node[index] = len(groups)
            groups.append([leaf])
        if groups:
            self._append(BernoulliBlock(groups, self.graph.n_variables))

    # -- inner nodes -------------------------------------------------------------------------------------------------

    def _child_slots(self, index: int, node: Node) -> list[int]:
        """Return the slots that a node reads."""
        below = [] if index not in self.folded else [self.folded[index]]
        for child in node.children:
            if index in self.folded and isinstance(child, Bernoulli):
                continue
            below.append(int(self.slot_of_node[self.graph.id_of(child)]))
        return below

    def _place_inner_nodes(self) -> list[Step]:
        by_level: dict[int, list[int]] = defaultdict(list)
        for index, node in enumerate(self.graph.nodes):
            if node.children:
                by_level[int(self.graph.levels[index])].append(index)
        steps: list[Step] = []
        for level in sorted(by_level):
            products = [i for i in by_level[level] if isinstance(self.graph.nodes[i], Product)]
            sums = [i for i in by_level[level] if isinstance(self.graph.nodes[i], Sum)]
            steps += self._product_steps(products) + self._sum_steps(sums)
        return steps

    def _product_steps(self, indices: list[int]) -> list[Step]:
        rows: list[list[int]] = []
        for index in indices:
            below = self._child_slots(index, self.graph.nodes[index])
            if len(below) == 1:  # a product of Bernoulli leaves alone is its folded slot
                self.slot_of_node[index] = below[0]
            else:
                self.slot_of_node[index] = self.n_slots + len(rows)
                rows.append(below)
        if not rows:
            return []
        lengths = [len(row) for row in rows]
        data = np.ones(sum(lengths))
        where = (np.repeat(np.arange(len(rows)), lengths), np.concatenate([np.array(row) for row in rows]))
        step = ProductStep(self.n_slots, csr_array((data, where), shape=(len(rows), self.n_slots)))
        self.n_slots = step.stop
        return [step]

    def _sum_steps(self, indices: list[int]) -> list[Step]:
        by_arity: dict[int, list[int]] = defaultdict(list)
        for index in indices:
            by_arity[len(self.graph.nodes[index].children)].append(index)
        steps: list[Step] = []
        for arity in sorted(by_arity):
            own = by_arity[arity]
            children = np.array([self._child_slots(i, self.graph.nodes[i]) for i in own], dtype=np.int64).T
            weights = np.array([node.weights for i in own if isinstance(node := self.graph.nodes[i], Sum)]).T
            step = SumStep(self.n_slots, np.ascontiguousarray(children), safe_log(weights), np.array(own))
            self.slot_of_node[own] = np.arange(step.start, step.stop)
            self.n_slots = step.stop
            steps.append(step)
        return steps
