"""Small circuits with answers computed by hand, and a file of schema 1 that must stay readable."""

from itertools import product
from math import exp, log
from pathlib import Path

import numpy as np
import pytest

from xspn import Bernoulli, Categorical, ChowLiu, Circuit, Exchangeable, Gaussian, Product, Sum, load
from xspn.io import to_dot, to_equation, to_json
from xspn.statistics import Blocks, Total, ValueCounts

NAN = np.nan
HERE = Path(__file__).parent


# -- two friends and the rain (the example of the documentation) -------------------------------------------------------


@pytest.fixture
def friends():
    leaf = Exchangeable([0, 1], log_weights=np.log([0.2, 0.25, 0.3]))
    return Circuit(Product([leaf, Bernoulli(2, p=0.4)]), names=["ann", "bob", "rain"])


def test_friends(friends):
    rows = [[0, 0, 0], [1, 0, 0], [0, 1, 1], [1, 1, 1], [1, NAN, NAN], [NAN, NAN, 1], [NAN, NAN, NAN]]
    expected = [0.2 * 0.6, 0.25 * 0.6, 0.25 * 0.4, 0.3 * 0.4, 0.55, 0.4, 1.0]
    np.testing.assert_allclose(np.exp(friends.log_likelihood(rows)), expected, rtol=1e-14)
    np.testing.assert_allclose(friends.marginals({"ann": 1})[:, :, 1], [[1.0, 0.3 / 0.55, 0.4]], rtol=1e-14)
    np.testing.assert_allclose(friends.marginals()[:, :, 1], [[0.55, 0.55, 0.4]], rtol=1e-14)
    np.testing.assert_allclose(friends.count_distribution(["ann", "bob"]), [0.2, 0.5, 0.3], rtol=1e-14)
    np.testing.assert_allclose(friends.count_distribution(["bob", "ann"], given={"ann": 0}), [4 / 9, 5 / 9, 0])
    best = friends.mpe({"rain": 1})
    assert best.values.tolist() == [[1, 1, 1]]
    assert best.exact
    assert best.log_prob[0] == pytest.approx(log(0.12), rel=1e-14)
    answer = friends.conditional_log_likelihood([[NAN, 1, NAN]], given={"ann": 0})
    assert answer[0] == pytest.approx(log(0.25 / 0.45), rel=1e-14)


def test_moments_of_friends(friends):
    found = friends.moments()
    np.testing.assert_allclose(found.mean, [0.55, 0.55, 0.4], rtol=1e-14)
    own, both = 0.55 * 0.45, 0.3 - 0.55**2
    np.testing.assert_allclose(found.covariance, [[own, both, 0], [both, own, 0], [0, 0, 0.24]], atol=1e-15)
    assert found.correlation[0, 1] == pytest.approx(both / own)


def test_summary_of_friends(friends):
    summary = friends.summary()
    assert (summary.nodes, summary.edges, summary.depth, summary.parameters) == (3, 2, 1, 3)
    assert (summary.sums, summary.products, summary.variables) == (0, 1, 3)
    assert summary.leaves == {"Exchangeable": 1, "Bernoulli": 1}


# -- the workshop of the paper (Example 1), as `examples/workshop.py` builds it ----------------------------------------


def attendance(bonus, guests):
    """exp(bonus for each who comes + 0.1 for each pair that agrees)."""
    pairs = sum(guests[i] == guests[j] for i in range(len(guests)) for j in range(i))
    return exp(bonus * sum(guests) + 0.1 * pairs)


@pytest.fixture(scope="module")
def workshop():
    """All 2¹¹ assignments and their probabilities by the definition, and the circuit."""
    n = 10
    guests = list(product((0, 1), repeat=n))
    all_assignments, chances, branches = [], [], []
    for hot, prior, bonus in ((1, 0.3, 0.4), (0, 0.7, -0.2)):
        scores = [attendance(bonus, x) for x in guests]
        all_assignments += [(hot, *x) for x in guests]
        chances += [prior * score / sum(scores) for score in scores]
        one_of_each = [log(attendance(bonus, [1] * k + [0] * (n - k)) / sum(scores)) for k in range(n + 1)]
        branches.append(Product([Bernoulli(0, p=hot), Exchangeable(range(1, n + 1), one_of_each)]))
    return np.array(all_assignments, dtype=float), np.array(chances), Circuit(Sum([0.3, 0.7], branches))


def test_the_workshop(workshop):
    all_assignments, chances, circuit = workshop
    np.testing.assert_allclose(np.exp(circuit.log_likelihood(all_assignments)), chances, rtol=1e-12)
    guests = all_assignments[:, 1:].sum(axis=1).astype(int)
    np.testing.assert_allclose(
        circuit.count_distribution(range(1, 11)), np.bincount(guests, weights=chances), rtol=1e-12
    )
    known = (all_assignments[:, :4] == [1, 1, 1, 0]).all(axis=1)
    expected = chances[known & (all_assignments[:, 4] == 1)].sum() / chances[known].sum()
    assert circuit.marginals({0: 1, 1: 1, 2: 1, 3: 0})[0, 4, 1] == pytest.approx(expected, rel=1e-12)
    best = circuit.mpe({1: 1, 2: 1})
    assert best.exact
    assert np.exp(best.log_prob[0]) == pytest.approx(
        chances[(all_assignments[:, 1:3] == 1).all(axis=1)].max(), rel=1e-12
    )
    assert best.values.tolist() == [[1] * 11]


def test_the_workshop_in_numbers(workshop):
    """The numbers that `examples/workshop.py` prints, to three digits."""
    _, _, circuit = workshop
    assert circuit.marginals()[0, 4, 1] == pytest.approx(0.490, abs=5e-4)
    assert circuit.marginals({0: 1, 1: 1, 2: 1, 3: 0})[0, 4, 1] == pytest.approx(0.665, abs=5e-4)
    assert circuit.count_distribution(range(1, 11))[5] == pytest.approx(0.152, abs=5e-4)


# -- mixtures ----------------------------------------------------------------------------------------------------------


def test_a_mixture_where_max_product_is_wrong():
    """The best single component says 0 (½ of 0.5 against 0.3), the mixture says 1 (0.3 + 0.2 against 0.5 − ε)."""
    circuit = Circuit(Sum([0.45, 0.3, 0.25], [Bernoulli(0, p=0), Bernoulli(0, p=0.95), Bernoulli(0, p=0.9)]))
    guess, exact = circuit.mpe(), circuit.mpe(exact=True)
    assert guess.values.tolist() == [[0.0]]
    assert not guess.exact
    assert guess.log_prob[0] == pytest.approx(log(0.45 + 0.3 * 0.05 + 0.25 * 0.1))
    assert exact.values.tolist() == [[1.0]]
    assert exact.exact
    assert exact.log_prob[0] == pytest.approx(log(0.3 * 0.95 + 0.25 * 0.9))


def test_posterior_weights():
    branches = [Product([Bernoulli(0, p=rain), Bernoulli(1, p=wet)]) for rain, wet in ((1, 0.9), (0, 0.1))]
    rain = Sum([0.2, 0.8], branches)
    wet = Circuit(rain).condition({1: 1})
    assert wet.marginals()[0, 0, 1] == pytest.approx(0.18 / 0.26, rel=1e-14)
    assert np.isnan(wet.marginals()[0, 1]).all()
    assert Circuit(rain).mpe({1: 1}).values.tolist() == [[1, 1]]


def test_dice():
    """Three dice of which only the total is known to matter."""
    three = Exchangeable.uniform([0, 1, 2], Total(6))
    circuit = Circuit(three)
    assert np.exp(circuit.log_likelihood([[0, 3, 5]]))[0] == pytest.approx(1 / 216)
    assert circuit.moments().mean.tolist() == pytest.approx([2.5] * 3)
    assert circuit.moments().variance.tolist() == pytest.approx([35 / 12] * 3)
    np.testing.assert_allclose(circuit.marginals([[0, NAN, 5]])[0, 1], [1 / 6] * 6)
    fives = Exchangeable.from_class_probabilities([0, 1, 2], np.arange(16) == 14, Total(6))  # 5 + 5 + 4
    np.testing.assert_allclose(Circuit(fives).marginals()[0, 0], [0, 0, 0, 0, 1 / 3, 2 / 3], atol=1e-15)
    np.testing.assert_allclose(Circuit(fives).marginals([[4, NAN, NAN]])[0, 1], [0, 0, 0, 0, 0, 1], atol=1e-15)


def test_colours():
    """Two red, one green, one blue card in random order."""
    order = ValueCounts(3)
    chances = [float(counts == [2, 1, 1]) for counts in order.values(4).tolist()]
    circuit = Circuit(Exchangeable.from_class_probabilities([0, 1, 2, 3], chances, order))
    assert np.exp(circuit.log_likelihood([[0, 0, 1, 2]]))[0] == pytest.approx(1 / 12)
    np.testing.assert_allclose(circuit.marginals([[0, NAN, NAN, NAN]])[0, 1], [1 / 3, 1 / 3, 1 / 3])
    np.testing.assert_allclose(circuit.marginals([[1, 2, NAN, NAN]])[0, 3], [1, 0, 0], atol=1e-15)
    assert circuit.log_likelihood([[1, 1, NAN, NAN]])[0] == -np.inf


def test_two_parties():
    """Three of one party and two of another: they vote alike inside a party and against each other."""
    statistic = Blocks([[0, 1, 2], [3, 4]])
    chances = np.zeros((4, 3))
    chances[3, 0] = chances[0, 2] = 0.5
    circuit = Circuit(Exchangeable.from_class_probabilities(range(5), chances.ravel(), statistic))
    np.testing.assert_allclose(circuit.marginals({0: 1})[:, :, 1], [[1, 1, 1, 0, 0]], atol=1e-15)
    np.testing.assert_allclose(circuit.count_distribution(range(5)), [0, 0, 0.5, 0.5, 0, 0])


def test_a_chain_of_weather():
    chain = ChowLiu([0, 1, 2], parents=[-1, 0, 1], p=[[0.5, 0.5], [0.2, 0.9], [0.2, 0.9]])
    circuit = Circuit(chain)
    assert np.exp(circuit.log_likelihood([[1, 1, 0]]))[0] == pytest.approx(0.5 * 0.9 * 0.1)
    # P(X0 = 1, X2 = 1) = 0.5 (0.9·0.9 + 0.1·0.2)
    assert np.exp(circuit.log_likelihood([[1, NAN, 1]]))[0] == pytest.approx(0.5 * (0.81 + 0.02))
    assert circuit.marginals([[1, NAN, 1]])[0, 1, 1] == pytest.approx(0.81 / 0.83)
    assert circuit.mpe([[0, NAN, NAN]]).values.tolist() == [[0, 0, 0]]


def test_a_categorical_in_three_parts():
    circuit = Circuit(Sum([0.5, 0.5], [Categorical(0, [0.2, 0.3, 0.5]), Categorical(0, [1, 0, 0])]))
    np.testing.assert_allclose(circuit.marginals()[0, 0], [0.6, 0.15, 0.25])
    assert circuit.moments().mean[0] == pytest.approx(0.15 + 2 * 0.25)


# -- text and files ----------------------------------------------------------------------------------------------------


@pytest.fixture
def mixed():
    """One of everything; what `schema1.json` holds."""
    children = [
        Product(
            [
                Exchangeable([3, 0, 1], np.log([0.5, 1e-300, 1e-300, 0.5])),
                ChowLiu([2, 5], [-1, 0], [[0.1, 0.1], [1 / 3, 0.7]]),
                Categorical(4, [0.1, 0.2, 0.7]),
                Gaussian(6, mean=-1.5, std=0.3),
            ]
        ),
        Product(
            [
                Exchangeable.from_class_probabilities(
                    [0, 1, 2, 3], [0.0, 0.3, 0.0, 0.7, 0.0, 0.0, 0.0, 0.0], Blocks([[0, 2, 3], [1]])
                ),
                Bernoulli(5, p=1.0),
                Exchangeable([4], np.log([0.2, 0.3, 0.5]), ValueCounts(3)),
                Gaussian(6, mean=2.0, std=1.0),
            ]
        ),
    ]
    return Circuit(Sum([0.25, 0.75], children), names=["a", "b", "c", "d", "färbe", "f", "g"], n_variables=7)


def test_the_file_of_schema_1_stays_readable(mixed):
    loaded = load(HERE / "schema1.json")
    assert loaded.names == mixed.names
    assert loaded.domains == mixed.domains
    assert loaded.summary() == mixed.summary()
    rows = np.array([[0, 0, 1, 0, 2, 1, -1.2], [NAN, 1, NAN, NAN, 0, 1, NAN], [NAN] * 7])
    np.testing.assert_allclose(loaded.log_likelihood(rows), mixed.log_likelihood(rows), rtol=1e-14, atol=1e-14)
    assert loaded.log_likelihood(rows)[2] == pytest.approx(0, abs=1e-12)


def test_the_file_of_schema_1_is_written_the_same_way_today():
    text = (HERE / "schema1.json").read_text(encoding="utf-8")
    assert to_json(load(HERE / "schema1.json"), indent=1) + "\n" == text


def test_graphviz_text(friends):
    assert to_dot(friends).splitlines()[2:] == [
        '  n0 [shape=box, label="Exchangeable\\nann, bob"];',
        '  n1 [shape=box, label="Bernoulli\\nrain"];',
        '  n2 [shape=circle, label="×"];',
        "  n2 -> n0;",
        "  n2 -> n1;",
        "}",
    ]


def test_equation_text(friends):
    assert to_equation(friends) == "P = E(ann, bob) · B(rain; 0.4)"
