"""Random circuits: rewritings, files and pickles keep the distribution."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings

from support.circuits import any_rows, cases
from xspn import Circuit, load, save
from xspn.graph import Product, Sum
from xspn.graph.transform import merge, prune, share, simplify
from xspn.io import from_json, to_dot, to_equation, to_json


@pytest.mark.parametrize("rewrite", [prune, merge, share, simplify])
@settings(max_examples=60)
@given(case=cases())
def test_rewriting_keeps_the_distribution(rewrite, case):
    circuit, rng = case
    again = Circuit(rewrite(circuit.root), n_variables=circuit.n_variables)
    rows = any_rows(rng, circuit, 40)
    np.testing.assert_allclose(again.log_likelihood(rows), circuit.oracle.log_likelihood(rows), rtol=0, atol=1e-10)
    assert again.summary().nodes <= circuit.summary().nodes
    assert again.domains == circuit.domains
    assert again.why_not_smooth() is again.why_not_decomposable() is again.why_not_normalized() is None


@settings(max_examples=60)
@given(cases())
def test_what_rewriting_promises(case):
    circuit, _ = case
    for node in Circuit(prune(circuit.root)).graph.nodes:
        assert len(node.children) != 1
        assert not isinstance(node, Sum) or (node.weights > 0).all()
    merged = Circuit(merge(circuit.root)).graph
    parents = np.bincount([c for node in merged.nodes for c in merged.child_ids(node)], minlength=len(merged))
    for node in merged.nodes:
        for child in node.children:
            nested = isinstance(node, Sum | Product) and type(child) is type(node)
            assert not nested or parents[merged.id_of(child)] > 1
    shared = Circuit(share(circuit.root)).graph
    fingerprints = [leaf.fingerprint() for leaf in shared.leaves]
    assert len(set(fingerprints)) == len(fingerprints)


@settings(max_examples=40)
@given(cases())
def test_a_simple_circuit_stays_as_it_is(case):
    circuit, _ = case
    once = simplify(circuit.root)
    assert share(once) is once
    assert prune(once) is once


def assert_same_to_the_last_bit(circuit, again, rng):
    rows = any_rows(rng, circuit, 30)
    np.testing.assert_array_equal(again.log_likelihood(rows), circuit.log_likelihood(rows))
    assert to_json(again) == to_json(circuit)
    assert again.names == circuit.names
    assert again.domains == circuit.domains
    assert again.n_variables == circuit.n_variables
    assert again.summary() == circuit.summary()


@settings(max_examples=60)
@given(cases())
def test_files(tmp_path_factory, case):
    circuit, rng = case
    circuit = Circuit(circuit.root, names=[f"Größe {v}" for v in range(circuit.n_variables)])
    path = tmp_path_factory.mktemp("model") / "circuit.json"
    save(circuit, path)
    assert_same_to_the_last_bit(circuit, load(path), rng)
    assert [file.name for file in path.parent.iterdir()] == ["circuit.json"]


@settings(max_examples=40)
@given(cases())
def test_json_text_and_pickles(case):
    circuit, rng = case
    assert_same_to_the_last_bit(circuit, from_json(to_json(circuit, indent=2)), rng)
    assert_same_to_the_last_bit(circuit, pickle.loads(pickle.dumps(circuit)), rng)


@settings(max_examples=30)
@given(cases())
def test_text_forms(case):
    circuit, _ = case
    dot = to_dot(circuit)
    assert dot.count("->") == circuit.summary().edges
    assert dot.count("shape=") == circuit.summary().nodes
    assert "P = " in to_equation(circuit)
