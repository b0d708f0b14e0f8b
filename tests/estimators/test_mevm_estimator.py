"""The scikit-learn face of MEVM."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from xspn import Circuit
from xspn.estimators.mevm import MEVM


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    kind = rng.random((n, 1)) < 0.5
    return (rng.random((n, 6)) < np.where(kind, [0.9, 0.9, 0.9, 0.1, 0.1, 0.1], 0.3)).astype(int)


# A median split turns scikit-learn's Gaussian tables into bits, which is all that this estimator takes.
@parametrize_with_checks([MEVM(n_components=2, n_init=1, max_iter=5, binarize=0.0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_the_result_is_a_circuit_that_answers_every_query():
    model = MEVM(n_components=3, random_state=0).fit(rows())
    assert isinstance(model.circuit_, Circuit)
    all_assignments = model.circuit_.oracle.assignments
    assert np.exp(model.score_samples(all_assignments)).sum() == pytest.approx(1)
    partial = np.where(np.arange(6) < 3, np.nan, rows(5, 1))
    np.testing.assert_allclose(model.score_samples(partial), model.circuit_.oracle.log_likelihood(partial))
    assert not np.isnan(model.impute(partial)).any()
    assert model.sample(7, random_state=0).shape == (7, 6)
    assert model.score(rows()) == pytest.approx(model.score_samples(rows()).mean())


def test_the_same_seed_gives_the_same_mixture():
    first, second = (MEVM(n_components=3, random_state=3).fit(rows()).score_samples(rows()) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_weights_count_as_repeated_rows():
    X = rows(40)
    weights = np.random.default_rng(0).integers(0, 4, size=40)
    weighted = MEVM(n_components=1).fit(X, sample_weight=weights)
    repeated = MEVM(n_components=1).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.score_samples(X), repeated.score_samples(X))


def test_names_are_kept():
    frame = pd.DataFrame(rows(), columns=list("abcdef"))
    model = MEVM(n_components=2, random_state=0).fit(frame, X_valid=frame)
    assert model.circuit_.names == tuple("abcdef")
    assert list(model.feature_names_in_) == list("abcdef")
    assert list(clone(model).fit(frame).impute(frame.astype(float).where(frame == 1)).columns) == list("abcdef")


def test_missing_values_are_refused_in_training():
    with pytest.raises(ValueError, match="missing"):
        MEVM().fit([[0, 1], [np.nan, 1]])
