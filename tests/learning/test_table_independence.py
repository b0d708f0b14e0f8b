"""The G-test of columns of any kinds: against scipy, its level, and what it finds."""

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from support.tables import REAL, table_summary, with_missing
from xspn.data.domain import Domain
from xspn.learning.independence import g_statistics, g_tests, independence_p_values, independent_groups
from xspn.learning.summary import BinarySummary
from xspn.learning.table_summary import rank_bins


def williams(table):
    rows, columns, total = table.sum(axis=1), table.sum(axis=0), table.sum()
    dof = (len(rows) - 1) * (len(columns) - 1)
    return 1 + (total * (1 / rows).sum() - 1) * (total * (1 / columns).sum() - 1) / (6 * total * dof)


def test_names_are_tested_as_scipy_does(rng):
    a = rng.integers(0, 3, 400)
    b = np.where(rng.random(400) < 0.2, a, rng.integers(0, 4, 400))
    statistic, dof = g_tests(table_summary(np.column_stack([a, b]), [Domain(3), Domain(4)]))
    table = np.histogram2d(a, b, bins=[3, 4])[0]
    expected = chi2_contingency(table, correction=False, lambda_="log-likelihood")
    assert statistic[0, 1] * williams(table) == pytest.approx(expected.statistic)
    assert dof[0, 1] == expected.dof


def test_bits_have_the_statistic_of_the_binary_test(rng):
    X = (rng.random((500, 4)) < 0.4).astype(float)
    X[:, 1] = np.where(rng.random(500) < 0.3, X[:, 0], X[:, 1])
    statistic, _ = g_tests(table_summary(X, Domain.binary()))
    plain = g_statistics(BinarySummary.of(X.astype(np.float32), np.ones(500)))
    i, j = np.triu_indices(4, 1)
    np.testing.assert_allclose(statistic[i, j], plain[i, j], rtol=0.02)


def test_weights_are_repetitions_and_pairs_are_counted_where_both_are_seen(rng):
    X = with_missing(rng, np.column_stack([rng.integers(0, 3, 80), rng.normal(size=80)]))
    X = X[~np.isnan(X).all(axis=1)]
    weights = rng.integers(1, 4, len(X))
    domains = [Domain(3), REAL]
    one = independence_p_values(table_summary(X, domains, weights.astype(float)))
    np.testing.assert_allclose(one, independence_p_values(table_summary(np.repeat(X, weights, axis=0), domains)))


KINDS = {
    "names": (Domain(4), lambda rng, n: rng.choice(4, n, p=[0.5, 0.3, 0.15, 0.05])),
    "steps": (Domain.ordinal(9), lambda rng, n: rng.binomial(8, 0.3, n)),
    "numbers": (REAL, lambda rng, n: rng.normal(size=n)),
    "skewed": (REAL, lambda rng, n: np.exp(rng.normal(size=n))),
    "with ties": (REAL, lambda rng, n: np.round(rng.exponential(size=n))),
}


@pytest.mark.parametrize("missing_rate", [0.0, 0.2])
@pytest.mark.parametrize("rows", [60, 500])
def test_the_level_holds_for_every_two_kinds(rows, missing_rate, rng):
    """Any two of ten independent columns, two of each kind: 45 pairs in 40 tables."""
    domains = [domain for domain, _ in KINDS.values()] * 2
    rejected = np.zeros((10, 10))
    tables = 40
    for _ in range(tables):
        X = np.column_stack(
            [draw(rng, rows) for _, draw in KINDS.values()] * 1 + [draw(rng, rows) for _, draw in KINDS.values()]
        )
        p = independence_p_values(table_summary(with_missing(rng, X.astype(float), missing_rate), domains))
        rejected += p < 0.05
    level = rejected[np.triu_indices(10, 1)].sum() / (45 * tables)
    assert 0.02 < level < 0.08


@pytest.mark.parametrize("link", [lambda x: x, lambda x: x**2, lambda x: -np.exp(x)])
def test_dependence_of_any_shape_is_found(link, rng):
    x = rng.normal(size=400)
    y = link(x) + 0.3 * rng.normal(size=400)
    X = np.column_stack([x, rng.normal(size=400), y, rng.integers(0, 3, 400)])
    groups = independent_groups(table_summary(X, [REAL, REAL, REAL, Domain(3)]), 5.0)
    assert [group.tolist() for group in groups] == [[0, 2], [1], [3]]


def test_a_threshold_of_zero_connects_what_the_data_connect_at_all(rng):
    X = np.column_stack([rng.normal(size=100), rng.normal(size=100)])
    assert len(independent_groups(table_summary(X, REAL), 0.0)) in (1, 2)
    assert len(independent_groups(table_summary(X, REAL), 50.0)) == 2


def test_constant_and_empty_columns_depend_on_nothing():
    X = np.column_stack([np.full(50, 2.0), np.arange(50) % 2, np.full(50, np.nan)])
    p = independence_p_values(table_summary(X, [Domain(3), Domain(2), REAL]))
    assert (p == 1).all()


def test_nearly_constant_numbers_have_two_bins():
    values = np.array([0.0] * 95 + [1.0, 2, 3, 4, 5])
    bins = rank_bins(values, np.ones(100), REAL, 100.0)
    assert set(bins.tolist()) == {0, 1}
    assert (bins[:95] == bins[0]).all()


def test_a_fraction_of_a_row_does_not_divide_the_evidence_away(rng):
    """Rows belong to clusters in part: a name of which a thousandth of a row is left must not hide all the others."""
    name = rng.integers(0, 3, 300)
    X = np.column_stack([name, rng.normal(size=300) + 2 * (name == 0)])
    rare, weights = np.array([[3.0, 0.0]]), np.append(np.ones(300), 1e-3)
    p = independence_p_values(table_summary(np.vstack([X, rare]), [Domain(4), REAL], weights))
    without = independence_p_values(table_summary(X, [Domain(4), REAL]))
    assert without[0, 1] < 1e-10
    assert np.log(p[0, 1]) == pytest.approx(np.log(without[0, 1]), rel=0.05)


@pytest.mark.parametrize("seed", range(5))
def test_a_name_of_few_rows_is_not_drowned_by_the_others(seed):
    """Twelve names, one of 14 rows with other numbers: no independence, though all names together look like chance."""
    rng = np.random.default_rng(seed)
    name = np.append(rng.integers(0, 11, 400), np.full(14, 11))
    numbers = rng.normal(size=(414, 1)) + 2.2 * (name == 11)[:, None]
    X, domains = np.column_stack([name, numbers, rng.normal(size=414)]), [Domain(12), REAL, REAL]
    groups = independent_groups(table_summary(X, domains), 5.0)
    assert [group.tolist() for group in groups] == [[0, 1], [2]]
    mixed = np.column_stack([rng.permutation(name), X[:, 1:]])
    assert len(independent_groups(table_summary(mixed, domains), 5.0)) == 3
