"""MADE: a normalized distribution in every order, a refusal of marginals, a seed, an early stop."""

import importlib.util
import pickle
import sys

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from support.chi_square import assert_frequencies_fit
from support.enumeration import assignments, count_of
from xspn.paper.baselines import MADE
from xspn.paper.baselines.made import Network, Orderings

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs the extra torch")


def random_network(n, units, orders, seed=0):
    rng = np.random.default_rng(seed)
    shapes = [(units, n), (units, n), (n, units), (units,), (n,)]
    return Network(*(rng.normal(size=shape) for shape in shapes), Orderings.random(orders, n, units, rng))


@pytest.mark.parametrize("n", [1, 2, 5])
def test_any_network_is_a_distribution(n):
    network = random_network(n, 7, 3)
    all_assignments = assignments([2] * n)
    assert np.exp(network.log_likelihood(all_assignments)).sum() == pytest.approx(1, abs=1e-12)


def test_no_output_sees_itself_or_what_comes_after():
    orderings = Orderings.random(4, 6, 30, np.random.default_rng(0))
    for place, (sees, heard) in zip(orderings.places, orderings.masks(), strict=True):
        reached = heard.astype(int) @ sees.astype(int) > 0  # (output, input)
        np.testing.assert_array_equal(reached & (place[None, :] >= place[:, None]), False)
        assert reached.sum() == 6 * 5 / 2  # with so many units, all that may be seen is seen


def test_samples_follow_the_likelihood():
    network = random_network(3, 5, 2)
    all_assignments = assignments([2] * 3)
    drawn = network.sample(4000, np.random.default_rng(1))
    assert_frequencies_fit(count_of(drawn, all_assignments), np.exp(network.log_likelihood(all_assignments)))


@needs_torch
def test_it_learns_what_independent_columns_cannot():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, size=(1500, 3))
    X = np.column_stack([first, first.sum(axis=1) % 2])  # the last column is the parity of the others
    model = MADE(hidden_units=60, max_epochs=150, l1=0, random_state=0).fit(X[:1000], X_valid=X[1000:1250])
    assert model.score(X[1250:]) > -3 * np.log(2) - 0.2  # four independent columns would give −4 log 2
    assert max(model.valid_log_likelihoods_) == pytest.approx(model.score(X[1000:1250]))
    assert model.sample(5, random_state=0).shape == (5, 4)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.score_samples(X), model.score_samples(X))


@needs_torch
def test_the_seed_decides_and_training_stops_early():
    X = np.random.default_rng(0).integers(0, 2, size=(60, 5))
    fits = [MADE(hidden_units=20, patience=2, max_epochs=300, random_state=1).fit(X) for _ in range(2)]
    np.testing.assert_array_equal(fits[0].score_samples(X), fits[1].score_samples(X))
    course = fits[0].valid_log_likelihoods_
    assert len(course) < 300
    assert np.argmax(course) == len(course) - 3


@needs_torch
def test_missing_values_are_refused_with_the_reason():
    X = np.random.default_rng(0).integers(0, 2, size=(20, 3))
    model = MADE(hidden_units=5, max_epochs=1, random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"row 0, column 1.*no tractable marginals.*completions"):
        model.score_samples([[0, np.nan, 1]])


@needs_torch
@parametrize_with_checks([MADE(hidden_units=4, n_orderings=2, max_epochs=1, binarize=0.0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@needs_torch
@pytest.mark.parametrize(
    "bad", [{"hidden_units": 0}, {"n_orderings": 1.5}, {"patience": 0}, {"validation_fraction": 1}]
)
def test_bad_options_are_named(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        MADE(**bad).fit([[0, 1], [1, 1], [0, 0]])


def test_without_torch_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"pip install 'xspn\[torch\]'"):
        MADE(max_epochs=1).fit([[0, 1], [1, 1], [0, 0]])
