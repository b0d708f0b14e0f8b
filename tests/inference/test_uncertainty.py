"""Credible intervals: derivatives against enumeration, the delta method against simulation, counts in files."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import assume, given, settings

from support.circuits import cases, random_rows
from xspn import XSPN, Bernoulli, Categorical, Circuit, Exchangeable, Gaussian, Product, Sum, XSPNClassifier, io
from xspn.core.errors import FormatError, ParameterError, QueryError
from xspn.inference.uncertainty import DeltaMethod, NodeCounts
from xspn.leaves.base import Leaf, leaves

FAMILIES = [family for family in leaves if family != "atom"]  # an atom's value is not fitted


def examples(family, count=8):
    rng = np.random.default_rng(0)
    found = (leaves[family].example(rng) for _ in range(200))
    return [leaf for leaf in found if leaf.n_parameters][:count]


# -- leaves ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_sensitivities_are_standardized(family):
    """Their mean under the leaf is 0, and their covariance a projection: each direction has variance 1 or none."""
    for leaf in examples(family):
        if all(domain.is_discrete for domain in leaf.domains):
            oracle = Circuit(leaf).oracle
            rows, p, tolerance = oracle.assignments[:, list(leaf.variables)], oracle.probabilities, 1e-6
        else:
            rows = leaf.sample(np.full((10_000, len(leaf.variables)), np.nan), np.random.default_rng(1))
            p, tolerance = np.full(len(rows), 1 / len(rows)), 0.15
        found, live = leaf.sensitivity(rows), p > 0
        mean = p[live] @ found[live]
        covariance = found[live].T @ (p[live, None] * found[live])
        np.testing.assert_allclose(mean, 0, atol=tolerance)
        sizes = np.linalg.eigvalsh(covariance)
        np.testing.assert_allclose(np.minimum(np.abs(sizes), np.abs(sizes - 1)), 0, atol=tolerance)


@pytest.mark.parametrize("family", [f for f in FAMILIES if all(d.is_discrete for d in examples(f, 1)[0].domains)])
def test_the_sensitivity_of_a_partial_row_is_the_mean_over_its_completions(family):
    for leaf in examples(family):
        oracle, rng = Circuit(leaf).oracle, np.random.default_rng(2)
        whole = leaf.sensitivity(oracle.assignments[:, list(leaf.variables)])
        row = oracle.assignments[rng.choice(len(whole), p=oracle.probabilities / oracle.probabilities.sum())].copy()
        row[rng.random(len(row)) < 0.5] = np.nan
        p = oracle.probabilities * oracle.agrees(row) * (oracle.probabilities > 0)
        expected = (p[:, None] * np.where(p[:, None] > 0, whole, 0.0)).sum(axis=0) / p.sum()
        np.testing.assert_allclose(leaf.sensitivity(row[None, list(leaf.variables)])[0], expected, atol=1e-9)


@pytest.mark.parametrize("family", FAMILIES)
def test_draws_vary_as_sensitivities_say(family):
    """Log-probabilities under leaves drawn for 400 rows have the variance of the delta method."""
    for leaf in examples(family, 2):
        if family == "beta_binomial" and not (0.2 < leaf.mean < 0.8 and leaf.dispersion > 0.1):
            continue  # near the edge of the parameters no posterior is normal
        rng = np.random.default_rng(3)
        x = leaf.sample(np.full((30, len(leaf.variables)), np.nan), rng)
        expected = (leaf.sensitivity(x) ** 2).sum(axis=1) / 401
        drawn = np.array([leaf.posterior_draw(400.0, rng).log_prob(x) for _ in range(300)])
        ratio = drawn.var(axis=0).mean() / expected.mean()
        assert 0.75 < ratio < 1.35, f"{leaf!r}: {ratio}"


def test_a_family_without_a_closed_form_is_sampled():
    leaf = Exchangeable.from_class_probabilities([0, 1, 2], [0.3, 0.2, 0.2, 0.3])
    x = np.array([[0, 0, 1], [1, 1, 1], [np.nan, 1, 0], [np.nan] * 3])
    kernel, sampled = (own @ own.T for own in (leaf.sensitivity(x), Leaf.sensitivity(leaf, x)))
    np.testing.assert_allclose(sampled, kernel, atol=0.3)
    assert not sampled[3].any()


# -- circuits ----------------------------------------------------------------------------------------------------------


def with_weights(circuit, node, weights):
    def visit(own, children):
        if isinstance(own, Sum):
            return Sum(weights if own is node else own.weights, children)
        return Product(children) if isinstance(own, Product) else own

    return Circuit(circuit.graph.rebuild(visit), n_variables=circuit.n_variables)


@settings(max_examples=40, deadline=None)
@given(cases(most_variables=6, most_assignments=64, components=2))
def test_derivatives_by_weights(case):
    """P(row) is linear in the weights of each sum, so circuits with one weight each give the derivatives."""
    circuit, rng = case
    whole = random_rows(rng, circuit, 1)[0]
    counts = np.array([7.0 if isinstance(node, Sum) else np.inf for node in circuit.graph.nodes])
    delta = DeltaMethod(circuit.graph, circuit.program, NodeCounts(counts))
    logs = circuit.log_likelihood(whole[None])
    assume(np.isfinite(logs[0]))
    found = delta.variances(whole[None], np.ones((1, 1)))
    expected = 0.0
    for node in {id(own): own for own in circuit.graph.nodes if isinstance(own, Sum)}.values():
        alone = [with_weights(circuit, node, np.eye(len(node.weights))[k]) for k in range(len(node.weights))]
        slopes = np.array([np.exp(own.oracle.log_likelihood(whole[None])[0] - logs[0]) for own in alone])
        expected += (node.weights @ slopes**2 - (node.weights @ slopes) ** 2) / 8.0
    np.testing.assert_allclose(found[0], expected, rtol=1e-9, atol=1e-9)


def mixture(n_rows=1500):
    laws = ([0.5, 0.3, 0.1, 0.1], [0.2, 0.3, 0.5], 0.8), ([0.1, 0.1, 0.3, 0.5], [0.6, 0.2, 0.2], 0.3)
    parts = [
        Product([Exchangeable.from_class_probabilities([0, 1, 2], own), Categorical(3, chances), Bernoulli(4, p=p)])
        for own, chances, p in laws
    ]
    truth = Circuit(Sum([0.4, 0.6], parts))
    return truth, truth.sample(n_rows, random_state=0)


def test_the_delta_method_agrees_with_simulation():
    truth, X = mixture()
    circuit = truth.with_counts(X)
    evidence = np.array([[1, np.nan, np.nan, 2, np.nan], [np.nan] * 5])
    table = circuit.marginals(evidence)
    delta = circuit.delta_method().marginals(evidence, table) / np.sqrt(circuit.counts.inflation)
    draws = np.array([circuit.posterior_draw(seed).marginals(evidence) for seed in range(400)])
    with np.errstate(divide="ignore", invalid="ignore"):
        simulated = np.std(np.log(draws) - np.log1p(-draws), axis=0)
    asked = (delta > 0) & np.isfinite(simulated)
    assert asked.sum() > 15
    np.testing.assert_allclose(delta[asked], simulated[asked], rtol=0.15)


def test_a_marginal_without_evidence_has_the_binomial_deviation():
    """Of independent bits nothing is hidden, so that a marginal is as sure as a frequency."""
    X = np.random.default_rng(0).integers(0, 2, (400, 3))
    circuit = Circuit(Product([Bernoulli(v, p=float(X[:, v].mean())) for v in range(3)])).with_counts(X)
    known = circuit.marginals(interval=0.9)
    p = X.mean(axis=0)
    deviation = 1.6448536 / np.sqrt(401 * p * (1 - p)) * np.sqrt(circuit.counts.inflation)
    logit = np.log(p) - np.log1p(-p)
    np.testing.assert_allclose(known.high[0, :, 1], 1 / (1 + np.exp(-logit - deviation)), rtol=1e-6)
    np.testing.assert_allclose(known.low[0, :, 0], 1 - known.high[0, :, 1], rtol=1e-9)


def test_what_is_certain_stays_so():
    circuit = Circuit(Sum([0.5, 0.5], [Product([Bernoulli(0, p=q), Bernoulli(1, p=q)]) for q in (0.0, 1.0)]))
    known = circuit.with_counts([[0, 0], [1, 1]]).marginals({0: 1}, interval=0.9)
    assert known.low[0].tolist() == known.high[0].tolist() == [[0.0, 1.0], [0.0, 1.0]]


def test_real_columns_have_no_interval_but_count_as_evidence():
    X = np.array([[0.0, 0], [1.0, 1], [0.4, 0], [1.3, 1]] * 20)
    parts = [Product([Gaussian(0, mean=m, std=0.5), Bernoulli(1, p=p)]) for m, p in ((0.2, 0.1), (1.1, 0.9))]
    circuit = Circuit(Sum([0.5, 0.5], parts)).with_counts(X)
    known, bare = circuit.marginals({0: 0.6}, interval=0.9), circuit.marginals(interval=0.9)
    assert np.isnan(known.low[0, 0]).all()
    assert known.low[0, 1, 1] < known.estimate[0, 1, 1] < known.high[0, 1, 1]
    assert bare.estimate[0, 1, 1] != known.estimate[0, 1, 1]


# -- counts ------------------------------------------------------------------------------------------------------------


def test_rows_that_are_decided_count_whole():
    parts = [Product([Bernoulli(0, p=q), Bernoulli(1, p=0.4)]) for q in (0.0, 1.0)]
    circuit = Circuit(Sum([0.3, 0.7], parts))
    X = [[0, 0]] * 3 + [[1, 1]] * 5 + [[1, np.nan]] * 2
    counted = circuit.with_counts(X).counts.rows
    own = [counted[circuit.graph.id_of(part.children[1])] for part in parts]
    np.testing.assert_allclose(own, [3.0, 5.0])  # the missing cells of two rows tell nothing
    assert counted[circuit.graph.id_of(parts[1].children[0])] == pytest.approx(7.0)
    np.testing.assert_allclose(counted[-1], 3 * (0.7 / 0.3) + 7 * (0.3 / 0.7))  # Σ (r − w)² / w, over the rows
    weighted = circuit.with_counts(X, sample_weight=[2.0] * 10).counts.rows
    np.testing.assert_allclose(weighted, 2 * counted)


def test_rows_that_belong_to_two_contexts_count_less():
    near, far = (Sum([0.5, 0.5], [Bernoulli(0, p=0.5 - d), Bernoulli(0, p=0.5 + d)]) for d in (0.05, 0.45))
    X = np.random.default_rng(0).integers(0, 2, (500, 1))
    known = [Circuit(own).with_counts(X).counts.rows for own in (near, far)]
    assert known[0][-1] < 0.05 * 500 < known[1][-1]
    assert known[0][0] < known[1][0]


def test_a_wrong_structure_inflates_the_variance():
    truth, X = mixture(4000)
    bits = [Bernoulli(v, p=float(X[:, v].mean())) for v in (0, 1, 2, 4)]
    alone = Circuit(Product([*bits, Categorical(3, np.bincount(X[:, 3].astype(int)) / len(X))]))
    assert truth.fit_parameters(X).with_counts(X).counts.inflation < 2 < 10 < alone.with_counts(X).counts.inflation
    assert alone.with_counts(X[:2000], X_valid=X[2000:]).counts.inflation > 10


def test_members_of_an_ensemble_add_the_variance_of_their_mean():
    root = Sum([0.5, 0.5], [Product([Bernoulli(0, p=p), Bernoulli(1, p=0.5)]) for p in (0.3, 0.6)])
    circuit = Circuit(root)
    graph, program = circuit.graph, circuit.program
    rows, pair = np.array([[1, np.nan], [0, np.nan]]), np.array([[1.0, -1.0]])
    plain, spread = (
        DeltaMethod(graph, program, NodeCounts(np.full(len(graph), 50.0), is_ensemble=own)).variances(rows, pair)[0]
        for own in (False, True)
    )
    share = (np.array([0.3, 0.6]) / 0.9 + np.array([0.7, 0.4]) / 1.1) / 2  # of the members, given each row
    odds = np.log([0.3 / 0.7, 0.6 / 0.4])
    apart = share @ (odds - share @ odds) ** 2
    assert spread - plain == pytest.approx(apart * (share**2).sum(), rel=1e-9)


def test_learned_models_have_counts(tmp_path):
    _, X = mixture(500)
    model = XSPN(random_state=0).fit(X)
    circuit = model.circuit_
    assert circuit.counts is not None
    assert circuit.counts.rows.max() <= 500 + 1e-6
    expected = circuit.marginals({0: 1}, interval=0.8)
    for name in ("model.json", "model.xspn"):
        io.save(circuit, tmp_path / name)
        found = io.load(tmp_path / name).marginals({0: 1}, interval=0.8)
        np.testing.assert_allclose(found.low, expected.low, atol=1e-5)
    again = pickle.loads(pickle.dumps(circuit))
    assert again.counts.rows.tolist() == circuit.counts.rows.tolist()
    valid = XSPN(random_state=0).fit(X[:400], X_valid=X[400:])
    measured = valid.circuit_.with_counts(X[:400], X_valid=X[400:])
    assert valid.circuit_.counts.inflation == pytest.approx(measured.counts.inflation)


def test_files_with_wrong_counts_are_refused(tmp_path):
    circuit = Circuit(Bernoulli(0, p=0.5)).with_counts([[0], [1]])
    small = {"rows": [2.0], "inflation": 0.5, "ensemble": False}
    for counts in ({"rows": [1.0, 2.0]}, {"rows": [-1.0]}, [], {"rows": ["a"]}, small):
        io.save(Circuit(circuit.root), tmp_path / "m.json", notes={"counts": counts})
        with pytest.raises(FormatError, match="counts"):
            io.load(tmp_path / "m.json")
    io.save(Circuit(circuit.root), tmp_path / "old.json")
    assert io.load(tmp_path / "old.json").counts is None
    assert "counts" not in json.loads((tmp_path / "old.json").read_text()).get("notes", {})


# -- questions ---------------------------------------------------------------------------------------------------------


def test_intervals_of_events():
    truth, X = mixture()
    circuit = truth.with_counts(X)
    one = circuit.probability("X4=1", given="X0=1", interval=0.9)
    same = circuit.marginals({0: 1}, interval=0.9)
    np.testing.assert_allclose([one.low, one.high], [same.low[0, 4, 1], same.high[0, 4, 1]], rtol=1e-9)
    both = circuit.probability("X4=1 | X3 in {0, 2}", given="count(X0, X1, X2) >= 2", interval=0.9)
    assert both.low < both.probability < both.high
    assert "[" in str(both)
    counted = circuit.count_distribution([0, 1, 2], given={3: 1}, interval=0.9)
    assert counted.method == "simulation"
    assert ((counted.low < counted.estimate) & (counted.estimate < counted.high)).all()
    exact = circuit.probability("count(X0, X1, X2) = 2", given={3: 1}, interval=0.9)  # by completions
    assert exact.high - exact.low == pytest.approx(counted.high[2] - counted.low[2], rel=0.2)


def test_classes_have_intervals():
    _, X = mixture(600)
    model = XSPNClassifier(random_state=0).fit(X[:, :4], X[:, 4])
    known = model.predict_interval(X[:5, :4], level=0.9)
    np.testing.assert_allclose(known.estimate, model.predict_proba(X[:5, :4]))
    assert (known.low < known.estimate).all()
    np.testing.assert_allclose(known.low[:, 0], 1 - known.high[:, 1], atol=1e-12)


def test_as_a_frame():
    truth, X = mixture(100)
    frame = truth.with_counts(X).marginals({0: 1}, as_frame=True, interval=0.9)
    assert list(frame.columns) == ["row", "variable", "value", "probability", "low", "high"]
    assert ((frame["low"] <= frame["probability"]) & (frame["probability"] <= frame["high"])).all()


def test_what_cannot_be_asked():
    circuit = Circuit(Bernoulli(0, p=0.5))
    with pytest.raises(QueryError, match="with_counts"):
        circuit.marginals(interval=0.9)
    with pytest.raises(ParameterError, match="between 0 and 1"):
        circuit.with_counts([[0], [1]]).marginals(interval=90)
    with pytest.raises(QueryError, match="the circuit itself"):
        circuit.with_counts([[0], [1]]).to("numpy").marginals(interval=0.9)
