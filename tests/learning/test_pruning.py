"""Sub-trees that predict no better than a leaf give way to it."""

import numpy as np
import pytest

from support.learning import exchangeable_table, learned, random_table, total_probability, two_clusters
from xspn import Bernoulli, Exchangeable, Sum
from xspn.learning.assembly import Record
from xspn.learning.config import PublishedProgram
from xspn.learning.fallback import Candidate
from xspn.learning.policy import Operation
from xspn.learning.pruning import pruned
from xspn.learning.task import Rows, Task

NOTHING = Task(Rows(np.zeros(0, dtype=np.int64), np.zeros(0)), np.arange(1), seed=0)


def leaf(score, rows=1.0):
    return Record(NOTHING, Operation.FEW_ROWS, "", rows, None, node=Bernoulli(0, p=0.5), score=score)


def inner(children, leaf_score, weights=None):
    proposal = Candidate("proposed", Bernoulli(0, p=0.25), np.zeros(0))
    rows = 10.0
    return Record(
        NOTHING, Operation.CLUSTER, "", rows, None, weights=weights, children=children, leaf=proposal,
        score_of_leaf=leaf_score,
    )  # fmt: skip


def test_a_leaf_that_scores_higher_takes_the_place():
    found = pruned([inner([1, 2], -5.0), leaf(-3.0), leaf(-4.0)])
    assert [record.operation for record in found] == [Operation.PRUNED]
    assert found[0].node.p == 0.25
    assert found[0].detail == "proposed"
    assert found[0].children == []


def test_what_earns_its_place_stays():
    records = [inner([1, 2], -8.0), leaf(-3.0), leaf(-4.0)]
    assert [record.node for record in pruned(records)] == [record.node for record in records]


def test_naming_the_cluster_of_each_row_costs():
    rows = [leaf(-3.0, rows=4.0), leaf(-3.0, rows=4.0)]
    cost = 8 * np.log(2)
    assert len(pruned([inner([1, 2], -6.0 - cost - 0.1, [0.5, 0.5]), *rows])) == 3
    assert len(pruned([inner([1, 2], -6.0 - cost + 0.1, [0.5, 0.5]), *rows])) == 1


def test_places_move_up_when_others_go():
    records = [inner([1, 2], -99.0), inner([3, 4], -1.0), inner([5, 6], -99.0), *(leaf(-1.0) for _ in range(4))]
    found = pruned(records)
    assert [record.children for record in found] == [[1, 2], [], [3, 4], [], []]
    assert found[1].operation is Operation.PRUNED


def test_what_was_pruned_below_counts_above():
    records = [inner([1], -2.0), inner([2], -1.0), leaf(-50.0)]
    assert [record.operation for record in pruned(records)] == [Operation.CLUSTER, Operation.PRUNED]


@pytest.mark.parametrize("fallback", ["auto", "sparing", "factorized"])
def test_pruned_circuits_are_distributions_with_a_trace(rng, fallback):
    circuit, trace = learned(random_table(rng, 300, 6), prune=True, fallback=fallback)
    assert total_probability(circuit) == pytest.approx(1.0)
    for entry in trace:
        assert set(entry.variables) <= set(circuit.graph.nodes[entry.node].scope)


def test_a_test_that_is_too_strict_is_overruled(rng):
    table = exchangeable_table(rng, 1000, 6)
    settings = {"significance": 0.9999, "published": PublishedProgram(), "fallback": "factorized"}
    grown, _ = learned(table, **settings)
    found, trace = learned(table, prune=True, **settings)
    assert isinstance(grown.root, Sum)
    assert isinstance(found.root, Exchangeable)
    assert [entry.operation for entry in trace] == [Operation.PRUNED]


def test_clusters_that_are_real_are_kept(rng):
    table, _ = two_clusters(rng, 600, 8)
    assert isinstance(learned(table, prune=True, exchangeability=None)[0].root, Sum)
