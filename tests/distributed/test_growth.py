"""Circuits learned from partitions: those of the local learner where all is gathered, and nearly so where not."""

import numpy as np
import pytest

from support.distributed import grown, growth_of, in_blocks
from support.learning import exchangeable_table, learned, random_table, total_probability, two_clusters
from xspn import XSPN, Circuit
from xspn.core.errors import DataError, ParameterError
from xspn.distributed.gathering import GatherLimits
from xspn.io.json_format import to_json
from xspn.learning.config import LearnConfig, PublishedProgram
from xspn.learning.data import BinaryData
from xspn.learning.learner import learn
from xspn.learning.policy import Operation

EVERYTHING = GatherLimits(gather_cells=10**9)


def clustered_table(rng, rows=1500, columns=8):
    """Two kinds of rows, in each of them two blocks of dependent variables."""
    table, kind = two_clusters(rng, rows, columns)
    half = columns // 2
    table[:, :half] = np.where(rng.random((rows, 1)) < 0.4, table[:, :1], table[:, :half])
    return np.where(kind[:, None] == 1, table, table[:, ::-1]).astype(np.uint8)


@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_table_that_is_gathered_gives_the_local_circuit(rng, missing, weighted):
    table = random_table(rng, 200, 6).astype(float)
    table[rng.random(table.shape) < missing] = np.nan
    bits = np.where(np.isnan(table), 2, table).astype(np.uint8)
    weights = rng.integers(0, 3, size=200).astype(float) if weighted else None
    data = BinaryData.of(bits, weights, merge_equal_rows=not missing)
    local = Circuit.of_graph(learn(data, LearnConfig(), 7).graph)
    blocks = None if weights is None else in_blocks(weights[:, None])[:, 0]
    found, report = grown(in_blocks(table), 7, EVERYTHING, blocks)
    assert to_json(found) == to_json(local)
    assert len(report.passes) == 1


def test_a_measured_table_gives_as_good_a_circuit(rng):
    table, test = np.split(clustered_table(rng, 3000), [2000])
    local, _ = learned(table, seed=3)
    found, report = grown(in_blocks(table, 300), 3, GatherLimits(gather_cells=100, sample_rows=500))
    assert sum(own.measured for own in report.passes) > 3
    assert found.log_likelihood(test).mean() > 1.005 * local.log_likelihood(test).mean()
    assert total_probability(found) == pytest.approx(1.0)


def test_of_a_long_table_of_few_variables_only_different_rows_are_gathered(rng):
    table = clustered_table(rng, 3000, 6)
    local, _ = learned(table, seed=3)
    found, report = grown(in_blocks(table, 300), 3, GatherLimits(gather_cells=6 * 2**6))
    assert [(own.measured, own.gathered) for own in report.passes] == [(0, 1)]
    assert to_json(found) == to_json(local)


def test_a_measured_table_with_missing_values_gives_as_good_a_circuit(rng):
    table, test = np.split(clustered_table(rng, 3000).astype(float), [2000])
    table[rng.random(table.shape) < 0.2] = np.nan
    local = XSPN(exchangeability="global", random_state=0).fit(table).circuit_
    found, report = grown(in_blocks(table, 300), 3, GatherLimits(gather_cells=2000, sample_rows=1000))
    assert sum(own.measured for own in report.passes) > 3
    assert found.log_likelihood(test).mean() > 1.005 * local.log_likelihood(test).mean()
    assert total_probability(found) == pytest.approx(1.0)


def test_exchangeable_variables_become_one_leaf_with_exact_counts(rng):
    table = exchangeable_table(rng, 1000, 6)
    local, trace = learned(table)
    found, report = grown(in_blocks(table, 100), 0, GatherLimits(gather_cells=10, sample_rows=50))
    assert [entry.operation for entry in report.learned.trace] == [Operation.EXCHANGEABLE]
    assert trace.entries[0].test == report.learned.trace.entries[0].test
    assert to_json(found) == to_json(local)


def test_parity_is_seen_by_the_score_of_all_rows(rng):
    table = rng.integers(0, 2, size=(2000, 6))
    table[:, 5] = table[:, :5].sum(axis=1) % 2
    table[0, 0] = 1 - table[0, 0]
    settings = {"significance": 0.9999}  # the test rejects whatever it sees
    found, report = grown(in_blocks(table, 500), 0, GatherLimits(gather_cells=10, sample_rows=50), **settings)
    assert to_json(found) == to_json(learned(table, **settings)[0])
    assert "predict better" in str(report.learned.trace)


@pytest.mark.parametrize(
    "settings",
    [
        {"exchangeability": None},
        {"exchangeability": "pairwise"},
        {"exchangeability": "full"},
        {"exchangeability": "global", "published": PublishedProgram(test_options=(("p_value", "auto"),))},
        {"clustering": "variable"},
        {"clustering": "bernoulli"},
        {"clustering": "kmeans"},
        {"clustering": "gmm", "min_instances": 10**6},
        {"leaf_learner": "chow_liu", "min_instances": 10**6},
        {"leaf_learner": "factorized", "min_instances": 10**6},
        {"leaf_learner": "exchangeable", "min_instances": 10**6},
        {"leaf_learner": "auto", "min_instances": 10**6},
        {"published": PublishedProgram(rows_first=True, score_overrules=True)},
        {"published": PublishedProgram(score_overrules=True), "shrinkage": 0.0},
    ],
    ids=str,
)
def test_every_setting_gives_a_distribution_near_the_local_one(rng, settings):
    table, test = np.split(clustered_table(rng, 2400, 6), [1800])
    local, _ = learned(table, **settings)
    found, _ = grown(in_blocks(table, 400), 0, GatherLimits(gather_cells=3000, sample_rows=800), **settings)
    assert total_probability(found) == pytest.approx(1.0)
    assert found.log_likelihood(test).mean() == pytest.approx(local.log_likelihood(test).mean(), rel=0.02)


def test_partitions_of_any_size_give_the_same_sums(rng):
    table = clustered_table(rng, 900)
    limits = GatherLimits(gather_cells=500, sample_rows=10**6)  # samples are whole: nothing depends on the partitions
    found = [grown(in_blocks(table, rows), 1, limits)[0] for rows in (100, 450, 900)]
    scores = [circuit.log_likelihood(table) for circuit in found]
    np.testing.assert_allclose(scores[0], scores[1])
    np.testing.assert_allclose(scores[0], scores[2])


def test_one_pass_serves_all_open_tasks_of_a_level(rng):
    table = clustered_table(rng, 1500)
    _, report = grown(in_blocks(table, 500), 0, GatherLimits(gather_cells=400))
    levels = [own.level for own in report.passes]
    assert levels == sorted(set(levels))


def test_what_does_not_fit_into_one_pass_waits_for_the_next(rng):
    table = clustered_table(rng, 1500)
    wide = GatherLimits(gather_cells=800, sample_rows=10**6)
    narrow = GatherLimits(gather_cells=800, sample_rows=10**6, gather_bytes=50, statistics_bytes=10)
    growth = growth_of(in_blocks(table, 500), wide)
    slow = growth_of(in_blocks(table, 500), narrow)
    first, second = growth.grow(growth.root_tree(0)), slow.grow(slow.root_tree(0))
    assert len(slow.reports) > len(growth.reports)
    assert len(first.graph) == len(second.graph)
    for own, other in zip(first.trace, second.trace, strict=True):
        assert (own.operation, own.variables, own.rows) == (other.operation, other.variables, other.rows)


def test_rows_without_weight_or_cells_do_not_count(rng):
    table = random_table(rng, 120, 4).astype(float)
    weights = np.ones(120)
    weights[:40] = 0
    table[40:60] = np.nan
    found, _ = grown(in_blocks(table), 0, EVERYTHING, in_blocks(weights[:, None])[:, 0])
    assert to_json(found) == to_json(grown(in_blocks(table[60:]), 0, EVERYTHING)[0])
    with pytest.raises(DataError, match=r"found 0 sample"):
        grown(in_blocks(table[40:60]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"clustering": "gmm"}, "clustering='gmm' cannot take tables that are out of core"),
        ({"published": PublishedProgram(test_options=(("p_value", "shuffle"),))}, "shuffling needs all rows"),
    ],
)
def test_what_needs_all_rows_is_refused(rng, settings, message):
    with pytest.raises(ParameterError, match=message):
        grown(in_blocks(clustered_table(rng, 400)), 0, GatherLimits(gather_cells=10), **settings)


def test_limits_are_whole_numbers():
    with pytest.raises(ParameterError, match="gather_cells"):
        GatherLimits(gather_cells=0)
