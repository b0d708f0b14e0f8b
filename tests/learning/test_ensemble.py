"""Bagged ensembles: uniform mixtures of circuits on bootstrap samples, the same for any number of workers."""

from dataclasses import replace

import numpy as np
import pytest

from support.learning import all_assignments, random_table, total_probability, two_clusters
from xspn import Sum
from xspn.circuit import Circuit
from xspn.core.errors import ParameterError
from xspn.io import to_json
from xspn.learning.config import LearnConfig
from xspn.learning.data import BinaryData
from xspn.learning.ensemble import learn_ensemble
from xspn.learning.learner import learn

CONFIG = LearnConfig(min_instances=5)


def learned_ensemble(table, n_circuits, n_jobs=None, seed=3, config=CONFIG, weights=None, progress=None):
    merge = config.clustering != "gmm"
    data = BinaryData.of(np.asarray(table, dtype=np.uint8), weights, merge_equal_rows=merge)
    return Circuit.of_graph(learn_ensemble(data, config, seed, n_circuits, n_jobs, progress).graph)


@pytest.mark.parametrize("n_circuits", [1, 3])
def test_the_result_does_not_depend_on_the_number_of_workers(rng, n_circuits):
    table = random_table(rng, 120, 6)
    assert to_json(learned_ensemble(table, n_circuits, n_jobs=1)) == to_json(
        learned_ensemble(table, n_circuits, n_jobs=2)
    )


def test_one_circuit_is_the_one_that_is_learned_on_the_rows_themselves(rng):
    table = random_table(rng, 120, 6)
    alone = learn(BinaryData.of(table), CONFIG, 3)
    assert to_json(learned_ensemble(table, 1)) == to_json(Circuit.of_graph(alone.graph))


@pytest.mark.parametrize("clustering", ["auto", "gmm", "kmeans"])
def test_several_are_a_uniform_mixture_of_different_circuits(rng, clustering):
    config = LearnConfig(min_instances=20, clustering=clustering, exchangeability=None)
    circuit = learned_ensemble(two_clusters(rng, 100, 5)[0], 4, config=config)
    assert isinstance(circuit.root, Sum)
    np.testing.assert_allclose(circuit.root.weights, 0.25)
    assert total_probability(circuit) == pytest.approx(1, abs=1e-9)
    parts = {to_json(Circuit(child)) for child in circuit.root.children}
    assert len(parts) == 4


def test_settings_are_taken_in_turn(rng):
    data = BinaryData.of(random_table(rng, 120, 6))
    other = LearnConfig(min_instances=30, exchangeability=None)
    both = learn_ensemble(data, CONFIG, 3, 4, others=[other]).graph.root
    first, second = (learn_ensemble(data, config, 3, 4).graph.root for config in (CONFIG, other))
    expected = [first.children[0], second.children[1], first.children[2], second.children[3]]
    assert [to_json(Circuit(child)) for child in both.children] == [to_json(Circuit(child)) for child in expected]


def test_seeds_decide(rng):
    table = random_table(rng, 120, 6)
    assert to_json(learned_ensemble(table, 2, seed=1)) == to_json(learned_ensemble(table, 2, seed=1))
    assert to_json(learned_ensemble(table, 2, seed=1)) != to_json(learned_ensemble(table, 2, seed=2))


def test_rows_are_drawn_by_their_weights(rng):
    table = np.array([[0, 0], [1, 1]])
    weights = np.array([900.0, 100.0])
    circuit = learned_ensemble(table, 5, weights=weights)
    assert circuit.marginals([[np.nan, np.nan]])[0, 0, 1] == pytest.approx(0.1, abs=0.03)


def test_fractional_weights_are_taken(rng):
    circuit = learned_ensemble(random_table(rng, 60, 4), 2, weights=rng.random(60))
    assert np.isfinite(circuit.log_likelihood(all_assignments(4))).all()


def test_progress_counts_the_circuits(rng):
    told = []
    learned_ensemble(random_table(rng, 60, 4), 3, progress=lambda done, of: told.append((done, of)))
    assert told == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("n_circuits", [0, -1, 1.5, "3", True, None])
def test_a_bad_number_of_circuits_is_refused(rng, n_circuits):
    with pytest.raises(ParameterError, match="n_estimators: expected a whole number of at least 1"):
        learned_ensemble([[0, 1]], n_circuits)


def test_what_is_equal_in_several_circuits_is_there_once(rng):
    found = learn_ensemble(BinaryData.of(two_clusters(rng, 300, 6)[0]), LearnConfig(clustering="variable"), 0, 5)
    leaves = [leaf.fingerprint() for leaf in found.graph.leaves]
    assert len(leaves) == len(set(leaves))
    assert any(n_parents > 1 for n_parents in found.graph.n_parents)
    scopes = [set(found.graph.nodes[entry.node].scope) for entry in found.trace]
    assert all(set(entry.variables) <= scope for entry, scope in zip(found.trace, scopes, strict=True))


@pytest.mark.parametrize("clustering", ["auto", "gmm"])
def test_light_rows_make_no_smaller_samples(rng, clustering):
    """Halved weights, and all that is counted in rows with them, give the same circuits."""
    table, config = two_clusters(rng, 200, 5)[0], LearnConfig(min_instances=40, clustering=clustering, shrinkage=0.0)
    half = replace(config, min_instances=20, smoothing=config.smoothing / 2)
    light = learned_ensemble(table, 3, config=half, weights=np.full(200, 0.5))
    assert total_probability(light) == pytest.approx(1.0)
    assert len(light.graph) > 5
    assert light.log_likelihood(table).mean() == pytest.approx(
        learned_ensemble(table, 3, config=config).log_likelihood(table).mean(), abs=0.2
    )
