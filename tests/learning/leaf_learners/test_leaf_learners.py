"""LeafLearner leaves: their parameters, and leave-one-out scores against leaving each row out and fitting again."""

import numpy as np
import pytest

from support.learning import all_assignments, exchangeable_table, random_table, summary, total_probability
from xspn.circuit import Circuit
from xspn.learning.leaf_learners import LeafData, LeafOptions, leaf_learners
from xspn.learning.leaf_learners.blocks import blocks_of_similar_means, evidence_blocks_leaf
from xspn.leaves.bernoulli import Bernoulli
from xspn.leaves.beta_binomial import BetaBinomial
from xspn.leaves.exchangeable import Exchangeable

SHRINKAGE = 2.0
SPREADS = ("values", "assignments")


class Case:
    """A weighted slice, perhaps with a context that holds it, and the same without one of its rows."""

    def __init__(self, rng, with_context, columns=4, fractional=False):
        self.context = random_table(rng, 30, columns)
        self.context_weights = rng.integers(1, 4, size=30).astype(float) + (0.25 if fractional else 0.0)
        self.own = np.arange(12)  # the slice is the context's first rows
        self.scale = SHRINKAGE / self.context_weights.sum() if with_context else 0.0

    def data(self, leave_one_out=None):
        """The slice, less one occurrence of a row; what the context counts for stays as it is."""
        weights = self.context_weights.copy()
        if leave_one_out is not None:
            weights[leave_one_out] -= 1
        own = summary(self.context[self.own], weights[self.own])
        if self.scale == 0:
            return LeafData.alone(own)
        return LeafData.in_context(own, self.context.astype(np.float32), weights, self.scale * weights.sum())

    def rows(self):
        return self.context[self.own].astype(float)


def log_prob(node, row, columns):
    return Circuit(node, n_variables=columns).log_likelihood(row[None, :])[0]


@pytest.fixture(params=[False, True], ids=["alone", "in context"])
def case(request, rng):
    return Case(rng, request.param)


@pytest.mark.parametrize("name", ["factorized", "exchangeable"])
@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("smoothing", [0.1, 2.0])
def test_scores_are_those_of_leaving_each_row_out(case, name, spread, smoothing):
    options = LeafOptions(smoothing, spread)
    found = leaf_learners.for_bits(name)(case.data(), np.arange(4), options)
    for index, row in enumerate(case.rows()):
        without = leaf_learners.for_bits(name)(case.data(leave_one_out=index), np.arange(4), options)
        assert found.leave_one_out[index] == pytest.approx(log_prob(without.node, row, 4), abs=1e-6)


@pytest.mark.parametrize("spread", SPREADS)
def test_scores_of_blocks_hold_the_blocks_fixed(case, spread):
    options = LeafOptions(0.1, spread)
    data = case.data()
    found = leaf_learners.for_bits("blocks")(data, np.arange(4), options)
    blocks = blocks_of_similar_means(data.own.ones, data.own.total, options.block_level)
    expected = np.zeros(len(case.own))
    for block in blocks:
        part = Case.__new__(Case)
        part.__dict__ = {**case.__dict__, "context": case.context[:, block]}
        positions = np.arange(len(block))
        expected += leaf_learners.for_bits("exchangeable")(part.data(), positions, options).leave_one_out
    np.testing.assert_allclose(found.leave_one_out, expected, atol=1e-9)


def test_blocks_are_those_of_the_slices_own_rows():
    """The context lends its rows to the parameters, not to the question which columns are alike."""
    own = summary(np.tile([0, 0, 1, 1], (30, 1)))
    context = np.tile([0, 1, 0, 1], (30, 1)).astype(np.float32)
    data = LeafData.in_context(own, context, np.ones(30), 30.0)
    found = leaf_learners.for_bits("blocks")(data, np.arange(4), LeafOptions())
    assert [sorted(block.scope) for block in found.node.children] == [[0, 1], [2, 3]]


def test_scores_of_trees_hold_the_tree_fixed_and_pay_for_it(case):
    alpha = 0.1
    data = case.data()
    found = leaf_learners.for_bits("chow_liu")(data, np.arange(4), LeafOptions(alpha))
    price = 2 * np.log(4) / data.own.total  # there are n^(n − 2) trees
    for index, row in enumerate(case.rows()):
        cells, weights = case.data(leave_one_out=index).pooled.rows()
        tree = found.node.from_statistics(found.node.statistics(cells.astype(float), weights), alpha)
        assert found.leave_one_out[index] == pytest.approx(tree.log_prob(row[None, :])[0] - price, abs=1e-6)


def test_a_context_counts_for_as_many_rows_as_the_shrinkage_says(rng):
    case = Case(rng, with_context=True)
    data = case.data()
    own = case.context_weights[case.own].sum()
    assert data.own.total == own
    assert data.pooled.total == pytest.approx(own + SHRINKAGE)
    assert data.unit == pytest.approx(1 + SHRINKAGE / case.context_weights.sum())
    context_ones = case.context_weights @ case.context
    np.testing.assert_allclose(
        data.pooled.ones, data.own.ones + context_ones * SHRINKAGE / case.context_weights.sum(), rtol=1e-12
    )


@pytest.mark.parametrize("name", sorted(leaf_learners))
def test_leaves_are_distributions_over_their_variables(case, name):
    found = leaf_learners.for_bits(name)(case.data(), np.array([1, 2, 4, 7]), LeafOptions())
    assert sorted(found.node.scope) == [1, 2, 4, 7]
    rows = np.full((16, 8), np.nan)
    rows[:, [1, 2, 4, 7]] = all_assignments(4)
    logs = Circuit(found.node).log_likelihood(rows)
    assert np.exp(logs).sum() == pytest.approx(1, abs=1e-12)
    assert np.isfinite(logs).all()


@pytest.mark.parametrize("name", sorted(leaf_learners))
def test_a_single_variable_is_a_bernoulli_leaf(name):
    own = summary([[1], [1], [0]], [1, 2, 1])
    found = leaf_learners.for_bits(name)(LeafData.alone(own), np.array([5]), LeafOptions(0.5))
    assert repr(found.node) == "Bernoulli(5, p=0.7)"
    np.testing.assert_allclose(found.leave_one_out, np.log([2.5 / 4, 2.5 / 4, 0.5 / 4]))


@pytest.mark.parametrize("name", sorted(leaf_learners))
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_constant_columns_and_single_rows_give_distributions(rng, name, smoothing):
    for table in ([[1, 0, 1]], [[1, 1, 1]] * 5, np.tile([0, 0, 1], (7, 1)), random_table(rng, 3, 3)):
        for weights in (None, rng.random(len(table)) + 0.01):
            found = leaf_learners.for_bits(name)(
                LeafData.alone(summary(table, weights)), np.arange(3), LeafOptions(smoothing)
            )
            assert total_probability(Circuit(found.node, n_variables=3)) == pytest.approx(1, abs=1e-12)
            assert not np.isnan(found.leave_one_out).any()


def test_parameters_by_hand():
    table = [[0, 0], [0, 1], [1, 1], [1, 1], [1, 1]]
    data = LeafData.alone(summary(table))

    def chances(name, options):
        node = leaf_learners.for_bits(name)(data, np.arange(2), options).node
        return np.exp(Circuit(node, n_variables=2).log_likelihood(all_assignments(2)))

    # ones: 3 and 4 of 5; counts of ones: 1, 1, 3
    half = LeafOptions(0.5)
    np.testing.assert_allclose(chances("factorized", half), np.outer([2.5, 3.5], [1.5, 4.5]).ravel() / 36)
    np.testing.assert_allclose(chances("exchangeable", half), np.array([1.5, 0.75, 0.75, 3.5]) / 6.5)
    over_assignments = LeafOptions(0.5, "assignments")
    np.testing.assert_allclose(chances("exchangeable", over_assignments), np.array([1.125, 0.625, 0.625, 3.125]) / 5.5)


def three_blocks(rng, rows=300):
    """Of the first four variables exactly one or three are one; the next five are beta-binomial; the last is alone."""
    odd = rng.integers(0, 2, size=(rows, 4))
    odd[:, 3] = 1 - odd[:, :3].sum(axis=1) % 2
    alone = rng.random((rows, 1)) < 0.03
    return np.hstack([odd, exchangeable_table(rng, rows, 5, 2.0), alone]).astype(np.uint8)


def test_blocks_of_best_evidence_have_leaves_of_their_laws(rng):
    variables = np.array([7, 3, 11, 5, 2, 13, 17, 19, 23, 29])
    found = evidence_blocks_leaf(LeafData.alone(summary(three_blocks(rng))), variables, LeafOptions())
    assert {tuple(sorted(leaf.scope)): type(leaf) for leaf in found.node.children} == {
        (3, 5, 7, 11): Exchangeable,
        (2, 13, 17, 19, 23): BetaBinomial,
        (29,): Bernoulli,
    }


def test_the_leaf_of_a_histogram_predicts_as_its_evidence_does(rng):
    """One row's mass spread over the counts, whatever the smoothing of other leaves is."""
    odd = three_blocks(rng)[:, :4]
    data = LeafData.alone(summary(odd))
    for smoothing in (0.0, 0.1, 2.0):
        found = evidence_blocks_leaf(data, np.arange(4), LeafOptions(smoothing))
        counts = np.bincount(odd.sum(axis=1), minlength=5)
        expected = (counts + 0.2) / (len(odd) + 1) / [1, 4, 6, 4, 1]
        logs = Circuit(found.node, n_variables=4).log_likelihood(all_assignments(4))
        np.testing.assert_allclose(np.exp(logs), expected[all_assignments(4).sum(axis=1).astype(int)])
        by_context = data.own.exchangeable_blocks.log_prob(all_assignments(4).astype(np.uint8))
        np.testing.assert_allclose(by_context, logs, rtol=1e-12)


def test_scores_of_blocks_of_best_evidence_are_those_of_leaving_each_row_out(rng):
    """Of a block of counts that keeps its law without the row."""
    table = three_blocks(rng, 40)[:, :4]
    weights = np.full(40, 2.0)

    def leaf_of(weights):
        return evidence_blocks_leaf(LeafData.alone(summary(table, weights)), np.arange(4), LeafOptions())

    found = leaf_of(weights)
    for index in range(0, 40, 7):
        without = leaf_of(weights - np.eye(40)[index])
        assert isinstance(without.node, Exchangeable)
        expected = log_prob(without.node, table[index].astype(float), 4)
        assert found.leave_one_out[index] == pytest.approx(expected, abs=1e-6)
