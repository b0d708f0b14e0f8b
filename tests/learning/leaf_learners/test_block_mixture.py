"""Mixtures over shared blocks: found where many weak dependences add up, and nowhere else."""

import numpy as np
import pytest

from xspn import XSPN, Circuit
from xspn.learning.leaf_learners import LeafData, LeafOptions, block_mixture_leaf
from xspn.learning.summary import BinarySummary

BLOCKS, SIZE = 6, 5


def rows_of(rng, n_rows, n_contexts, evenness=0.5):
    """Six blocks of five exchangeable bits, whose laws differ from context to context: the less, the more even."""
    laws = rng.dirichlet(np.full(SIZE + 1, evenness), size=(n_contexts, BLOCKS))
    context = rng.integers(0, n_contexts, size=n_rows)
    bits = np.zeros((n_rows, BLOCKS * SIZE), dtype=np.uint8)
    for b in range(BLOCKS):
        chances = laws[context, b].cumsum(axis=1)
        ones = (rng.random((n_rows, 1)) * chances[:, -1:] > chances).sum(axis=1)
        order = rng.random((n_rows, SIZE)).argsort(axis=1)
        bits[:, b * SIZE : (b + 1) * SIZE] = order < ones[:, None]
    return bits


def learned(bits, weights=None):
    summary = BinarySummary.of(bits, np.ones(len(bits)) if weights is None else weights)
    return block_mixture_leaf(LeafData.alone(summary), np.arange(bits.shape[1]), LeafOptions(0.1))


@pytest.mark.parametrize("seed", range(3))
def test_independent_blocks_are_one_product(seed):
    found = learned(rows_of(np.random.default_rng(seed), 2000, 1))
    assert found.name == "1 products of blocks"


@pytest.mark.parametrize("seed", range(3))
def test_contexts_that_share_blocks_are_found_and_predict_better(seed):
    rng = np.random.default_rng(seed)
    bits = rows_of(rng, 6000, 4)
    train, fresh = bits[:3000], bits[3000:]
    found = learned(train)
    assert len(found.node.children) == 4
    apart = sum(
        Circuit(learned(train[:, b : b + SIZE]).node).log_likelihood(fresh[:, b : b + SIZE]).mean()
        for b in range(0, BLOCKS * SIZE, SIZE)
    )
    assert Circuit(found.node).log_likelihood(fresh).mean() > apart + 0.1


def test_scores_are_those_of_the_circuit_with_its_parameters_paid_for():
    bits = rows_of(np.random.default_rng(0), 1500, 3)
    found = learned(bits)
    circuit = Circuit(found.node)
    paid = circuit.summary().parameters / len(bits)
    np.testing.assert_allclose(found.leave_one_out, circuit.log_likelihood(bits) - paid, atol=1e-6)


def test_neither_order_nor_repetition_matters():
    rng = np.random.default_rng(1)
    bits = rows_of(rng, 1000, 3)
    columns, rows = rng.permutation(bits.shape[1]), rng.permutation(len(bits))
    score = learned(bits).leave_one_out
    np.testing.assert_allclose(learned(bits[:, columns]).leave_one_out, score, atol=1e-9)
    np.testing.assert_allclose(learned(bits[rows]).leave_one_out, score[rows], atol=1e-9)
    different, times = np.unique(bits, axis=0, return_counts=True)
    merged = learned(different, times.astype(float)).leave_one_out
    assert times @ merged == pytest.approx(score.sum(), abs=1e-6)


@pytest.mark.parametrize(("n_contexts", "sums"), [(1, 0), (5, 1)])
def test_the_learner_takes_it_where_a_product_predicts_worse(n_contexts, sums):
    """With laws as even as these, evidence takes 3,000 rows for one context."""
    bits = rows_of(np.random.default_rng(1), 3000, n_contexts, evenness=2.0)
    model = XSPN(random_state=0).fit(bits)
    assert model.circuit_.summary().sums == sums
    assert ("products of blocks" in model.trace_.entries[0].detail) == bool(sums)
