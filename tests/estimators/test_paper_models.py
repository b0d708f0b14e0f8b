"""The paper's own models: their names, their settings, and what may be changed."""

import numpy as np
import pytest

from support.learning import total_probability, two_clusters
from xspn import XSPN, Bernoulli, ChowLiu, Exchangeable, XSPNClassifier
from xspn.core.errors import ParameterError, RegistryError
from xspn.estimators.options import learn_config
from xspn.learning.policy import Operation

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
    model = XSPN.paper(name, min_instances=20).fit(X)
    assert {type(leaf) for leaf in model.circuit_.graph.leaves} <= LEAVES[name]
    assert total_probability(model.circuit_) == pytest.approx(1, abs=1e-9)
    assert np.isfinite(model.score_samples(X)).all(), "nothing is left unsmoothed"


@pytest.mark.parametrize("name", NAMES)
def test_settings_are_those_of_the_papers_program(name):
    config = learn_config(XSPN.paper(name))
    assert (config.independence_threshold, config.significance, config.smoothing) == (5.0, 0.05, 0.1)
    assert (config.clustering, config.cluster_seed, config.components) == ("gmm", 17, "two")
    assert (config.constants, config.shrinkage) == ("apart", 0.0)
    conventional = name.startswith("SPN")
    assert (config.exchangeability is None) == conventional
    assert config.rows_first == conventional
    if not conventional:
        assert dict(config.test_options) == {"pairs": "first", "dof": 3, "empty_cells": "reject"}
        assert not config.score_overrules


def test_the_leaf_learner_tells_the_models_apart():
    learners = [XSPN.paper(name).leaf_learner for name in NAMES]
    assert learners == ["factorized", "chow_liu", "factorized", "blocks"]


def test_the_spn_clusters_rows_first(rng):
    X, _ = two_clusters(rng, rows=150, columns=6)
    first = {name: XSPN.paper(name).fit(X).trace_.entries[0].operation for name in ("SPN", "XSPN-TF")}
    assert first["SPN"] is Operation.CLUSTER
    assert XSPN.paper("SPN").fit(X).trace_.entries[0].test is None


def test_changes_are_applied_and_the_model_stays_as_it_was():
    changed = XSPN.paper("XSPN-TF", min_instances=7, significance=0.4, random_state=1)
    assert (changed.min_instances, changed.significance, changed.random_state) == (7, 0.4, 1)
    assert XSPN.paper("XSPN-TF").significance == 0.05


def test_classifiers_have_them_too(rng):
    X, kind = two_clusters(rng, rows=100, columns=6)
    model = XSPNClassifier.paper("XSPN-TF", min_instances=20)
    assert isinstance(model, XSPNClassifier)
    assert model.fit(X, kind).score(X, kind) > 0.9


def test_unknown_models_are_refused_with_the_nearest_known():
    with pytest.raises(RegistryError, match="'XSPN-FT'; did you mean 'XSPN-T"):
        XSPN.paper("XSPN-FT")
    with pytest.raises(RegistryError, match="Known: SPN, SPN-CLT, XSPN-T, XSPN-TF"):
        XSPN.paper("MADE")
    with pytest.raises(TypeError, match="min_rows"):
        XSPN.paper("SPN", min_rows=3)


def test_options_are_refused_by_name(rng):
    X = rng.integers(0, 2, size=(20, 3))
    with pytest.raises(ParameterError, match=r"options: unknown setting 'row_first'; did you mean 'rows_first'\?"):
        XSPN(options={"row_first": True}).fit(X)
    with pytest.raises(ParameterError, match="options: unknown setting 'smoothing'"):
        XSPN(options={"smoothing": 1.0}).fit(X)
    with pytest.raises(ParameterError, match="expected a mapping"):
        XSPN(options=["rows_first"]).fit(X)
    with pytest.raises(ParameterError, match="components: expected one of 'all', 'two', found 'three'"):
        XSPN(options={"components": "three"}).fit(X)
    with pytest.raises(ParameterError, match="global test: unknown setting 'pairs'"):
        XSPN(options={"test_options": {"pairs": "first"}}).fit(X)
