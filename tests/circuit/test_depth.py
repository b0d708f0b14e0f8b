"""Circuits ten thousand nodes deep: nothing recurses."""

import pickle

import numpy as np
import pytest

from xspn import Bernoulli, Circuit, Product, Sum, load, save
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
    assert deep.why_not_smooth() is deep.why_not_decomposable() is deep.why_not_normalised() is None


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
