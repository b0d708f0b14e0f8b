"""Circuits ten thousand nodes deep: nothing recurses."""

import copy
import pickle
import time

import numpy as np
import pytest

from xspn import Bernoulli, Circuit, Product, Sum, load, save
from xspn.estimators.explanation import PAGE, explain
from xspn.io import to_dot, to_equation

DEPTH = 10_000


def nested_sums():
    """A chain of sums over one variable: P(X = 1) tends to the last bit that is mixed in."""
    node = Bernoulli(0, p=0.5)
    for level in range(DEPTH):
        node = Sum([0.999, 0.001], [node, Bernoulli(0, p=level % 2)])
    return Circuit(node)


def nested_pairs():
    """Sums and products in turn, over a few variables that come and go."""
    node = Product([Bernoulli(0, p=0.5), Bernoulli(1, p=0.5)])
    for level in range(DEPTH // 2):
        other = Product([Bernoulli(0, p=level % 2), Bernoulli(1, p=0.3)])
        node = Sum([0.999, 0.001], [Product([node]), other])
    return Circuit(node)


def nested_products():
    """Each product adds a variable to the one below it."""
    node = Bernoulli(0, p=0.5)
    for level in range(1, DEPTH + 1):
        node = Product([node, Bernoulli(level, p=0.25)])
    return Circuit(node)


def nested_switches(levels=500):
    """A selective caterpillar: each bit decides whether the chain goes on or all other bits are fair coins."""
    coins = chain = Bernoulli(0, p=0.5)
    for level in range(1, levels + 1):
        stop, go = (Product([Bernoulli(level, p=p), rest]) for p, rest in ((0, coins), (1, chain)))
        coins, chain = Product([coins, Bernoulli(level, p=0.5)]), Sum([0.25, 0.75], [stop, go])
    return Circuit(chain)


@pytest.fixture(scope="module", params=[nested_sums, nested_pairs, nested_products])
def deep(request):
    return request.param()


def test_it_is_deep(deep):
    assert deep.summary().depth >= DEPTH


def rows_of(circuit):
    rng = np.random.default_rng(0)
    rows = (rng.random((3, circuit.n_variables)) < 0.5).astype(float)
    rows[1, 0] = np.nan
    rows[2] = np.nan
    return rows


def test_score(deep):
    found = deep.log_likelihood(rows_of(deep))
    assert np.isfinite(found).all()
    assert found[2] == pytest.approx(0, abs=1e-9)


def test_score_of_nested_products():
    ones = np.ones((1, DEPTH + 1))
    assert nested_products().log_likelihood(ones)[0] == pytest.approx(np.log(0.5) + DEPTH * np.log(0.25), rel=1e-12)


def test_sample(deep):
    drawn = deep.sample(given=rows_of(deep), random_state=0)
    assert not np.isnan(drawn).any()


def test_marginals(deep):
    table = deep.marginals(rows_of(deep))
    assert ((table >= 0) & (table <= 1)).all()


def test_mpe(deep):
    found = deep.mpe(rows_of(deep))
    assert np.isfinite(found.log_prob).all()


def test_marginalize_and_condition(deep):
    assert np.isfinite(deep.marginalize([0]).log_likelihood(rows_of(deep))).all()
    if deep.n_variables > 1:
        assert np.isfinite(deep.condition({1: 1}).log_likelihood(rows_of(deep))).all()


def test_properties(deep):
    assert deep.why_not_smooth() is deep.why_not_decomposable() is deep.why_not_normalized() is None


def test_save_and_load(deep, tmp_path):
    save(deep, tmp_path / "deep.json")
    again = load(tmp_path / "deep.json")
    np.testing.assert_array_equal(again.log_likelihood(rows_of(deep)), deep.log_likelihood(rows_of(deep)))


def test_pickle(deep):
    again = pickle.loads(pickle.dumps(deep))
    np.testing.assert_array_equal(again.log_likelihood(rows_of(deep)), deep.log_likelihood(rows_of(deep)))


def test_simplify(deep):
    simple = deep.simplify()
    assert simple.summary().depth < DEPTH
    np.testing.assert_allclose(simple.log_likelihood(rows_of(deep)), deep.log_likelihood(rows_of(deep)), atol=1e-9)


def test_nested_sums_become_one():
    assert nested_sums().simplify().summary().depth == 1


def test_nested_products_become_one():
    assert nested_products().simplify().summary().depth == 1


def test_text(deep):
    assert to_dot(deep).count("->") == deep.summary().edges
    assert to_equation(deep).startswith(("P = ", "n"))
    assert len(repr(deep)) < 300


def test_a_deep_selective_circuit():
    circuit = nested_switches()
    assert circuit.why_not_selective() is None
    best = circuit.mpe()
    assert best.exact
    assert best.values[0, 1:].all()
    assert best.log_prob[0] == pytest.approx(500 * np.log(0.75) + np.log(0.5), rel=1e-12)


def test_moments_and_counts():
    for circuit in (nested_sums(), nested_pairs()):
        assert np.isfinite(circuit.moments().mean).all()
        assert circuit.count_distribution(range(circuit.n_variables)).sum() == pytest.approx(1)


@pytest.mark.parametrize("make", [nested_sums, nested_products, nested_switches])
def test_nodes_by_themselves_are_pickled_and_copied(make):
    circuit = make()
    again = pickle.loads(pickle.dumps(circuit.root))
    pairs = zip(Circuit(again).graph.records(), circuit.graph.records(), strict=True)
    assert all(own[0] == other[0] and own[2] == other[2] for own, other in pairs)
    assert copy.copy(circuit.root).height == circuit.root.height == circuit.summary().depth
    assert copy.deepcopy(circuit.root) is circuit.root  # nodes never change


def test_shallow_nodes_stay_shared_when_they_are_pickled():
    shared = Bernoulli(1, p=0.5)
    root = Sum([0.5, 0.5], [Product([Bernoulli(0, p=p), shared]) for p in (0.1, 0.9)])
    again, part = pickle.loads(pickle.dumps((root, root.children[0])))
    assert part is again.children[0]
    assert again.children[0].children[1] is again.children[1].children[1]


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_evaluators_of_deep_circuits_are_pickled(deep, backend):
    evaluator = deep.to(backend)
    again = pickle.loads(pickle.dumps(evaluator))
    np.testing.assert_array_equal(again.log_likelihood(rows_of(deep)), evaluator.log_likelihood(rows_of(deep)))


def seconds(ask):
    start = time.process_time()
    ask()
    return time.process_time() - start


def test_moments_of_a_chain_of_products():
    node = Bernoulli(0, p=0.5)
    for level in range(1, 3001):
        node = Product([node, Bernoulli(level, p=0.25)])
    circuit = Circuit(node)
    found = []
    assert seconds(lambda: found.append(circuit.moments())) < 5  # 0.4 s; 120 s when every product made a matrix
    expected = np.full(3001, 0.25 * 0.75)
    expected[0] = 0.25
    np.testing.assert_allclose(found[0].variance, expected, rtol=1e-12)
    assert not (found[0].covariance - np.diag(expected)).any()


def test_selectivity_is_proved_in_a_time_that_grows_with_the_size():
    circuit = nested_switches(4000)
    assert seconds(circuit.why_not_selective) < 10  # 0.3 s; quadratic in the depth before
    assert circuit.why_not_selective() is None


def test_moments_of_switches():
    """Against the definition: enumerate a short chain, and a long one by its recursion."""
    short = nested_switches(6)
    mean, covariance = short.oracle.moments()
    np.testing.assert_allclose(short.moments().mean, mean, rtol=1e-12)
    np.testing.assert_allclose(short.moments().covariance, covariance, atol=1e-12)
    assert np.isfinite(nested_switches(300).moments().covariance).all()


def test_explain(deep):
    assert len(explain(deep, {}, 8)) <= PAGE
    assert explain(deep, {}, 8, full=True)
