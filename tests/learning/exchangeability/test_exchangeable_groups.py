"""The partition into groups that can be interchanged."""

import numpy as np
import pytest

from support.learning import summary
from xspn import exchangeable_groups
from xspn.core.errors import DataError, ParameterError
from xspn.learning.exchangeability import global_test


def blocks_and_loners(rng, rows=3000):
    """Two blocks of five and four columns, mixed up, and two columns like no other."""
    first = rng.random((rows, 5)) < rng.choice([0.1, 0.9], size=(rows, 1))
    second = rng.random((rows, 4)) < rng.choice([0.3, 0.7], size=(rows, 1))
    alone = rng.random((rows, 2)) < [0.05, 0.8]
    order = rng.permutation(11)
    place = np.argsort(order)  # where each column went
    table = np.hstack([first, second, alone])[:, order]
    return table, [sorted(place[part].tolist()) for part in (slice(0, 5), slice(5, 9), slice(9, 10), slice(10, 11))]


@pytest.mark.parametrize("seed", range(4))
def test_blocks_and_lone_columns_are_found(seed):
    table, expected = blocks_and_loners(np.random.default_rng(seed))
    found = [list(group.variables) for group in exchangeable_groups(table)]
    assert sorted(found) == sorted(expected)
    assert [len(group) for group in found] == [5, 4, 1, 1], "largest first"


def test_each_group_has_its_evidence(rng):
    table, _ = blocks_and_loners(rng)
    for group in exchangeable_groups(table):
        if len(group.variables) == 1:
            assert group.test is None
        else:
            expected = global_test(summary(table[:, list(group.variables)]))
            assert group.test.statistic == pytest.approx(expected.statistic)
            assert not group.test.rejects(0.01)


def test_names_are_kept(rng):
    pandas = pytest.importorskip("pandas")
    table, _ = blocks_and_loners(rng)
    names = [f"column {i}" for i in range(11)]
    for group in exchangeable_groups(pandas.DataFrame(table, columns=names)):
        assert group.names == tuple(names[v] for v in group.variables)
    assert exchangeable_groups(table)[0].names is None


def test_every_column_is_in_one_group(rng):
    for columns in (1, 2, 3, 7):
        table = rng.random((40, columns)) < rng.random(columns)
        found = sorted(v for group in exchangeable_groups(table) for v in group.variables)
        assert found == list(range(columns))


def test_a_single_column_is_a_group_without_a_test():
    (group,) = exchangeable_groups([[0], [1]])
    assert (group.variables, group.names, group.test) == ((0,), None, None)


def test_all_exchangeable_is_one_group(rng):
    tables = (rng.random((500, 8)) < rng.random((500, 1)) for _ in range(60))
    whole = [[group.variables for group in exchangeable_groups(table)] == [tuple(range(8))] for table in tables]
    assert np.mean(whole) >= 0.95  # at a level of 0.01


def test_constant_columns_are_interchangeable_with_their_like():
    table = np.tile([0, 1, 0, 1, 1], (200, 1))
    assert [group.variables for group in exchangeable_groups(table)] == [(1, 3, 4), (0, 2)]


@pytest.mark.parametrize("level", [-0.1, 1.5, np.nan, "small", None])
def test_a_bad_level_is_refused(level):
    with pytest.raises(ParameterError, match="level: expected a number from 0 to 1"):
        exchangeable_groups([[0, 1]], level=level)


def test_a_bad_table_is_refused():
    with pytest.raises(DataError, match="found 7 at row 0, column 1"):
        exchangeable_groups([[0, 7]], domains="binary")
