"""P(cell | the rest of its row) on every back end, against enumeration; tails and medians."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.stats import norm

from support.circuits import any_rows, cases
from xspn import Bernoulli, ChowLiu, Circuit, Exchangeable, Gaussian, Product, Sum
from xspn.inference.cells import cell_conditionals, medians


def expected_of(circuit, rows):
    """P(x_i | the rest) by enumeration; NaN where a cell is missing or the rest impossible."""
    out = np.full(rows.shape, np.nan)
    whole = np.exp(circuit.oracle.log_likelihood(rows))
    for v in circuit.oracle.variables:
        rest = rows.copy()
        rest[:, v] = np.nan
        chance = np.exp(circuit.oracle.log_likelihood(rest))
        good = ~np.isnan(rows[:, v]) & (chance > 0)
        out[good, v] = whole[good] / chance[good]
    return out


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("backend", ["numpy", "numba", "torch"])
def test_every_cell_on_every_back_end(backend, binary):
    if backend == "torch":
        pytest.importorskip("torch")

    @settings(max_examples=40 if backend != "torch" else 10, deadline=None)
    @given(cases(binary=binary, components=2))
    def check(case):
        circuit, rng = case
        rows = any_rows(rng, circuit, 12)
        rows[:4] = circuit.oracle.assignments[rng.integers(len(circuit.oracle.assignments), size=4)]
        found = circuit.to(backend).cell_log_likelihood(rows)
        np.testing.assert_allclose(np.exp(found), expected_of(circuit, rows), rtol=1e-9, atol=1e-12)

    check()


def test_factors_that_are_too_small_to_divide_by():
    tree = ChowLiu([2, 3, 4], [-1, 0, 0], [[0.5, 0.5], [1e-30, 1.0], [0.0, 0.7]])
    count = Exchangeable.from_class_probabilities([5, 6], [0.5, 0.0, 0.5])
    parts = [Product([Bernoulli(0, p=p), Bernoulli(1, p=0.3), tree, count]) for p in (1e-25, 0.0, 1.0)]
    circuit = Circuit(Sum([0.5, 0.25, 0.25], parts))
    rows = circuit.oracle.assignments.copy()
    partial = np.repeat(rows, 4, axis=0)  # in trees of tiny factors kernels once read what is not theirs
    partial[np.random.default_rng(0).random(partial.shape) < 0.3] = np.nan
    for backend, own in product(("numpy", "numba"), (rows, partial)):
        found = circuit.to(backend).cell_log_likelihood(own)
        np.testing.assert_allclose(np.exp(found), expected_of(circuit, own), rtol=1e-9, atol=1e-300)


def test_rows_far_below_the_range_of_numbers():
    circuit = Circuit(Sum([0.5, 0.5], [Product([Bernoulli(v, p=p) for v in range(500)]) for p in (1e-3, 1e-2)]))
    row = np.ones((1, 500))
    for backend in ("numpy", "numba"):  # P(row) is about 1e-1000
        np.testing.assert_allclose(
            np.exp(circuit.to(backend).cell_log_likelihood(row)), np.full((1, 500), 0.01), rtol=1e-9
        )


@settings(max_examples=60, deadline=None)
@given(cases(components=2))
def test_tails_are_of_values_at_most_as_likely(case):
    circuit, rng = case
    rows = any_rows(rng, circuit, 8)
    found = cell_conditionals(circuit.backend, rows)
    for v in circuit.oracle.variables:
        for r, row in enumerate(rows):
            if np.isnan(row[v]):
                assert np.isnan(found.tail[r, v])
                continue
            options = np.tile(row, (circuit.domains[v].cardinality, 1))
            options[:, v] = np.arange(len(options))
            chances = np.exp(circuit.oracle.log_likelihood(options))
            if not chances.sum():
                continue
            chances /= chances.sum()
            own = chances[int(row[v])]
            np.testing.assert_allclose(found.tail[r, v], chances[chances <= own * (1 + 1e-7)].sum(), atol=1e-9)
            np.testing.assert_allclose(chances[int(found.likeliest[r, v])], chances.max(), rtol=1e-7)


def test_numbers_have_two_tails_and_a_median():
    parts = [Product([Bernoulli(0, p=p), Gaussian(1, mean=m, std=2.0)]) for p, m in ((0.0, 1.0), (1.0, 5.0))]
    circuit = Circuit(Sum([0.5, 0.5], parts))
    rows = np.array([[0.0, 4.0], [1.0, 4.0], [np.nan, 3.0], [1.0, -300.0]])
    found = cell_conditionals(circuit.backend, rows)
    np.testing.assert_allclose(found.tail[:, 1], [2 * norm.sf(1.5), 2 * norm.cdf(-0.5), 1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(found.log_prob[:2, 1], [norm.logpdf(4, 1, 2), norm.logpdf(4, 5, 2)])
    np.testing.assert_allclose(medians(circuit.backend, rows, np.array([1, 1, 1, 1])), [1.0, 5.0, 3.0, 5.0], atol=1e-9)


def test_tails_of_the_models_own_rows_are_as_rare_as_they_say():
    rng = np.random.default_rng(0)
    parts = [
        Product([*(Bernoulli(v, p=float(rng.random())) for v in range(6)), Gaussian(6, float(rng.normal()), 1.0)])
        for _ in range(4)
    ]
    circuit = Circuit(Sum([0.25] * 4, parts))
    tails = cell_conditionals(circuit.backend, circuit.sample(20_000, random_state=1)).tail
    for level in (0.01, 0.05, 0.2):
        assert (tails <= level).mean(axis=0).max() <= level + 4 * np.sqrt(level / 20_000)
        assert (tails[:, 6] <= level).mean() >= level - 4 * np.sqrt(level / 20_000)
