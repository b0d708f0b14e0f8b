"""Clusters of rows with columns of any types."""

import numpy as np
import pytest

from support.tables import REAL, table_summary, with_missing
from xspn import XSPNError
from xspn.data.domain import Domain
from xspn.learning.clustering.base import clusterings, proposals
from xspn.learning.clustering.products import Encoded

DOMAINS = [Domain(2), Domain(3), Domain.ordinal(5), REAL]


def two_kinds(rng, rows=400):
    kind = rng.integers(0, 2, rows)
    X = np.column_stack(
        [
            rng.random(rows) < np.where(kind, 0.9, 0.1),
            np.where(kind, rng.choice(3, rows, p=[0.8, 0.1, 0.1]), rng.choice(3, rows, p=[0.1, 0.1, 0.8])),
            rng.binomial(4, np.where(kind, 0.1, 0.8)),
            rng.normal(size=rows) + 4 * kind,
        ]
    ).astype(float)
    return X, kind


def splits_of(name, own):
    return proposals(clusterings.for_tables(name, own)(own, 0))


def agreement(labels, kind):
    same = (labels == kind).mean()
    return max(same, 1 - same)


@pytest.mark.parametrize("missing_rate", [0.0, 0.3])
def test_mixtures_find_two_kinds_of_rows(missing_rate, rng):
    X, kind = two_kinds(rng)
    (split,) = splits_of("bernoulli", table_summary(with_missing(rng, X, missing_rate), DOMAINS))
    assert split.score > 0
    if missing_rate == 0:
        assert agreement(split.labels, kind) > 0.97
        assert ((split.responsibilities >= 0) & (split.responsibilities <= 1)).all()


def test_one_kind_of_rows_is_not_worth_two(rng):
    X = np.column_stack([rng.normal(size=300), rng.integers(0, 3, 300)])
    for split in splits_of("auto", table_summary(X, [REAL, Domain(3)])):
        assert split.score < 5


@pytest.mark.parametrize(
    ("domain", "column", "conditions"),
    [
        (Domain(2), [0, 1], ["= 0", "= 1"]),
        (Domain(3), [0, 2], ["≠ 0", "= 0"]),
        (Domain.ordinal(5), [1, 3], ["≤ 2", "> 2"]),
        (REAL, [1.0, 3.0], None),
    ],
)
def test_a_cut_on_one_variable(domain, column, conditions, rng):
    kind = rng.integers(0, 2, 300)
    X = np.column_stack([np.array(column)[kind], rng.normal(size=(300, 3)) + 6 * kind[:, None]])
    if conditions is None:
        X[:, 0] += 0.1 * rng.normal(size=300)
    (split,) = splits_of("variable", table_summary(X, [domain, REAL, REAL, REAL]))
    assert agreement(split.labels, kind) > 0.97
    if conditions is not None and split.variable == 0:
        assert [str(condition) for condition in split.conditions] == conditions


def test_a_missing_value_is_guessed_from_the_others(rng):
    kind = rng.integers(0, 2, 300)
    X = np.column_stack([kind, rng.normal(size=300) + 6 * kind, rng.normal(size=300) + 6 * kind]).astype(float)
    hidden = rng.random(300) < 0.2
    X[hidden, 0] = np.nan
    (split,) = splits_of("variable", table_summary(X, [Domain(2), Domain.real(), Domain.real()]))
    assert agreement(split.labels, kind) > 0.97


def test_a_number_that_many_rows_share_may_be_cut_off(rng):
    often = rng.random(400) < 0.4
    X = np.column_stack([np.where(often, 2.0, rng.normal(2, 1, 400)), rng.normal(size=400)])
    (split,) = splits_of("variable", table_summary(X, REAL))
    assert [str(condition) for condition in split.conditions] == ["≉ 2", "≈ 2"]
    np.testing.assert_array_equal(split.labels, X[:, 0] == 2.0)


def test_clusters_of_dependent_numbers(rng):
    """Two clouds that differ in their correlation alone: a mixture of products sees nothing of it."""
    kind = rng.integers(0, 2, 1500)
    noise = rng.normal(size=(1500, 2))
    X = np.column_stack([noise[:, 0], np.where(kind, 0.95, -0.95) * noise[:, 0] + 0.3 * noise[:, 1]])
    splits = splits_of("auto", table_summary(X, REAL))
    assert agreement(splits[-1].labels, kind) > 0.8


@pytest.mark.parametrize("name", ["gmm", "kmeans"])
def test_numbers_may_be_left_to_scikit_learn(name, rng):
    X, kind = two_kinds(rng)
    numbers = X[:, [0, 2, 3]]
    domains = [Domain(2), Domain.ordinal(5), REAL]
    (split,) = splits_of(name, table_summary(numbers, domains))
    assert agreement(split.labels, kind) > 0.9
    with pytest.raises(XSPNError, match="missing values"):
        splits_of(name, table_summary(with_missing(rng, numbers), domains))
    with pytest.raises(XSPNError, match="without an order"):
        splits_of(name, table_summary(X, DOMAINS))


def test_likelihoods_of_products_by_hand(rng):
    X, _ = two_kinds(rng, 50)
    encoded = Encoded(table_summary(X, DOMAINS))
    found = float(encoded.likelihood(encoded.whole))
    expected = 0.0
    for column in range(3):
        counts = np.unique(X[:, column], return_counts=True)[1]
        expected += (counts * np.log(counts / 50)).sum()
    expected += -25 * (np.log(2 * np.pi) + 1)  # the real column is standardized
    assert found == pytest.approx(expected)
