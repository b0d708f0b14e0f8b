"""HCLTs: messages against the circuit and brute force, EM that climbs, and what fitting finds."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xspn import Circuit
from xspn.learning.data import BinaryData
from xspn.learning.hclt import (
    CountedRows,
    FittedHCLT,
    HCLTOptions,
    fit_hclt,
    hclt_circuit,
    singleton_blocks,
)
from xspn.learning.hclt.messages import HCLTTables, expected, log_likelihoods
from xspn.learning.hclt.tree import BlockTree, chow_liu_tree, information_of_blocks, sampled_chow_liu_tree
from xspn.learning.mevm.partition import BlockPartition


def random_partition(rng: np.random.Generator, n: int) -> BlockPartition:
    """Cut some variables, shuffled, into blocks."""
    order = rng.permutation(n)
    cuts = np.flatnonzero(rng.random(n - 1) < 0.6) + 1
    return tuple(np.split(order, cuts))


def random_tree(rng: np.random.Generator, blocks: BlockPartition, states: int) -> FittedHCLT:
    """Draw a tree and its parameters."""
    n = len(blocks)
    parents = [-1, *(int(rng.integers(0, node)) for node in range(1, n))]
    tree = BlockTree.of(parents, range(n))
    tables = HCLTTables(
        rng.dirichlet(np.ones(states)),
        rng.dirichlet(np.ones(states), size=(n, states)).astype(np.float32),
        tuple(rng.dirichlet(np.ones(len(block) + 1), size=states) for block in blocks),
    )
    return FittedHCLT(tree, tables, 0, 0.0)


def with_missing(rng: np.random.Generator, rows: np.ndarray, fraction: float = 0.3) -> np.ndarray:
    return np.where(rng.random(rows.shape) < fraction, np.nan, rows)


def drawn(n_rows: int, seed: int) -> np.ndarray:
    """Draw rows of six blocks of three bits along a chain: a block is mostly like the one before."""
    rng = np.random.default_rng(seed)
    kinds = [rng.integers(0, 2, n_rows)]
    for _ in range(5):
        kinds.append(np.where(rng.random(n_rows) < 0.85, kinds[-1], rng.integers(0, 2, n_rows)))
    chances = np.repeat(np.array([0.1, 0.8])[np.stack(kinds, axis=1)], 3, axis=1)
    return (rng.random(chances.shape) < chances).astype(np.uint8)


def true_log_likelihoods(rows: np.ndarray) -> np.ndarray:
    """Return what `drawn` draws rows with, block after block."""
    ones, p = rows.reshape(len(rows), 6, 3).sum(axis=2)[..., None], np.array([0.1, 0.8])
    seen = p**ones * (1 - p) ** (3 - ones)
    forward = 0.5 * seen[:, 0]
    for block in range(1, 6):
        forward = forward @ (0.85 * np.eye(2) + 0.15 * 0.5) * seen[:, block]
    return np.log(forward.sum(axis=1))


THREES = tuple(np.arange(3) + start for start in range(0, 18, 3))


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(2, 7), st.integers(1, 4))
def test_messages_and_the_circuit_agree_whatever_is_missing(seed: int, n: int, states: int) -> None:
    rng = np.random.default_rng(seed)
    blocks = random_partition(rng, n)
    fitted = random_tree(rng, blocks, states)
    rows = with_missing(rng, rng.integers(0, 2, size=(30, n)).astype(np.float64))
    data = CountedRows.of(rows, np.ones(30), blocks)
    found = log_likelihoods(fitted.tree, fitted.tables, data, np.arange(30))
    circuit = Circuit(hclt_circuit(fitted, blocks))
    np.testing.assert_allclose(found, circuit.log_likelihood(rows), atol=1e-4)
    everything = np.array(list(itertools.product([0.0, 1.0], repeat=n)))
    assert np.exp(circuit.log_likelihood(everything)).sum() == pytest.approx(1.0)


def test_expected_events_are_those_of_brute_force() -> None:
    rng = np.random.default_rng(3)
    blocks = (np.array([0, 1]), np.array([2]), np.array([3]))
    tree = BlockTree.of([1, -1, 1], [1, 0, 2])
    states = 2
    tables = random_tree(rng, blocks, states).tables
    row, weight = np.array([[1.0, np.nan, 0.0, 1.0]]), 2.5
    seen, _ = expected(tree, tables, CountedRows.of(row, np.array([weight]), blocks), np.array([0]))
    chance_of_pair = np.array([0.0, 0.5, 1.0])  # that the one cell seen is one, if t of two are
    transitions, first, counts = np.zeros((3, states, states)), np.zeros(states), np.zeros((states, 3))
    for root, left, right, t in itertools.product(range(2), range(2), range(2), range(3)):
        joint = tables.initial[root] * tables.transitions[0, root, left] * tables.transitions[2, root, right]
        joint *= (
            tables.emissions[0][left, t]
            * chance_of_pair[t]
            * tables.emissions[1][root, 0]
            * tables.emissions[2][right, 1]
        )
        first[root] += joint
        transitions[0, root, left] += joint
        transitions[2, root, right] += joint
        counts[left, t] += joint
    scale = weight / first.sum()
    np.testing.assert_allclose(seen.initial, first * scale, rtol=1e-5)
    np.testing.assert_allclose(seen.transitions[[0, 2]], transitions[[0, 2]] * scale, rtol=1e-5)
    np.testing.assert_allclose(seen.emissions[0], counts * scale, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("fraction", [0.0, 0.3])
def test_whole_steps_never_lower_the_likelihood(fraction: float) -> None:
    rng = np.random.default_rng(5)
    rows = with_missing(rng, drawn(200, 1).astype(np.float64), fraction)
    fitted = random_tree(rng, THREES, 3)
    data, everything = CountedRows.of(rows, np.ones(200), THREES), np.arange(200)
    tables, before = fitted.tables, -np.inf
    for _ in range(15):
        seen, logs = expected(fitted.tree, tables, data, everything)
        assert logs.sum() > before - 1e-3
        before = float(logs.sum())
        tables = tables.towards(seen.normalized(1.0, 1e-6), 1.0)


def test_a_row_that_counts_twice_is_two_rows() -> None:
    rng = np.random.default_rng(7)
    rows = drawn(20, 2).astype(np.float64)
    fitted = random_tree(rng, THREES, 3)
    once = CountedRows.of(np.concatenate([rows, rows[:10]]), np.ones(30), THREES)
    twice = CountedRows.of(rows, np.repeat([2.0, 1.0], 10), THREES)
    first, _ = expected(fitted.tree, fitted.tables, once, np.arange(30))
    second, _ = expected(fitted.tree, fitted.tables, twice, np.arange(20))
    np.testing.assert_allclose(first.transitions, second.transitions, rtol=1e-4, atol=1e-6)
    for a, b in zip(first.emissions, second.emissions, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_fitting_finds_what_a_chain_of_blocks_hides() -> None:
    rows, new = drawn(1000, 3), drawn(1000, 4)
    data, validation = (CountedRows.of(x, np.ones(len(x)), THREES) for x in (rows, drawn(300, 5)))
    fitted = fit_hclt(data, chow_liu_tree(data), HCLTOptions(2, 0.1), 0, validation)
    own = Circuit(hclt_circuit(fitted, THREES)).log_likelihood(new).mean()
    alone = singleton_blocks(18)
    single = CountedRows.of(rows, np.ones(1000), alone)
    bits = fit_hclt(single, chow_liu_tree(single), HCLTOptions(2, 0.1), 0)
    assert own > true_log_likelihoods(new).mean() - 0.1
    assert own > Circuit(hclt_circuit(bits, alone)).log_likelihood(new).mean()


def test_rows_that_are_merged_are_fitted_like_rows_that_are_not() -> None:
    rows = np.where(np.random.default_rng(0).random((2000, 1)) < 0.3, 0, drawn(2000, 10)).astype(np.uint8)
    merged = BinaryData.of(rows)
    scores = []
    for bits, weights in ((rows, np.ones(2000)), (merged.bits, merged.weights)):
        data = CountedRows.of(bits, weights, singleton_blocks(18))
        fitted = fit_hclt(data, chow_liu_tree(data), HCLTOptions(4, 0.1), 0)
        scores.append(Circuit(hclt_circuit(fitted, singleton_blocks(18))).log_likelihood(rows).mean())
    assert len(merged.weights) < 1500
    assert scores[0] == pytest.approx(scores[1], abs=0.03)


def test_pieces_weigh_what_rows_weigh() -> None:
    data = CountedRows.of(drawn(4, 11), np.array([0.2, 5.0, 1.0, 0.3]), THREES)
    pieces = data.in_even_pieces()
    assert pieces.weights.max() <= data.weights.mean()
    assert pieces.weights.sum() == pytest.approx(data.weights.sum())
    assert len(pieces.which) == len(pieces.weights) == len(pieces.log_arrangements) == 7


def test_missing_values_do_not_hide_which_blocks_go_together() -> None:
    rows = drawn(1500, 12)
    partial = with_missing(np.random.default_rng(0), rows.astype(np.float64), 0.1)
    trees = [chow_liu_tree(CountedRows.of(x, np.ones(1500), THREES)) for x in (rows, partial)]
    edges = [{frozenset((b, parent)) for b, parent in enumerate(tree.parents) if parent >= 0} for tree in trees]
    assert edges[0] == edges[1] == {frozenset((b, b + 1)) for b in range(5)}


def test_passes_are_chosen_by_rows_kept_apart_and_can_be_repeated() -> None:
    data = CountedRows.of(drawn(60, 6), np.ones(60), THREES)
    validation = CountedRows.of(drawn(200, 7), np.ones(200), THREES)
    tree = chow_liu_tree(data)
    chosen = fit_hclt(data, tree, HCLTOptions(6, 0.01), 1, validation)
    again = fit_hclt(data, tree, HCLTOptions(6, 0.01), 1, last_pass=chosen.best_pass)
    assert 0 < chosen.best_pass < 15
    np.testing.assert_array_equal(chosen.tables.transitions, again.tables.transitions)


@pytest.mark.parametrize("n_blocks", [1, 2])
def test_constant_variables_hang_together_too(n_blocks: int) -> None:
    tree = chow_liu_tree(CountedRows.of(np.ones((5, n_blocks)), np.ones(5), singleton_blocks(n_blocks)))
    assert sorted(tree.order) == list(range(n_blocks))
    assert tree.parents.count(-1) == 1


@pytest.mark.parametrize("fraction", [0.0, 0.3])
def test_mutual_information_is_that_of_the_table_of_two_blocks(fraction: float) -> None:
    rng = np.random.default_rng(8)
    rows = with_missing(rng, drawn(300, 9)[:, :5].astype(np.float64), fraction)
    weights = rng.integers(1, 4, 300).astype(np.float64)
    data = CountedRows.of(rows, weights, (np.arange(3), np.array([3]), np.array([4])))
    table: dict[tuple[int, ...], float] = {}
    for row, weight in zip(rows, weights, strict=True):
        if not np.isnan(row[:3]).all() and not np.isnan(row[3]):
            key = (int(np.rint(3 * np.nanmean(row[:3]))), int(row[3]))
            table[key] = table.get(key, 0.0) + float(weight)
    total = sum(table.values())
    left, right = ({key[i]: sum(w for k, w in table.items() if k[i] == key[i]) for key in table} for i in (0, 1))
    found = sum(w * np.log(w * total / left[a] / right[b]) for (a, b), w in table.items())
    by_chance = (len(left) - 1) * (len(right) - 1) / 2
    assert information_of_blocks(data)[0, 1] == pytest.approx((found - by_chance) / total, rel=1e-4)


def test_mutual_information_of_many_rows_is_that_of_a_sample_by_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    bits = np.unique(np.random.default_rng(0).integers(0, 2, size=(3000, 14)), axis=0).astype(np.uint8)
    weights = np.ones(len(bits))
    weights[0] = 0.3 * len(bits)  # alone enough to make all bits go together
    data = CountedRows.of(bits, weights, singleton_blocks(14))
    of_all = information_of_blocks(data).mean()
    monkeypatch.setattr("xspn.learning.hclt.tree.ENOUGH_ROWS", 300)
    assert information_of_blocks(data).mean() == pytest.approx(of_all, rel=0.3)


def test_many_children_and_unlikely_rows_stay_numbers() -> None:
    rng = np.random.default_rng(0)
    n = 600
    tree = BlockTree.of([-1, *[0] * (n - 1)], range(n))
    tables = random_tree(rng, singleton_blocks(n), 4).tables
    rows = rng.integers(0, 2, size=(5, n))
    data = CountedRows.of(rows, np.ones(5), singleton_blocks(n))
    seen, logs = expected(tree, tables, data, np.arange(5))
    assert np.isfinite(logs).all()
    assert seen.initial.sum() == pytest.approx(5.0, rel=1e-4)


def test_trees_of_samples_differ_but_are_repeatable() -> None:
    rows = np.random.default_rng(0).integers(0, 2, (2000, 12))
    data = CountedRows.of(rows, np.full(2000, 0.5), singleton_blocks(12))
    found = [sampled_chow_liu_tree(data, seed).parents for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]


def test_a_sample_of_the_rows_sees_what_is_plain_to_see() -> None:
    chain = np.cumsum(np.random.default_rng(0).random((3000, 8)) < 0.1, axis=1) % 2
    data = CountedRows.of(chain, np.ones(3000), singleton_blocks(8))
    edges = [frozenset(edge) for edge in enumerate(sampled_chow_liu_tree(data, 0).parents) if edge[1] >= 0]
    assert set(edges) == {frozenset((v, v + 1)) for v in range(7)}
