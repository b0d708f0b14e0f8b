"""Every registered statistic × every promise of `xspn.statistics.base`, against enumeration.

The statistics come from the registry: a new one is enrolled the moment it is registered.
"""

import json
from itertools import pairwise

import numpy as np
import pytest

from support.chi_square import assert_frequencies_fit
from support.enumeration import agreeing, assignments, count_of, log, partial_rows, subsets
from xspn.statistics import Blocks, Count, Total, ValueCounts, statistic_from_params, statistics

SEEDS = range(6)
EXAMPLES = [(name, seed) for name in statistics for seed in SEEDS]
# Nested blocks and more categories than `example` draws.
MORE = {
    "blocks of value counts": (Blocks([[2, 0], [1, 3]], [ValueCounts(3), ValueCounts(3)]), 4),
    "blocks of totals and value counts": (Blocks([[1], [2, 0]], [Total(3), ValueCounts(3)]), 3),
    "blocks of blocks": (Blocks([[3, 0, 2], [1, 4]], [Blocks([[1], [2, 0]]), Count()]), 5),
    "four values": (ValueCounts(4), 3),
    "total of four values": (Total(4), 3),
}


@pytest.fixture(params=[*EXAMPLES, *MORE], ids=lambda p: p if isinstance(p, str) else f"{p[0]}-{p[1]}")
def case(request):
    """A statistic and a number of variables."""
    if isinstance(request.param, str):
        return MORE[request.param]
    name, seed = request.param
    return statistics[name].example(np.random.default_rng(seed))


def assignments_of(case):
    statistic, n = case
    return assignments([statistic.cardinality] * n)


def test_each_world_has_one_of_the_values(case):
    statistic, n = case
    t = statistic.of(assignments_of(case))
    assert len(statistic.values(n)) == statistic.size(n)
    assert set(t.tolist()) == set(range(statistic.size(n)))
    values = [tuple(np.ravel(value)) for value in statistic.values(n)]
    assert len(set(values)) == len(values)


def test_of_takes_any_dtype(case):
    statistic, _ = case
    all_assignments = assignments_of(case)
    for dtype in (np.uint8, np.int64, np.float64):
        assert (statistic.of(all_assignments.astype(dtype)) == statistic.of(all_assignments)).all()


def test_class_sizes_are_the_numbers_of_members(case):
    statistic, n = case
    sizes = np.bincount(statistic.of(assignments_of(case)), minlength=statistic.size(n))
    np.testing.assert_allclose(statistic.log_class_size(n), np.log(sizes), rtol=0, atol=1e-12)


def test_replacements_are_the_classes_of_changed_rows(case):
    statistic, n = case
    table = statistic.replacements(n)
    if table is None:
        return
    worlds, values = assignments_of(case).astype(np.int64), range(statistic.cardinality)
    t = statistic.of(worlds)
    assert table.shape == (statistic.size(n), statistic.cardinality, statistic.cardinality)
    for place in range(n):
        for value in values:
            changed = worlds.copy()
            changed[:, place] = value
            np.testing.assert_array_equal(table[t, worlds[:, place], value], statistic.of(changed))
    for here in values:
        without = np.setdiff1d(np.arange(len(table)), t[(worlds == here).any(axis=1)])
        assert (table[without, here] == -1).all()


def test_completions_of_every_partial_row(case):
    statistic, n = case
    all_assignments = assignments_of(case)
    t = statistic.of(all_assignments)
    rows = partial_rows([statistic.cardinality] * n)
    members = [np.bincount(t[agreeing(all_assignments, row)], minlength=statistic.size(n)) for row in rows]
    np.testing.assert_allclose(statistic.log_completions(rows), log(np.array(members)), rtol=0, atol=1e-12)
    chosen = np.arange(len(rows)) % statistic.size(n)
    at_t = statistic.log_completions(rows, chosen)
    np.testing.assert_array_equal(at_t, statistic.log_completions(rows)[np.arange(len(rows)), chosen])


def test_rows_with_one_key_have_the_same_completions(case):
    statistic, n = case
    rows = partial_rows([statistic.cardinality] * n)
    keys, which = statistic.distinct_keys(rows)
    table = np.array([statistic.completions_of_key(n, key) for key in keys])
    np.testing.assert_array_equal(table[which], statistic.log_completions(rows))


@pytest.mark.parametrize("seed", [None, 0])
def test_construct_completes_every_feasible_row(case, seed):
    statistic, n = case
    rows = partial_rows([statistic.cardinality] * n)
    feasible = np.argwhere(~np.isneginf(statistic.log_completions(rows)))
    evidence, t = rows[feasible[:, 0]], feasible[:, 1]
    filled = statistic.construct(evidence, t, None if seed is None else np.random.default_rng(seed))
    assert not np.isnan(filled).any()
    assert ((filled == evidence) | np.isnan(evidence)).all()
    assert ((filled >= 0) & (filled < statistic.cardinality) & (filled == np.floor(filled))).all()
    assert (statistic.of(filled) == t).all()


def test_construct_leaves_its_input_alone(case):
    statistic, n = case
    evidence = np.full((1, n), np.nan)
    statistic.construct(evidence, np.array([0]), np.random.default_rng(0))
    assert np.isnan(evidence).all()


def test_random_construction_is_uniform(case):
    statistic, n = case
    all_assignments, rng = assignments_of(case), np.random.default_rng(1)
    t = int(np.argmax(statistic.log_class_size(n)))
    members = statistic.of(all_assignments) == t
    drawn = statistic.construct(np.full((2000, n), np.nan), np.full(2000, t), rng)
    assert_frequencies_fit(count_of(drawn, all_assignments), members / members.sum())


def test_random_construction_is_uniform_given_something(case):
    statistic, n = case
    all_assignments, rng = assignments_of(case), np.random.default_rng(2)
    given = np.full(n, np.nan)
    given[n // 2] = 1
    t = int(np.argmax(statistic.log_completions(given[None, :])[0]))
    members = agreeing(all_assignments, given) & (statistic.of(all_assignments) == t)
    drawn = statistic.construct(np.repeat(given[None, :], 2000, axis=0), np.full(2000, t), rng)
    assert_frequencies_fit(count_of(drawn, all_assignments), members / members.sum())


def test_a_restricted_statistic_is_enough_for_a_function_of_the_whole(case):
    """Rows that agree outside some positions, and in the restricted statistic inside, have the same value."""
    statistic, n = case
    all_assignments = assignments_of(case)
    t = statistic.of(all_assignments)
    for positions in subsets(range(n))[1:]:
        inside, outside = np.array(positions), [i for i in range(n) if i not in positions]
        restricted = statistic.restrict(inside)
        assert restricted.cardinality == statistic.cardinality
        own = restricted.of(all_assignments[:, inside])
        assert own.max() < restricted.size(len(inside))
        seen = {}
        for value, part, rest in zip(t.tolist(), own.tolist(), all_assignments[:, outside].tolist(), strict=True):
            assert seen.setdefault((part, *rest), value) == value


def test_ones_are_counted(case):
    statistic, n = case
    if statistic.cardinality != 2:
        return
    all_assignments = assignments_of(case)
    assert (statistic.ones(n)[statistic.of(all_assignments)] == all_assignments.sum(axis=1)).all()


def test_symmetric_positions_are_a_partition_that_may_be_permuted(case):
    statistic, n = case
    all_assignments = assignments_of(case)
    groups = statistic.symmetric_positions(n)
    assert sorted(int(i) for group in groups for i in group) == list(range(n))
    for group in groups:
        for i, j in pairwise(group):
            swapped = all_assignments.copy()
            swapped[:, [i, j]] = all_assignments[:, [j, i]]
            assert (statistic.of(swapped) == statistic.of(all_assignments)).all()


def test_parameters_come_back(case):
    statistic, _ = case
    params = {"name": statistic.name, **statistic.to_params()}
    again = statistic_from_params(json.loads(json.dumps(params)))
    assert again == statistic
    assert hash(again) == hash(statistic)
    assert repr(again) == repr(statistic)
    assert (again.of(assignments_of(case)) == statistic.of(assignments_of(case))).all()


def test_no_rows_give_no_answers(case):
    statistic, n = case
    none = np.empty((0, n))
    assert statistic.of(none).shape == (0,)
    assert statistic.log_completions(none).shape == (0, statistic.size(n))
    assert statistic.construct(none, np.empty(0, dtype=int)).shape == (0, n)


def test_answers_cannot_be_corrupted(case):
    """Cached tables are either read-only or copies: writing into one must not change the next answer."""
    statistic, n = case
    for ask in (statistic.values, statistic.log_class_size):
        before = np.array(ask(n))
        answer = ask(n)
        if answer.flags.writeable:
            answer[...] = 0
        np.testing.assert_array_equal(ask(n), before)
