"""Tests of exchangeability beyond bits: exact moments by enumeration, the binary case, the level and the power."""

import itertools

import numpy as np
import pytest

from support.tables import REAL, exchangeable_categories, exchangeable_numbers, table_summary, with_missing
from xspn import XSPNError
from xspn.data.domain import Domain
from xspn.learning.exchangeability import (
    full_test,
    global_test,
    pairwise_test,
    table_full_test,
    table_global_test,
    table_pairwise_test,
    tests,
)
from xspn.learning.summary import BinarySummary


@pytest.mark.parametrize("missing_rate", [0.0, 0.2])
@pytest.mark.parametrize("n", [2, 3, 5, 9, 16])
def test_two_values_are_the_binary_case(n, missing_rate, rng):
    X = (rng.random((150, n)) < rng.random((150, 1))).astype(float)
    X = with_missing(rng, X, missing_rate)
    X = X[~np.isnan(X).all(axis=1)]
    weights = rng.integers(1, 4, len(X)).astype(float)
    own, bits = table_summary(X, Domain.binary(), weights), BinarySummary.of(X.astype(np.float32), weights)
    for mine, theirs in ((table_global_test, global_test), (table_pairwise_test, pairwise_test)):
        found, expected = mine(own), theirs(bits)
        assert found.statistic == pytest.approx(expected.statistic)
        assert found.p_value == pytest.approx(expected.p_value)


def test_the_full_test_of_two_values_is_the_binary_one(rng):
    X = (rng.random((150, 5)) < rng.random((150, 1))).astype(float)
    found, expected = (
        table_full_test(table_summary(X, Domain.binary())),
        full_test(BinarySummary.of(X.astype(np.float32), np.ones(150))),
    )
    assert (found.statistic, found.dof) == pytest.approx((expected.statistic, expected.dof))


@pytest.mark.parametrize(
    ("rows", "domain"),
    [
        ([[0, 1, 2, 2], [0, 0, 1, 2]], Domain(3)),
        ([[0, 1, 2, 3], [3, 1, 1, 2]], Domain(4)),
        ([[0.3, -1.0, 2.5, 0.9], [1.1, 1.1, -0.4, 3.0]], REAL),
    ],
)
def test_the_mean_over_all_arrangements_is_the_number_of_degrees_of_freedom(rows, domain):
    """If the covariance of a vector v is C, the mean of vᵀC⁺v is the rank of C: so every moment is checked at once."""
    found = [
        table_global_test(table_summary([first, second], domain)).parts
        for first in itertools.permutations(rows[0])
        for second in itertools.permutations(rows[1])
    ]
    for part in ("Q", "B", "S", "A"):
        assert np.mean([parts[part] for parts in found]) == pytest.approx(found[0][f"dof_{part}"])


def null_table(kind, rng, rows, columns):
    if kind == "names":
        return exchangeable_categories(rng, rows, columns, 3), Domain(3)
    if kind == "steps":
        return exchangeable_categories(rng, rows, columns, 9), Domain.ordinal(9)
    X = exchangeable_numbers(rng, rows, columns)
    return (X if kind == "numbers" else np.exp(X)), REAL


@pytest.mark.parametrize("missing_rate", [0.0, 0.2])
@pytest.mark.parametrize("kind", ["names", "steps", "numbers", "skewed"])
def test_the_level(kind, missing_rate, rng):
    p_values = []
    for _ in range(250):
        X, domain = null_table(kind, rng, 150, 6)
        p_values.append(table_global_test(table_summary(with_missing(rng, X, missing_rate), domain)).p_value)
    assert 0.015 < np.mean(np.array(p_values) < 0.05) < 0.095


@pytest.mark.parametrize("kind", ["names", "steps", "numbers", "skewed"])
def test_the_level_of_a_pair(kind, rng):
    rejected = [table_pairwise_test(table_summary(*null_table(kind, rng, 150, 2))).p_value < 0.05 for _ in range(300)]
    assert 0.015 < np.mean(rejected) < 0.095


def test_differences_of_each_kind_are_seen(rng):
    X = exchangeable_numbers(rng, 500, 6)
    assert table_global_test(table_summary(X, REAL)).p_value > 0.01
    shifted, wider = X.copy(), X.copy()
    shifted[:, 2] += 0.4
    wider[:, 2] *= 1.5
    pairs = np.hstack([exchangeable_numbers(rng, 500, 3), exchangeable_numbers(rng, 500, 3)])
    for other, part in ((shifted, "p_Q"), (wider, "p_Q"), (pairs, "p_S")):
        test = table_global_test(table_summary(other, REAL))
        assert test.p_value < 1e-4
        assert test.parts[part] < 1e-4


@pytest.mark.parametrize("missing_rate", [0.0, 0.2])
@pytest.mark.parametrize("kind", ["names", "steps", "numbers"])
def test_a_column_that_goes_against_the_others_is_seen(kind, missing_rate, rng):
    X, domain = null_table(kind, rng, 2000, 4)
    turned = X.copy()
    turned[:, 1] = -X[:, 1] if domain.cardinality is None else domain.cardinality - 1 - X[:, 1]
    turned[:, 1] = np.sort(X[:, 1])[np.argsort(np.argsort(turned[:, 1], kind="stable"), kind="stable")]  # equal means
    for table, seen in ((X, False), (turned, True)):
        test = table_global_test(table_summary(with_missing(rng, table, missing_rate), domain))
        assert (test.parts["p_B"] < 0.001) == seen


def test_a_cycle_of_preferences_is_seen_in_the_antisymmetric_part(rng):
    """Means and symmetric pair counts are those of exchangeable columns; only who follows whom is not."""
    start = rng.integers(0, 3, (3000, 1))
    X = ((start + np.arange(3)) % 3).astype(float)
    mixed = rng.random(3000) < 0.3
    X[mixed] = rng.integers(0, 3, (mixed.sum(), 3))
    test = table_global_test(table_summary(X, Domain(3)))
    assert test.parts["p_A"] < 1e-6
    assert test.parts["p_Q"] > 1e-3


def test_a_single_column_or_pair_is_found_and_named(rng):
    plain = rng.normal(size=(300, 60))
    shifted, paired = plain.copy(), plain.copy()
    shifted[:, 7] += 0.7
    paired[:, 7] = 0.6 * plain[:, 3] + 0.8 * plain[:, 7]
    assert not table_global_test(table_summary(plain, REAL)).rejects(0.01)
    for missing_rate in (0.0, 0.1):
        found = table_global_test(table_summary(with_missing(rng, shifted, missing_rate), REAL))
        assert found.rejects(1e-4)
        assert (found.parts["decided_by"], found.parts["member_Q"]) == ("max_Q", (7,))
        found = table_global_test(table_summary(with_missing(rng, paired, missing_rate), REAL))
        assert found.rejects(1e-3)
        assert (found.parts["decided_by"], found.parts["member_S"]) == ("max_S", (3, 7))


def test_one_category_that_is_rare_in_one_column_only_is_found(rng):
    X = rng.choice(3, p=[0.9, 0.05, 0.05], size=(800, 80)).astype(float)
    X[:, 5] = rng.choice(3, p=[0.85, 0.0, 0.15], size=800)
    found = table_global_test(table_summary(X, Domain(3)))
    assert found.rejects(1e-4)
    assert (found.parts["decided_by"], found.parts["member_Q"]) == ("max_Q", (5,))


def one_of_each(rng, rows, chances):
    """Rows with a single 1 and a single 2, in places of unequal chance."""
    X = np.zeros((rows, len(chances)))
    for row in X:
        row[rng.choice(len(chances), size=2, replace=False, p=chances / chances.sum())] = 1, 2
    return X


@pytest.mark.parametrize("missing_rate", [0.0, 0.05])
@pytest.mark.parametrize("rare", [1.0, 0.5])
def test_parts_that_cannot_vary_have_no_degrees_of_freedom(rng, rare, missing_rate):
    """With a single 1 and a single 2 in each row no two 1s, nor 2s, come together, and no row has more than another."""
    X = one_of_each(rng, 1500, np.repeat([rare, 1.0], 10))
    found = table_global_test(table_summary(with_missing(rng, X, missing_rate), Domain(3)))
    if not missing_rate:
        # Of the three products of features S has the mixed one only.
        assert [found.parts[f"dof_{name}"] for name in "QBSA"] == [38, 0, 170, 171]
    assert found.rejects(0.01) == (rare < 1)


@pytest.mark.parametrize("missing_rate", [0.0, 0.3])
def test_rows_of_equal_numbers_say_nothing_whatever_their_mean_rounds_to(rng, missing_rate):
    X = np.repeat(rng.normal(size=(50, 1)) / 3, 7, axis=1)
    found = table_global_test(table_summary(with_missing(rng, X, missing_rate), REAL))
    assert (found.statistic, found.dof, found.p_value) == (0.0, 0.0, 1.0)


def test_rows_of_two_numbers_have_no_antisymmetric_part(rng):
    """The score and its square are one and the same feature there, but for rounding."""
    low, high = np.sort(rng.normal(size=(2, 200, 1)), axis=0)
    X = np.where(rng.random((200, 8)) < 0.5, low, high)
    found = table_global_test(table_summary(X, REAL))
    assert (found.parts["A"], found.parts["dof_A"]) == (0.0, 0.0)
    assert not found.rejects(0.001)


@pytest.mark.parametrize("missing_rate", [0.0, 0.2])
@pytest.mark.parametrize("kind", ["rare values", "many zeros", "few rows"])
def test_the_level_where_tails_are_long(kind, missing_rate):
    rng = np.random.default_rng(6)

    def draw():
        if kind == "rare values":
            return np.where(rng.random((100, 20)) < 0.04, rng.integers(1, 3, (100, 20)), 0), Domain(3)
        if kind == "many zeros":
            return np.where(rng.random((100, 20)) < 0.9, 0.0, rng.exponential(size=(100, 20))), REAL
        return rng.normal(size=(15, 20)) * np.exp(rng.normal(size=(15, 1))), REAL

    p_values = []
    for _ in range(120):
        X, domain = draw()
        p_values.append(table_global_test(table_summary(with_missing(rng, X, missing_rate), domain)).p_value)
    assert np.mean(np.array(p_values) < 0.05) <= 0.095


def test_bowker_by_hand():
    X = np.repeat([[0, 1], [1, 0], [0, 2], [2, 0], [1, 2], [1, 1]], [8, 2, 5, 5, 3, 40], axis=0)
    found = table_pairwise_test(table_summary(X, Domain(3)))
    assert found.statistic == pytest.approx(36 / 10 + 0 + 3)
    assert found.dof == 3
    assert table_pairwise_test(table_summary(X, Domain(3)), correction="bonferroni").p_value == found.p_value


def test_one_value_only_says_nothing():
    found = table_global_test(table_summary(np.ones((20, 4)), Domain(3)))
    assert (found.statistic, found.dof, found.p_value) == (0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("cells", "domain", "said"),
    [
        (np.zeros((3, 2)), REAL, "'full' cannot take real numbers; use one of 'global', 'pairwise'"),
        (np.zeros((3, 12)), Domain(3), "counted out"),
        (np.array([[0, np.nan], [1, 1]]), Domain(3), "'full' cannot take missing values"),
    ],
)
def test_the_full_test_refuses_what_it_cannot_count(cells, domain, said):
    own = table_summary(cells, domain)
    with pytest.raises(XSPNError, match=said):
        tests.for_tables("full", own)(own)


def test_columns_of_one_number_have_no_pair_that_differs():
    found = table_pairwise_test(table_summary(np.full((4, 3), 2.0), REAL))
    assert (found.statistic, found.p_value) == (0.0, 1.0)
