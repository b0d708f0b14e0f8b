"""Mixtures of independent columns: against enumeration, missing cells, weights, and as a part of `quality="mixed"`."""

from itertools import product

import numpy as np
import pytest

from xspn import XSPN
from xspn.graph.nodes import Product
from xspn.learning.data import MISSING
from xspn.learning.search.latent_classes import LatentClasses, fit_latent_classes

ROWS = np.array(list(product((0, 1, MISSING), repeat=3)), dtype=np.uint8)
CLASSES = LatentClasses(np.array([0.3, 0.7]), np.array([[0.9, 0.2, 0.5], [0.1, 0.6, 0.01]]))


def many_purposes(n_rows: int, seed: int) -> np.ndarray:
    """Draw baskets of forty items of people who come for one of five purposes: a weak dependence between many."""
    chances = np.random.default_rng(0).beta(0.5, 3.0, size=(5, 40))
    rng = np.random.default_rng(seed)
    return (rng.random((n_rows, 40)) < chances[rng.integers(0, 5, n_rows)]).astype(np.uint8)


def test_joint_probabilities_are_those_of_all_completions() -> None:
    found = np.exp(CLASSES.log_joint(ROWS))
    for row, own in zip(ROWS, found, strict=True):
        cells = [(0, 1) if cell == MISSING else (int(cell),) for cell in row]
        for weight, p, joint in zip(CLASSES.weights, CLASSES.chances, own, strict=True):
            whole = [np.prod([p[v] if x else 1 - p[v] for v, x in enumerate(bits)]) for bits in product(*cells)]
            assert joint == pytest.approx(weight * sum(whole), rel=1e-12)


def test_nodes_are_the_classes() -> None:
    assert all(isinstance(node, Product) for node in CLASSES.product_nodes())
    assert [leaf.p for leaf in CLASSES.product_nodes()[1].children] == pytest.approx([0.1, 0.6, 0.01])


def test_a_weight_is_as_many_equal_rows() -> None:
    bits, weights = many_purposes(60, 1), np.random.default_rng(2).integers(1, 4, 60).astype(float)
    one = fit_latent_classes(bits, weights, 1, seed=0)
    other = fit_latent_classes(np.repeat(bits, weights.astype(int), axis=0), np.ones(int(weights.sum())), 1, seed=0)
    np.testing.assert_allclose(one.chances, other.chances, rtol=1e-12)


def test_more_passes_never_lose_and_frequencies_are_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    bits = many_purposes(1000, 3)
    scores = []
    for passes in (1, 5, 60):
        monkeypatch.setattr("xspn.learning.search.latent_classes.PASSES", passes)
        found = fit_latent_classes(bits, np.ones(1000), 6, seed=0)
        scores.append(np.logaddexp.reduce(found.log_joint(bits), axis=1).mean())
    assert scores == sorted(scores)
    monkeypatch.setattr("xspn.learning.search.latent_classes.STRENGTH", 1e9)
    alike = fit_latent_classes(bits, np.ones(1000), 6, seed=0)
    np.testing.assert_allclose(alike.chances, np.tile(bits.mean(axis=0), (6, 1)), atol=1e-3)


def test_missing_cells_say_nothing() -> None:
    bits = many_purposes(2000, 4)
    partial = np.where(np.random.default_rng(5).random(bits.shape) < 0.3, MISSING, bits).astype(np.uint8)
    test = many_purposes(2000, 6)
    whole, some = (fit_latent_classes(own, np.ones(2000), 5, seed=0) for own in (bits, partial))
    scores = [np.logaddexp.reduce(own.log_joint(test), axis=1).mean() for own in (whole, some)]
    assert abs(scores[0] - scores[1]) < 0.15


def test_mixed_quality_holds_weak_dependence_that_one_circuit_leaves_out() -> None:
    train, test = many_purposes(1500, 7), many_purposes(1500, 8)
    one = XSPN(exchangeability="global", random_state=0).fit(train)
    mixed = XSPN(exchangeability="global", quality="mixed", random_state=0).fit(train)
    assert mixed.score(test) > one.score(test)
    kinds = {part.kind: part for part in mixed.search_.components}
    assert "classes" in kinds
    assert kinds["classes"].number == 4
    assert sum(part.weight for part in mixed.search_.components) == pytest.approx(1.0)
    again = XSPN(exchangeability="global", quality="mixed", random_state=0).fit(train)
    np.testing.assert_array_equal(again.score_samples(test), mixed.score_samples(test))


def test_mixed_quality_takes_missing_cells_validation_rows_and_other_columns() -> None:
    X = many_purposes(400, 9).astype(float)[:, :8]
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    model = XSPN(quality="mixed", random_state=0).fit(X[:300], X_valid=X[300:])
    assert np.isfinite(model.valid_score_)
    other = XSPN(quality="mixed", random_state=0).fit(np.column_stack([X, np.random.default_rng(1).normal(size=400)]))
    assert np.isfinite(other.score(np.full((1, 9), np.nan)))
    assert "classes" not in {part.kind for part in other.search_.components}  # for bits only
