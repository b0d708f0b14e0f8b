"""Entropies, mutual information and divergences against enumeration; simulations within their errors, bounds always."""

import numpy as np
import pytest
from hypothesis import given, settings

from support.circuits import cases, random_circuit
from xspn import Bernoulli, Circuit, Exchangeable, Gaussian, Product, Sum
from xspn.core.errors import ParameterError, QueryError
from xspn.inference.information import entropy_bounds, exact_entropy
from xspn.leaves import leaves


def entropy_of(p):
    p = np.asarray(p)[np.asarray(p) > 0]
    return float(-(p * np.log(p)).sum())


def marginal(circuit, variables):
    """The probabilities of the values of some variables, by enumeration."""
    keys = circuit.oracle.assignments[:, variables]
    _, which = np.unique(keys, axis=0, return_inverse=True)
    return np.bincount(which.ravel(), weights=circuit.oracle.probabilities)


@settings(max_examples=100, deadline=None)
@given(cases(components=2))
def test_entropy_and_mutual_information(case):
    circuit, rng = case
    own = [int(v) for v in rng.permutation(circuit.oracle.variables)]
    np.testing.assert_allclose(circuit.entropy().value, entropy_of(circuit.oracle.probabilities), atol=1e-9)
    low, high = entropy_bounds(circuit.graph)
    assert low - 1e-9 <= entropy_of(circuit.oracle.probabilities) <= high + 1e-9
    if len(own) < 2:
        return
    cut = int(rng.integers(1, len(own)))
    a, b = own[:cut], own[cut : cut + int(rng.integers(1, len(own) - cut + 1))]
    expected = (
        entropy_of(marginal(circuit, a)) + entropy_of(marginal(circuit, b)) - entropy_of(marginal(circuit, a + b))
    )
    found = circuit.mutual_information(a, b)
    assert found.method == "exact"
    np.testing.assert_allclose(found.value, expected, atol=1e-9)
    np.testing.assert_allclose(circuit.entropy(a).value, entropy_of(marginal(circuit, a)), atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_simulations_are_within_their_errors_and_bounds(seed):
    rng = np.random.default_rng(seed)
    p, q = (random_circuit(rng, [2, 3, 2, 2, 4], 3, components=3) for _ in range(2))
    pairs = [
        (p.entropy(), p.entropy(method="simulation")),
        (p.mutual_information([0, 1], [3]), p.mutual_information([0, 1], [3], method="simulation")),
        (p.jensen_shannon(q), p.jensen_shannon(q, method="simulation")),
    ]
    for known, found in pairs:
        assert (known.method, found.method) == ("exact", "simulation")
        assert abs(found.value - known.value) <= 4.5 * found.error + 1e-9
        assert found.lower - 1e-9 <= known.value <= found.upper + 1e-9


@settings(max_examples=40, deadline=None)
@given(cases(components=2, most_variables=6))
def test_divergences(case):
    p, rng = case
    sizes = [p.domains[v].cardinality for v in p.oracle.variables]
    q = random_circuit(rng, sizes, 3, p.n_variables - len(sizes), components=2)
    if q.scope != p.scope:
        with pytest.raises(QueryError, match="same variables"):
            p.kl_divergence(q)
        return
    own, other = p.oracle.probabilities, q.oracle.probabilities
    with np.errstate(divide="ignore"):
        expected = (
            float((own[own > 0] * np.log(own[own > 0] / other[own > 0])).sum())
            if (other[own > 0] > 0).all()
            else np.inf
        )
    np.testing.assert_allclose(p.kl_divergence(q).value, expected, atol=1e-9)
    middle = entropy_of((own + other) / 2) - (entropy_of(own) + entropy_of(other)) / 2
    np.testing.assert_allclose(p.jensen_shannon(q).value, middle, atol=1e-9)


def test_large_selective_circuits_are_exact():
    # A chain of choices over 40 bits: the entropies of the parts add up.
    node = Bernoulli(39, p=0.3)
    expected = entropy_of([0.3, 0.7])
    for v in range(38, -1, -1):
        rest = Bernoulli(v + 1, p=0.3) if v == 38 else node
        node = Sum([0.4, 0.6], [Product([Bernoulli(v, p=1.0), rest]), Product([Bernoulli(v, p=0.0), rest])])
        expected += entropy_of([0.4, 0.6])
    found = Circuit(node).entropy()
    assert found.method == "exact"
    np.testing.assert_allclose(found.value, expected, atol=1e-9)


def test_evidence_changes_information():
    leaf = Exchangeable([0, 1], np.log([0.4, 0.1, 0.4]))
    circuit = Circuit(Product([leaf, Bernoulli(2, p=0.5)]))
    np.testing.assert_allclose(circuit.entropy([1], given={0: 1}).value, entropy_of([0.2, 0.8]))
    np.testing.assert_allclose(circuit.mutual_information([1], [2], given={0: 1}).value, 0.0, atol=1e-12)


@pytest.mark.parametrize("family", list(leaves))
def test_leaves_know_their_entropy(family):
    for seed in range(4):
        leaf = leaves[family].example(np.random.default_rng(seed))
        circuit = Circuit(leaf)
        if all(domain.is_discrete for domain in leaf.domains):
            np.testing.assert_allclose(leaf.entropy(), entropy_of(circuit.oracle.probabilities), atol=1e-9)
        elif family != "atom":  # whose draws are rounded
            rows = circuit.sample(40_000, random_state=seed)
            terms = -circuit.log_likelihood(rows)
            assert abs(leaf.entropy() - terms.mean()) <= 5 * terms.std() / 200


def test_mixtures_of_normal_leaves_are_bounded():
    circuit = Circuit(Sum([0.5, 0.5], [Gaussian(0, mean=m, std=1.0) for m in (-2.0, 2.0)]))
    found = circuit.entropy()
    assert exact_entropy(circuit.graph) is None
    assert found.method == "simulation"
    one = 0.5 * np.log(2 * np.pi * np.e)
    np.testing.assert_allclose([found.lower, found.upper], [one, one + np.log(2)])
    assert found.lower < found.value < found.upper


def test_wrong_questions():
    circuit = Circuit(Product([Bernoulli(0, p=0.5), Bernoulli(1, p=0.3)]), names=["a", "b"])
    with pytest.raises(QueryError, match="'a' is in both sets"):
        circuit.mutual_information(["a"], ["a", "b"])
    with pytest.raises(ParameterError, match="method"):
        circuit.entropy(method="guess")
    with pytest.raises(ParameterError, match="n_samples"):
        circuit.entropy(n_samples=1)
    with pytest.raises(QueryError, match="not known"):
        circuit.entropy(["a"], given={"a": 1})
    with pytest.raises(ParameterError, match="expected a circuit"):
        circuit.kl_divergence(3)
