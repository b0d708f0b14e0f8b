"""Why each node is what it is: every decision is kept and points to the node that came of it."""

import numpy as np
import pytest

from support.learning import learned, random_table
from xspn.learning.config import LearnConfig
from xspn.learning.data import BinaryData
from xspn.learning.ensemble import learn_ensemble
from xspn.learning.policy import Operation

CHOICES = {"min_instances": 5, "independence_threshold": 1.0}


@pytest.fixture(params=["auto", "variable", "bernoulli"])
def found(request, rng):
    return learned(random_table(rng, 300, 8), clustering=request.param, **CHOICES)


@pytest.fixture
def ensemble(rng):
    data = BinaryData.of(random_table(rng, 200, 6))
    return learn_ensemble(data, LearnConfig(**CHOICES), seed=1, n_circuits=3)


def test_each_decision_points_to_a_node_over_its_variables(found):
    circuit, trace = found
    for entry in trace:
        assert set(entry.variables) <= set(circuit.graph.nodes[entry.node].scope)


def test_decisions_of_an_ensemble_point_to_nodes_of_the_whole(ensemble):
    for entry in ensemble.trace:
        assert set(entry.variables) <= set(ensemble.graph.nodes[entry.node].scope)
        if entry.branch is None:
            assert ensemble.graph.nodes[entry.node] in ensemble.graph.root.children
        else:
            assert set(entry.variables) <= set(ensemble.trace.entries[entry.branch.parent].variables)
    assert sum(entry.branch is None for entry in ensemble.trace) == 3


def test_decisions_that_end_in_leaves_account_for_every_cell(found):
    """Rows × variables of the leaves and of the cuts add up to the table."""
    _, trace = found
    parents = {entry.branch.parent for entry in trace if entry.branch is not None}
    ends = sum(entry.rows * len(entry.variables) for k, entry in enumerate(trace.entries) if k not in parents)
    cuts = sum(entry.rows for entry in trace if entry.detail.startswith("split on"))
    assert ends + cuts == 300 * 8


def test_what_is_kept_of_a_decision(found):
    _, trace = found
    assert len(trace) == len(trace.entries)
    for entry in trace:
        assert isinstance(entry.operation, Operation)
        assert entry.rows > 0
        assert entry.seconds >= 0
        assert entry.depth == len(path(trace, entry))
        assert entry.operation.value in str(entry)
        if entry.operation is Operation.EXCHANGEABLE:
            assert entry.test is not None
            assert "degrees of freedom, p =" in str(entry)
    assert str(trace).count("\n") == len(trace) - 1


def path(trace, entry):
    steps = []
    while entry.branch is not None:
        steps.append(entry.branch)
        entry = trace.entries[entry.branch.parent]
    return steps[::-1]


def test_the_context_is_the_clusters_that_a_decision_was_made_in(found):
    _, trace = found
    deep = max(trace, key=lambda entry: entry.depth)
    assert trace.context(deep) == [branch for branch in path(trace, deep) if branch.is_cluster]
    assert trace.context(trace.entries[0]) == []


def test_a_cut_is_told_by_variable_and_value(rng):
    table = random_table(rng, 300, 8)
    _, trace = learned(table, clustering="variable", exchangeability=None, **CHOICES)
    cuts = [entry for entry in trace if entry.detail.startswith("split on")]
    assert cuts
    for entry in trace:
        where = np.ones(300, dtype=bool)
        for branch in trace.context(entry):
            where &= table[:, branch.variable] == branch.place
        assert where.sum() == entry.rows


def test_why_collects_the_decisions_of_a_node(found):
    circuit, trace = found
    collected = [entry for node in range(len(circuit.graph)) for entry in trace.why(node)]
    assert sorted(map(id, collected)) == sorted(map(id, trace))


def test_a_test_is_told_by_what_speaks_most_against_exchangeability(rng):
    table = rng.random((400, 40)) < 0.3
    assert "global test: " in str(learned(table)[1].entries[0])
    table[:, 7] = rng.random(400) < 0.8
    assert "; global test: mean of X7, " in str(learned(table)[1].entries[0])
    table[:, 7] = table[:, 3]
    assert "; global test: association of X3 and X7, " in str(learned(table)[1].entries[0])
    blocks = rng.random((400, 8)) < np.repeat(rng.random((400, 2)), 4, axis=1)
    assert "; global test: pairs, " in str(learned(blocks)[1].entries[0])
    assert "; pairwise test: 0" in str(
        learned(np.repeat(table[:, :1], 3, axis=1), exchangeability="pairwise")[1].entries[0]
    )


def test_columns_of_a_slice_are_told_by_their_own_numbers(rng):
    """The constant column is split off, so X7 is the seventh of the slice that is tested."""
    table = rng.random((400, 40)) < 0.3
    table[:, 2], table[:, 7] = 1, rng.random(400) < 0.8
    assert any("mean of X7, " in str(entry) for entry in learned(table)[1])
