"""Rows are drawn by their position and a seed alone."""

import numpy as np
import pytest

from xspn.distributed.passes import ALL, drawn, threshold


def test_everything_is_drawn_where_little_is_there():
    assert threshold(100, 80.0) == ALL
    assert drawn(0, np.arange(50), 3, ALL).all()


def test_about_as_many_are_drawn_as_were_wanted():
    bound = threshold(1000, 100_000.0)
    counts = [sum(drawn(p, np.arange(1000), seed, bound).sum() for p in range(100)) for seed in range(5)]
    assert np.abs(np.array(counts) - 1000).max() < 5 * np.sqrt(1000)


def test_the_same_rows_are_drawn_however_they_are_cut():
    bound = ALL // 3
    whole = drawn(2, np.arange(1000), 77, bound)
    parts = [drawn(2, np.arange(first, first + 100), 77, bound) for first in range(0, 1000, 100)]
    np.testing.assert_array_equal(whole, np.concatenate(parts))


@pytest.mark.parametrize(("other_partition", "other_seed"), [(1, 5), (0, 6), (0, 2**63 + 5)])
def test_other_partitions_and_seeds_draw_independently(other_partition, other_seed):
    first = drawn(0, np.arange(20_000), 5, ALL // 2)
    second = drawn(other_partition, np.arange(20_000), other_seed, ALL // 2)
    assert abs((first == second).mean() - 0.5) < 0.02
