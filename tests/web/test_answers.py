"""What the page computes is what Python computes: all leaf families, any evidence, impossible evidence too."""

import re

import numpy as np
import pytest

from support.circuits import any_rows, random_circuit, random_rows
from support.toys.leaves import Decay, Parity
from xspn import Bernoulli, Circuit, Product, Sum
from xspn.leaves import BetaBinomial, ChowLiu, Exchangeable, ExchangeableGaussian, Gaussian, MultivariateGaussian
from xspn.statistics import Blocks, Total, ValueCounts
from xspn.web.page import inlined

CASES = 18
TOLERANCE = 1e-9


def exchangeable(rng, variables, statistic):
    size = statistic.size(len(variables))
    return Exchangeable.from_class_probabilities(variables, rng.dirichlet(np.ones(size)), statistic)


def two_contexts(make, seed=0):
    rng = np.random.default_rng(seed)
    return Circuit(Sum([0.3, 0.7], [make(rng), make(rng)]))


def real_leaves(rng):
    root = rng.normal(size=(3, 4))
    together = MultivariateGaussian([0, 1, 2], rng.normal(size=3), root @ root.T + 0.1 * np.eye(3))
    alike = ExchangeableGaussian([3, 4, 5, 6], rng.normal(), 1.3, rng.uniform(-0.2, 0.8))
    return Product([together, alike, Gaussian(7, rng.normal(), 0.7), Bernoulli(8, p=rng.random())])


def counted_bits(rng):
    bits = BetaBinomial(range(6), rng.random(), rng.random())
    return Product([bits, exchangeable(rng, range(6, 12), Blocks([[0, 2, 4], [1, 3, 5]]))])


def tree(rng):
    """A forest of two trees in which each child depends on its parent."""
    parents = [-1, 0, 0, 1, 1, -1, 5]
    p = rng.random((7, 2))
    p[[0, 5], 1] = p[[0, 5], 0]
    return ChowLiu(range(7), parents, p)


def rare_ones(rng):
    """Bits of which the probability of most rows is far below the smallest number."""
    bits = [Bernoulli(v, p=1e-30 * rng.random()) for v in range(30)]
    return Product([*bits, BetaBinomial(range(30, 40), 1e-12 * rng.random(), 0.0)])


MODELS = {
    "bits": lambda: random_circuit(np.random.default_rng(1), [2] * 9, 4, 1, 2),
    "bits, deeper": lambda: random_circuit(np.random.default_rng(2), [2] * 10, 6, 0, 3),
    "categories": lambda: random_circuit(np.random.default_rng(3), [3, 4, 2, 3, 2, 4], 4, 2, 2),
    "mixed": lambda: random_circuit(np.random.default_rng(4), [2, 2, 3, 2, 4, 2, 2], 5, 0, 2),
    "shared parts": lambda: random_circuit(np.random.default_rng(5), [2, 3] * 3, 6, 1, 4),
    "reals": lambda: two_contexts(real_leaves),
    "counts": lambda: two_contexts(counted_bits),
    "value counts": lambda: two_contexts(lambda rng: exchangeable(rng, range(5), ValueCounts(3))),
    "totals": lambda: two_contexts(lambda rng: exchangeable(rng, range(5), Total(4))),
    "trees": lambda: two_contexts(tree),
    "leaves of others": lambda: two_contexts(
        lambda rng: Product([Parity([0, 1, 2, 3], rng.random()), Decay(4, rng.random() + 0.2, 4)])
    ),
    "underflow": lambda: two_contexts(rare_ones),
}


def evidence_rows(circuit):
    """Rows with random cells missing, half of them of any probability, zero included; real ones are drawn."""
    rng = np.random.default_rng(11)
    if not all(domain is None or domain.cardinality for domain in circuit.domains):
        rows = circuit.sample(CASES, random_state=3)
    elif circuit.n_variables < 20:
        return np.concatenate([random_rows(rng, circuit, CASES // 2), any_rows(rng, circuit, CASES // 2)])
    else:
        rows = rng.integers(0, 2, (CASES, circuit.n_variables)).astype(float)
    rows[rng.random(rows.shape) < rng.choice([0.05, 0.5, 0.9, 1.0], size=(CASES, 1))] = np.nan
    return rows


def pairs(row, circuit):
    return [[int(v), float(row[v])] for v in circuit.scope if not np.isnan(row[v])]


def test_the_models_have_every_kind_of_leaf_that_the_page_knows():
    kinds = {leaf.web_form().kind for make in MODELS.values() for leaf in make().graph.leaves}
    assert kinds == {"table", *re.findall(r'case "(\w+)":', inlined("engine/worker.js"))}


@pytest.mark.parametrize("name", MODELS)
def test_all_that_the_page_says_is_what_python_says(name, open_page, tmp_path):
    circuit = MODELS[name]()
    shown = open_page(circuit.explore(tmp_path / "page.html"))
    bits = [v for v in circuit.scope if circuit.domains[v].cardinality == 2][:6]
    rows = evidence_rows(circuit)
    known = [pairs(row, circuit) for row in rows]
    answers = shown.ask_all([("infer", facts, [len(circuit.graph) - 1]) for facts in known])
    completed = shown.ask_all([("complete", facts) for facts in known])
    counted = shown.ask_all([("counts", facts, [bits]) for facts in known]) if bits else known
    for row, facts, found, best, counts in zip(rows, known, answers, completed, counted, strict=True):
        expected = float(circuit.log_likelihood(row[None])[0])
        assert found["log"] == pytest.approx(expected, rel=TOLERANCE, abs=TOLERANCE)
        check_facts(found, facts, row, circuit)
        if np.isneginf(expected):
            assert found["p"] is None
            assert best is None
            continue
        check_beliefs(found, row, circuit)
        assert found["reach"] == [pytest.approx(1.0)]
        if bits:
            expected_counts = circuit.count_distribution(bits, given=dict(facts))
            np.testing.assert_allclose(counts[0], expected_counts, atol=TOLERANCE)
        assert best["log"] == pytest.approx(float(circuit.mpe(row[None]).log_prob[0]), rel=TOLERANCE, abs=TOLERANCE)


def check_beliefs(found, row, circuit):
    table = circuit.marginals(row[None])[0]
    discrete = [v for v in circuit.scope if circuit.domains[v].cardinality]
    expected = np.concatenate([table[v, : circuit.domains[v].cardinality] for v in discrete] or [[]])
    np.testing.assert_allclose(found["p"], expected, atol=TOLERANCE, rtol=0)
    means = circuit.means(row[None])[0]
    open_ones = [v for v in circuit.scope if not circuit.domains[v].cardinality and np.isnan(row[v])]
    assert [curve["column"] for curve in found["curves"]] == open_ones
    for curve in found["curves"]:
        assert curve["mean"] == pytest.approx(means[curve["column"]], rel=TOLERANCE, abs=TOLERANCE)
        assert curve["low"] < curve["median"] < curve["high"]
    if open_ones:
        rest = circuit.condition(row).moments() if not np.isnan(row).all() else circuit.moments()
        deviations = np.sqrt(rest.variance)
        for curve in found["curves"]:
            assert curve["std"] == pytest.approx(deviations[curve["column"]], rel=1e-8)


def check_facts(found, facts, row, circuit):
    """What the facts without each of them are worth: P(the others)."""
    some = facts[:6]
    for fact, (variable, _) in zip(found["facts"], some, strict=False):
        others = row.copy()
        others[variable] = np.nan
        expected = float(circuit.log_likelihood(others[None])[0])
        assert fact["log"] == pytest.approx(expected, rel=TOLERANCE, abs=TOLERANCE)
        if circuit.domains[variable].cardinality and np.isfinite(expected):
            assert fact["p"] == pytest.approx(np.exp(found["log"] - expected), abs=TOLERANCE)


def test_samples_are_as_likely_as_they_should_be(open_page, tmp_path):
    circuit = MODELS["mixed"]()
    shown = open_page(circuit.explore(tmp_path / "page.html"))
    row = random_rows(np.random.default_rng(0), circuit, 1)[0]
    row[list(circuit.scope)[2:]] = np.nan
    rows = np.array(shown.ask("sample", pairs(row, circuit), 4000, 5))
    table = circuit.marginals(row[None])[0]
    for v in circuit.scope:
        for value in range(circuit.domains[v].cardinality):
            p = table[v, value]
            assert abs((rows[:, v] == value).mean() - p) <= 5 * np.sqrt(p * (1 - p) / 4000) + 1e-12


def test_real_samples_have_the_right_moments(open_page, tmp_path):
    circuit = MODELS["reals"]()
    shown = open_page(circuit.explore(tmp_path / "page.html"))
    facts = {0: 0.5, 3: 1.0}
    rows = np.array(shown.ask("sample", [[v, x] for v, x in facts.items()], 4000, 5))
    expected = circuit.condition(facts).moments()
    for v in (1, 2, 4, 5, 7):
        assert abs(rows[:, v].mean() - expected.mean[v]) <= 5 * np.sqrt(expected.variance[v] / 4000)
    rest = [1, 2, 4, 5, 6, 7]
    np.testing.assert_allclose(np.corrcoef(rows[:, rest].T), expected.correlation[np.ix_(rest, rest)], atol=0.08)


def test_what_would_tell_most_is_the_mutual_information(open_page, tmp_path):
    circuit = MODELS["categories"]()
    shown = open_page(circuit.explore(tmp_path / "page.html"))
    oracle = circuit.oracle
    scope = list(circuit.scope)
    target = scope[0]
    told = shown.ask("tell", [], target)
    for v in scope[1:]:
        sizes = [circuit.domains[u].cardinality for u in (target, v)]
        joint = np.zeros(sizes)
        np.add.at(joint, tuple(oracle.assignments[:, [target, v]].astype(int).T), oracle.probabilities)
        outer = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
        seen = joint > 0
        assert told["gain"][v] == pytest.approx((joint[seen] * np.log2(joint[seen] / outer[seen])).sum(), abs=1e-9)


def test_why_is_what_the_target_would_be_without_each_fact(open_page, tmp_path):
    circuit = MODELS["bits"]()
    shown = open_page(circuit.explore(tmp_path / "page.html"))
    row = circuit.sample(1, random_state=0)[0]
    target, *known = list(circuit.scope)[:4]
    why = shown.ask("why", [[v, row[v]] for v in known], target)
    for v, found in zip(known, why["without"], strict=True):
        others = {u: row[u] for u in known if u != v}
        np.testing.assert_allclose(found["then"], circuit.marginals(others)[0, target, :2], atol=TOLERANCE)
