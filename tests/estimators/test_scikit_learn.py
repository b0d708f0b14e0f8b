"""The estimators keep scikit-learn's promises: its own checks, and the tools that rely on them."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer
from sklearn.utils.estimator_checks import parametrize_with_checks

from support.learning import two_clusters
from xspn import XSPN, NormalMixture, XSPNClassifier, XSPNImputer, XSPNOutlierDetector
from xspn.learning.config import PublishedProgram

# Their tables are real numbers: taken as they are, and cut at 0. One thread and a seed make the checks comparable.
ESTIMATORS = [
    XSPN(binarize=0.0, random_state=0),
    XSPNClassifier(binarize=0.0, random_state=0),
    XSPN(random_state=0),
    XSPNClassifier(random_state=0),
    XSPNImputer(random_state=0),
    XSPNOutlierDetector(random_state=0),
    NormalMixture(random_state=0),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_infinities_are_refused_though_missing_values_are_not(rng):
    X = rng.normal(size=(20, 3))
    y = np.arange(20) % 2
    for estimator in ESTIMATORS:
        model = clone(estimator)
        with pytest.raises(ValueError, match="inf"):
            model.fit(np.where(np.arange(60).reshape(20, 3) == 4, np.inf, X), y)
        model.fit(np.where(np.arange(60).reshape(20, 3) == 4, np.nan, X), y)
    model = clone(ESTIMATORS[1]).fit(X, y)
    with pytest.raises(ValueError, match="inf"):
        model.predict([[0.0, np.inf, 1.0]])


def test_a_grid_search_finds_the_better_setting(rng):
    X, _ = two_clusters(rng, rows=150)
    grid = {"min_instances": [10, 10_000], "exchangeability": ["global", None]}
    search = GridSearchCV(XSPN(leaf_learner="factorized", random_state=0), grid, cv=3).fit(X)
    assert search.best_params_["min_instances"] == 10
    assert search.best_estimator_.circuit_.n_variables == 8
    assert search.best_score_ == pytest.approx(search.cv_results_["mean_test_score"].max())


def test_cross_validation_scores_left_out_rows(rng):
    X, kind = two_clusters(rng, rows=150)
    assert (cross_val_score(XSPN(random_state=0), X, cv=3) > -8 * np.log(2)).all()
    assert (cross_val_score(XSPNClassifier(random_state=0), X, kind, cv=3) > 0.9).all()


def test_a_pipeline_can_end_in_either(rng):
    X, kind = two_clusters(rng, rows=150)
    real = X * 3.0 + rng.random(X.shape)
    density = make_pipeline(Binarizer(threshold=2.0), XSPN(random_state=0)).fit(real)
    assert density.score(real) == pytest.approx(XSPN(random_state=0).fit(X).score(X))
    classifier = make_pipeline(Binarizer(threshold=2.0), XSPNClassifier(random_state=0)).fit(real, kind)
    assert classifier.score(real, kind) > 0.9


@pytest.mark.parametrize("kind", [XSPN, XSPNClassifier])
def test_clones_have_the_same_parameters_and_nothing_learned(rng, kind):
    X, labels = two_clusters(rng, rows=60)
    model = kind(min_instances=7, options={"published": PublishedProgram()}, random_state=3).fit(X, labels)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "circuit_")
    assert copy.set_params(smoothing=0.5).smoothing == 0.5


def test_the_constructor_only_stores():
    """Bad values are refused by `fit`, not before: scikit-learn sets parameters one by one."""
    model = XSPN(min_instances=0, exchangeability="none of these")
    with pytest.raises(ValueError, match="min_instances"):
        model.fit([[0, 1]])
