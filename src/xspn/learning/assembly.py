"""From what became of the tasks to a circuit: what predicts no better than a leaf becomes one, and nodes are built."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from scipy.special import gammaln

from xspn.graph.graph import Graph
from xspn.graph.nodes import Node, Product, Sum
from xspn.learning.clustering.base import Condition, Rule
from xspn.learning.exchangeability.base import TestResult
from xspn.learning.leaf_learners.base import Candidate
from xspn.learning.policy import Operation
from xspn.learning.task import Task
from xspn.learning.trace import Branch, Trace, TraceEntry
from xspn.leaves.base import Leaf

PRICE = 0.25  # nats of leave-one-out score that each parameter must bring: the rows also chose the split


@dataclass(eq=False)
class Record:
    """What became of a task: a finished node, or a sum or product of the tasks below it."""

    task: Task
    operation: Operation
    detail: str
    total: float
    test: TestResult | None
    seconds: float = 0.0
    node: Node | None = None
    weights: list[float] | None = None  # of a sum; None for a product
    cut: int | None = None  # the variable whose value tells the children of a sum apart
    conditions: tuple[Condition, ...] = ()  # what holds of it in each
    rule: Rule | None = None  # which child of a sum out-of-core rows belong to
    extra: list[list[Node]] = field(default_factory=list)  # leaves beside each child of a sum
    below: list[Task] = field(default_factory=list)
    children: list[int] = field(default_factory=list)  # the records of the tasks below
    score: float = 0.0  # the leave-one-out score of the finished node; of a sum, the entropy of its responsibilities
    instead: Candidate | None = None  # the leaf that might take the place of a sum or product
    instead_score: float = 0.0

    @property
    def has_indicators(self) -> bool:
        """Whether leaves stand beside some child."""
        return any(self.extra)


@dataclass(frozen=True)
class Learned:
    """A learned circuit, and why its nodes are what they are."""

    graph: Graph
    trace: Trace


def assemble(records: list[Record], n_variables: int) -> Learned:
    """Build the circuit; nested sums and nested products become one.

    A record whose node is merged into its parent's is traced to that one.
    """
    nodes = _Assembler(records).nodes()
    graph = Graph(nodes[0], n_variables)
    branches = _branches(records)
    return Learned(
        graph, Trace(tuple(_entry(r, graph.id_of(nodes[k]), branches.get(k)) for k, r in enumerate(records)))
    )


def _entry(record: Record, node: int, branch: Branch | None) -> TraceEntry:
    return TraceEntry(
        node=node,
        operation=record.operation,
        detail=record.detail,
        rows=record.total,
        variables=tuple(record.task.variables.tolist()),
        depth=record.task.depth,
        test=record.test,
        seconds=record.seconds,
        branch=branch,
    )


class _Assembler:
    """Makes nodes of records from the last one to the first, children before parents."""

    def __init__(self, records: list[Record]) -> None:
        self.records = records
        self.swallowed_by: dict[int, int] = {}  # sums go into mixtures, products into products and into cuts
        for index, record in enumerate(records):
            takes = Product if record.weights is None or record.has_indicators else Sum
            for child in record.children:
                if _kind(records[child]) is takes:
                    self.swallowed_by[child] = index
        self.built: dict[int, Node] = {}
        self.branches_of_cuts: dict[int, list[Node]] = {}

    def nodes(self) -> dict[int, Node]:
        """Return the node of each record, or the one that it was merged into."""
        for index in range(len(self.records) - 1, -1, -1):
            if self.records[index].has_indicators:
                self.branches_of_cuts[index] = self._branches_of_cut(index)
            if index not in self.swallowed_by:
                self.built[index] = self._build(index)
        for index in sorted(self.swallowed_by):  # parents come before children
            self.built.setdefault(index, self.built[self.swallowed_by[index]])
        return self.built

    def _build(self, index: int) -> Node:
        record = self.records[index]
        if record.node is not None:
            return record.node
        weights, children = zip(*self._contents(index), strict=True)
        return Product(children) if record.weights is None else Sum(np.array(weights) / np.sum(weights), children)

    def _branches_of_cut(self, index: int) -> list[Node]:
        """Return a product for each value of the variable: its indicator, and what was learned for its rows."""
        record = self.records[index]
        branches: list[Node] = []
        for beside, child in zip(record.extra, record.children, strict=True):
            inside = [node for _, node in self._contents(child)] if child in self.swallowed_by else [self.built[child]]
            factors = [*beside, *inside]
            branches.append(factors[0] if len(factors) == 1 else Product(factors))
            if child in self.swallowed_by:
                self.built[child] = branches[-1]
        return branches

    def _contents(self, top: int) -> list[tuple[float, Node]]:
        """Return what a record holds, with what is merged into it, each with its weight; without recursion."""
        found: list[tuple[float, Node]] = []
        waiting = [(1.0, top)]
        while waiting:
            weight, index = waiting.pop()
            record = self.records[index]
            if index != top and index not in self.swallowed_by:
                found.append((weight, self.built[index]))
            elif record.node is not None:
                own = record.node.weights if isinstance(record.node, Sum) else [1.0] * len(record.node.children)
                found += [(weight * float(w), node) for w, node in zip(own, record.node.children, strict=True)]
            elif index in self.branches_of_cuts:
                branches = self.branches_of_cuts[index]
                found += [(weight * w, node) for w, node in zip(record.weights or [], branches, strict=True)]
            else:
                weights = record.weights or [1.0] * len(record.children)
                waiting += [(weight * w, child) for w, child in zip(weights[::-1], record.children[::-1], strict=True)]
        return found


def _kind(record: Record) -> type[Node]:
    if record.node is not None:
        return type(record.node)
    return Product if record.weights is None else Sum


def _branches(records: list[Record]) -> dict[int, Branch]:
    """Return, for each record but the first, where it hangs."""
    branches: dict[int, Branch] = {}
    for parent, record in enumerate(records):
        for place, child in enumerate(record.children):
            condition = record.conditions[place] if record.conditions else None
            is_cluster = record.weights is not None
            branches[child] = Branch(parent, is_cluster, record.cut, place, len(record.children), condition)
    return branches


# -- pruning -----------------------------------------------------------------------------------------------------------


def pruned(records: list[Record]) -> list[Record]:
    """Replace each sum or product by the leaf that stands beside it, unless its score pays for its parameters.

    The score of a product is the sum of its factors', that of a sum the scores of its clusters and weights,
    with the entropy of the responsibilities. Records come parents first, so that children are judged before them.
    """
    scores, sizes = np.zeros(len(records)), np.zeros(len(records), dtype=np.int64)
    dropped = np.zeros(len(records), dtype=bool)
    for index in range(len(records) - 1, -1, -1):
        record = records[index]
        if record.node is not None:
            scores[index], sizes[index] = record.score, n_parameters_of(record.node)
            continue
        scores[index] = record.score + scores[record.children].sum()
        sizes[index] = sizes[record.children].sum() + sum(n_parameters_of(leaf) for own in record.extra for leaf in own)
        if record.weights is not None:
            totals = np.array([records[child].total for child in record.children])
            others = totals / (totals.sum() + len(totals) - 1)  # a row's own context, told by all others
            scores[index] += float(totals @ np.log(np.maximum(others, np.finfo(float).tiny)))
            sizes[index] += len(record.weights) - 1
        if record.cut is not None:  # the price of naming a variable, which the edges of a Chow-Liu leaf pay too
            scores[index] -= float(np.log(len(record.task.variables)))
            scores[index] -= sum(_log_partitions(records, child) for child in record.children)
        if record.instead is None:
            continue
        own = n_parameters_of(record.instead.node)
        if priced(record.instead_score, record.instead) >= scores[index] - PRICE * sizes[index]:
            scores[index], sizes[index] = record.instead_score, own
            dropped[_below(records, index)] = True
            _become_leaf(record)
    kept = np.flatnonzero(~dropped)
    place = np.cumsum(~dropped) - 1
    for index in kept.tolist():
        records[index].children = [int(place[child]) for child in records[index].children]
    return [records[index] for index in kept.tolist()]


def _log_partitions(records: list[Record], index: int) -> float:
    """Return the logarithm of the number of ways in which variables can be divided among a product's factors."""
    record = records[index]
    if record.node is not None or record.weights is not None:
        return 0.0
    sizes = [len(records[child].task.variables) for child in record.children]
    alike = list(Counter(sizes).values())
    return float(gammaln(sum(sizes) + 1) - gammaln(np.array(sizes + alike) + 1).sum())


def priced(score: float, leaf: Candidate) -> float:
    """Return a leaf's leave-one-out score, its parameters paid for."""
    return score - PRICE * n_parameters_of(leaf.node)


def n_parameters_of(node: Node) -> int:
    """Return the number of free parameters of a small circuit whose parts are not shared."""
    if isinstance(node, Leaf):
        return node.n_parameters
    assert isinstance(node, Sum | Product)
    own = len(node.children) - 1 if isinstance(node, Sum) else 0
    return own + sum(n_parameters_of(child) for child in node.children)


def _below(records: list[Record], top: int) -> list[int]:
    found, waiting = [], list(records[top].children)
    while waiting:
        index = waiting.pop()
        found.append(index)
        waiting += records[index].children
    return found


def _become_leaf(record: Record) -> None:
    assert record.instead is not None
    record.node, record.detail = record.instead.node, record.instead.name
    record.operation = Operation.PRUNED
    record.weights, record.cut, record.conditions, record.rule = None, None, (), None
    record.extra, record.below, record.children = [], [], []
