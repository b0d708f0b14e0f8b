"""Groups of interchangeable columns in tables of any types."""

import numpy as np
import pytest

from xspn.core.errors import ParameterError
from xspn.data.domain import Domain
from xspn.learning.exchangeability.groups import table_groups, table_test
from xspn.learning.exchangeability.public import exchangeable_groups

ROWS = 1500


def codes(rng, n, k, shared):
    """Columns that follow a hidden value in a fraction of the rows."""
    hidden = rng.integers(0, k, size=(ROWS, 1))
    return np.where(rng.random((ROWS, n)) < shared, hidden, rng.integers(0, k, size=(ROWS, n))).astype(float)


def numbers(rng, n, correlation):
    return np.sqrt(correlation) * rng.normal(size=(ROWS, 1)) + np.sqrt(1 - correlation) * rng.normal(size=(ROWS, n))


def variables(groups):
    return [group.variables for group in groups]


@pytest.mark.parametrize("domain", [Domain(3), Domain.ordinal(3), Domain.ordinal(9)])
def test_blocks_of_codes_that_differ_in_what_they_follow(rng, domain):
    table = np.hstack([codes(rng, 4, domain.cardinality, 0.7), codes(rng, 3, domain.cardinality, 0.7)])
    groups = table_groups(table, [domain] * 7, level=0.001)
    assert variables(groups) == [(0, 1, 2, 3), (4, 5, 6)]
    assert all(group.test.p_value >= 0.001 for group in groups)
    assert table_test(table, domain).p_value < 0.001
    assert table_test(table[:, :4], domain).p_value > 0.001


def test_blocks_of_real_numbers(rng):
    table = np.hstack([numbers(rng, 4, 0.5), numbers(rng, 3, 0.5), 3 + numbers(rng, 2, 0.5)])
    order = rng.permutation(9)
    found = table_groups(table[:, order], [Domain.real()] * 9, level=0.001)
    back = sorted(tuple(sorted(int(order[v]) for v in group)) for group in variables(found))
    assert back == [(0, 1, 2, 3), (4, 5, 6), (7, 8)]


def test_missing_values_do_not_hide_the_groups(rng):
    table = np.hstack([numbers(rng, 4, 0.6), 2 + numbers(rng, 3, 0.6)])
    table[rng.random(table.shape) < 0.1] = np.nan
    assert variables(table_groups(table, [Domain.real()] * 7, level=0.001)) == [(0, 1, 2, 3), (4, 5, 6)]


def test_columns_of_different_kinds_or_meanings_are_never_together(rng):
    one = codes(rng, 4, 3, 0.7)
    domains = [Domain(3), Domain(3), Domain.ordinal(3), Domain.ordinal(3)]
    assert variables(table_groups(one, domains)) == [(0, 1), (2, 3)]
    assert variables(table_groups(one, [Domain(3)] * 4, alike=["a", "b", "a", "b"])) == [(0, 2), (1, 3)]
    assert variables(table_groups(one, [Domain(3)] * 4)) == [(0, 1, 2, 3)]


def test_bits_are_grouped_as_by_the_test_for_bits(rng):
    bits = (rng.random((ROWS, 6)) < np.where(rng.random((ROWS, 1)) < 0.5, 0.8, [0.2] * 3 + [0.5] * 3)).astype(float)
    found = table_groups(np.column_stack([bits, rng.normal(size=ROWS)]), [Domain(2)] * 6 + [Domain.real()])
    expected = exchangeable_groups(bits)
    assert variables(found) == [*variables(expected), (6,)]
    for own, other in zip(found, expected, strict=False):
        assert (own.test is None) == (other.test is None)
        assert own.test is None or own.test.p_value == pytest.approx(other.test.p_value)


def test_a_level_is_a_probability():
    with pytest.raises(ParameterError, match="level"):
        table_groups(np.zeros((3, 2)), [Domain.real()] * 2, level=2)
