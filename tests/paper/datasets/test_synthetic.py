"""Fresh samples of the synthetic sets, and their true circuits."""

from math import comb, log

import numpy as np
import pytest

from xspn import datasets
from xspn.core.errors import ParameterError, RegistryError
from xspn.paper.datasets import synthetic
from xspn.paper.datasets.synthetic import CONSTRAINTS

SIZES = {"n_train": 400, "n_valid": 50, "n_test": 300}


@pytest.mark.parametrize("name", datasets.names("synthetic"))
def test_the_papers_sizes_are_the_default(name):
    entry = datasets.info(name)
    assert datasets.make(name, n_valid=1, n_test=1).train.shape == (entry.n_train, entry.n_variables)
    small = datasets.make(name, n_train=1)
    assert small.n_rows == (1, entry.n_valid, entry.n_test)


@pytest.mark.parametrize("name", datasets.names("synthetic"))
def test_a_seed_gives_the_same_data_and_another_gives_other_data(name):
    d, again = datasets.make(name, **SIZES, random_state=3), datasets.make(name, **SIZES, random_state=3)
    other = datasets.make(name, **SIZES, random_state=4)
    assert np.array_equal(d.train, again.train)
    assert np.array_equal(d.test, again.test)
    assert not np.array_equal(d.test, other.test)
    assert np.array_equal(datasets.make(name, n_train=7, n_valid=50, n_test=300, random_state=3).test, d.test)
    assert d.train.dtype == np.uint8


@pytest.mark.parametrize("name", datasets.names("synthetic"))
def test_the_true_circuit_belongs_to_the_data(name):
    d = datasets.make(name, **SIZES, random_state=5)
    assert d.truth is not None
    assert d.truth.names == d.feature_names
    scores = d.truth.log_likelihood(d.test)
    assert np.isfinite(scores).all(), "no row is impossible"
    assert np.allclose(datasets.truth(name, random_state=5).log_likelihood(d.test), scores)
    assert d.truth.why_not_smooth() is None
    assert d.truth.why_not_decomposable() is None
    assert d.truth.why_not_normalized() is None
    # The mean score is the negative entropy, up to chance: compare with a second, larger sample.
    more = d.truth.log_likelihood(d.truth.sample(4000, random_state=6))
    spread = more.std() / np.sqrt(len(scores)) + 1e-9
    assert abs(scores.mean() - more.mean()) < 5 * spread


@pytest.mark.parametrize(("name", "accept"), CONSTRAINTS.items())
def test_constrained_sets_are_uniform_over_the_accepted_rows(name, accept):
    d = datasets.make(name, **SIZES)
    assert accept(d.train.sum(axis=1, dtype=int)).all()
    accepted = sum(comb(100, k) for k in range(101) if accept(np.array(k)))
    assert d.truth.log_likelihood(d.test).mean() == pytest.approx(-log(accepted), abs=1e-9)
    counts = d.truth.count_distribution(range(100))
    exact = np.array([comb(100, k) / accepted if accept(np.array(k)) else 0 for k in range(101)])
    assert np.allclose(counts, exact, atol=1e-12)


def test_counts_of_a_sample_follow_their_distribution():
    truth = datasets.truth("counting")
    counts = truth.sample(5000, random_state=0).sum(axis=1).astype(int)
    expected = truth.count_distribution(range(100))
    found = np.bincount(counts, minlength=101) / 5000
    assert np.abs(found - expected).max() < 5 * np.sqrt(0.25 / 5000)
    means = truth.sample(5000, random_state=1).mean(axis=0)
    assert np.abs(means - 0.5).max() < 5 * np.sqrt(0.25 / 5000), "the ones are placed uniformly"


def conference_by_enumeration(people):
    """Return all assignments and their probabilities by the formulas, pair by pair."""
    n = people + 2
    all_assignments = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    scores = np.empty(len(all_assignments))
    for row, assignment in enumerate(all_assignments):
        attends, hot, overflow = assignment[:people], assignment[people], assignment[people + 1]
        score = sum(1.0 for a in attends if not hot or a)
        score += sum(0.2 for i in range(people) for j in range(i) if attends[i] == attends[j])
        score += sum(1.0 for a in attends if not a or overflow)
        scores[row] = score - overflow
    weights = np.exp(scores - scores.max())
    return all_assignments, weights / weights.sum()


def test_the_conference_circuit_is_the_log_linear_model():
    all_assignments, probabilities = conference_by_enumeration(5)
    circuit = synthetic.conference(5)
    assert np.allclose(np.exp(circuit.log_likelihood(all_assignments)), probabilities, atol=1e-14)


def test_the_conference_models_known_figures():
    circuit = datasets.truth("conference")
    hot, overflow = circuit.marginals()[0, 10:, 1]
    assert hot == pytest.approx(0.0794, abs=5e-5)
    assert overflow == pytest.approx(0.784, abs=5e-4)
    all_assignments = (np.arange(2**12)[:, None] >> np.arange(12)) & 1
    scores = circuit.log_likelihood(all_assignments)
    assert -(np.exp(scores) * scores).sum() == pytest.approx(5.9188, abs=5e-5)


def test_the_mevm_models_have_the_papers_shape():
    small, large = datasets.truth("MEVM-s"), datasets.truth("MEVM-l")
    assert (small.n_variables, small.summary().parameters) == (20, 4 * 5)
    assert (large.n_variables, large.summary().parameters) == (150, 9 + 10 * 10 * 15)


def test_factors_may_differ_between_components_as_the_text_has_it():
    circuit = synthetic.mevm(3, 2, 4, np.random.default_rng(0), shared_factors=False)
    groups = {leaf.variables for leaf in circuit.graph.nodes if not leaf.children}
    assert len(groups) > 2
    assert circuit.why_not_smooth() is None


def test_what_cannot_be_made_is_refused():
    with pytest.raises(RegistryError, match=r"'nltcs' is not a synthetic data set.*datasets.load"):
        datasets.make("nltcs")
    with pytest.raises(RegistryError, match="its true distribution is not known"):
        datasets.truth("senate")
    with pytest.raises(RegistryError, match="did you mean 'parity'"):
        datasets.make("parityy")
    with pytest.raises(ParameterError, match="n_train: expected a number of rows of at least 0, found -1"):
        datasets.make("parity", n_train=-1)
    with pytest.raises(ParameterError, match="n_test"):
        datasets.make("parity", n_test=2.5)
    with pytest.raises(ParameterError, match="random_state"):
        datasets.make("parity", random_state=-3)
    with pytest.raises(ParameterError, match="some count"):
        synthetic.uniform_given_count(4, lambda k: k > 9)
    with pytest.raises(ParameterError, match="at least 2 people"):
        synthetic.conference(1)
    with pytest.raises(ParameterError, match="n_factors"):
        synthetic.mevm(1, 0, 5, np.random.default_rng(0))
