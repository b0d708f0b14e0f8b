"""HCLTs on a device of torch: the same expectations and the same fits as on the CPU, several trees at once."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xspn import Circuit
from xspn.learning.hclt import (
    BlockTree,
    CountedRows,
    FittedHCLT,
    HCLTOptions,
    chow_liu_tree,
    fit_hclt,
    hclt_circuit,
    row_scores,
    sampled_chow_liu_tree,
    singleton_blocks,
)
from xspn.learning.hclt.messages import HCLTTables, expected
from xspn.learning.mevm.fit import nearest_of_random_rows

torch = pytest.importorskip("torch")
torch_fit = pytest.importorskip("xspn.learning.hclt.torch_fit")
torch_forest = pytest.importorskip("xspn.learning.hclt.torch_forest")

CPU = torch.device("cpu")


def random_forest(rng, blocks, states, n_trees):
    """Draw trees over the same blocks, each with its parameters; in shape from chains to stars."""
    found = []
    for _ in range(n_trees):
        order, back = rng.permutation(len(blocks)), int(rng.integers(1, len(blocks) + 1))
        parents = np.full(len(blocks), -1)
        for place in range(1, len(blocks)):
            parents[order[place]] = order[rng.integers(max(0, place - back), place)]
        tables = HCLTTables(
            rng.dirichlet(np.ones(states)),
            rng.dirichlet(np.ones(states), size=(len(blocks), states)).astype(np.float32),
            tuple(rng.dirichlet(np.ones(len(block) + 1), size=states) for block in blocks),
        )
        found.append(FittedHCLT(BlockTree.of(parents.tolist(), order.tolist()), tables, 0, 0.0))
    return found


def random_rows(rng, n_rows, n, missing):
    rows = rng.integers(0, 2, size=(n_rows, n)).astype(np.float64)
    return np.where(rng.random(rows.shape) < missing, np.nan, rows)


def chained(n_rows, seed):
    """Draw rows of four blocks of three bits: a block is mostly like the one before."""
    rng = np.random.default_rng(seed)
    hidden = [rng.integers(0, 2, n_rows)]
    for _ in range(3):
        hidden.append(np.where(rng.random(n_rows) < 0.85, hidden[-1], rng.integers(0, 2, n_rows)))
    chances = np.repeat(np.array([0.1, 0.8])[np.stack(hidden, axis=1)], 3, axis=1)
    return (rng.random(chances.shape) < chances).astype(np.uint8)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 4), st.integers(1, 4), st.sampled_from([0.0, 0.4]))
def test_expectations_of_several_trees_are_those_of_each(seed, n, states, n_trees, missing):
    rng = np.random.default_rng(seed)
    blocks = tuple(np.split(rng.permutation(n), np.flatnonzero(rng.random(n - 1) < 0.6) + 1))
    data = CountedRows.of(random_rows(rng, 30, n, missing), rng.random(30) + 0.1, blocks)
    fitted = random_forest(rng, blocks, states, n_trees)
    forest = torch_forest.Forest([own.tree for own in fitted], data.sizes, CPU)
    tables = forest.tables_of([own.tables for own in fitted])
    batches = np.stack([rng.permutation(30)[:20] for _ in fitted])
    seen, logs = forest.expected(tables, torch_forest.DeviceRows(data, CPU), torch.as_tensor(batches))
    for t, own in enumerate(fitted):
        same, same_logs = expected(own.tree, own.tables, data, batches[t])
        found = forest.tables_to_host(seen, t)
        edges = [b for b in range(len(blocks)) if b != own.tree.root]
        np.testing.assert_allclose(logs[t].numpy(), same_logs, atol=1e-4)
        np.testing.assert_allclose(found.initial, same.initial, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(found.transitions[edges], same.transitions[edges], rtol=1e-3, atol=1e-4)
        for one, other in zip(found.emissions, same.emissions, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)
        circuit = Circuit(hclt_circuit(own, blocks))
        rows = random_rows(rng, 10, n, missing)
        by_tree = forest.log_likelihoods(
            tables,
            torch_forest.DeviceRows(CountedRows.of(rows, np.ones(10), blocks), CPU),
            torch.arange(10).expand(n_trees, -1),
        )
        np.testing.assert_allclose(by_tree[t].numpy(), circuit.log_likelihood(rows), atol=1e-4)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("blocks", [tuple(np.arange(3) + start for start in range(0, 12, 3)), singleton_blocks(12)])
def test_trees_are_fitted_as_on_the_cpu_whether_together_or_alone(blocks, missing, monkeypatch):
    rng = np.random.default_rng(1)
    rows = chained(600, 0).astype(np.float64)
    rows = np.where(rng.random(rows.shape) < missing, np.nan, rows)
    data = CountedRows.of(rows, rng.integers(1, 4, 600).astype(np.float64), blocks)
    valid = CountedRows.of(chained(150, 1), np.ones(150), blocks)
    trees = [chow_liu_tree(data), sampled_chow_liu_tree(data, 1), sampled_chow_liu_tree(data, 2)]
    tasks = [
        torch_fit.TreeTask(tree, HCLTOptions(3, alpha, passes=6), seed)
        for seed, (tree, alpha) in enumerate(zip(trees, (0.1, 0.1, 0.5), strict=True))
    ]
    together = torch_fit.fit_hclts(data, tasks, valid, "cpu")
    monkeypatch.setattr(torch_fit, "BYTES_ON_CPU", 1)  # one tree at a time, one row at a time for likelihoods
    alone = torch_fit.fit_hclts(data, tasks, valid, "cpu")
    for task, (fitted, scores), (single, _) in zip(tasks, together, alone, strict=True):
        same = fit_hclt(data, task.tree, task.options, task.seed, valid)
        assert fitted.best_pass == same.best_pass == single.best_pass
        assert fitted.score == pytest.approx(same.score, abs=1e-4) == pytest.approx(single.score, abs=1e-4)
        np.testing.assert_allclose(scores, row_scores(same, valid), atol=1e-3)
        np.testing.assert_allclose(row_scores(fitted, valid), row_scores(same, valid), atol=1e-3)


def test_without_validation_rows_each_tree_stops_after_its_own_pass():
    data = CountedRows.of(chained(300, 0), np.ones(300), singleton_blocks(12))
    tree, options = chow_liu_tree(data), HCLTOptions(2, 0.1, passes=5)
    tasks = [torch_fit.TreeTask(tree, options, seed, last) for seed, last in enumerate((0, 2, None))]
    for task, (fitted, scores) in zip(tasks, torch_fit.fit_hclts(data, tasks, None, "cpu"), strict=True):
        same = fit_hclt(data, tree, options, task.seed, None, task.last_pass)
        assert (fitted.best_pass, len(scores)) == (same.best_pass, 0)
        assert fitted.score == pytest.approx(same.score, abs=1e-4)


@pytest.mark.parametrize("components", [1, 4, 30])
def test_a_start_draws_the_same_rows_as_on_the_cpu(components):
    rng = np.random.default_rng(0)
    features, weights = rng.integers(0, 3, (40, 2)).astype(np.float64), rng.random(40)  # nine different rows
    first, second = np.random.default_rng(5), np.random.default_rng(5)
    found = torch_fit.nearest_of_random_rows(torch.as_tensor(features), weights, components, first)
    same = nearest_of_random_rows(features, weights, components, second)
    np.testing.assert_array_equal(found, same.argmax(axis=1))
    assert first.random() == second.random()
