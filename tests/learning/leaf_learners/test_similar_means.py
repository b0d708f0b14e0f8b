"""Blocks of similar means against scipy's Welch test, column by column."""

import numpy as np
import pytest
from scipy.stats import ttest_ind

from support.learning import random_table
from xspn.learning.leaf_learners.blocks import _welch_p, blocks_of_similar_means


def p_by_scipy(first, second):
    """Welch's test; columns without any variance are the same or surely different."""
    if first.var() == 0 and second.var() == 0:
        return 1.0 if first.mean() == second.mean() else 0.0
    return ttest_ind(first, second, equal_var=False).pvalue


def blocks_by_scipy(table, level):
    """The rule of the paper's program: sort by mean, start a block where the test tells a column from its first."""
    order = np.argsort(table.sum(axis=0), kind="stable")
    blocks = [[order[0]]]
    for column in order[1:]:
        if p_by_scipy(table[:, blocks[-1][0]], table[:, column]) < level:
            blocks.append([])
        blocks[-1].append(column)
    return [list(map(int, block)) for block in blocks]


@pytest.mark.filterwarnings("ignore:Precision loss")  # scipy, of a constant column against another
@pytest.mark.parametrize("rows", [2, 5, 60])
@pytest.mark.parametrize("level", [0.01, 0.1, 0.5])
def test_blocks_are_those_of_the_rule(rng, rows, level):
    for _ in range(10):
        table = random_table(rng, rows, 9).astype(float)
        found = blocks_of_similar_means(table.sum(axis=0), float(rows), level)
        assert [block.tolist() for block in found] == blocks_by_scipy(table, level)


def test_p_values_are_scipys(rng):
    table = (rng.random((40, 6)) < rng.random(6)).astype(float)
    means, variances = table.mean(axis=0), table.var(axis=0, ddof=1)
    found = _welch_p(means, variances / 40, np.full(6, 39.0))
    np.testing.assert_allclose(found, [p_by_scipy(table[:, 0], table[:, j]) for j in range(1, 6)], rtol=1e-9)


def test_every_variable_is_in_one_block(rng):
    ones = rng.integers(0, 101, size=30).astype(float)
    blocks = blocks_of_similar_means(ones, 100.0, 0.1)
    assert sorted(np.concatenate(blocks).tolist()) == list(range(30))
    assert [ones[block].max() for block in blocks] == sorted(ones[block].max() for block in blocks)


def test_one_row_tells_zeros_from_ones_only():
    blocks = blocks_of_similar_means(np.array([1.0, 0.0, 1.0, 0.0]), 1.0, 0.1)
    assert [block.tolist() for block in blocks] == [[1, 3], [0, 2]]
