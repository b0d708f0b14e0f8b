"""Properties give a reason or None; scopes, domains, graphs and summaries keep their word."""

import numpy as np
import pytest
from hypothesis import given, settings

from support.circuits import cases
from xspn import Bernoulli, Categorical, Circuit, Exchangeable, Gaussian, Product, Sum
from xspn.core.errors import ParameterError
from xspn.data.domain import Domain
from xspn.graph import Graph, Scope


def indicator(variable, value):
    return Bernoulli(variable, p=float(value))


@settings(max_examples=100)
@given(cases(most_assignments=500))
def test_a_circuit_known_to_be_selective_is_so(case):
    """In every assignment at most one child of positive weight is positive, at every sum."""
    circuit, _ = case
    if circuit.why_not_selective() is not None:
        return
    all_assignments = circuit.oracle.assignments
    for node in circuit.graph.nodes:
        if isinstance(node, Sum):
            live = [c for c, w in zip(node.children, node.weights, strict=True) if w > 0]
            values = [np.exp(Circuit(c, n_variables=circuit.n_variables).log_likelihood(all_assignments)) for c in live]
            assert ((np.array(values) > 0).sum(axis=0) <= 1).all()


def test_reasons_name_the_sum_and_the_children():
    parts = [Product([indicator(0, b), Bernoulli(1, p=0.5)]) for b in (0, 1)]
    assert Circuit(Sum([0.5, 0.5], parts)).why_not_selective() is None
    overlapping = Sum([0.25, 0.25, 0.5], [*parts, Exchangeable.uniform([0, 1])])
    assert "children 0 and 2" in Circuit(overlapping).why_not_selective()
    assert Circuit(Sum([0.5, 0.5, 0.0], [*parts, Exchangeable.uniform([0, 1])])).why_not_selective() is None


def test_selective_by_other_leaves():
    low, high = Categorical(0, [0.5, 0.5, 0, 0]), Categorical(0, [0, 0, 0.1, 0.9])
    assert Circuit(Sum([0.5, 0.5], [low, high])).why_not_selective() is None
    all_ones = Exchangeable.from_class_probabilities([0, 1], [0, 0, 1])
    all_zeros = Exchangeable.from_class_probabilities([0, 1], [1, 0, 0])
    assert Circuit(Sum([0.5, 0.5], [all_ones, all_zeros])).why_not_selective() is None
    reals = Sum([0.5, 0.5], [Gaussian(0, 0, 1), Gaussian(0, 5, 1)])
    assert "no variable tells" in Circuit(reals).why_not_selective()
    told = Sum([0.5, 0.5], [Product([Gaussian(0, m, 1), indicator(1, b)]) for m, b in ((0, 0), (5, 1))])
    assert Circuit(told).why_not_selective() is None


def test_one_child_twice():
    leaf = Bernoulli(0, p=0.5)
    assert "children 0 and 1" in Circuit(Sum([0.5, 0.5], [leaf, leaf])).why_not_selective()
    assert Circuit(Sum([1.0, 0.0], [leaf, leaf])).why_not_selective() is None
    twice = Circuit(Sum([0.5, 0.5], [leaf, leaf]))
    assert np.exp(twice.log_likelihood([[1]]))[0] == pytest.approx(0.5)
    assert twice.marginals()[0, 0, 1] == pytest.approx(0.5)
    assert twice.summary().edges == 2


def test_a_shared_sub_circuit_is_one_node():
    shared = Bernoulli(1, p=0.5)
    parts = [Product([Bernoulli(0, p=p), shared]) for p in (0.1, 0.9)]
    graph = Graph(Sum([0.5, 0.5], parts))
    assert len(graph) == 6
    assert graph.n_parents.tolist().count(2) == 1
    assert graph.nodes[-1] is graph.root
    order = {id(node): place for place, node in enumerate(graph.nodes)}
    for node in graph.nodes:
        assert all(order[id(child)] < order[id(node)] for child in node.children)


def test_many_paths_are_not_walked_one_by_one():
    """Sixty layers of two sums over the two below have 2⁶⁰ paths and 122 nodes."""
    layer = [Bernoulli(0, p=0.1), Bernoulli(0, p=0.9)]
    for _ in range(60):
        layer = [Sum([0.5, 0.5], layer), Sum([0.25, 0.75], layer)]
    circuit = Circuit(Sum([0.5, 0.5], layer))
    assert circuit.summary().nodes == 123
    assert circuit.marginals()[0, 0, 1] == pytest.approx(np.exp(circuit.log_likelihood([[1]]))[0])
    assert circuit.sample(5, random_state=0).shape == (5, 1)
    assert circuit.moments().mean[0] == pytest.approx(circuit.marginals()[0, 0, 1])
    assert circuit.simplify().log_likelihood([[1]])[0] == pytest.approx(circuit.log_likelihood([[1]])[0])


def test_nodes_cannot_be_changed():
    node = Sum([0.5, 0.5], [Bernoulli(0, p=0.1), Bernoulli(0, p=0.9)])
    with pytest.raises(AttributeError, match="immutable"):
        node.weights = np.array([1.0, 0.0])
    with pytest.raises(AttributeError, match="immutable"):
        del node.weights
    with pytest.raises(ValueError, match="read-only"):
        node.weights[0] = 1.0


def test_a_nodes_weights_are_its_own():
    weights = np.array([0.5, 0.5])
    node = Sum(weights, [Bernoulli(0, p=0.1), Bernoulli(0, p=0.9)])
    weights[0] = 7
    assert node.weights.tolist() == [0.5, 0.5]


def test_scope():
    scope = Scope.of([5, 0, 70])
    assert list(scope) == [0, 5, 70]
    assert (len(scope), scope.width, bool(Scope()), 5 in scope, 6 in scope) == (3, 71, False, True, False)
    assert list(scope - Scope.of([5])) == [0, 70]
    assert Scope.of([1, 2]) == Scope.of([2, 1])
    assert hash(Scope.of([1, 2])) == hash(Scope.of([2, 1]))
    assert str(Scope.of(range(20))) == "{0, 1, 2, 3, 4, 5, 6, 7, … 20 in all}"


def test_domain():
    values = np.array([-1, 0, 1, 2, 0.5, np.nan, np.inf])
    assert Domain(2).outside(values).tolist() == [True, False, False, True, True, False, True]
    assert Domain.real().outside(values).tolist() == [False] * 6 + [True]
    assert Domain(7).describe() == "an integer from 0 to 6"


def test_ordered_domains():
    assert Domain.categorical(5) == Domain(5) != Domain.ordinal(5)
    assert Domain.ordinal(5).outside(np.array([4.0, 5.0, np.nan])).tolist() == [False, True, False]
    assert Domain(5).to_params() == {"cardinality": 5}
    assert Domain.ordinal(5).to_params() == {"cardinality": 5, "ordered": True}
    with pytest.raises(ParameterError, match="order of their own"):
        Domain(None, ordered=True)
    with pytest.raises(ParameterError, match="ordered to be True or False"):
        Domain(3, ordered=1)


def test_summary_counts_free_parameters():
    leaves = [Exchangeable.uniform([0, 1, 2]), Categorical(3, [0.2, 0.3, 0.5]), Gaussian(4, 0, 1), indicator(5, 1)]
    circuit = Circuit(Sum([0.5, 0.5], [Product(leaves), Product(leaves)]))
    summary = circuit.summary()
    assert summary.parameters == 1 + 3 + 2 + 2 + 0  # the sum, |T| − 1, k − 1, mean and deviation, an indicator
    assert (summary.nodes, summary.edges, summary.depth) == (7, 10, 2)
    assert "7 nodes, 10 edges, depth 2, 8 parameters over 6 variables" in str(summary)


def test_sums_of_sums_are_merged_only_where_the_weights_keep_their_digits():
    tiny, small = 4.4921501259249756e-300, 7.476593571059405e-21
    no, yes = Bernoulli(0, p=0.0), Bernoulli(0, p=1.0)
    circuit = Circuit(Sum([small, 1.0], [Sum([tiny, 1.0], [no, yes]), yes])).simplify()
    np.testing.assert_allclose(circuit.log_likelihood([[0]]), np.log(tiny) + np.log(small), rtol=1e-14)
    a, b, c, d = (Bernoulli(0, p=p) for p in (0.1, 0.4, 0.7, 0.9))
    half = [0.5, 0.5]
    nested = Sum(half, [Sum(half, [Sum(half, [a, b]), c]), d])
    assert Circuit(nested).simplify().root.weights.tolist() == [0.125, 0.125, 0.25, 0.5]
