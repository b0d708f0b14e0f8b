"""The classifiers that circuits are compared with."""

import importlib.util
import sys

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from xspn.paper.baselines import MEVMClassifier, XGBoost
from xspn.paper.experiments.models import classifiers, estimator

needs_xgboost = pytest.mark.skipif(importlib.util.find_spec("xgboost") is None, reason="needs the extra xgboost")
TAKES_NAN = {"check_estimators_nan_inf": "predict takes missing values (NaN): they are summed out exactly"}


def parity(n=1500, seed=0):
    X = np.random.default_rng(seed).integers(0, 2, size=(n, 30))
    return X, np.where(X.sum(axis=1) % 2 == 0, "even", "odd")


def threshold(n=400, seed=0):
    X = np.random.default_rng(seed).integers(0, 2, size=(n, 9))
    return X, np.where(X[:, 0] + X[:, 1] > 1, "both", "not")


def test_one_exchangeable_block_per_class_knows_parity():
    model = MEVMClassifier().fit(*parity(6000))
    assert model.score(*parity(seed=1)) > 0.99
    assert model.circuit_.summary().nodes == 7  # a sum, two products, each of one block and the class
    X, _ = parity(20, seed=2)
    np.testing.assert_allclose(model.predict_proba(np.where(np.arange(30) < 15, X, np.nan)), 0.5, atol=0.05)


def test_welch_is_the_inventors_way():
    X, y = threshold()
    assert MEVMClassifier(structure="welch").fit(X, y).score(X, y) > 0.9


@parametrize_with_checks([MEVMClassifier(binarize=0.0)], expected_failed_checks=lambda _: TAKES_NAN)
def test_scikit_learn_checks_of_mevm(estimator, check):
    check(estimator)


def test_the_support_vector_machine_has_scikit_learns_defaults():
    model = estimator(classifiers["SVM"], {}, seed=0)
    assert (model.kernel, model.C, model.gamma) == ("rbf", 1.0, "scale")
    X, y = threshold()
    assert model.fit(X, y).score(*threshold(seed=1)) > 0.95


@needs_xgboost
def test_two_rounds_as_in_the_paper_and_as_many_as_help():
    X, y = threshold()
    tied = XGBoost(random_state=0).fit(X, y)
    assert tied.model_.get_booster().num_boosted_rounds() == 2
    assert tied.predict_proba(X).shape == (400, 2)
    assert set(tied.predict(X)) <= {"both", "not"}
    X_valid, y_valid = threshold(seed=1)
    free = XGBoost.untied(random_state=0).fit(X, y, X_valid=X_valid, y_valid=y_valid)
    assert 2 < free.model_.get_booster().num_boosted_rounds() < 1000
    assert free.score(*threshold(seed=2)) >= tied.score(*threshold(seed=2))


@needs_xgboost
def test_early_stopping_needs_validation_rows():
    with pytest.raises(ValueError, match="X_valid and y_valid"):
        XGBoost.untied().fit(*threshold())


def test_without_xgboost_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(ImportError, match=r"pip install 'xspn\[xgboost\]'"):
        XGBoost().fit(*threshold())
