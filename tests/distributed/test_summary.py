"""Sums over partitions are those of the whole table, whatever the partitions, weights and missing values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.learning import random_table
from xspn.distributed.summary import Aggregate, RemoteSummary
from xspn.learning.exchangeability.full import full_test
from xspn.learning.exchangeability.global_test import global_test
from xspn.learning.independence import g_statistics
from xspn.learning.summary import BinarySummary

PROPERTIES = ("pairs", "ones", "seen", "totals", "seen_pairs", "ones_where_seen")


def cells_of(seed, rows, columns, missing):
    rng = np.random.default_rng(seed)
    cells = random_table(rng, rows, columns).astype(np.float32)
    cells[rng.random(cells.shape) < missing] = np.nan
    return cells


def summed(cells, weights, cuts, complete):
    parts = zip(np.split(cells, cuts), np.split(weights, cuts), strict=True)
    whole, *others = [Aggregate.of(own, w, complete, count_assignments=complete) for own, w in parts]
    for other in others:
        whole = whole + other
    return RemoteSummary(whole, cells, weights)


@given(
    seed=st.integers(0, 1000),
    columns=st.integers(1, 7),
    missing=st.sampled_from([0.0, 0.3]),
    weighted=st.booleans(),
)
def test_sums_of_parts_are_those_of_the_whole(seed, columns, missing, weighted):
    cells = cells_of(seed, 60, columns, missing)
    weights = np.random.default_rng(seed).integers(1, 9, size=60) / (8.0 if weighted else 1.0)
    whole = BinarySummary.of(cells, weights)
    found = summed(cells, weights, [7, 7, 40], complete=missing == 0)
    assert (found.n, found.total, found.complete) == (whole.n, whole.total, whole.complete)
    for name in PROPERTIES:
        np.testing.assert_allclose(getattr(found, name), getattr(whole, name), rtol=1e-9, atol=1e-9, err_msg=name)
    np.testing.assert_array_equal(found.constant(), whole.constant())
    np.testing.assert_allclose(g_statistics(found), g_statistics(whole), atol=1e-9)
    np.testing.assert_allclose(global_test(found).statistic, global_test(whole).statistic, rtol=1e-6, atol=1e-9)


def test_assignments_are_counted_where_the_full_test_asks(rng):
    cells = cells_of(3, 80, 4, 0.0)
    found = summed(cells, np.ones(80), [11, 50], complete=True)
    assert full_test(found).p_value == pytest.approx(full_test(BinarySummary.of(cells, np.ones(80))).p_value)
    with pytest.raises(ValueError, match="not counted"):
        _ = RemoteSummary(Aggregate.of(cells, np.ones(80), complete=True), cells, np.ones(80)).assignments


def test_a_slice_without_missing_values_in_a_table_with_missing_values_is_complete():
    cells = cells_of(5, 40, 5, 0.0)
    found = summed(cells, np.ones(40), [20], complete=False)
    whole = BinarySummary.of(cells, np.ones(40))
    assert found.complete
    np.testing.assert_array_equal(found.totals, whole.totals)
    assert found.seen_pairs == 40.0


def test_columns_that_nobody_saw_are_left_out_exactly():
    cells = np.insert(cells_of(6, 50, 4, 0.2), 1, np.nan, axis=1)
    found = summed(cells, np.ones(50), [25], complete=False).part(np.array([0, 2, 3, 4]))
    whole = BinarySummary.of(cells[:, [0, 2, 3, 4]], np.ones(50))
    assert isinstance(found, RemoteSummary)
    np.testing.assert_allclose(found.totals, whole.totals)
    assert global_test(found).statistic == pytest.approx(global_test(whole).statistic)


def test_other_columns_are_those_of_the_sample_scaled_to_all_rows():
    cells = cells_of(7, 60, 5, 0.0)
    aggregate = Aggregate.of(cells, np.ones(60), complete=True)
    found = RemoteSummary(aggregate, cells[:20], np.ones(20)).part(np.array([1, 3]))
    np.testing.assert_allclose(found.totals, 3 * BinarySummary.of(cells[:20][:, [1, 3]], np.ones(20)).totals)


def test_rows_of_the_surroundings_are_added():
    cells, around = cells_of(8, 30, 4, 0.0), cells_of(9, 10, 4, 0.0)
    found = summed(cells, np.ones(30), [4], complete=True).with_rows(around, np.full(10, 0.2))
    whole = BinarySummary.of(np.concatenate([cells, around]), np.concatenate([np.ones(30), np.full(10, 0.2)]))
    for name in ("total", "pairs", "totals"):
        np.testing.assert_allclose(getattr(found, name), getattr(whole, name))


def test_what_needs_missing_cells_says_so():
    found = summed(cells_of(1, 20, 3, 0.0), np.ones(20), [5], complete=True)
    for ask in (lambda: found.partial_moments, found.keys):
        with pytest.raises(ValueError, match="no missing cells"):
            ask()
