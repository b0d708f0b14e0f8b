"""Mixtures of exchangeable variable models: evidence against brute force, partitions, rounds of EM."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from xspn import Circuit, Exchangeable, Product, Sum
from xspn.learning.data import BinaryData
from xspn.learning.mevm import MEVMOptions, fit_mevm
from xspn.learning.mevm.fit import nearest_of_random_rows
from xspn.learning.mevm.partition import PRIOR_MASS, Evidence, best_cut, best_segments, find_blocks


def sorted_blocks(partition):
    return sorted(sorted(int(v) for v in block) for block in partition)


def partitions_of(items):
    """Every partition of a list."""
    if not items:
        yield []
        return
    first, *rest = items
    for smaller in partitions_of(rest):
        yield [[first], *smaller]
        for place, block in enumerate(smaller):
            yield [*smaller[:place], [first, *block], *smaller[place + 1 :]]


def block_rows(rng, n_rows, sizes):
    """Independent blocks; within each, the columns share a probability that is new in every row."""
    parts = [rng.random((n_rows, size)) < rng.beta(0.5, 0.5 + i, size=(n_rows, 1)) for i, size in enumerate(sizes)]
    return np.hstack(parts).astype(np.float32)


def test_evidence_of_a_single_column_is_the_integral():
    cells = np.array([[1], [0], [1]], dtype=np.float32)
    found = Evidence(cells, np.array([1.0, 2.0, 0.5])).of_single[0]
    a = PRIOR_MASS / 2

    def integrand(u):  # p = sin²(u) takes the poles of the Beta(½, ½) density away
        p = np.sin(u) ** 2
        return p ** (1.5 + a - 0.5) * (1 - p) ** (2 + a - 0.5) * 2 / np.pi

    assert a == 0.5
    assert np.exp(found) == pytest.approx(quad(integrand, 0, np.pi / 2)[0])


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_evidence_of_blocks_pairs_and_partitions_agree(seed, n):
    rng = np.random.default_rng(seed)
    cells = (rng.random((30, n)) < 0.4).astype(np.float32)
    evidence = Evidence(cells, rng.random(30))
    for i in range(n):
        assert evidence.of_block(np.array([i])) == pytest.approx(evidence.of_single[i], abs=1e-6)
        for j in range(i):
            assert evidence.of_block(np.array([i, j])) == pytest.approx(evidence.of_pairs[i, j], abs=1e-4)
    for score, blocks in (best_segments(evidence), best_cut(evidence)):
        assert score == pytest.approx(evidence.of_partition(blocks), abs=1e-6)
        assert sorted(int(v) for block in blocks for v in block) == list(range(n))


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1))
def test_the_best_partition_of_all_is_found_when_the_blocks_are_real(seed):
    rng = np.random.default_rng(seed)
    evidence = Evidence(block_rows(rng, 400, [3, 2]), np.ones(400))
    every = [tuple(np.array(block) for block in blocks) for blocks in partitions_of(list(range(5)))]
    best = max(every, key=evidence.of_partition)
    assert sorted_blocks(find_blocks(evidence, "evidence", 0.1)) == sorted_blocks(best)


def test_blocks_of_equal_means_are_told_apart_by_their_pairs_only():
    rng = np.random.default_rng(0)
    cells = (rng.random((1000, 12)) < np.repeat(rng.beta(0.5, 0.5, size=(1000, 3)), 4, axis=1)).astype(np.float32)
    found = find_blocks(Evidence(cells, np.ones(1000)), "evidence", 0.1)
    assert sorted_blocks(found) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]


def test_the_known_partition_is_kept_if_it_is_better():
    rng = np.random.default_rng(0)
    cells = block_rows(rng, 300, [4, 4])
    evidence = Evidence(cells, np.ones(300))
    known = (np.arange(4), np.arange(4, 8))
    best = max(best_segments(evidence)[0], best_cut(evidence)[0])
    kept = find_blocks(evidence, "evidence", 0.1, known)
    assert evidence.of_partition(kept) >= max(best, evidence.of_partition(known)) - 1e-9


def test_starts_share_out_all_rows_even_if_there_are_few_of_them():
    rng = np.random.default_rng(0)
    responsibilities = nearest_of_random_rows(np.array([[0.0, 1.0]] * 3), np.ones(3), 5, rng)
    np.testing.assert_array_equal(responsibilities.sum(axis=1), 1)
    assert (responsibilities.sum(axis=0) > 0).sum() == 1


def truth():
    def block(variables, *chances):
        return Exchangeable.from_class_probabilities(variables, chances)

    first = Product([block([0, 1, 2], 0.7, 0.1, 0.1, 0.1), block([3, 4, 5, 6], 0.05, 0.05, 0.1, 0.2, 0.6)])
    second = Product([block([0, 1, 5, 6], 0.1, 0.1, 0.1, 0.1, 0.6), block([2, 3, 4], 0.6, 0.2, 0.1, 0.1)])
    return Circuit(Sum([0.4, 0.6], [first, second]))


@pytest.mark.parametrize(("structure", "loss"), [("evidence", 0.02), ("welch", 0.3)])
def test_a_mixture_is_recovered(structure, loss):
    model = truth()
    bits = model.sample(3000, random_state=0).astype(np.uint8)
    options = MEVMOptions(n_components=2, structure=structure)
    fit = fit_mevm(BinaryData.of(bits), options, np.random.default_rng(0))
    p = model.oracle.probabilities
    assert p @ (np.log(p) - Circuit(fit.root).log_likelihood(model.oracle.assignments)) < loss


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.sampled_from(["evidence", "welch"]))
def test_no_pass_lowers_the_log_likelihood_while_the_blocks_stay(seed, n_components, structure):
    rng = np.random.default_rng(seed)
    bits = (rng.random((40, 6)) < rng.random((40, 1))).astype(np.uint8)
    data = BinaryData.of(bits, rng.random(40))
    options = MEVMOptions(
        n_components=n_components, structure=structure, smoothing=0.0, n_init=2, tolerance=0.0, max_iter=20
    )
    fit = fit_mevm(data, options, rng)
    for course in fit.log_likelihoods:
        assert all(after >= before - 1e-9 * (1 + abs(before)) for before, after in pairwise(course))
    ends = [course[-1] for course in fit.log_likelihoods]
    assert ends == sorted(ends)
    circuit = Circuit(fit.root, n_variables=6)
    assert circuit.why_not_normalized() is None
    mean = np.average(circuit.log_likelihood(data.bits), weights=data.weights)
    assert mean == pytest.approx(max(fit.log_likelihoods[-1]), abs=1e-6)


def test_validation_rows_choose_the_start():
    rng = np.random.default_rng(0)
    bits, valid = ((rng.random((60, 10)) < 0.5).astype(np.uint8) for _ in range(2))
    with_valid = fit_mevm(
        BinaryData.of(bits), MEVMOptions(n_components=5), np.random.default_rng(1), BinaryData.of(valid)
    )
    without = fit_mevm(BinaryData.of(bits), MEVMOptions(n_components=5), np.random.default_rng(1))
    assert with_valid.score == pytest.approx(Circuit(with_valid.root).log_likelihood(valid).mean())
    assert with_valid.score >= Circuit(without.root).log_likelihood(valid).mean()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "n_components"),
        ({"n_init": 0}, "n_init"),
        ({"max_iter": 0}, "max_iter"),
        ({"smoothing": -1.0}, "smoothing"),
        ({"structure": "guess"}, "structure"),
        ({"level": 0.0}, "level"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        MEVMOptions(**options)
