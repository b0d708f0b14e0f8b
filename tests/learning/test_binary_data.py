"""Training data: equal rows merged, weights added up, order kept, one byte a cell; the check of zeros and ones."""

from collections import Counter

import numpy as np
import pytest

from support.learning import random_table
from xspn.core.errors import DataError
from xspn.data.table import binary_table
from xspn.learning.data import BinaryData


@pytest.mark.parametrize("columns", [1, 3, 8, 9, 17])
def test_equal_rows_become_one_with_the_sum_of_their_weights(rng, columns):
    table = random_table(rng, 60, columns)
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], size=60)
    data = BinaryData.of(table, weights)
    expected = Counter()
    for row, weight in zip(table.tolist(), weights, strict=True):
        expected[tuple(row)] += weight
    found = {tuple(row): weight for row, weight in zip(data.bits.tolist(), data.weights, strict=True)}
    assert len(found) == len(data.bits), "some row occurs twice"
    assert found == pytest.approx({row: weight for row, weight in expected.items() if weight > 0})


def test_rows_stay_in_the_order_in_which_they_first_appear():
    table = np.array([[1, 1], [0, 1], [1, 1], [0, 0], [0, 1]], dtype=np.uint8)
    data = BinaryData.of(table)
    assert data.bits.tolist() == [[1, 1], [0, 1], [0, 0]]
    assert data.weights.tolist() == [2, 2, 1]


def test_rows_of_weight_zero_are_dropped_before_order_is_taken():
    table = np.array([[1, 1], [0, 1], [1, 1]], dtype=np.uint8)
    data = BinaryData.of(table, np.array([0.0, 2.0, 1.0]))
    assert data.bits.tolist() == [[0, 1], [1, 1]]
    assert data.weights.tolist() == [2, 1]


def test_rows_can_be_kept_apart():
    table = np.array([[1, 1], [1, 1]], dtype=np.uint8)
    data = BinaryData.of(table, merge_equal_rows=False)
    assert data.bits.tolist() == [[1, 1], [1, 1]]
    assert data.weights.tolist() == [1, 1]


def test_data_is_held_as_one_byte_a_cell_and_not_copied_without_need():
    table = np.unpackbits(np.arange(100, dtype=np.uint8)[:, None], axis=1)  # distinct rows
    data = BinaryData.of(table)
    assert data.bits.dtype == np.uint8
    assert np.shares_memory(data.bits, table)


def test_a_slice_takes_rows_and_variables_in_the_order_asked_for(rng):
    table = np.unique(random_table(rng, 40, 6), axis=0)
    data = BinaryData.of(table)
    rows = rng.permutation(len(table))[:5]
    for variables in (np.array([4, 1]), np.arange(6), np.array([2])):
        cells = data.slice(rows, variables)
        assert cells.dtype == np.float32
        np.testing.assert_array_equal(cells, table[rows][:, variables])


@pytest.mark.parametrize("kind", [bool, np.uint8, np.int64, np.float32, np.float64])
def test_zeros_and_ones_of_any_kind_become_bytes(kind):
    bits = binary_table(np.array([[0, 1], [1, 1]], dtype=kind))
    assert bits.dtype == np.uint8
    assert bits.tolist() == [[0, 1], [1, 1]]


@pytest.mark.parametrize("value", [2, -1, 0.5, 255, np.inf, -np.inf])
def test_anything_else_is_refused_by_its_place(value):
    table = np.zeros((3, 2))
    table[2, 1] = value
    with pytest.raises(DataError, match=f"expected 0 or 1, found {value:g} at row 2, column 1 \\('b'\\)"):
        binary_table(table, ("a", "b"))


def test_a_missing_value_is_refused_by_its_place_and_with_the_reason():
    table = np.array([[0, 1], [np.nan, 1]])
    with pytest.raises(DataError, match=r"missing \(NaN\) at row 1, column 0; this needs complete rows"):
        binary_table(table)


def test_missing_values_have_a_byte_of_their_own_where_they_are_allowed():
    bits = binary_table(np.array([[0, 1], [np.nan, 1]]), allow_missing=True)
    assert bits.tolist() == [[0, 1], [2, 1]]
    np.testing.assert_array_equal(BinaryData.of(bits).rows(), [[0, 1], [np.nan, 1]])
    assert BinaryData.of(bits[:1]).rows().dtype == np.uint8


@pytest.mark.parametrize(("shape", "kind"), [((0, 3), "sample"), ((3, 0), "feature"), ((0, 0), "sample")])
def test_empty_tables_are_refused(shape, kind):
    with pytest.raises(DataError, match=rf"0 {kind}\(s\)"):
        binary_table(np.zeros(shape))
