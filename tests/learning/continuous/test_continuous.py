"""Continuous mixtures: the circuit says what was optimized, slopes are right, and latent dimensions are found."""

from itertools import product

import numpy as np
import pytest

from xspn import Circuit
from xspn.learning.continuous import (
    BlockIndicators,
    ContinuousOptions,
    FittedContinuous,
    circuit_of,
    fit_continuous,
    row_scores,
)
from xspn.learning.hclt import BlockTree, CountedRows, chow_liu_tree, singleton_blocks
from xspn.learning.mevm.partition import BlockPartition

SMALL = ContinuousOptions(components=64, dimensions=2, points=64, hidden=(8, 8), passes=4)
BLOCKS: BlockPartition = (np.array([0, 2, 5]), np.array([1]), np.array([3, 4]))
ALL_ROWS = np.array(list(product((0.0, 1.0), repeat=6)))


def ability_table(n_rows: int, n_variables: int, seed: int) -> np.ndarray:
    """Answers that depend on two abilities of a person."""
    rng = np.random.default_rng(seed)
    chances = 1 / (1 + np.exp(-rng.normal(size=(n_rows, 2)) @ strengths(n_variables)))
    return (rng.random((n_rows, n_variables)) < chances).astype(float)


def strengths(n_variables: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(2, n_variables)) * 2


def true_log_likelihood(rows: np.ndarray) -> float:
    """Integrate over both abilities by Gauss-Hermite quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    points = np.array(list(product(nodes, nodes)))
    logs = np.log(np.outer(weights, weights).ravel() / weights.sum() ** 2)
    logits = points @ strengths(rows.shape[1])
    joint = logs + rows @ logits.T - np.logaddexp(0, logits).sum(axis=1)
    return float(np.logaddexp.reduce(joint, axis=1).mean())


def fitted_to(
    rows: np.ndarray, blocks: BlockPartition, tree: BlockTree | None = None, options: ContinuousOptions = SMALL
) -> FittedContinuous:
    counted = CountedRows.of(rows, np.ones(len(rows)), blocks)
    return fit_continuous(counted, BlockIndicators.of(counted.sizes, tree), options, seed=1)


def structures(rows: np.ndarray) -> list[tuple[BlockPartition, BlockTree | None]]:
    singles = singleton_blocks(6)
    tree = chow_liu_tree(CountedRows.of(rows, np.ones(len(rows)), singles))
    return [(singles, None), (singles, tree), (BLOCKS, None), ((np.arange(6),), None)]


@pytest.mark.parametrize("which", range(4), ids=["independent", "tree", "blocks", "one block"])
def test_the_circuit_says_what_was_fitted_and_sums_to_one(which: int) -> None:
    rows = ability_table(300, 6, seed=1)
    blocks, tree = structures(rows)[which]
    fitted = fitted_to(rows, blocks, tree)
    circuit = Circuit(circuit_of(fitted, blocks))
    expected = circuit.log_likelihood(ALL_ROWS)
    assert np.exp(expected).sum() == pytest.approx(1.0, abs=1e-9)
    counted = CountedRows.of(ALL_ROWS, np.ones(len(ALL_ROWS)), blocks)
    np.testing.assert_allclose(row_scores(fitted, counted), expected, atol=2e-5)


@pytest.mark.parametrize("which", range(4), ids=["independent", "tree", "blocks", "one block"])
def test_slopes_are_those_of_the_log_probability(which: int) -> None:
    rows = ability_table(50, 6, seed=2)
    blocks, tree = structures(rows)[which]
    counted = CountedRows.of(rows, np.ones(len(rows)), blocks)
    layout = BlockIndicators.of(counted.sizes, tree)
    seen = layout.of_rows(counted)
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(layout.n_parameters, 3))
    responsibilities = rng.dirichlet(np.ones(3), size=len(rows))

    def value(at: np.ndarray) -> float:
        return float((responsibilities * layout.components(at).log_probs(seen)).sum())

    found = layout.components(logits).slopes(seen, responsibilities)
    step = 1e-5
    for place in np.ndindex(logits.shape):
        moved = np.zeros_like(logits)
        moved[place] = step
        expected = (value(logits + moved) - value(logits - moved)) / (2 * step)
        assert found[place] == pytest.approx(expected, abs=1e-4)


def test_cells_that_are_missing_are_summed_out() -> None:
    rows = ability_table(400, 6, seed=3)
    partial = rows.copy()
    partial[np.random.default_rng(0).random(rows.shape) < 0.3] = np.nan
    fitted = fitted_to(partial, singleton_blocks(6))
    circuit = Circuit(circuit_of(fitted, singleton_blocks(6)))
    counted = CountedRows.of(partial, np.ones(len(partial)), singleton_blocks(6))
    np.testing.assert_allclose(row_scores(fitted, counted), circuit.log_likelihood(partial), atol=2e-5)
    overall = np.nanmean(partial, axis=0)
    np.testing.assert_allclose(circuit.marginals(np.full((1, 6), np.nan))[0, :, 1], overall, atol=0.1)


def test_a_truth_of_two_dimensions_is_found() -> None:
    rows, others = ability_table(2000, 20, seed=4), ability_table(2000, 20, seed=5)
    options = ContinuousOptions(components=512, dimensions=4, points=256, hidden=(16, 32), passes=15)
    blocks = singleton_blocks(20)
    circuit = Circuit(circuit_of(fitted_to(rows, blocks, options=options), blocks))
    lost = true_log_likelihood(others) - circuit.log_likelihood(others).mean()
    assert 0.0 < lost < 0.2


def test_the_same_seed_gives_the_same_mixture_and_weights_are_copies() -> None:
    rows = ability_table(60, 6, seed=6)
    weights = np.random.default_rng(0).integers(1, 4, size=len(rows))
    layout = BlockIndicators.of((1,) * 6)
    weighted = CountedRows.of(rows, weights.astype(float), singleton_blocks(6))
    first, second = (fit_continuous(weighted, layout, SMALL, seed=7) for _ in range(2))
    np.testing.assert_array_equal(first.components.natural, second.components.natural)
    copies = CountedRows.of(np.repeat(rows, weights, axis=0), np.ones(weights.sum()), singleton_blocks(6))
    third = fit_continuous(copies, layout, SMALL, seed=7)
    np.testing.assert_allclose(first.components.chances.mean(), third.components.chances.mean(), atol=0.05)


def test_what_never_happened_stays_possible() -> None:
    rows = np.zeros((200, 6))
    rows[:, 0] = np.arange(200) % 2
    for blocks, tree in structures(rows):
        circuit = Circuit(circuit_of(fitted_to(rows, blocks, tree), blocks))
        assert np.isfinite(circuit.log_likelihood(ALL_ROWS)).all()


def test_validation_rows_choose_the_pass() -> None:
    rows, held_out = ability_table(80, 6, seed=8), ability_table(80, 6, seed=9)
    blocks = singleton_blocks(6)
    counted, valid = (CountedRows.of(own, np.ones(len(own)), blocks) for own in (rows, held_out))
    layout = BlockIndicators.of(counted.sizes)
    options = ContinuousOptions(components=64, dimensions=2, points=64, hidden=(8, 8), passes=6, step=0.05)
    best = fit_continuous(counted, layout, options, seed=3, validation=valid)
    assert best.score == pytest.approx(row_scores(best, valid).mean(), abs=1e-5)
    again = fit_continuous(counted, layout, options, seed=3, last_pass=best.best_pass)
    np.testing.assert_array_equal(again.components.natural, best.components.natural)
