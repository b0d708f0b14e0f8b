"""BinarySummary statistics against counting by hand, with weights of all kinds."""

import numpy as np
import pytest

from support.learning import random_table, summary


def by_hand(table, weights):
    n = table.shape[1]
    pairs, totals = np.zeros((n, n)), np.zeros(n + 1)
    for row, weight in zip(table.tolist(), weights.tolist(), strict=True):
        totals[sum(row)] += weight
        for i in range(n):
            for j in range(n):
                pairs[i, j] += weight * row[i] * row[j]
    return pairs, totals


WEIGHTS = {
    "ones": lambda rng, rows: np.ones(rows),
    "whole": lambda rng, rows: rng.integers(1, 9, size=rows).astype(float),
    "fractional": lambda rng, rows: rng.random(rows),
    "beyond what float32 counts": lambda rng, rows: rng.integers(1, 9, size=rows) * 1e8 + 1,
}


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("columns", [1, 2, 5])
def test_counts_are_those_of_the_rows(rng, kind, columns):
    table = random_table(rng, 30, columns)
    weights = WEIGHTS[kind](rng, 30)
    found = summary(table, weights)
    pairs, totals = by_hand(table, weights)
    assert found.n == columns
    assert found.total == pytest.approx(weights.sum(), rel=1e-15)
    np.testing.assert_allclose(found.pairs, pairs, rtol=1e-12)
    np.testing.assert_allclose(found.totals, totals, rtol=1e-12)
    np.testing.assert_allclose(found.ones, np.diag(pairs), rtol=1e-12)
    cells, own = found.rows()
    np.testing.assert_array_equal(cells, table)
    np.testing.assert_allclose(own, weights, atol=1e-14 * found.total)


def test_weights_are_how_often_a_row_occurs(rng):
    table, weights = random_table(rng, 20, 4), rng.integers(1, 5, size=20)
    once, often = summary(table, weights), summary(np.repeat(table, weights, axis=0))
    np.testing.assert_array_equal(once.pairs, often.pairs)
    np.testing.assert_array_equal(once.totals, often.totals)
    assert once.total == often.total


def test_the_pair_table_counts_the_four_cells_of_each_pair(rng):
    table, weights = random_table(rng, 25, 4), rng.random(25)
    n11, n10, n01, n00 = summary(table, weights).pair_table()
    for i in range(4):
        for j in range(4):
            for cells, a, b in ((n11, 1, 1), (n10, 1, 0), (n01, 0, 1), (n00, 0, 0)):
                by_hand = weights[(table[:, i] == a) & (table[:, j] == b)].sum()
                assert cells[i, j] == pytest.approx(by_hand, abs=1e-12)


@pytest.mark.parametrize("kind", WEIGHTS)
def test_constant_columns_are_found_whatever_the_weights(rng, kind):
    for _ in range(20):
        table = (rng.random((50, 4)) < 0.5).astype(np.uint8)
        table[:, 1], table[:, 2] = 0, 1
        assert summary(table, WEIGHTS[kind](rng, 50)).constant().tolist() == [False, True, True, False]
