"""Blocks of best evidence against all partitions of a few columns, and contexts of rows with columns of any types."""

import numpy as np
import pytest

from support.blocks import all_partitions, log_prior_of
from xspn.data.domain import Domain
from xspn.learning.blocks.table_contexts import find_contexts, one_context
from xspn.learning.blocks.table_partition import log_prior
from xspn.learning.blocks.table_products import ProductRows, Structure
from xspn.learning.source import TableSource
from xspn.learning.table_data import TableData
from xspn.learning.task import Rows, Task
from xspn.paper.datasets.planted import planted

REAL, NAMES, STEPS = Domain.real(), Domain(3), Domain.ordinal(4)


def summary_of(cells, domains, weights=None):
    data = TableData.of(np.asarray(cells, dtype=float), domains, weights)
    n_rows, n = data.shape
    return TableSource(data).slice_of(Task(Rows(np.arange(n_rows), data.weights), np.arange(n), 0)).summary


def random_columns(rng, rows, n):
    """Columns of three types, in random order; some share a common part, as the columns of a block do."""
    domains = [(REAL, NAMES, STEPS)[int(rng.integers(0, 3))] for _ in range(n)]
    hidden, cells = rng.normal(size=(rows, 2)), np.empty((rows, n))
    for j, domain in enumerate(domains):
        values = rng.normal(size=rows) + rng.choice([0.0, 1.5]) * hidden[:, int(rng.integers(0, 2))]
        if domain == REAL:
            cells[:, j] = rng.choice([1.0, 1.0, 30.0]) * (values + rng.choice([0.0, 0.0, 2.0]))
        else:
            cells[:, j] = np.searchsorted(np.quantile(values, np.linspace(0, 1, domain.cardinality + 1)[1:-1]), values)
    return cells, domains


def test_the_best_of_all_partitions_is_found_nearly_always(rng):
    best = []
    for case in range(30):
        rows = int(rng.choice([120, 300, 1000]))
        cells, domains = random_columns(rng, rows, 4 + case % 3)
        table = ProductRows(summary_of(cells, domains, rng.random(rows) + 0.5))

        def value(partition, joint=False, table=table):
            return table.evidence(Structure(partition, joint), table.weights)

        found = table.best_structure()
        own = value(found.blocks, found.joint)
        scores = []
        for partition in all_partitions(len(domains)):
            if all(len({domains[j] for j in block}) == 1 for block in partition):
                scores += [value(partition), value(partition, joint=True)]
        best.append(own > max(scores) - 1e-6)
    assert np.mean(best) >= 0.9


@pytest.mark.parametrize("n", range(1, 6))
def test_the_prior_of_a_partition_is_that_of_bits(n):
    for partition in all_partitions(n):
        assert log_prior([len(block) for block in partition]) == pytest.approx(log_prior_of(partition), abs=1e-12)


def test_columns_of_different_domains_or_scales_share_no_block(rng):
    for rows in (8, 25, 60, 200):
        common = rng.normal(size=(rows, 1))
        reals = (common + rng.normal(size=(rows, 6))) * [1, 1, 1, 40, 40, 1] + [0, 0, 0, 0, 0, 9]
        codes = np.clip(np.round(common + rng.normal(size=(rows, 4)) + 1.5), 0, 2)
        cells = np.hstack([reals, codes])
        domains = [REAL] * 6 + [NAMES, NAMES, Domain.ordinal(3), Domain.ordinal(3)]
        kinds = [0, 0, 0, 1, 1, 2, 3, 3, 4, 4]
        for block in one_context(summary_of(cells, domains)).blocks:
            assert len({kinds[j] for j in block}) == 1, (rows, block)


def planted_summary(seed, rows, n=24, scale=None, order=None):
    truth = planted("mixed", n, random_state=seed)
    cells = truth.sample(rows, random_state=seed)
    domains = [REAL if domain.cardinality is None else NAMES for domain in truth.domains]
    scales = np.where([domain == REAL for domain in domains], scale or 1.0, 1.0)
    order = np.arange(n) if order is None else order
    return truth, summary_of((cells * scales)[:, order], [domains[j] for j in order])


def blocks_of(mixture, order=None):
    """The blocks of each context, contexts in any order."""
    names = np.arange(100) if order is None else order
    return sorted(
        sorted(tuple(sorted(names[list(block)].tolist())) for block in context.structure.blocks)
        for context in mixture.contexts
    )


def test_planted_contexts_and_blocks_are_found():
    right = []
    for seed in (0, 1, 3, 4):
        truth, summary = planted_summary(seed, 4000)
        expected = sorted(
            sorted(tuple(sorted(leaf.scope)) for leaf in context.children) for context in truth.root.children
        )
        right.append(blocks_of(find_contexts(summary, seed=0)) == expected)
    assert sum(right) >= 3


def test_neither_scale_nor_order_matters(rng):
    """Of all real columns; of rows and columns."""
    for seed in (0, 1):
        _, summary = planted_summary(seed, 600, 12)
        first = find_contexts(summary, seed=0)
        _, scaled = planted_summary(seed, 600, 12, scale=1000.0)
        assert blocks_of(find_contexts(scaled, seed=0)) == blocks_of(first)
        order = rng.permutation(12)
        _, moved = planted_summary(seed, 600, 12, order=order)
        assert blocks_of(find_contexts(moved, seed=0), order) == blocks_of(first)
        rows = rng.permutation(600)
        shuffled = summary_of(summary.cells[rows], [column.domain for column in summary.columns])
        found = find_contexts(shuffled, seed=0)
        assert blocks_of(found) == blocks_of(first)
        assert found.evidence == pytest.approx(first.evidence, rel=1e-9)


def test_one_column_on_another_scale_changes_nothing_else(rng):
    cells = rng.normal(size=(400, 1)) + rng.normal(size=(400, 5))
    cells[:, 4] = 3 + rng.normal(size=400) * 0.2
    first = one_context(summary_of(cells, [REAL] * 5))
    second = one_context(summary_of(cells * [1, 1, 1, 1, 1000.0], [REAL] * 5))
    assert first.structure.blocks == second.structure.blocks == ((0, 1, 2, 3), (4,))


def test_an_observed_category_that_decides_the_context_is_found(rng):
    decides = rng.integers(0, 3, size=900)
    cells = rng.normal(size=(900, 5)) + np.array([[-2.0], [0.0], [2.0]])[decides]
    found = find_contexts(summary_of(np.column_stack([decides, cells]), [NAMES] + [REAL] * 5), seed=0)
    likeliest = np.argmax(found.responsibilities, axis=1)
    assert len(found.contexts) == 3
    assert all(len(np.unique(likeliest[decides == value])) == 1 for value in range(3))


def test_jointly_normal_columns_are_one_context(rng):
    cells = rng.normal(size=(500, 6)) @ rng.normal(size=(6, 6)) * [1, 2, 3, 4, 5, 6]
    found = find_contexts(summary_of(cells, [REAL] * 6), seed=0)
    assert len(found.contexts) == 1
    assert found.contexts[0].structure.joint


def test_a_number_that_many_rows_share_is_a_context(rng):
    cells = rng.normal(size=(600, 4)) + 5
    zero = rng.random(600) < 0.4
    cells[zero, 0] = 0.0
    cells[zero, 1] += 3
    found = find_contexts(summary_of(cells, [REAL] * 4), seed=0)
    likeliest = np.argmax(found.responsibilities, axis=1)
    assert len(found.contexts) == 2
    assert (likeliest == likeliest[zero][0]).tolist() == zero.tolist()
