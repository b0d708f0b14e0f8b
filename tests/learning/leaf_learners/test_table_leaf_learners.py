"""Leaves for any columns: leave-one-out scores against refitting, smoothing, floors and blocks."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from support.tables import REAL, exchangeable_categories, exchangeable_numbers, table_summary, with_missing
from xspn import Categorical, Exchangeable, ExchangeableGaussian, MultivariateGaussian, Product
from xspn.circuit import Circuit
from xspn.data.domain import Domain
from xspn.learning.leaf_learners import (
    Candidate,
    LeafOptions,
    TableLeafData,
    leaf_learners,
    table_exchangeable_leaf,
    table_factorized_leaf,
)
from xspn.learning.leaf_learners.blocks import similar_columns, table_blocks_leaf
from xspn.learning.leaf_learners.exchangeable import class_probabilities
from xspn.learning.leaf_learners.factorized import ordered_probabilities
from xspn.learning.leaf_learners.gaussian import _leave_one_out, _Moments, _shrunk, gaussian_leaf
from xspn.statistics import Total, ValueCounts


def alone(cells, domains, weights=None):
    return TableLeafData.alone(table_summary(cells, domains, weights))


def test_frequencies_left_out_are_those_of_the_other_rows(rng):
    X = rng.integers(0, 3, (40, 2)).astype(float)
    found = table_factorized_leaf(alone(X, Domain(3)), np.arange(2), LeafOptions(0.5))
    for row in (0, 7, 39):
        others = table_factorized_leaf(alone(np.delete(X, row, axis=0), Domain(3)), np.arange(2), LeafOptions(0.5))
        assert found.leave_one_out[row] == pytest.approx(Circuit(others.node).log_likelihood(X[row : row + 1])[0])


def test_a_normal_distribution_left_out_is_a_change_of_rank_one(rng):
    X = rng.normal(size=(25, 3)) @ rng.normal(size=(3, 3))
    whole, floors = _Moments(X, np.ones(25)), np.full(3, 1e-9)
    kappa = 2.0
    scores = _leave_one_out(X, whole, _shrunk(whole, kappa, floors), kappa, np.ones(25))
    for row in range(25):
        rest = np.delete(X, row, axis=0)
        away = rest - rest.mean(axis=0)
        covariance = (away.T @ away + kappa * np.diag(np.diag(whole.covariance))) / (24 + kappa)
        assert scores[row] == pytest.approx(multivariate_normal(rest.mean(axis=0), covariance).logpdf(X[row]))


@pytest.mark.parametrize("weights", [[1.0], [0.3], [0.3, 0.6]])
def test_what_is_left_without_the_only_row_is_the_prior(weights, rng):
    X = 3.0 + rng.normal(size=(len(weights), 2))
    found = table_exchangeable_leaf(alone(X, REAL, np.array(weights)), np.arange(2), LeafOptions(0.1))
    assert np.isfinite(found.leave_one_out).all()


@pytest.mark.parametrize("name", ["auto", "sparse", "factorized", "exchangeable", "blocks"])
@pytest.mark.filterwarnings("error")
def test_columns_of_which_no_row_has_anything(name):
    found = leaf_learners.for_tables(name)(alone(np.empty((0, 2)), REAL), np.arange(2), LeafOptions())
    assert np.isfinite(Circuit(found.node).log_likelihood(np.zeros((1, 2)))).all()
    assert found.leave_one_out.shape == (0,)


@pytest.mark.parametrize("missing_rate", [0.0, 0.2])
def test_leave_one_out_scores_are_those_of_fresh_rows(missing_rate, rng):
    """The mean leave-one-out score is that of new rows, up to chance: for every candidate."""
    mixing = rng.normal(size=(4, 4))
    X, fresh = (rng.normal(size=(rows, 4)) @ mixing for rows in (400, 4000))
    data = alone(with_missing(rng, X, missing_rate), REAL)
    for make in (table_factorized_leaf, gaussian_leaf, table_blocks_leaf):
        found = make(data, np.arange(4), LeafOptions(0.1))
        new = Circuit(found.node).log_likelihood(with_missing(rng, fresh, missing_rate)).mean()
        assert found.leave_one_out.mean() == pytest.approx(new, abs=0.35)


def test_dependent_numbers_are_one_normal_leaf(rng):
    X = exchangeable_numbers(rng, 500, 3) * [1.0, 5.0, 20.0]
    found = leaf_learners.for_tables("auto")(alone(X, REAL), np.arange(3), LeafOptions(0.1))
    assert isinstance(found.node, MultivariateGaussian)
    np.testing.assert_allclose(found.node.covariance, np.cov(X.T), rtol=0.1)


def test_two_humps_are_two_normals(rng):
    X = np.where(rng.random((500, 1)) < 0.5, -4.0, 4.0) + rng.normal(size=(500, 1))
    node = table_factorized_leaf(alone(X, REAL), np.arange(1), LeafOptions(0.1)).node
    assert sorted(round(part.mean) for part in node.children) == [-4, 4]


def test_no_deviation_falls_below_the_rounding_error(rng):
    values = np.round(rng.normal(size=200), 1)
    data = table_summary(np.column_stack([values, np.full(200, 3.0)]), REAL)
    same = data.cluster(data.cells[:, 0] == 0.0, np.ones(200))
    node = table_factorized_leaf(TableLeafData.alone(same), np.arange(2), LeafOptions(0.1)).node
    assert node.children[0].std == pytest.approx(0.1 / np.sqrt(2 * np.pi), rel=0.01)
    assert node.children[0].log_prob(np.zeros((1, 1)))[0] <= np.log(1 / 0.1) + 0.01  # a certain value, in steps of 0.1
    assert node.children[1].std > 0


def test_ordered_values_borrow_from_their_neighbours(rng):
    counts = np.bincount(rng.binomial(16, 0.4, 60), minlength=17).astype(float)
    p, _ = ordered_probabilities(counts, counts, 0.1, 1.0)
    truth = np.bincount(rng.binomial(16, 0.4, 200_000), minlength=17) / 200_000
    plain = (counts + 0.1) / (60 + 1.7)
    assert p.sum() == pytest.approx(1)
    assert truth @ np.log(p) > truth @ np.log(plain)
    spike = np.array([1000.0, *np.zeros(16)])
    assert ordered_probabilities(spike, spike, 0.1, 1.0)[0][0] > 0.95


def test_value_counts_are_smoothed_only_where_rows_attract_each_other(rng):
    T = ValueCounts(3)
    few, many = (
        np.bincount(T.of(exchangeable_categories(rng, rows, 10, 3)), minlength=T.size(10)).astype(float)
        for rows in (200, 20_000)
    )
    p, _ = class_probabilities(T, 10, few, few, 0.1, 1.0)
    assert p.sum() == pytest.approx(1)
    assert many @ np.log(p) > many @ np.log((few + 0.1) / (few + 0.1).sum()) + 0.05 * many.sum()
    balanced = np.tile([0.0, 1, 2], (300, 1))  # each value once: no mixture of draws does that
    counts = np.bincount(T.of(balanced), minlength=T.size(3)).astype(float)
    assert class_probabilities(T, 3, counts, counts, 0.1, 1.0)[0].max() > 0.95


def test_ordered_columns_take_the_statistic_that_predicts_better(rng):
    by_total = np.array(
        [Total(3).construct(np.full((1, 8), np.nan), np.array([t]), rng)[0] for t in rng.integers(4, 13, 400)]
    )
    found = table_exchangeable_leaf(alone(by_total, Domain.ordinal(3)), np.arange(8), LeafOptions(0.1))
    assert found.node.statistic == Total(3)
    by_counts = np.where(rng.random((400, 8)) < np.where(rng.random((400, 1)) < 0.5, 0.9, 0.1), 2.0, 0.0)
    by_counts[rng.random(by_counts.shape) < 0.1] = 1.0
    found = table_exchangeable_leaf(alone(by_counts, Domain.ordinal(3)), np.arange(8), LeafOptions(0.1))
    assert found.node.statistic == ValueCounts(3)


def test_too_many_classes_are_refused(rng):
    X = rng.integers(0, 12, (50, 9)).astype(float)
    assert table_exchangeable_leaf(alone(X, Domain(12)), np.arange(9), LeafOptions(0.1)) is None
    assert isinstance(
        leaf_learners.for_tables("exchangeable")(alone(X, Domain(12)), np.arange(9), LeafOptions(0.1)).node, Product
    )


@pytest.mark.parametrize("domain", [Domain(3), Domain.ordinal(3)])
def test_partial_rows_of_an_exchangeable_leaf(domain, rng):
    X = exchangeable_categories(rng, 1500, 6, 3)
    whole = table_exchangeable_leaf(alone(X, domain), np.arange(6), LeafOptions(0.1)).node
    partial = table_exchangeable_leaf(alone(with_missing(rng, X), domain), np.arange(6), LeafOptions(0.1)).node
    assert isinstance(partial, Exchangeable)
    fresh = exchangeable_categories(rng, 2000, 6, 3)
    assert partial.log_prob(fresh).mean() == pytest.approx(whole.log_prob(fresh).mean(), abs=0.03)


def test_compound_symmetry_from_partial_rows(rng):
    X = 2 + 3 * exchangeable_numbers(rng, 2000, 5, 0.6)
    for cells in (X, with_missing(rng, X)):
        leaf = table_exchangeable_leaf(alone(cells, REAL), np.arange(5), LeafOptions(0.1)).node
        assert isinstance(leaf, ExchangeableGaussian)
        assert (leaf.mean, leaf.std, leaf.correlation) == pytest.approx((2, 3, 0.6), abs=0.2)


def test_like_columns_are_grouped_by_domain_and_distribution(rng):
    X = np.column_stack([rng.normal(size=(800, 3)), 3 + rng.normal(size=(800, 2)), rng.integers(0, 3, (800, 2))])
    groups = similar_columns(table_summary(X, [REAL] * 5 + [Domain(3)] * 2), level=1e-4)
    assert sorted(group.tolist() for group in groups) == [[0, 1, 2], [3, 4], [5, 6]]


def test_the_context_counts_as_a_few_rows():
    own, context = (
        table_summary(np.zeros((10, 1)), Domain(3)),
        table_summary(np.array([[0.0], [1], [2], [1]]), Domain(3)),
    )
    informed = TableLeafData.in_context(own, context.cells, context.weights, 2.0)
    leaf = table_factorized_leaf(informed, np.arange(1), LeafOptions(0.0)).node
    assert isinstance(leaf, Categorical)
    np.testing.assert_allclose(leaf.probabilities, [10.5 / 12, 1 / 12, 0.5 / 12])


@pytest.mark.filterwarnings("error")
def test_rows_of_next_to_no_weight_compare_columns_and_score_leaves(rng):
    X = rng.integers(0, 3, (30, 3)).astype(float)
    own = alone(X, Domain(3), np.full(30, 1e-300)).own
    assert sum(len(block) for block in similar_columns(own)) == 3
    impossible = Candidate("leaf", Categorical(0, [1.0, 0.0, 0.0]), np.where(X[:, 0] == 0, 0.0, -np.inf))
    assert impossible.score((X[:, 0] == 0).astype(float)) == 0.0
    assert impossible.score(np.ones(30)) == -np.inf
