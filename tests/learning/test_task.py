"""A task knows its place: its seed, its depth, and the rows of the sum above it."""

import numpy as np

from xspn.learning.task import Dependence, Rows, Task


def root():
    return Task(some_rows(10), np.arange(4), seed=7)


def some_rows(n):
    return Rows(np.arange(n), np.ones(n))


def test_each_place_in_the_tree_has_a_seed_of_its_own():
    def seeds(task, depth):
        below = [seed for k in range(3) for seed in seeds(task.child(k), depth - 1)] if depth else []
        return [task.seed, *below]

    found = seeds(root(), 3)
    assert len(set(found)) == len(found)
    assert found == seeds(root(), 3)


def test_a_cluster_has_the_rows_it_was_cut_from_as_context():
    cluster = root().child(0, rows=some_rows(5))
    np.testing.assert_array_equal(cluster.context.index, np.arange(10))
    factor = cluster.child(1, variables=np.array([2]), known=Dependence.CONNECTED)
    np.testing.assert_array_equal(factor.context.index, np.arange(10))
    np.testing.assert_array_equal(factor.rows.index, np.arange(5))
    inner = factor.child(0, rows=some_rows(2))
    np.testing.assert_array_equal(inner.context.index, np.arange(5))
    assert inner.depth == 3


def test_above_any_sum_there_is_no_context():
    factor = root().child(0, variables=np.array([1, 2]), known=Dependence.CONNECTED)
    assert root().context is None
    assert factor.context is None
    assert factor.known is Dependence.CONNECTED
    assert factor.child(0).known is Dependence.UNKNOWN


def test_a_row_belongs_to_a_cluster_by_its_responsibility():
    part = Rows(np.arange(4), np.array([1.0, 2.0, 4.0, 8.0])).part(np.array([1.0, 0.5, 0.0, 0.001]))
    assert part.index.tolist() == [0, 1]  # negligible responsibilities are dropped
    assert part.weights.tolist() == [1.0, 1.0]
