"""Most probable rows, some of them or the best values of some variables, against enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings

from support.circuits import cases, random_circuit, random_rows
from support.enumeration import assignments
from xspn import Bernoulli, Circuit, Gaussian, Product, Sum
from xspn.core.errors import EvidenceError, ParameterError, QueryError


def completions(circuit, row):
    """The whole rows that agree with a partial one and are possible, and their probabilities, the best one first."""
    oracle = circuit.oracle
    chosen = np.flatnonzero(oracle.agrees(row) & (oracle.probabilities > 0))
    order = chosen[np.argsort(-oracle.probabilities[chosen], kind="stable")]
    return oracle.assignments[order], oracle.probabilities[order]


@settings(max_examples=120, deadline=None)
@given(cases(components=3))
def test_the_k_best_completions(case):
    circuit, rng = case
    row = random_rows(rng, circuit, 1)[0]
    k = int(rng.integers(1, 12))
    found = circuit.k_best(k, given=row)
    rows, probabilities = completions(circuit, row)
    assert found.exact
    assert len(found.values) == min(k, len(rows))
    np.testing.assert_allclose(np.exp(found.log_prob), probabilities[:k], rtol=1e-9)
    np.testing.assert_allclose(found.log_prob, circuit.oracle.log_likelihood(found.values), atol=1e-9)
    assert len({own.tobytes() for own in found.values}) == len(found.values)
    assert all(
        circuit.oracle.agrees(own).sum() == 1 and circuit.oracle.agrees(row)[circuit.oracle.agrees(own)]
        for own in found.values
    )
    if len(rows) > k:
        assert np.exp(found.bound) >= probabilities[k] * (1 - 1e-9)


def best_of_marginals(circuit, row, asked):
    """The largest probability of values of the asked variables, together with what is known."""
    best = 0.0
    for values in assignments([circuit.domains[v].cardinality for v in asked]):
        filled = row.copy()
        filled[asked] = values
        best = max(best, float(np.exp(circuit.oracle.log_likelihood(filled[None, :])[0])))
    return best


@settings(max_examples=120, deadline=None)
@given(cases(components=2, most_assignments=512))
def test_marginal_map(case):
    circuit, rng = case
    row = random_rows(rng, circuit, 1)[0]
    free = [v for v in circuit.oracle.variables if np.isnan(row[v])]
    if not free:
        return
    asked = sorted(rng.permutation(free)[: rng.integers(1, len(free) + 1)].tolist())
    found = circuit.marginal_map(asked, given=row)
    assert found.exact
    np.testing.assert_allclose(np.exp(found.log_prob[0]), best_of_marginals(circuit, row, asked), rtol=1e-9)
    np.testing.assert_allclose(circuit.oracle.log_likelihood(found.values), found.log_prob, atol=1e-9)
    np.testing.assert_array_equal(
        np.flatnonzero(~np.isnan(found.values[0])), sorted({*asked, *np.flatnonzero(~np.isnan(row))})
    )


@pytest.mark.parametrize("seed", range(8))
def test_a_search_that_is_stopped_gives_a_bound(seed):
    rng = np.random.default_rng(seed)
    circuit = random_circuit(rng, [2] * 11, 4, components=24)
    truth = float(np.log(circuit.oracle.probabilities.max()))
    for max_nodes in (1, 4, 16):
        found = circuit.k_best(1, max_nodes=max_nodes)
        assert found.log_prob[0] <= truth + 1e-9 <= max(found.bound, found.log_prob[0]) + 2e-9
        assert found.exact or found.bound > found.log_prob[0]
        assert found.n_nodes <= 4 * max_nodes + 1


def test_the_most_probable_row_is_not_that_of_its_variables_alone():
    # Variable 0 is more often 1, but the single likeliest row has a 0.
    spread = Product([Bernoulli(0, p=1.0), *(Bernoulli(v, p=0.5) for v in (1, 2))])
    narrow = Product([Bernoulli(0, p=0.0), *(Bernoulli(v, p=1.0) for v in (1, 2))])
    circuit = Circuit(Sum([0.7, 0.3], [spread, narrow]))
    assert circuit.mpe(exact=True).values[0].tolist() == [0.0, 1.0, 1.0]
    assert circuit.marginal_map([0]).values[0, 0] == 1.0


def test_real_variables_may_be_known_or_left_out():
    circuit = Circuit(
        Sum(
            [0.5, 0.5],
            [Product([Bernoulli(0, p=p), Gaussian(1, mean=m, std=1.0)]) for p, m in ((0.9, 0.0), (0.2, 3.0))],
        )
    )
    assert circuit.marginal_map([0], given={1: 0.0}).values[0].tolist() == [1.0, 0.0]
    assert circuit.marginal_map([0], given={1: 4.0}).values[0].tolist() == [0.0, 4.0]
    np.testing.assert_allclose(np.exp(circuit.marginal_map([0]).log_prob), 0.55)
    with pytest.raises(QueryError, match="variable 1 is real"):
        circuit.marginal_map([0, 1])
    with pytest.raises(QueryError, match="variable 1 is real"):
        circuit.k_best(2, given={0: 1})


def test_wrong_questions():
    circuit = Circuit(Product([Bernoulli(0, p=1.0), Bernoulli(1, p=0.3)]), names=["a", "b"])
    with pytest.raises(ParameterError, match="at least 1"):
        circuit.k_best(0)
    with pytest.raises(ParameterError, match="max_nodes"):
        circuit.k_best(1, max_nodes=0)
    with pytest.raises(QueryError, match="at least one variable"):
        circuit.marginal_map([])
    with pytest.raises(QueryError, match="all variables"):
        circuit.marginal_map(["a"], given={"a": 1})
    with pytest.raises(EvidenceError, match="zero"):
        circuit.marginal_map(["b"], given={"a": 0})
    assert len(circuit.k_best(9).values) == 2
