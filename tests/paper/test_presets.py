"""The paper's own models: their names, their settings, and what may be changed."""

import numpy as np
import pytest

from support.learning import total_probability, two_clusters
from xspn import Bernoulli, ChowLiu, Exchangeable, XSPNClassifier
from xspn.core.errors import RegistryError
from xspn.estimators.xspn import learn_config
from xspn.learning.policy import Operation
from xspn.paper.presets import paper_classifier, paper_model

NAMES = ["SPN", "SPN-CLT", "XSPN-T", "XSPN-TF"]
LEAVES = {
    "SPN": {Bernoulli},
    "SPN-CLT": {Bernoulli, ChowLiu},
    "XSPN-T": {Bernoulli, Exchangeable},
    "XSPN-TF": {Bernoulli, Exchangeable},
}


@pytest.mark.parametrize("name", NAMES)
def test_each_model_learns_a_distribution_of_its_own_kinds_of_leaves(rng, name):
    X, _ = two_clusters(rng, rows=150, columns=6)
    model = paper_model(name, min_instances=20).fit(X)
    assert {type(leaf) for leaf in model.circuit_.graph.leaves} <= LEAVES[name]
    assert total_probability(model.circuit_) == pytest.approx(1, abs=1e-9)
    assert np.isfinite(model.score_samples(X)).all(), "nothing is left unsmoothed"


@pytest.mark.parametrize("name", NAMES)
def test_settings_are_those_of_the_papers_program(name):
    config = learn_config(paper_model(name))
    assert (config.independence_threshold, config.significance, config.smoothing) == (5.0, 0.05, 0.1)
    assert (config.clustering, config.shrinkage, config.published.cluster_seed) == ("gmm", 0.0, 17)
    conventional = name.startswith("SPN")
    assert (config.exchangeability is None) == conventional
    assert config.published.rows_first == conventional
    if not conventional:
        assert dict(config.test_options) == {"pairs": "first", "dof": 3, "empty_cells": "reject"}
        assert not config.score_overrules


def test_the_leaf_learner_tells_the_models_apart():
    learners = [paper_model(name).leaf_learner for name in NAMES]
    assert learners == ["factorized", "chow_liu", "factorized", "blocks"]


def test_the_spn_clusters_rows_first(rng):
    X, _ = two_clusters(rng, rows=150, columns=6)
    first = {name: paper_model(name).fit(X).trace_.entries[0].operation for name in ("SPN", "XSPN-TF")}
    assert first["SPN"] is Operation.CLUSTER
    assert paper_model("SPN").fit(X).trace_.entries[0].test is None


def test_changes_are_applied_and_the_model_stays_as_it_was():
    changed = paper_model("XSPN-TF", min_instances=7, significance=0.4, random_state=1)
    assert (changed.min_instances, changed.significance, changed.random_state) == (7, 0.4, 1)
    assert paper_model("XSPN-TF").significance == 0.05


def test_classifiers_have_them_too(rng):
    X, kind = two_clusters(rng, rows=100, columns=6)
    model = paper_classifier("XSPN-TF", min_instances=20)
    assert isinstance(model, XSPNClassifier)
    assert model.fit(X, kind).score(X, kind) > 0.9


def test_unknown_models_are_refused_with_the_nearest_known():
    with pytest.raises(RegistryError, match="'XSPN-FT'; did you mean 'XSPN-T"):
        paper_model("XSPN-FT")
    with pytest.raises(RegistryError, match="Known: SPN, SPN-CLT, XSPN-T, XSPN-TF"):
        paper_model("MADE")
    with pytest.raises(TypeError, match="min_rows"):
        paper_model("SPN", min_rows=3)
