"""From what became of the tasks to a circuit."""

from dataclasses import dataclass, field

from xspn.circuit.graph import Graph
from xspn.circuit.nodes import Node, Product, Sum
from xspn.circuit.transform import merge_tracked
from xspn.learning.exchangeability.base import TestResult
from xspn.learning.policy import Operation
from xspn.learning.task import Task
from xspn.learning.trace import Branch, Trace, TraceEntry


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
    cut: int | None = None  # the variable that a sum splits on
    extra: list[list[Node]] = field(default_factory=list)  # leaves beside each child of a sum
    below: list[Task] = field(default_factory=list)
    children: list[int] = field(default_factory=list)  # the records of the tasks below

    def cells_settled(self) -> int:
        """Return how many cells of the table are accounted for by leaves of this record."""
        variables = len(self.task.variables) if self.node is not None else int(any(self.extra))
        return len(self.task.rows) * variables


@dataclass(frozen=True)
class Learned:
    """A learned circuit's root, and why its nodes are what they are."""

    root: Node
    trace: Trace


def assemble(records: list[Record]) -> Learned:
    """Build the circuit from the last record to the first; nested sums and nested products become one.

    A record whose node is merged into its parent's is traced to that one.
    """
    nodes: list[Node | None] = [None] * len(records)
    for index in range(len(records) - 1, -1, -1):
        nodes[index] = _node(records[index], nodes)
    first = nodes[0]
    assert first is not None
    root, became = merge_tracked(first)
    graph = Graph(root)
    branches = _branches(records)
    entries = []
    for index, (record, node) in enumerate(zip(records, nodes, strict=True)):
        place = graph.id_of(became[id(node)])
        variables = tuple(int(v) for v in record.task.variables)
        entries.append(
            TraceEntry(
                node=place,
                operation=record.operation,
                detail=record.detail,
                rows=record.total,
                variables=variables,
                depth=record.task.depth,
                test=record.test,
                seconds=record.seconds,
                branch=branches.get(index),
            )
        )
    return Learned(root, Trace(tuple(entries)))


def _node(record: Record, nodes: list[Node | None]) -> Node:
    if record.node is not None:
        return record.node
    below = [node for child in record.children if (node := nodes[child]) is not None]
    if record.weights is None:
        return Product(below)
    branches = [Product([*beside, node]) if beside else node for beside, node in zip(record.extra, below, strict=True)]
    return Sum(record.weights, branches)


def _branches(records: list[Record]) -> dict[int, Branch]:
    """Return, for each record but the first, where it hangs."""
    branches: dict[int, Branch] = {}
    for parent, record in enumerate(records):
        for place, child in enumerate(record.children):
            branches[child] = Branch(parent, record.weights is not None, record.cut, place, len(record.children))
    return branches
