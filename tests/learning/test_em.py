"""EM on any circuit: it climbs, it takes weights and missing values exactly, it recovers what made the data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.circuits import cases, random_rows
from xspn import Bernoulli, Categorical, Circuit, Exchangeable, Gaussian, Product, Smoothing, Sum
from xspn.engine import NumpyBackend, compile_graph
from xspn.graph.graph import Graph
from xspn.learning.em.fit import EMOptions, fit_parameters
from xspn.learning.em.passes import expect, fitted_root, maximize


def mean_ll(circuit, rows, weights=None):
    return np.average(circuit.log_likelihood(rows), weights=weights)


def coins(*p):
    return Product([Bernoulli(i, p=q) for i, q in enumerate(p)])


@settings(max_examples=150)
@given(cases(most_variables=7, most_assignments=200))
def test_no_pass_lowers_the_log_likelihood(case):
    circuit, rng = case
    rows = random_rows(rng, circuit, 30)
    weights = rng.choice([0.0, 0.3, 1.0, 2.5], size=30) + (np.arange(30) == 0)
    fit = fit_parameters(circuit.graph, rows, EMOptions(n_iter=6, tolerance=0.0), weights)
    course = np.array(fit.log_likelihoods)
    assert (np.diff(course) >= -1e-9 * (1 + np.abs(course[:-1]))).all()
    fitted = Circuit(fit.root, n_variables=circuit.n_variables)
    assert fitted.why_not_normalized() is None
    assert mean_ll(fitted, rows[weights > 0], weights[weights > 0]) == pytest.approx(course[fit.best], abs=1e-9)


@settings(max_examples=60)
@given(cases(most_variables=6, most_assignments=100))
def test_expected_statistics_are_those_of_each_leaf_and_edge(case):
    """Against the definition: flows by enumeration of which nodes a row uses, statistics by the leaves themselves."""
    circuit, rng = case
    rows, weights = random_rows(rng, circuit, 12), rng.random(12)
    program = compile_graph(circuit.graph)
    fitted = Circuit(
        fitted_root(
            circuit.graph, program, maximize(program, expect(NumpyBackend(program), rows, weights), Smoothing(0.2))
        )
    )
    flow = flows_by_definition(circuit.graph, rows, weights)
    for before, after in zip(circuit.graph.nodes, fitted.graph.nodes, strict=True):
        own = flow[circuit.graph.id_of(before)]
        if isinstance(before, Sum):
            counts = np.array([edge.sum() for edge in own["edges"]]) + 0.2
            np.testing.assert_allclose(after.weights, counts / counts.sum(), atol=1e-9)
        elif not before.children and before.n_parameters:
            statistics = before.statistics(rows[:, list(before.variables)], own["total"])
            np.testing.assert_allclose(
                *(
                    leaf.log_prob(rows[:, list(leaf.variables)])
                    for leaf in (after, before.from_statistics(statistics, 0.2))
                ),
                atol=1e-8,
            )


def flows_by_definition(graph, rows, weights):
    """How much of each row reaches each node, parents before children, from the nodes' own values."""
    values = []
    for node in graph.nodes:
        below = [values[c] for c in graph.child_ids(node)]
        if isinstance(node, Sum):
            values.append(sum(w * v for w, v in zip(node.weights, below, strict=True)))
        elif isinstance(node, Product):
            values.append(np.prod(below, axis=0))
        else:
            values.append(np.exp(node.log_prob(rows[:, list(node.variables)])))
    flow = [{"total": np.zeros(len(rows)), "edges": []} for _ in graph.nodes]
    flow[-1]["total"] = weights.copy()
    for index in range(len(graph) - 1, -1, -1):
        node, own = graph.nodes[index], flow[index]["total"]
        for place, child in enumerate(graph.child_ids(node)):
            fraction = own
            if isinstance(node, Sum):
                fraction = own * np.divide(
                    node.weights[place] * values[child], values[index], where=values[index] > 0, out=np.zeros(len(rows))
                )
                flow[index]["edges"].append(fraction)
            flow[child]["total"] = flow[child]["total"] + fraction
    return flow


@given(cases(most_variables=6, most_assignments=100), st.integers(1, 12))
@settings(max_examples=40)
def test_mini_batches_never_end_below_the_start(case, batch_size):
    circuit, rng = case
    rows = random_rows(rng, circuit, 25)
    fitted = circuit.fit_parameters(rows, n_iter=3, batch_size=batch_size, random_state=0)
    assert mean_ll(fitted, rows) >= mean_ll(circuit, rows) - 1e-9


def test_weights_count_as_repeated_rows():
    circuit = Circuit(Sum([0.4, 0.6], [coins(0.3, 0.2), Exchangeable.uniform([0, 1])]))
    rows = np.array([[0, 1], [1, np.nan], [1, 1]])
    weighted = circuit.fit_parameters(rows, n_iter=5, sample_weight=[2, 1, 3], smoothing=0.1, tol=0)
    repeated = circuit.fit_parameters(np.repeat(rows, [2, 1, 3], axis=0), n_iter=5, smoothing=0.1, tol=0)
    all_assignments = circuit.oracle.assignments
    np.testing.assert_allclose(
        weighted.log_likelihood(all_assignments), repeated.log_likelihood(all_assignments), atol=1e-12
    )


def test_a_shared_leaf_learns_from_all_its_parents():
    shared = Bernoulli(1, p=0.5)
    root = Sum([0.5, 0.5], [Product([Bernoulli(0, p=p), shared]) for p in (0.0, 1.0)])
    rows = np.array([[0, 1], [0, 1], [1, 1], [1, 0]])
    fitted = Circuit(root).fit_parameters(rows)
    assert len(fitted.graph) == len(Graph(root))
    assert [leaf.p for leaf in fitted.graph.leaves if leaf.variables == (1,)] == [0.75]


def test_indicators_and_unreached_parts_stay_as_they_are():
    root = Sum([1.0, 0.0], [coins(0.0, 0.4), coins(0.7, 0.3)])
    fitted = Circuit(root).fit_parameters([[0, 1], [0, 1]], smoothing=0)
    assert [leaf.p for leaf in fitted.graph.leaves] == [0.0, 1.0, 0.7, 0.3]
    smoothed = Circuit(Product([Bernoulli(0, p=0.0), Bernoulli(1, p=0.4)])).fit_parameters([[0, 1]], smoothing=1)
    assert [leaf.p for leaf in smoothed.graph.leaves] == [0.0, pytest.approx(2 / 3)]


def test_impossible_rows_are_refused_without_smoothing_and_mended_with_it():
    circuit = Circuit(Categorical(0, [0.5, 0.5, 0.0]))
    with pytest.raises(ValueError, match="row 1 has probability zero"):
        circuit.fit_parameters([[0], [2]])
    fitted = circuit.fit_parameters([[0], [2]], smoothing=1.0)
    assert np.isfinite(fitted.log_likelihood([[2]])).all()
    assert circuit.fit_parameters([[0], [2]], sample_weight=[1, 0]).log_likelihood([[0]])[0] == pytest.approx(0)


def test_a_hand_built_circuit_recovers_the_distribution_of_six_variables():
    rng = np.random.default_rng(0)
    truth = Circuit(
        Sum(
            [0.35, 0.65],
            [
                Product(
                    [Exchangeable.from_class_probabilities([0, 1, 2], [0.1, 0.1, 0.2, 0.6]), coins_at(0.9, 0.2, 0.7)]
                ),
                Product(
                    [Exchangeable.from_class_probabilities([0, 1, 2], [0.5, 0.3, 0.1, 0.1]), coins_at(0.1, 0.6, 0.2)]
                ),
            ],
        )
    )
    X = truth.sample(20_000, random_state=1)
    X[rng.random(X.shape) < 0.1] = np.nan

    def random_part():
        return Product(
            [Exchangeable.from_class_probabilities([0, 1, 2], rng.dirichlet(np.ones(4))), coins_at(*rng.random(3))]
        )

    start = Circuit(Sum([0.5, 0.5], [random_part(), random_part()]))
    fitted = start.fit_parameters(X, n_iter=500, tol=1e-8)
    p = truth.oracle.probabilities
    divergence = p @ (np.log(p) - fitted.log_likelihood(truth.oracle.assignments))
    assert p @ (np.log(p) - start.log_likelihood(truth.oracle.assignments)) > 0.1
    assert divergence < 0.003


def coins_at(*p):
    return Product([Bernoulli(3 + i, p=q) for i, q in enumerate(p)])


@pytest.mark.parametrize("batch_size", [None, 50])
def test_gaussian_leaves(batch_size):
    rng = np.random.default_rng(0)
    X = np.where(rng.random(1000) < 0.3, rng.normal(1e6, 1, 1000), rng.normal(1e6 + 8, 2, 1000))[:, None]
    start = Circuit(Sum([0.5, 0.5], [Gaussian(0, mean=1e6 - 1, std=3), Gaussian(0, mean=1e6 + 9, std=3)]))
    fitted = start.fit_parameters(X, batch_size=batch_size, n_iter=100, tol=1e-7, random_state=0)
    first, second = (leaf for leaf in fitted.graph.leaves)
    assert fitted.root.weights[0] == pytest.approx(0.3, abs=0.05)
    assert (first.mean - 1e6, second.mean - 1e6) == (pytest.approx(0, abs=0.3), pytest.approx(8, abs=0.3))
    assert (first.std, second.std) == (pytest.approx(1, abs=0.2), pytest.approx(2, abs=0.2))


def test_mini_batches_come_to_the_same_place():
    truth = Circuit(Sum([0.3, 0.7], [coins(0.9, 0.8, 0.9), coins(0.2, 0.1, 0.3)]))
    X = truth.sample(4000, random_state=0)
    start = Circuit(Sum([0.5, 0.5], [coins(0.6, 0.6, 0.6), coins(0.4, 0.4, 0.4)]))
    whole = start.fit_parameters(X, n_iter=200, tol=1e-7)
    batches = start.fit_parameters(X, n_iter=30, tol=1e-7, batch_size=200, random_state=0)
    assert mean_ll(batches, X) == pytest.approx(mean_ll(whole, X), abs=1e-3)
    again = start.fit_parameters(X, n_iter=3, batch_size=200, random_state=0)
    np.testing.assert_array_equal(
        again.root.weights, start.fit_parameters(X, n_iter=3, batch_size=200, random_state=0).root.weights
    )


def test_validation_rows_choose_the_circuit():
    rng = np.random.default_rng(3)
    X, X_valid = rng.integers(0, 2, size=(12, 4)), rng.integers(0, 2, size=(200, 4))
    start = Circuit(Sum([0.5, 0.5], [coins(0.45, 0.55, 0.5, 0.5), coins(0.5, 0.5, 0.55, 0.45)]))
    fit = fit_parameters(start.graph, X, EMOptions(smoothing=Smoothing(0.1), tolerance=0), X_valid=X_valid)
    assert fit.valid_log_likelihoods[fit.best] == max(fit.valid_log_likelihoods)
    assert len(fit.valid_log_likelihoods) == fit.best + 1 + EMOptions().patience
    assert mean_ll(Circuit(fit.root), X_valid) == pytest.approx(max(fit.valid_log_likelihoods))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_iter": -1}, "n_iter"),
        ({"n_iter": 2.5}, "n_iter"),
        ({"batch_size": 0}, "batch_size"),
        ({"tol": np.nan}, "tol"),
        ({"smoothing": -1}, "smoothing"),
        ({"sample_weight": [1]}, "sample_weight"),
        ({"sample_weight": [0, 0]}, "weight 0"),
        ({"X_valid": [[0]]}, "X_valid"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Circuit(coins(0.5, 0.5)).fit_parameters([[0, 1], [1, 1]], **arguments)


def test_no_passes_leave_the_circuit_alone():
    circuit = Circuit(coins(0.3, 0.6))
    assert [leaf.p for leaf in circuit.fit_parameters([[0, 1]], n_iter=0).graph.leaves] == [0.3, 0.6]


class Stubborn(Categorical):
    """A leaf whose fit is not the likeliest one."""

    def from_statistics(self, statistics, smoothing=0.0):
        return type(self)(self.variables[0], [0.99, 0.01])


def test_a_leaf_that_does_not_climb_is_reported_and_the_better_circuit_kept():
    circuit = Circuit(Stubborn(0, [0.5, 0.5]))
    with pytest.warns(RuntimeWarning, match="lowered the log-likelihood"):
        fitted = circuit.fit_parameters([[0], [1]])
    assert fitted.root.probabilities.tolist() == [0.5, 0.5]
