"""From records of decisions to nodes: what is merged into what, and ten thousand levels of it."""

import numpy as np
import pytest

from xspn import Bernoulli, Exchangeable, Product, Sum
from xspn.circuit import Circuit
from xspn.learning.assembly import Record, assemble
from xspn.learning.policy import Operation
from xspn.learning.task import Rows, Task

DEPTH = 10_000


def record(variables, *, node=None, weights=None, cut=None, children=(), extra=()):
    operation = Operation.CLUSTER if weights is not None else Operation.INDEPENDENT
    task = Task(Rows(np.arange(1), np.ones(1)), np.array(variables), seed=0)
    made = Record(task, Operation.FEW_ROWS if node is not None else operation, "", 1.0, None)
    made.node, made.weights, made.cut = node, weights, cut
    made.children, made.extra = list(children), list(extra)
    return made


def coin(variable, p=0.3):
    return record([variable], node=Bernoulli(variable, p=p))


def test_a_leaf_is_a_circuit():
    found = assemble([coin(0)], 3)
    assert found.graph.n_variables == 3
    assert len(found.graph) == 1
    assert found.trace.entries[0].node == 0


def test_a_sum_of_sums_is_one_sum():
    records = [
        record([0], weights=[0.25, 0.75], children=[1, 2]),
        record([0], weights=[0.4, 0.6], children=[3, 4]),
        coin(0, 0.1),
        coin(0, 0.2),
        coin(0, 0.3),
    ]
    found = assemble(records, 1)
    root = found.graph.root
    assert isinstance(root, Sum)
    assert [child.p for child in root.children] == [0.2, 0.3, 0.1]
    np.testing.assert_allclose(root.weights, [0.1, 0.15, 0.75])
    assert [entry.node for entry in found.trace][:2] == [found.graph.id_of(root)] * 2


def test_a_product_of_products_is_one_product_in_the_order_of_the_records():
    inside = Product([Bernoulli(2, p=0.5), Bernoulli(3, p=0.5)])
    records = [
        record([0, 1, 2, 3], children=[1, 2]),
        record([0, 1], children=[3, 4]),
        record([2, 3], node=inside),
        coin(0),
        coin(1),
    ]
    root = assemble(records, 4).graph.root
    assert [sorted(child.scope) for child in root.children] == [[0], [1], [2], [3]]


def test_a_mixture_of_leaves_goes_into_the_mixture_above():
    stacked = Sum([0.5, 0.5], [Bernoulli(0, p=0.1), Bernoulli(0, p=0.9)])
    records = [record([0], weights=[0.2, 0.8], children=[1, 2]), record([0], node=stacked), coin(0, 0.4)]
    root = assemble(records, 1).graph.root
    np.testing.assert_allclose(root.weights, [0.1, 0.1, 0.8])


def indicators(variable):
    return [[Bernoulli(variable, p=0.0)], [Bernoulli(variable, p=1.0)]]


def test_a_cut_puts_the_indicator_beside_what_was_learned_for_it():
    records = [
        record([0, 1, 2], weights=[0.3, 0.7], cut=1, extra=indicators(1), children=[1, 2]),
        record([0, 2], children=[3, 4]),
        record([0, 2], node=Exchangeable.uniform([0, 2])),
        coin(0),
        coin(2),
    ]
    found = assemble(records, 3)
    zero, one = found.graph.root.children
    assert [sorted(child.scope) for child in zero.children] == [[1], [0], [2]]
    assert [sorted(child.scope) for child in one.children] == [[1], [0, 2]]
    nodes = [found.graph.nodes[entry.node] for entry in found.trace]
    assert nodes == [found.graph.root, zero, one.children[1], zero.children[1], zero.children[2]]


def test_a_cut_in_a_mixture_gives_its_branches_to_the_mixture():
    records = [
        record([0, 1], weights=[0.5, 0.5], children=[1, 2]),
        record([0, 1], weights=[0.2, 0.8], cut=0, extra=indicators(0), children=[3, 4]),
        record([0, 1], node=Exchangeable.uniform([0, 1])),
        coin(1),
        coin(1),
    ]
    root = assemble(records, 2).graph.root
    np.testing.assert_allclose(root.weights, [0.1, 0.4, 0.5])
    assert [type(child) for child in root.children] == [Product, Product, Exchangeable]


def test_branches_tell_where_each_decision_hangs():
    records = [
        record([0, 1, 2], weights=[0.3, 0.7], cut=1, extra=indicators(1), children=[1, 2]),
        record([0, 2], children=[3, 4]),
        record([0, 2], node=Exchangeable.uniform([0, 2])),
        coin(0),
        coin(2),
    ]
    trace = assemble(records, 3).trace
    assert trace.entries[0].branch is None
    branch = trace.entries[2].branch
    assert (branch.parent, branch.is_cluster, branch.variable, branch.place, branch.of) == (0, True, 1, 1, 2)
    factor = trace.entries[4].branch
    assert (factor.parent, factor.is_cluster, factor.variable, factor.place, factor.of) == (1, False, None, 1, 2)
    assert trace.context(trace.entries[4]) == [trace.entries[1].branch]


def chain_of_sums_and_products():
    """A sum over a product of a coin and the next sum, and so on."""
    records = []
    for level in range(DEPTH):
        at = len(records)
        if level == DEPTH - 1:
            records.append(coin(level))
        else:
            records.append(record([level], weights=[1.0], children=[at + 1], extra=[[]]))
            records.append(record([level], children=[at + 2, at + 3]))
            records.append(coin(level))
    return records, DEPTH


def chain_of_sums():
    records = []
    for _ in range(DEPTH):
        at = len(records)
        records.append(record([0], weights=[0.5, 0.5], children=[at + 1, at + 2]))
        records.append(coin(0))
    return [*records, coin(0)], 1


def chain_of_products():
    records = []
    for level in range(DEPTH):
        at = len(records)
        records.append(record([level], children=[at + 1, at + 2]))
        records.append(coin(level))
    return [*records, coin(DEPTH)], DEPTH + 1


def chain_of_cuts():
    """Each cut has met one value of its variable only."""
    records = []
    for level in range(DEPTH - 1):
        beside = [[Bernoulli(level, p=0.0)]]
        records.append(record([level], weights=[1.0], cut=level, extra=beside, children=[level + 1]))
    return [*records, coin(DEPTH - 1)], DEPTH


@pytest.mark.parametrize(
    ("chain", "levels"),
    [
        (chain_of_sums_and_products, 2 * DEPTH - 2),
        (chain_of_sums, 1),
        (chain_of_products, 1),
        (chain_of_cuts, 2 * DEPTH - 2),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_ten_thousand_levels_are_assembled_without_recursion(chain, levels):
    records, n_variables = chain()
    found = assemble(records, n_variables)
    assert found.graph.levels.max() == levels
    assert len(found.trace) == len(records)
    assert np.isfinite(Circuit.of_graph(found.graph).log_likelihood(np.zeros((1, n_variables))))[0]
