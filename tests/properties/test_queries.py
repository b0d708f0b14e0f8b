"""Random circuits: every query agrees with brute-force enumeration."""

import numpy as np
import pytest
from hypothesis import event, given, settings

from support.chi_square import assert_frequencies_fit
from support.circuits import any_rows, cases, random_rows
from support.enumeration import count_of, log
from xspn import Bernoulli, Circuit, Sum

LOG = {"rtol": 0, "atol": 1e-10}  # the tolerance that the project promises, in log space


def on_scope(circuit, rows):
    return rows[:, list(circuit.scope)]


@settings(max_examples=400)
@given(cases())
def test_log_likelihood(case):
    circuit, rng = case
    rows = any_rows(rng, circuit, 40)
    np.testing.assert_allclose(circuit.log_likelihood(rows), circuit.oracle.log_likelihood(rows), **LOG)


@settings(max_examples=300)
@given(cases())
def test_the_assignments_sum_to_one(case):
    circuit, _ = case
    found = circuit.log_likelihood(circuit.oracle.assignments)
    np.testing.assert_allclose(found, log(circuit.oracle.probabilities), **LOG)
    assert abs(np.exp(found).sum() - 1) < 1e-12


@settings(max_examples=200)
@given(cases())
def test_conditional_log_likelihood(case):
    circuit, rng = case
    known, rows = random_rows(rng, circuit, 20), any_rows(rng, circuit, 20)
    both = np.where(np.isnan(known), rows, known)
    clash = (~np.isnan(known) & ~np.isnan(rows) & (known != rows)).any(axis=1)
    joint, evidence = (circuit.oracle.log_likelihood(X) for X in (both, known))
    expected = np.where(clash, -np.inf, joint - evidence)
    np.testing.assert_allclose(circuit.conditional_log_likelihood(rows, given=known), expected, **LOG)
    first = circuit.conditional_log_likelihood(rows, given=known[:1])
    np.testing.assert_allclose(first, circuit.conditional_log_likelihood(rows, np.repeat(known[:1], 20, axis=0)), **LOG)


def assert_same_marginals(found, expected):
    """In log space, down to where a difference of two probabilities near 1 has no digits left."""
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    assert not (found < 0).any()
    assert not (found > 1).any()


@settings(max_examples=400)
@given(cases())
def test_marginals(case):
    circuit, rng = case
    rows = random_rows(rng, circuit, 12)
    expected = circuit.oracle.marginals(rows)
    assert_same_marginals(circuit.marginals(rows), expected)


@settings(max_examples=250)
@given(cases())
def test_marginalize(case):
    circuit, rng = case
    scope = list(circuit.scope)
    kept = [v for v in scope if rng.random() < 0.5] or scope[:1]
    small = circuit.marginalize(kept)
    assert list(small.scope) == kept
    assert small.n_variables == circuit.n_variables
    rows = any_rows(rng, circuit, 30)
    hidden = np.full_like(rows, np.nan)
    hidden[:, kept] = rows[:, kept]
    np.testing.assert_allclose(small.log_likelihood(rows), circuit.oracle.log_likelihood(hidden), **LOG)
    np.testing.assert_allclose(small.oracle.log_likelihood(hidden), circuit.oracle.log_likelihood(hidden), **LOG)


@settings(max_examples=250)
@given(cases())
def test_conditioning_then_scoring_is_scoring_then_subtracting(case):
    circuit, rng = case
    known = random_rows(rng, circuit, 1)[0]
    if not np.isnan(known[list(circuit.scope)]).any():
        known[next(iter(circuit.scope))] = np.nan
    rest = circuit.condition(known)
    assert list(rest.scope) == [v for v in circuit.scope if np.isnan(known[v])]
    rows = any_rows(rng, circuit, 30)
    both = np.where(np.isnan(known), rows, known)
    expected = circuit.log_likelihood(both) - circuit.log_likelihood(known[None, :])
    np.testing.assert_allclose(rest.log_likelihood(rows), expected, **LOG)
    oracle = circuit.oracle.log_likelihood(both) - circuit.oracle.log_likelihood(known[None, :])
    np.testing.assert_allclose(rest.log_likelihood(rows), oracle, **LOG)


@settings(max_examples=300)
@given(cases())
def test_mpe_by_max_product(case):
    circuit, rng = case
    rows = random_rows(rng, circuit, 15)
    best = circuit.oracle.best_log_prob(rows)
    found = circuit.mpe(rows)
    assert_completes(circuit, rows, found)
    assert (found.log_prob <= best + 1e-10).all()
    if found.exact:
        event("known to be exact")
        np.testing.assert_allclose(found.log_prob, best, **LOG)


@settings(max_examples=200)
@given(cases(most_variables=8, most_assignments=300, components=4))
def test_exact_mpe(case):
    circuit, rng = case
    rows = random_rows(rng, circuit, 4)
    found = circuit.mpe(rows, exact=True)
    assert found.exact
    assert_completes(circuit, rows, found)
    np.testing.assert_allclose(found.log_prob, circuit.oracle.best_log_prob(rows), **LOG)


def assert_completes(circuit, rows, found):
    """Nothing missing, the evidence kept, the columns outside the circuit empty, the probability as stated."""
    outside = [v for v in range(circuit.n_variables) if v not in circuit.scope]
    own, given = on_scope(circuit, found.values), on_scope(circuit, rows)
    assert not np.isnan(own).any()
    assert ((own == given) | np.isnan(given)).all()
    assert np.isnan(found.values[:, outside]).all()
    np.testing.assert_allclose(found.log_prob, circuit.oracle.log_likelihood(found.values), **LOG)


@settings(max_examples=250)
@given(cases())
def test_moments(case):
    circuit, _ = case
    found = circuit.moments()
    mean, covariance = circuit.oracle.moments()
    own = list(circuit.scope)
    np.testing.assert_allclose(found.mean[own], mean, **LOG)
    np.testing.assert_allclose(found.covariance[np.ix_(own, own)], covariance, **LOG)
    np.testing.assert_allclose(found.variance[own], np.diag(covariance), **LOG)
    outside = [v for v in range(circuit.n_variables) if v not in circuit.scope]
    assert np.isnan(found.mean[outside]).all()
    assert np.isnan(found.covariance[outside]).all()


@settings(max_examples=250)
@given(cases(binary=True))
def test_count_distribution(case):
    circuit, rng = case
    chosen = [int(v) for v in rng.permutation(list(circuit.scope))][: int(rng.integers(1, len(circuit.scope) + 1))]
    found = circuit.count_distribution(chosen)
    np.testing.assert_allclose(found, circuit.oracle.count_distribution(chosen), **LOG)
    for known in random_rows(rng, circuit, 3):
        found = circuit.count_distribution(chosen, given=known)
        np.testing.assert_allclose(found, circuit.oracle.count_distribution(chosen, known), **LOG)


@settings(max_examples=80)
@given(cases(most_assignments=600))
def test_sampled_frequencies(case):
    circuit, rng = case
    all_assignments, own = circuit.oracle.assignments, list(circuit.scope)
    drawn = circuit.sample(2000, random_state=0)
    assert_frequencies_fit(count_of(drawn[:, own], all_assignments[:, own]), circuit.oracle.probabilities)
    known = random_rows(rng, circuit, 1)
    drawn = circuit.sample(2000, given=known, random_state=1)
    assert ((drawn == known) | np.isnan(known)).all()
    weights = circuit.oracle.probabilities * circuit.oracle.agrees(known[0])
    assert_frequencies_fit(count_of(drawn[:, own], all_assignments[:, own]), weights / weights.sum())


@settings(max_examples=80)
@given(cases())
def test_samples_complete_their_evidence(case):
    circuit, rng = case
    known = random_rows(rng, circuit, 25)
    drawn = circuit.sample(given=known, random_state=5)
    own, given_own = on_scope(circuit, drawn), on_scope(circuit, known)
    assert not np.isnan(own).any()
    assert ((own == given_own) | np.isnan(given_own)).all()
    assert np.isfinite(circuit.oracle.log_likelihood(drawn)).all()
    np.testing.assert_array_equal(drawn, circuit.sample(given=known, random_state=5))
    assert circuit.sample(2, given=known, random_state=5).shape == (50, circuit.n_variables)


@settings(max_examples=100)
@given(cases())
def test_rows_do_not_depend_on_the_rows_beside_them(case):
    circuit, rng = case
    rows = random_rows(rng, circuit, 12)
    one_by_one = [circuit.log_likelihood(rows[r : r + 1])[0] for r in range(12)]
    np.testing.assert_allclose(circuit.log_likelihood(rows), one_by_one, rtol=0, atol=1e-12)
    one_by_one = np.concatenate([circuit.marginals(rows[r : r + 1]) for r in range(12)])
    np.testing.assert_allclose(circuit.marginals(rows), one_by_one, rtol=0, atol=1e-12)
    one_by_one = np.concatenate([circuit.mpe(rows[r : r + 1]).log_prob for r in range(12)])
    np.testing.assert_allclose(circuit.mpe(rows).log_prob, one_by_one, rtol=0, atol=1e-12)


@settings(max_examples=8)
@given(cases(most_assignments=200))
def test_many_rows_are_cut_into_blocks_unseen(case):
    circuit, rng = case
    few = any_rows(rng, circuit, 50)
    many = np.tile(few, (400, 1))  # more than the rows of one block
    found = circuit.log_likelihood(many).reshape(400, 50)
    np.testing.assert_allclose(found, np.tile(circuit.log_likelihood(few), (400, 1)), rtol=0, atol=1e-12)


@settings(max_examples=100)
@given(cases())
def test_the_type_of_the_table_does_not_matter(case):
    circuit, rng = case
    all_assignments = np.nan_to_num(circuit.oracle.assignments[rng.integers(len(circuit.oracle.assignments), size=20)])
    expected = circuit.log_likelihood(all_assignments)
    for dtype in (np.uint8, np.int32, np.float32, object):
        np.testing.assert_array_equal(circuit.log_likelihood(all_assignments.astype(dtype)), expected)
    np.testing.assert_array_equal(circuit.log_likelihood(np.asfortranarray(all_assignments)), expected)
    np.testing.assert_array_equal(circuit.log_likelihood(all_assignments.tolist()), expected)


@settings(max_examples=80)
@given(cases())
def test_columns_outside_the_circuit_are_ignored(case):
    circuit, rng = case
    rows = random_rows(rng, circuit, 10)
    outside = [v for v in range(circuit.n_variables) if v not in circuit.scope]
    noisy = rows.copy()
    noisy[:, outside] = rng.choice([-3.0, 0.5, 17.0], size=(10, len(outside)))
    np.testing.assert_array_equal(circuit.log_likelihood(noisy), circuit.log_likelihood(rows))
    np.testing.assert_array_equal(circuit.marginals(noisy), circuit.marginals(rows))
    np.testing.assert_array_equal(circuit.mpe(noisy).values, circuit.mpe(rows).values)
    exact = circuit.mpe(noisy[:2], exact=True)
    assert np.isnan(exact.values[:, outside]).all()
    drawn = circuit.sample(given=noisy, random_state=0)
    np.testing.assert_array_equal(drawn, circuit.sample(given=rows, random_state=0))
    clashing = np.full_like(rows, np.nan)
    clashing[:, outside] = 99
    np.testing.assert_allclose(circuit.conditional_log_likelihood(noisy, clashing), circuit.log_likelihood(rows), **LOG)


def test_a_row_of_probability_zero_is_minus_infinity():
    circuit = Circuit(Sum([0.5, 0.5], [Bernoulli(0, p=1), Bernoulli(0, p=1)]))
    assert circuit.log_likelihood([[0], [1]]).tolist() == [-np.inf, 0.0]
    with pytest.raises(ValueError, match="row 1 has probability zero"):
        circuit.marginals([[1], [0]])
