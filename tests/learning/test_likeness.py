"""Which columns may share a block: those that the whole table, or many rows, show to have one distribution."""

import numpy as np
import pytest

from support.tables import REAL, exchangeable_categories, exchangeable_numbers, with_missing
from xspn.data.domain import Domain
from xspn.learning.config import LearnConfig
from xspn.learning.leaf_learners.blocks import similar_columns
from xspn.learning.likeness import blocks_of, groups_of_columns
from xspn.learning.table_slice import TableSlice
from xspn.learning.table_summary import Column, TableSummary


def groups(cells, domains, weights=None):
    """The groups of more than one column."""
    if isinstance(domains, Domain):
        domains = [domains] * cells.shape[1]
    found = groups_of_columns(cells, np.ones(len(cells)) if weights is None else weights, domains)
    return sorted(np.flatnonzero(found == g).tolist() for g in np.unique(found) if (found == g).sum() > 1)


def summary(cells, numbers):
    """Real columns of the given groups."""
    return TableSummary(cells, np.ones(len(cells)), tuple(Column(REAL, 1.0, 1e-6, group) for group in numbers))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rows", [60, 300, 3000])
def test_repeated_measurements_are_a_group_and_other_columns_are_not(rows, seed):
    rng = np.random.default_rng(seed)
    like = 5 + exchangeable_numbers(rng, rows, 4)
    others = np.column_stack([3 * like[:, 0], like[:, 1] + 2, rng.exponential(50, rows), rng.normal(5, 0.2, rows)])
    found = groups(np.hstack([like, others]), REAL)
    assert all(set(group) <= {0, 1, 2, 3} for group in found)
    assert rows == 60 or found == [[0, 1, 2, 3]]


@pytest.mark.parametrize("missing_rate", [0.0, 0.2])
def test_the_order_of_rows_and_columns_and_a_common_unit_do_not_matter(missing_rate, rng):
    cells = np.hstack([exchangeable_numbers(rng, 200, 3), 1 + 2 * exchangeable_numbers(rng, 200, 2)])
    cells = with_missing(rng, cells, missing_rate)
    assert groups(cells, REAL) == [[0, 1, 2], [3, 4]]
    assert groups(cells[rng.permutation(200)], REAL) == [[0, 1, 2], [3, 4]]
    assert groups(cells[:, [3, 0, 4, 1, 2]], REAL) == [[0, 2], [1, 3, 4]]
    assert groups(1e6 - 1e-3 * cells, REAL) == [[0, 1, 2], [3, 4]]
    assert groups(np.repeat(cells, 2, axis=0), REAL) == groups(cells, REAL, np.full(200, 2.0))


def test_another_unit_of_one_column_takes_it_out_of_its_group(rng):
    cells = exchangeable_numbers(rng, 500, 4)
    assert groups(cells, REAL) == [[0, 1, 2, 3]]
    assert groups(cells * [1, 1, 2.54, 1], REAL) == [[0, 1, 3]]
    assert groups(cells + np.array([0, 0, 0.5, 0]), REAL) == [[0, 1, 3]]


def test_outliers_do_not_make_columns_alike(rng):
    """A few huge numbers give any two columns one mean and one deviation, as far as moments can tell."""
    cells = np.column_stack([rng.normal(0, 1, 200), rng.normal(3, 1, 200)])
    cells[:3] += 1e4 * rng.normal(size=(3, 1))
    assert groups(cells, REAL) == []


def test_names_are_compared_value_by_value(rng):
    cells = exchangeable_categories(rng, 400, 4, 3)
    cells[:, 3] = 2 - cells[:, 3] * (rng.random(400) < 0.5)
    assert groups(cells, Domain(3)) == [[0, 1, 2]]
    assert groups(cells, Domain.ordinal(3)) == [[0, 1, 2]]
    scale = rng.binomial(12, np.tile([0.3, 0.3, 0.6], (400, 1))).astype(float)
    assert groups(scale, Domain.ordinal(13)) == [[0, 1]]


@pytest.mark.parametrize("seed", range(10))
def test_few_rows_pool_only_what_the_table_has_shown_to_be_alike(seed):
    """25 rows cannot tell columns apart whose means differ by a deviation in most draws; the table can."""
    cells = np.random.default_rng(seed).normal(size=(25, 4)) + np.array([0, 0, 0.7, 0.7])
    apart = summary(cells, [0, 1, 2, 3])
    assert all(len(block) == 1 for block in similar_columns(apart))
    assert TableSlice(apart).test(LearnConfig()) is None
    in_pairs = similar_columns(summary(cells, [0, 0, 1, 1]))
    assert all({*block.tolist()} <= {0, 1} or {*block.tolist()} <= {2, 3} for block in in_pairs)


def test_many_rows_speak_for_themselves(rng):
    cells = exchangeable_numbers(rng, 400, 3)
    assert len(similar_columns(summary(cells, [0, 1, 2]))) == 1
    assert TableSlice(summary(cells, [0, 1, 2])).test(LearnConfig()) is not None
    assert len(similar_columns(summary(cells + np.array([0, 0, 1]), [0, 0, 0]))) == 2
    assert TableSlice(summary(cells + np.array([0, 0, 1]), [0, 0, 0])).test(LearnConfig()) is None


@pytest.mark.parametrize("seed", range(20))
def test_a_column_joins_the_first_block_all_of_whose_members_are_like_it(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    pairs = rng.random((n, n)) < 0.7
    pairs |= pairs.T | np.eye(n, dtype=bool)
    cells = rng.normal(size=(5, n))
    expected = []
    for column in np.argsort(cells.mean(axis=0)):
        home = next((block for block in expected if all(pairs[column, other] for other in block)), None)
        if home is None:
            expected.append([column])
        else:
            home.append(column)
    found = blocks_of(pairs, cells, np.ones(5))
    assert [block.tolist() for block in found] == [sorted(block) for block in expected]
