"""A task knows its place: its seed, its depth, and the rows of the sum above it."""

import numpy as np

from xspn.learning.policy import Dependence
from xspn.learning.task import Task


def root():
    return Task(np.arange(10), np.arange(4), seed=7)


def test_each_place_in_the_tree_has_a_seed_of_its_own():
    def seeds(task, depth):
        below = [seed for k in range(3) for seed in seeds(task.child(k), depth - 1)] if depth else []
        return [task.seed, *below]

    found = seeds(root(), 3)
    assert len(set(found)) == len(found)
    assert found == seeds(root(), 3)


def test_a_cluster_has_the_rows_it_was_cut_from_as_context():
    cluster = root().child(0, rows=np.arange(5))
    np.testing.assert_array_equal(cluster.context, np.arange(10))
    factor = cluster.child(1, variables=np.array([2]), known=Dependence.CONNECTED)
    np.testing.assert_array_equal(factor.context, np.arange(10))
    np.testing.assert_array_equal(factor.rows, np.arange(5))
    inner = factor.child(0, rows=np.arange(2))
    np.testing.assert_array_equal(inner.context, np.arange(5))
    assert inner.depth == 3


def test_above_any_sum_there_is_no_context():
    factor = root().child(0, variables=np.array([1, 2]), known=Dependence.CONNECTED)
    assert root().context is None
    assert factor.context is None
    assert factor.known is Dependence.CONNECTED
    assert factor.child(0).known is Dependence.UNKNOWN
