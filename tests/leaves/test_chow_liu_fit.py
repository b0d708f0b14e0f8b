"""Learning a Chow-Liu tree from pair counts."""

from itertools import product

import numpy as np
import pytest

from xspn import ChowLiu
from xspn.core.errors import ParameterError


def log_likelihood(tree, rows, weights):
    return float(weights @ tree.log_prob(rows))


def all_trees(n):
    """Every tree over n variables with root 0."""
    for parents in product(range(n), repeat=n - 1):
        candidate = [-1, *parents]
        try:
            yield ChowLiu(range(n), candidate, np.full((n, 2), 0.5))
        except ParameterError:
            continue  # a cycle


@pytest.mark.parametrize("seed", range(8))
def test_no_other_tree_fits_better(seed):
    rng = np.random.default_rng(seed)
    rows = (rng.random((40, 4)) < 0.5).astype(float)
    rows[:, 1] = np.where(rng.random(40) < 0.8, rows[:, 0], rows[:, 1])
    rows[:, 3] = np.where(rng.random(40) < 0.7, rows[:, 2], rows[:, 3])
    weights = rng.random(40)
    found = ChowLiu.from_pair_counts(range(4), rows.T @ (rows * weights[:, None]), weights.sum())
    best = log_likelihood(found, rows, weights)
    for tree in all_trees(4):
        fit = tree.from_statistics(tree.statistics(rows, weights))
        assert best >= log_likelihood(fit, rows, weights) - 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_rounded_weighted_counts_are_no_obstacle(seed):
    """G = XᵀX of fractional weights leaves cells of −1e−17 that should be 0."""
    rng = np.random.default_rng(seed)
    rows = (rng.random((12, 5)) < 0.5).astype(float)
    rows[:, 1] = rows[:, 0]
    rows[:, 2] = 1 - rows[:, 0]
    rows[:, 3] = np.maximum(rows[:, 0], rows[:, 3])
    weights = rng.random(12) / 3
    tree = ChowLiu.from_pair_counts(range(5), rows.T @ (rows * weights[:, None]), float(weights.sum()))
    assert np.isfinite(tree.log_prob(rows)).all()


def test_smoothed_counts_match_the_leafs_own_statistics():
    rng = np.random.default_rng(3)
    rows = (rng.random((30, 5)) < 0.4).astype(float)
    tree = ChowLiu.from_pair_counts([4, 2, 7, 0, 1], rows.T @ rows, 30, smoothing=0.3)
    again = tree.from_statistics(tree.statistics(rows, np.ones(30)), smoothing=0.3)
    assert tree.variables == (4, 2, 7, 0, 1)
    np.testing.assert_allclose(again.p, tree.p, rtol=1e-12)


def test_no_rows_and_no_smoothing():
    with pytest.raises(ParameterError, match="nothing to learn from"):
        ChowLiu.from_pair_counts([0, 1], np.zeros((2, 2)), 0)


def test_counts_that_contradict_each_other():
    with pytest.raises(ParameterError, match="occurs more often"):
        ChowLiu.from_pair_counts([0, 1], np.array([[2.0, 5.0], [5.0, 3.0]]), 10)
