"""Blocks that neither merging nor moving finds, and groups that look independent but have contexts in common."""

import numpy as np
import pytest

from xspn import XSPN
from xspn.learning.blocks.contexts import one_context
from xspn.learning.blocks.joining import joined_by_contexts
from xspn.learning.blocks.search import halves, residual_pairs
from xspn.paper.datasets.planted import planted


def one_of_each(rng, rows, size):
    """Rows with exactly one of the first variables and exactly one of the others."""
    X = np.zeros((rows, 2 * size), dtype=np.uint8)
    X[np.arange(rows), rng.integers(0, size, rows)] = 1
    X[np.arange(rows), size + rng.integers(0, size, rows)] = 1
    return X


def blocks(X, weights=None):
    found = one_context(X, np.ones(len(X)) if weights is None else weights).blocks
    return sorted(sorted(block.tolist()) for block in found)


@pytest.mark.parametrize("seed", range(5))
def test_two_groups_that_each_exclude_each_other_are_two_blocks(seed):
    rng = np.random.default_rng(seed)
    X = one_of_each(rng, 300, 12)
    order = rng.permutation(24)
    expected = sorted(sorted(np.flatnonzero(np.isin(order, half)).tolist()) for half in (range(12), range(12, 24)))
    assert blocks(X[:, order]) == expected


def test_a_few_rows_with_many_ones_do_not_hide_them(rng):
    many = (rng.random((20, 24)) < 0.5).astype(np.uint8)
    X = np.concatenate([one_of_each(rng, 300, 12), many])
    assert blocks(X) == [list(range(12)), list(range(12, 24))]


def test_weights_are_as_good_as_repeated_rows(rng):
    X, weights = one_of_each(rng, 150, 6), rng.integers(1, 4, 150)
    assert blocks(X, weights.astype(float)) == blocks(np.repeat(X, weights, axis=0))


@pytest.mark.parametrize("n", [4, 9, 30])
def test_an_exchangeable_block_is_not_cut(rng, n):
    X = (rng.random((400, n)) < rng.beta(0.4, 0.6, size=(400, 1))).astype(np.uint8)
    assert blocks(X) == [list(range(n))]


def test_halves_are_those_of_the_largest_eigenvalue(rng):
    X = one_of_each(rng, 400, 8)
    residual = residual_pairs(X.T.copy(), X.sum(axis=1).astype(np.int16), np.ones(400))
    values, vectors = np.linalg.eigh(-residual)
    assert values[-1] > 2 * values[-2]
    found, expected = halves(residual, -1.0), vectors[:, -1] > 0
    assert np.array_equal(found, expected) or np.array_equal(found, ~expected)
    np.testing.assert_allclose(residual.sum(axis=1), 0.0, atol=1e-8)


def test_residuals_of_equal_rows_are_zero():
    columns = np.ones((5, 10), dtype=np.uint8)
    residual = residual_pairs(columns, np.full(10, 5, dtype=np.int16), np.ones(10))
    np.testing.assert_array_equal(residual, 0.0)
    assert halves(residual, 1.0).sum() in (0, 1, 5)


def test_variables_join_the_contexts_that_tell_of_them(rng):
    context = rng.integers(0, 2, 500)
    X = (rng.random((500, 9)) < np.where(context, 0.85, 0.15)[:, None]).astype(np.uint8)
    X[:, 4:6] = X[:, 3:4]
    X[:, 6], X[:, 8] = rng.integers(0, 2, 500), rng.random(500) < 0.3
    X[:, 7] = np.where(context, X[:, 6], 1 - X[:, 6])  # copies in one context, opposites in the other
    groups, own = [np.arange(6), *np.arange(6, 9)[:, None]], [np.arange(3), np.arange(3, 6), *np.arange(6, 9)[:, None]]
    found = joined_by_contexts(X, np.ones(500), groups, own)
    assert set(range(8)) <= set(found[0].tolist())
    assert [g.tolist() for g in joined_by_contexts(X, np.ones(500), groups[1:], own[2:])] == [[6], [7], [8]]


@pytest.mark.parametrize(("family", "seed"), [("contexts", 28), ("nested", 14), ("nested", 16)])
def test_planted_truths_that_were_missed_are_found(family, seed):
    truth = planted(family, 24, random_state=seed)
    fresh = truth.sample(5000, random_state=1)
    model = XSPN(random_state=seed).fit(truth.sample(1000, random_state=1000 + seed))
    assert truth.log_likelihood(fresh).mean() - model.score(fresh) < 0.1
