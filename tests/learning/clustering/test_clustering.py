"""Every clustering on data with two clusters, with weights, without clusters, by seed."""

import numpy as np
import pytest
from scipy.special import xlogy

from support.learning import random_table, summary, two_clusters
from xspn.core.errors import ParameterError
from xspn.learning.clustering import clusterings, variable_split
from xspn.learning.clustering.base import gain_of_labels
from xspn.learning.clustering.numeric import without_convergence_warnings

ALL = sorted(clusterings)
WEIGHTED = ["auto", "bernoulli", "kmeans", "variable"]


@pytest.fixture(autouse=True)
def _quiet():
    """As the learner calls them."""
    with without_convergence_warnings():
        yield


def agreement(labels, kind):
    same = (labels == kind).mean()
    return max(same, 1 - same)


def log_likelihood(table, weights):
    """The largest log-likelihood of independent columns."""
    total = weights.sum()
    values = np.array([weights @ (1.0 - table), weights @ table])
    return xlogy(values, values / total).sum() if total else 0.0


def gain(table, weights, labels):
    """What two clusters explain more than one, before any penalty."""
    split = sum(log_likelihood(table[labels == k], weights[labels == k]) for k in (0, 1))
    sizes = np.array([weights[labels == k].sum() for k in (0, 1)])
    return split + xlogy(sizes, sizes / sizes.sum()).sum() - log_likelihood(table, weights)


@pytest.mark.parametrize("name", ALL)
def test_two_clusters_are_found(rng, name):
    table, kind = two_clusters(rng)
    split = clusterings.for_bits(name)(summary(table), 0)
    assert set(split.labels) == {0, 1}
    assert len(split.labels) == len(table)
    assert agreement(split.labels, kind) > (0.9 if name == "variable" else 0.97)


@pytest.mark.parametrize("name", WEIGHTED)
def test_a_row_of_weight_two_is_two_rows(rng, name):
    table, _ = two_clusters(rng, rows=60)
    weights = rng.integers(1, 4, size=60)
    merged = clusterings.for_bits(name)(summary(table, weights), 1)
    repeated = clusterings.for_bits(name)(summary(np.repeat(table, weights, axis=0)), 1)
    labels = np.repeat(merged.labels, weights)
    assert agreement(labels, repeated.labels) == 1.0
    assert merged.variable == repeated.variable
    assert merged.score == pytest.approx(repeated.score)


@pytest.mark.parametrize("name", WEIGHTED)
def test_fractional_weights_count_as_fractions_of_a_row(rng, name):
    table, _ = two_clusters(rng, rows=60)
    times = rng.integers(1, 4, size=60)
    merged = clusterings.for_bits(name)(summary(table, times / 4), 1)
    repeated = clusterings.for_bits(name)(summary(np.repeat(table, times, axis=0), np.full(times.sum(), 0.25)), 1)
    assert agreement(np.repeat(merged.labels, times), repeated.labels) == 1.0
    assert merged.variable == repeated.variable
    assert merged.score == pytest.approx(repeated.score)
    assert merged.score < clusterings.for_bits(name)(summary(table, times), 1).score - 1, (
        "a quarter of the rows tells less"
    )


def test_a_gaussian_mixture_refuses_weights(rng):
    table, _ = two_clusters(rng, rows=20)
    with pytest.raises(ParameterError, match="'gmm' cannot take sample weights; use one of 'auto', 'bernoulli'"):
        clusterings.for_bits("gmm", summary(table, np.arange(1, 21)))
    equal = summary(table, np.full(20, 3.0))
    assert clusterings.for_bits("gmm", equal)(equal, 0) is not None, "equal weights are no weights"


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("rows", [1, 2, 30])
def test_equal_rows_are_one_cluster(name, rows):
    assert clusterings.for_bits(name)(summary(np.tile([1, 0, 1], (rows, 1))), 0) is None


@pytest.mark.parametrize("name", ALL)
def test_the_same_seed_gives_the_same_clusters(rng, name):
    own = summary(random_table(rng, 100, 6))
    first, second = (clusterings.for_bits(name)(own, 7) for _ in range(2))
    np.testing.assert_array_equal(first.labels, second.labels)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_variable_is_the_one_that_explains_the_others_best(rng, weighted):
    for _ in range(25):
        table = random_table(rng, 50, 6)
        weights = rng.random(50) * 3 if weighted else np.ones(50)
        split = variable_split(summary(table, weights), 0)
        varying = [i for i in range(6) if 0 < table[:, i].sum() < 50]
        if not varying:
            assert split is None
            continue
        gains = {i: gain(table, weights, table[:, i]) for i in varying}
        assert gains[split.variable] == pytest.approx(max(gains.values()), abs=1e-6)
        np.testing.assert_array_equal(split.labels, table[:, split.variable])


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_gains_less_half_a_logarithm_for_each_parameter(rng, weighted):
    table, kind = two_clusters(rng, rows=80, columns=5)
    weights = rng.random(80) * 3 if weighted else np.ones(80)
    own = summary(table, weights)
    price = 0.5 * np.log(weights.sum())
    assert gain_of_labels(own, kind) == pytest.approx(gain(table, weights, kind) - 6 * price)
    split = variable_split(own, 0)
    # two clusters of four bits and a weight, instead of five bits
    assert split.score == pytest.approx(gain(table, weights, split.labels) - 4 * price)


def test_auto_takes_the_better_of_both(rng):
    for _ in range(10):
        own = summary(random_table(rng, 80, 5))
        found = [
            split for name in ("variable", "bernoulli") if (split := clusterings.for_bits(name)(own, 3)) is not None
        ]
        best = clusterings.for_bits("auto")(own, 3)
        if found:
            assert best.score == max(split.score for split in found)
        else:
            assert best is None


@pytest.mark.parametrize("name", WEIGHTED)
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_rule_says_of_each_row_what_the_clustering_said(rng, name, missing):
    if name == "kmeans" and missing:
        pytest.skip("k-means takes no missing cells")
    table = two_clusters(rng, rows=120)[0].astype(float)
    table[rng.random(table.shape) < missing] = np.nan
    own = summary(table, rng.integers(1, 3, size=120))
    split = clusterings.for_bits(name)(own, 2)
    second = split.rule.responsibilities(own.rows()[0])
    np.testing.assert_array_equal(second > 0.5, split.labels == 1)
    if split.responsibilities is not None:
        np.testing.assert_allclose(second, split.responsibilities, rtol=1e-4, atol=1e-6)  # EM works in single precision
