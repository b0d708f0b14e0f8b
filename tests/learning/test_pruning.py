"""Pruning: a sum stays if it predicts enough better than the leaf beside it; what remains is a whole tree."""

import numpy as np
import pytest

from support.learning import exchangeable_table, learned, total_probability, two_clusters
from xspn.circuit import Circuit
from xspn.graph.nodes import Product, Sum
from xspn.learning.assembly import PRICE, Record, _log_partitions, assemble, n_parameters_of, pruned
from xspn.learning.leaf_learners.base import Candidate
from xspn.learning.policy import Operation
from xspn.learning.task import Rows, Task
from xspn.leaves.bernoulli import Bernoulli
from xspn.leaves.exchangeable import Exchangeable

ROWS = 10.0
CHOICE = ROWS * np.log(ROWS / 2 / (ROWS + 1))  # which of two equal clusters each row is in, told by all others


def record(variables, operation, total=ROWS, **fields):
    rows = Rows(np.arange(int(total)), np.ones(int(total)))
    return Record(Task(rows, np.array(variables), seed=0), operation, "", total, None, **fields)


def leaf(variables, score, p=0.5, total=ROWS):
    """A product of Bernoullis: a parameter for each variable."""
    nodes = [Bernoulli(v, p=p) for v in variables]
    node = nodes[0] if len(nodes) == 1 else Product(nodes)
    return record(variables, Operation.UNIVARIATE, total, node=node, score=score)


def mixture(variables, children, instead_score, instead=True, score=0.0):
    beside = Candidate("beside", Product([Bernoulli(v, p=0.25) for v in variables]), np.zeros(int(ROWS)))
    return record(
        variables,
        Operation.CLUSTER,
        weights=[0.5, 0.5],
        extra=[[], []],
        children=children,
        score=score,
        instead=beside if instead else None,
        instead_score=instead_score,
    )


def product(variables, children):
    return record(variables, Operation.INDEPENDENT, children=children)


def of_sum(extra, score=0.0):
    """A sum of two leaves with scores −20 and −30; the leaf beside it has their score, or more by `extra`."""
    own = -50 + score + CHOICE  # five rows in each
    price = PRICE * (5 - 2)  # two leaves of two parameters each and a weight, or two parameters
    return [
        mixture([0, 1], [1, 2], own - price + extra, score=score),
        leaf([0, 1], -20, 0.2, total=ROWS / 2),
        leaf([0, 1], -30, 0.8, total=ROWS / 2),
    ]


@pytest.mark.parametrize("entropy", [0.0, 3.5])
def test_a_sum_stays_if_it_pays_for_its_parameters(entropy):
    kept = pruned(of_sum(-1e-6, entropy))
    assert [r.operation for r in kept] == [Operation.CLUSTER, Operation.UNIVARIATE, Operation.UNIVARIATE]
    assert kept[0].children == [1, 2]
    dropped = pruned(of_sum(1e-6, entropy))
    assert [r.operation for r in dropped] == [Operation.PRUNED]
    assert dropped[0].node.children[0].p == 0.25
    assert dropped[0].detail == "beside"


def test_a_sum_without_a_leaf_beside_it_stays():
    records = of_sum(100.0)
    records[0].instead = None
    assert len(pruned(records)) == 3


def test_sums_below_are_judged_first():
    """Whether a sum pays depends on what its parts are worth after they were pruned themselves."""

    def nested(inner_gain, outer_leaf):
        inner = of_sum(inner_gain)
        inner[0].total = ROWS / 2
        inner[0].children = [3, 4]
        return [
            mixture([0, 1], [1, 2], outer_leaf),
            leaf([0, 1], -1, total=ROWS / 2),
            inner[0],
            *inner[1:],
        ]

    inner_leaf = of_sum(5.0)[0].instead_score
    at = -1 + inner_leaf + CHOICE - PRICE * (5 - 2)
    assert [r.operation.name for r in pruned(nested(5.0, at - 1e-6))] == ["CLUSTER", "UNIVARIATE", "PRUNED"]
    assert [r.operation.name for r in pruned(nested(5.0, at + 1e-6))] == ["PRUNED"]


def test_the_records_that_remain_are_a_tree():
    """A product of two sums, of which the first is pruned: the children of the second move up."""
    first, second = of_sum(1.0), of_sum(-1.0)
    for r in second:
        r.task = Task(r.task.rows, np.array([2, 3]), seed=0)
    second = [
        mixture([2, 3], [5, 6], second[0].instead_score),
        leaf([2, 3], -20, 0.2, total=ROWS / 2),
        leaf([2, 3], -30, 0.8, total=ROWS / 2),
    ]
    first[0].children = [3, 4]
    found = pruned([product([0, 1, 2, 3], [1, 2]), first[0], second[0], *first[1:], *second[1:]])
    assert [r.operation.name for r in found] == ["INDEPENDENT", "PRUNED", "CLUSTER", "UNIVARIATE", "UNIVARIATE"]
    assert [r.children for r in found] == [[1, 2], [], [3, 4], [], []]
    built = assemble(found, 4)
    assert total_probability(Circuit.of_graph(built.graph)) == pytest.approx(1)
    assert [entry.branch.parent for entry in built.trace.entries[1:]] == [0, 0, 2, 2]


def test_leaves_beside_the_children_count_too():
    """The indicators of a split on one variable have parameters of their own."""
    price = n_parameters_of(Bernoulli(2, p=1.0))

    def cut(extra):
        records = of_sum(0.0)
        records[0].instead_score += extra - PRICE * (2 * price + 1 - 1)
        records[0].instead = Candidate("beside", Product([Bernoulli(v, p=0.25) for v in (0, 1)]), np.zeros(int(ROWS)))
        records[0].extra = [[Bernoulli(2, p=0.0)], [Bernoulli(2, p=1.0)]]
        return records

    assert len(pruned(cut(-1e-6))) == 3
    assert len(pruned(cut(1e-6))) == 1


def test_parameters_are_those_of_the_circuit():
    node = Sum(
        [0.25, 0.75],
        [
            Product([Bernoulli(0, p=0.5), Exchangeable.from_class_probabilities([1, 2], [0.25, 0.5, 0.25])]),
            Product([Bernoulli(v, p=0.1) for v in range(3)]),
        ],
    )
    assert n_parameters_of(node) == Circuit(node).summary().parameters


def test_learning_prunes_what_gains_nothing_and_keeps_what_gains(rng):
    """Rows of noise end as few nodes; clusters that nobody could confuse stay."""
    table, _ = two_clusters(rng, rows=400)
    _, trace = learned(table, exchangeability="evidence")
    assert trace.entries[0].operation is Operation.CLUSTER
    single, trace = learned(exchangeable_table(rng, 400, 8), exchangeability="evidence")
    assert len(trace.entries) == 1
    assert single.root.children == ()


def test_the_trace_of_pruned_circuits_names_their_nodes(rng):
    found = 0
    for _ in range(15):
        changes = np.hstack([rng.random((60, 1)) < 0.5, rng.random((60, 7)) < 0.2])
        table = np.cumsum(changes, axis=1) % 2  # a chain
        circuit, trace = learned(table, exchangeability="evidence")
        found += any(entry.operation is Operation.PRUNED for entry in trace.entries)
        for k, entry in enumerate(trace.entries):
            assert (entry.branch is None) == (k == 0)
            if entry.branch is not None:
                parent = trace.entries[entry.branch.parent]
                assert entry.branch.parent < k
                assert set(entry.variables) <= set(parent.variables)
                assert parent.operation is not Operation.PRUNED
        assert total_probability(circuit) == pytest.approx(1)
    assert found  # something was pruned at all


def test_a_cut_pays_for_the_products_below_it():
    """What is independent given each value is chosen from many partitions; the edges of a tree are paid for, too."""
    variables = tuple(range(7))

    def below(sizes):
        ends = np.cumsum(sizes)
        parts = [variables[end - size : end] for size, end in zip(sizes, ends, strict=True)]
        product = record(variables, Operation.INDEPENDENT, children=list(range(1, len(sizes) + 1)))
        return [product, *(leaf(part, 0.0) for part in parts)]

    assert _log_partitions(below((4, 3)), 0) == pytest.approx(np.log(35))
    assert _log_partitions(below((3, 3, 1)), 0) == pytest.approx(np.log(70))  # two threes, in either order
    assert _log_partitions(below((1,) * 7), 0) == pytest.approx(0.0)  # nothing to choose
    assert _log_partitions(below((4, 3)), 1) == 0.0
