"""The public face of the tests: any table in, a result with both orders apart out, bad input named."""

import numpy as np
import pytest

from support.learning import exchangeable_table, random_table, summary
from xspn import exchangeability_test, exchangeable_groups
from xspn.core.errors import DataError, DataTypeError, ParameterError, RegistryError
from xspn.learning.exchangeability import full_test, global_test, pairwise_test


@pytest.mark.parametrize(
    ("method", "options", "directly"),
    [
        ("global", {"p_value": "chi2"}, lambda own: global_test(own, p_value="chi2")),
        (
            "global",
            {"p_value": "shuffle", "n_shuffles": 20},
            lambda own: global_test(own, p_value="shuffle", n_shuffles=20),
        ),
        ("pairwise", {}, pairwise_test),
        ("pairwise", {"pairs": "first", "dof": 3}, lambda own: pairwise_test(own, pairs="first", dof=3)),
        ("full", {}, full_test),
    ],
)
def test_a_table_of_any_kind_gives_what_the_test_itself_gives(rng, method, options, directly):
    pandas = pytest.importorskip("pandas")
    table = random_table(rng, 60, 5)
    expected = directly(summary(table))
    frame = pandas.DataFrame(table, columns=list("abcde"))
    for X in (table, table.astype(bool), table.astype(float), table.tolist(), frame, frame.astype(bool)):
        found = exchangeability_test(X, method=method, **options)
        assert found.method == method
        assert found.statistic == pytest.approx(expected.statistic)
        assert found.dof == expected.dof
        assert found.p_value == pytest.approx(expected.p_value)


def test_the_default_is_global_with_both_orders_apart(rng):
    found = exchangeability_test(exchangeable_table(rng, 300, 6))
    assert found.method == "global"
    assert {"Q", "dof_Q", "p_Q", "S", "dof_S", "p_S"} <= set(found.parts)


def test_it_shuffles_by_itself_where_chi_square_is_doubtful(rng):
    sparse = (rng.random((100, 5)) < 0.02).astype(int)
    assert exchangeability_test(sparse).parts["calibration"] == "shuffle"
    assert exchangeability_test(sparse, p_value="chi2").parts["calibration"] == "chi2"


def test_the_verdict_depends_on_the_level():
    found = exchangeability_test(np.tile([[1, 0], [1, 0], [0, 1]], (30, 1)))
    assert found.rejects(found.p_value * 1.01)
    assert not found.rejects(found.p_value)


@pytest.mark.parametrize("X", [[[1], [0]], [[1, 0, 1]], [[1, 1], [1, 1]], [[0]]])
def test_tables_that_say_nothing_are_not_rejected(X):
    for method in ("global", "pairwise", "full"):
        assert not exchangeability_test(X, method=method).rejects(0.05)


N = np.nan


@pytest.mark.parametrize(
    ("X", "domains"),
    [
        ([[0.5], [1.5], [2.5]], None),  # one column
        ([[2, 2, 2], [2, 2, 2]], None),  # one value
        ([[2, N, 2], [N, 2, N], [2, 2, N]], None),  # one value, and cells missing
        ([[1, N], [0, N], [1, N]], None),  # one column of which something is seen
        ([[0.5, N], [1.5, N], [2.5, N]], "real"),
        ([[N, N], [N, N]], "real"),
    ],
)
def test_tables_in_which_nothing_can_differ(X, domains):
    assert exchangeability_test(X, domains=domains).p_value == 1.0
    groups = exchangeable_groups(X, domains=domains)
    assert sorted(v for group in groups for v in group.variables) == list(range(len(X[0])))


def test_bad_tables_are_refused_by_their_place(rng):
    pandas = pytest.importorskip("pandas")
    with pytest.raises(DataError, match=r"found 2 at row 1, column 0"):
        exchangeability_test([[0, 1], [2, 1]], domains="binary")
    with pytest.raises(DataError, match=r"found 0.5 at row 0, column 1 \('b'\)"):
        exchangeability_test(pandas.DataFrame({"a": [0.0], "b": [0.5]}), domains="binary")
    with pytest.raises(DataError, match="columns 0 and 1 hold different things"):
        exchangeability_test([[0, 1], [1, 7]])
    with pytest.raises(ParameterError, match="method='full' cannot take missing values; use one of 'global'"):
        exchangeability_test([[0, 1], [np.nan, 1]], method="full")
    with pytest.raises(DataTypeError, match=r"found 'yes' at row 0, column 1"):
        exchangeability_test([[0, "yes"]])
    with pytest.raises(DataError, match="2-D"):
        exchangeability_test([0, 1])
    with pytest.raises(DataError, match=r"0 sample\(s\)"):
        exchangeability_test(np.zeros((0, 3)))


def test_unknown_methods_and_options_are_refused_with_the_nearest_known():
    with pytest.raises(RegistryError, match=r"'pairwse'; did you mean 'pairwise'\?"):
        exchangeability_test([[0, 1]], method="pairwse")
    with pytest.raises(ParameterError, match=r"global test: unknown setting 'pvalue'; did you mean 'p_value'\?"):
        exchangeability_test([[0, 1]], pvalue="chi2")
    with pytest.raises(ParameterError, match=r"full test: unknown setting 'dof'. Known: none"):
        exchangeability_test([[0, 1]], method="full", dof=3)
