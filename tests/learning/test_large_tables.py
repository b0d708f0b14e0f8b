"""Large tables: what is made some rows at a time is what is made at once, and takes little memory."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from xspn import XSPN, exchangeability_test, exchangeable_groups
from xspn.data.domain import Domain
from xspn.data.table import Table
from xspn.learning import summary as bits_module
from xspn.learning import table_summary as tables_module
from xspn.learning.exchangeability.groups import table_test
from xspn.learning.independence import components, components_of_many
from xspn.learning.table_data import TableData

MEGABYTE = 1_000_000


def peak(work: Callable[[], Any]) -> int:
    """Return how many bytes some work takes at most, beyond what is there before."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        work()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def answers(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Return bits that follow a hidden number, each in its own measure."""
    hidden, loads = rng.normal(size=(rows, 1)), rng.normal(size=columns)
    return (rng.random((rows, columns)) < 1 / (1 + np.exp(-2 * hidden * loads))).astype(np.uint8)


def with_missing(rng: np.random.Generator, table: np.ndarray) -> np.ndarray:
    return np.where(rng.random(table.shape) < 0.1, np.nan, table)


# -- bits: some rows of the pairs at a time ----------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "columns"), [(30, 90), (200, 40)])
@pytest.mark.parametrize("weighted", [False, True])
def test_circuits_of_many_bits_are_those_of_few(rng, monkeypatch, rows, columns, weighted):
    table = answers(rng, rows, columns)
    weights = np.linspace(0.5, 2.0, rows) if weighted else None
    at_once = XSPN(random_state=0).fit(table, sample_weight=weights).circuit_
    monkeypatch.setattr(bits_module, "WIDEST_AT_ONCE", 16)
    in_blocks = XSPN(random_state=0).fit(table, sample_weight=weights).circuit_
    assert in_blocks.summary() == at_once.summary()
    assert in_blocks.log_likelihood(table) == pytest.approx(at_once.log_likelihood(table), rel=1e-9)


@pytest.mark.parametrize("missing_rate", [False, True])
@pytest.mark.parametrize("method", ["global", "pairwise"])
def test_tests_of_many_bits_are_those_of_few(rng, monkeypatch, missing_rate, method):
    table = answers(rng, 60, 70)
    table = with_missing(rng, table) if missing_rate else table
    at_once = exchangeability_test(table, method)
    monkeypatch.setattr(bits_module, "WIDEST_AT_ONCE", 16)
    in_blocks = exchangeability_test(table, method)
    assert in_blocks.p_value == pytest.approx(at_once.p_value, rel=1e-6)
    for name, value in at_once.parts.items():
        assert in_blocks.parts[name] == (pytest.approx(value, rel=1e-6) if isinstance(value, float) else value)


def test_groups_of_many_bits_are_those_of_few(rng, monkeypatch):
    likely = np.repeat([0.2, 0.5, 0.8], 12)
    table = (rng.random((400, 36)) < likely).astype(np.uint8)
    at_once = exchangeable_groups(table)
    monkeypatch.setattr(bits_module, "WIDEST_AT_ONCE", 16)
    assert [group.variables for group in exchangeable_groups(table)] == [group.variables for group in at_once]


def test_many_bits_with_missing_cells_are_learned(rng, monkeypatch):
    table = with_missing(rng, answers(rng, 150, 40))
    at_once = XSPN(random_state=0).fit(table).score(table)
    monkeypatch.setattr(bits_module, "WIDEST_AT_ONCE", 16)
    assert XSPN(random_state=0).fit(table).score(table) == pytest.approx(at_once, rel=0.1)


@pytest.mark.parametrize("density", [0.0, 0.005, 0.02, 0.3])
@pytest.mark.parametrize("at_once", [1, 7, 100])
def test_components_of_many_are_those_of_the_matrix(rng, density, at_once):
    links = rng.random((60, 60)) < density
    links = links | links.T
    np.fill_diagonal(links, False)
    found = components_of_many(60, lambda rows, columns: links[np.ix_(rows, columns)], at_once)
    assert [group.tolist() for group in found] == [group.tolist() for group in components(links)]


def test_a_test_of_thousands_of_bits_makes_no_table_of_all_pairs(rng):
    table = answers(rng, 20, 6000)  # a table of all pairs has 288 MB, and several would be made
    assert peak(lambda: exchangeability_test(table)) < 280 * MEGABYTE


def test_a_circuit_of_many_bits_is_learned_without_tables_of_all_pairs(rng, monkeypatch):
    table = answers(rng, 20, 1000)  # 8 MB for each such table, of which a split would make a dozen
    monkeypatch.setattr(bits_module, "WIDEST_AT_ONCE", 256)
    XSPN(random_state=0).fit(table)  # loads the compiled code, which is no table
    assert peak(lambda: XSPN(random_state=0).fit(table)) < 40 * MEGABYTE


# -- other columns: some rows at a time --------------------------------------------------------------------------------


def kinds_of_tables(rng: np.random.Generator) -> dict[str, np.ndarray]:
    hidden = rng.normal(size=(150, 1))
    numbers = hidden * rng.normal(size=3) + rng.normal(size=(150, 3))
    steps = np.clip(np.round(hidden * rng.normal(size=4) + rng.normal(size=(150, 4)) + 2), 0, 4)
    return {"steps": steps, "alike": rng.integers(0, 5, size=(150, 4)), "mixed": np.hstack([numbers, steps])}


@pytest.mark.parametrize("kind", ["steps", "alike", "mixed"])
def test_circuits_of_many_rows_are_those_of_few(rng, monkeypatch, kind):
    table = kinds_of_tables(rng)[kind]
    at_once = XSPN(random_state=0).fit(table).circuit_
    monkeypatch.setattr(tables_module, "NUMBERS_AT_ONCE", 2500)
    in_blocks = XSPN(random_state=0).fit(table).circuit_
    assert in_blocks.log_likelihood(table).mean() == pytest.approx(at_once.log_likelihood(table).mean(), rel=1e-3)


@pytest.mark.parametrize("domain", [Domain.ordinal(4), Domain.ordinal(12), Domain.real()])
def test_tests_of_many_rows_are_those_of_few(rng, monkeypatch, domain):
    size = (300, 8)
    table = rng.normal(size=size) if domain.cardinality is None else rng.integers(0, domain.cardinality, size=size)
    at_once = table_test(table.astype(float), domain)
    monkeypatch.setattr(tables_module, "NUMBERS_AT_ONCE", 2000)
    in_blocks = table_test(table.astype(float), domain)
    assert in_blocks.p_value == pytest.approx(at_once.p_value, rel=1e-6)
    assert in_blocks.dof == at_once.dof


def test_bytes_are_read_as_bytes(rng):
    table = rng.integers(0, 5, size=(50_000, 20), dtype=np.int8)
    found = Table.of(table)
    schema, cells = found.schema, found.codes
    assert cells.dtype == np.int8
    assert peak(lambda: Table.of(table)) < 8 * table.size
    assert set(schema.domains) == {Domain.ordinal(5)}


def test_equal_rows_are_merged_whatever_their_cells_are(rng):
    cells = np.column_stack([rng.integers(0, 3, 500), rng.integers(0, 400, 500), rng.choice([-0.0, 0.0, 1.5], 500)])
    cells = np.where(rng.random(cells.shape) < 0.2, np.nan, cells.astype(float))
    cells = np.vstack([cells, cells[::3]])
    data = TableData.of(cells, [Domain(3), Domain(400), Domain.real()])
    seen = cells[~np.isnan(cells).all(axis=1)]
    by_hand: dict[tuple[float | None, ...], int] = {}
    for row in seen.tolist():
        key = tuple(None if np.isnan(cell) else cell + 0.0 for cell in row)
        by_hand[key] = by_hand.get(key, 0) + 1
    found = [tuple(None if np.isnan(cell) else cell + 0.0 for cell in row) for row in data.cells.tolist()]
    assert dict(zip(found, data.weights.tolist(), strict=True)) == by_hand
    assert found == list(by_hand)  # in order of first appearance


def test_a_table_of_steps_needs_no_number_for_each_row_and_class(rng):
    table = rng.integers(0, 5, size=(20_000, 16), dtype=np.int8)
    assert peak(lambda: XSPN(random_state=0).fit(table)) < 350 * MEGABYTE  # 775 MB are a number for each row and class
