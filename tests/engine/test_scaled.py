"""Rows far below the range of floating-point numbers: compiled kernels against exact fractions and log space."""

import pickle
import time
from fractions import Fraction

import numpy as np
import pytest

from support.cases import any_case
from xspn import Bernoulli, Categorical, ChowLiu, Circuit, Exchangeable, Product, Sum
from xspn.core.errors import EvidenceError
from xspn.engine import NumpyBackend, RowBlock, Semiring
from xspn.engine.kernels.arrays import scaled_workspace, workspace_for
from xspn.engine.numba_backend import NumbaBackend
from xspn.engine.scaled import ScaledBackend
from xspn.leaves import BetaBinomial


def scaled_of(circuit, threads=1):
    found = NumbaBackend(circuit.program, threads=threads).fallback
    assert isinstance(found, ScaledBackend)
    return found


def assert_same_statistics(fast, reference, rows, weights):
    found, expected = fast.counts(rows, weights), reference.counts(rows, weights)
    np.testing.assert_allclose(found.log_prob, expected.log_prob, rtol=1e-12, atol=1e-10)
    for own, other in zip(found.sums, expected.sums, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-10)
    for (_, block), own, other in zip(reference.program.blocks, found.leaves, expected.leaves, strict=True):
        own, other = block.expected_statistics(own), block.expected_statistics(other)
        np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("seed", range(40))
def test_ordinary_rows_are_answered_alike(seed):
    """Where plain kernels would do, scores are the same to the last bit, and everything else to rounding."""
    circuit, possible, rows, rng = any_case(seed)
    reference, scaled = NumpyBackend(circuit.program), scaled_of(circuit)
    np.testing.assert_array_equal(scaled.log_likelihood(rows), NumbaBackend(circuit.program).log_likelihood(rows))
    np.testing.assert_allclose(scaled.marginals(possible), reference.marginals(possible), atol=1e-10)
    for semiring in Semiring:
        found, expected = (b.log_values(RowBlock(rows.copy()), semiring) for b in (scaled, reference))
        np.testing.assert_allclose(found, expected, atol=1e-8)
    for table in (rows, rows[~np.isnan(rows).any(axis=1)]):
        assert_same_statistics(scaled, reference, table, rng.random(len(table)))


def wide(n, seed, classes=3, deep=False):
    """A mixture of products of blocks of every family over n columns; categories of three values at the end."""
    rng = np.random.default_rng(seed)

    def block(first, size):
        kind = (first // 10) % 4
        own = range(first, first + size)
        if kind == 0:
            return Product([Bernoulli(i, p=float(rng.choice([1e-3, 0.2, 0.9, 1e-200]))) for i in own])
        if kind == 1:
            return Exchangeable.from_class_probabilities(own, rng.dirichlet(np.full(size + 1, 0.5)))
        if kind == 2:
            parents = [-1, *(int(rng.integers(0, i)) for i in range(1, size))]
            p = rng.uniform(0.001, 0.999, (size, 2))
            p[0, 1] = p[0, 0]
            return ChowLiu(own, parents, p)
        return Sum([0.999, 0.001], [Product([Bernoulli(i, p=rng.uniform(0.01, 0.99)) for i in own]) for _ in range(2)])

    def member():
        parts = [block(first, min(10, n - 2 - first)) for first in range(0, n - 2, 10)]
        parts += [Categorical(i, rng.dirichlet(np.ones(3))) for i in (n - 2, n - 1)]
        if not deep:
            return Product(parts)
        node = parts[0]
        for part in parts[1:]:
            node = Product([node, part])
        return node

    return Circuit(Sum(rng.dirichlet(np.ones(classes)), [member() for _ in range(classes)]))


def rows_for(circuit, rng, n_rows=12):
    rows = rng.integers(0, 2, (n_rows, circuit.n_variables)).astype(float)
    rows[1::3][rng.random(rows[1::3].shape) < 0.3] = np.nan
    rows[2] = np.nan
    rows[5, :-1] = np.nan
    return rows


@pytest.mark.parametrize(("n", "deep"), [(1200, False), (1200, True), (5000, False)])
def test_wide_circuits_agree_with_log_space(n, deep):
    circuit = wide(n, seed=n + deep, deep=deep)
    rng = np.random.default_rng(1)
    rows = rows_for(circuit, rng)
    reference, fast = NumpyBackend(circuit.program), NumbaBackend(circuit.program)
    expected = reference.log_likelihood(rows)
    assert expected.min() < -5000
    assert n < 5000 or expected.min() < -5000 * np.log(10)
    np.testing.assert_allclose(fast.log_likelihood(rows), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(fast.marginals(rows), reference.marginals(rows), atol=1e-9)
    np.testing.assert_array_equal(fast.log_likelihood(rows[::2]), fast.log_likelihood(rows)[::2])
    block = RowBlock(rows[:4].copy())
    for semiring in Semiring:
        found, same = (b.log_values(block, semiring)[circuit.program.root] for b in (fast, reference))
        np.testing.assert_allclose(found, same, rtol=1e-12, atol=1e-12)
    if n == 1200:
        assert_same_statistics(fast, reference, rows, rng.random(len(rows)))
        whole = np.nan_to_num(rows)
        assert_same_statistics(fast, reference, whole, rng.random(len(whole)))


def log_of(fraction):
    shift = fraction.denominator.bit_length() - fraction.numerator.bit_length()
    scaled = fraction * 2**shift if shift >= 0 else fraction / 2**-shift
    return float(np.log(float(scaled))) - shift * np.log(2)


def test_scores_and_marginals_are_those_of_exact_arithmetic():
    """A mixture over 1,200 bits as fractions: rows of probability about 10⁻¹¹⁰⁰."""
    n, rng = 1200, np.random.default_rng(0)
    p = rng.choice([1e-3, 0.25, 0.5, 0.999], (3, n))
    weights = [0.5, 0.25, 0.25]
    circuit = Circuit(Sum(weights, [Product([Bernoulli(i, p=q) for i, q in enumerate(own)]) for own in p]))
    rows = (rng.random((4, n)) < 0.5).astype(float)
    rows[1] = 1.0
    rows[:, 0] = np.nan
    fast = circuit.to("numba")
    found, ones = fast.log_likelihood(rows), fast.marginals(rows)[:, 0, 1]
    for r, row in enumerate(rows):
        joint = []
        for own, weight in zip(p, weights, strict=True):
            product = Fraction(weight)
            for q, value in zip(own[1:].tolist(), row[1:].tolist(), strict=True):
                product *= Fraction(q) if value == 1 else Fraction(1 - q)
            joint.append(product)
        total = sum(joint)
        assert found[r] == pytest.approx(log_of(total), rel=1e-14)
        fraction = sum(part / total * Fraction(own[0]) for part, own in zip(joint, p, strict=True))
        assert ones[r] == pytest.approx(float(fraction), rel=1e-12)
    assert found.max() < -2400


def test_impossible_stays_impossible():
    n = 1500
    circuit = Circuit(
        Sum([0.5, 0.5], [Product([Bernoulli(i, p=p if i else 0.0) for i in range(n)]) for p in (0.1, 0.2)])
    )
    rows = np.ones((3, n))
    rows[1:, 0] = 0
    fast = circuit.to("numba")
    found = fast.log_likelihood(rows)
    assert found[0] == -np.inf
    np.testing.assert_allclose(
        found[1:], np.logaddexp(1499 * np.log(0.1), 1499 * np.log(0.2)) + np.log(0.5), rtol=1e-13
    )
    with pytest.raises(EvidenceError, match="row 0 has probability zero"):
        fast.marginals(rows)
    assert np.isfinite(fast.marginals(rows[1:])).all()


def test_a_weight_of_zero_hides_nothing():
    """The child that a sum does not use is by far the larger one."""
    parts = [Product([Bernoulli(i, p=p) for i in range(2000)]) for p in (0.9, 1e-3)]
    circuit = Circuit(Sum([0.0, 1.0], parts))
    assert circuit.to("numba").log_likelihood(np.ones((1, 2000)))[0] == pytest.approx(2000 * np.log(1e-3), rel=1e-13)


def test_parameters_at_the_end_of_the_range():
    tiny = 5e-324
    tree = ChowLiu([0, 1, 2], [-1, 0, 1], [[tiny, tiny], [1e-300, 1e-310], [0.0, 1e-308]])
    bits = Product([Bernoulli(i, p=p) for i, p in ((3, 1e-308), (4, tiny), (5, 1e-160))])
    circuit = Circuit(Sum([1e-300, 1.0], [Product([tree, bits]), Product([Bernoulli(i, p=1e-5) for i in range(6)])]))
    only = Circuit(Product([tree, bits]))
    for own in (circuit, only):
        rows = np.array([[1, 1, 1, 1, 1, 1], [1, np.nan, 1, 1, np.nan, 1], [np.nan, 1, 1, 1, 1, np.nan]])
        expected = NumpyBackend(own.program)
        fast = NumbaBackend(own.program)
        np.testing.assert_allclose(fast.log_likelihood(rows), expected.log_likelihood(rows), rtol=1e-12)
        np.testing.assert_allclose(fast.marginals(rows), expected.marginals(rows), atol=1e-10)


@pytest.mark.parametrize("n", [900, 1000])
def test_large_tables_are_answered_row_by_row_alike(n):
    """Whether the first rows send a table to these kernels at once does not matter to the others."""
    rng = np.random.default_rng(n)
    parts = [Product([Bernoulli(i, p=p) for i, p in enumerate(rng.uniform(0.2, 0.8, n))]) for _ in range(3)]
    circuit = Circuit(Sum([0.2, 0.3, 0.5], parts))
    rows = (rng.random((1500, n)) < 0.5).astype(float)
    rows[1000:, 200:] = np.nan
    for threads in (1, 3):
        fast = NumbaBackend(circuit.program, threads=threads)
        for ask in (fast.log_likelihood, fast.marginals):
            whole = ask(rows)
            np.testing.assert_array_equal(ask(rows[::-1])[::-1], whole)
            parts = [ask(part) for part in np.split(rows, [1, 200, 900])]
            np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_it_is_pickled():
    circuit = wide(1200, seed=3)
    rows = rows_for(circuit, np.random.default_rng(0))
    scaled = scaled_of(circuit)
    again = pickle.loads(pickle.dumps(scaled))
    np.testing.assert_array_equal(again.log_likelihood(rows), scaled.log_likelihood(rows))


def seconds_per_row(ask, rows):
    ask(rows)
    times = []
    for _ in range(3):
        start = time.process_time()
        ask(rows)
        times.append(time.process_time() - start)
    return min(times) / len(rows)


def test_very_unlikely_rows_cost_about_as_much_as_others():
    """Trees over 1,800 bits: two hundred times as much when such rows were computed again in log space."""
    rng = np.random.default_rng(0)

    def tree(first):
        p = rng.uniform(0.05, 0.95, (20, 2))
        p[0, 1] = p[0, 0]
        return ChowLiu(range(first, first + 20), [-1, *(int(rng.integers(0, i)) for i in range(1, 20))], p)

    circuit = Circuit(Sum([0.5, 0.5], [Product([tree(first) for first in range(0, 1800, 20)]) for _ in range(2)]))
    fast = NumbaBackend(circuit.program)
    unlikely = (rng.random((1200, 1800)) < 0.5).astype(float)
    unlikely[:, ::10] = np.nan
    ordinary = unlikely.copy()
    ordinary[:, 300:] = np.nan
    assert fast.log_likelihood(unlikely).max() < -645 < fast.log_likelihood(ordinary).min()
    assert seconds_per_row(fast.log_likelihood, unlikely) < 10 * seconds_per_row(fast.log_likelihood, ordinary)
    few, others = unlikely[:100], ordinary[:100]
    assert seconds_per_row(fast.marginals, few) < 15 * seconds_per_row(fast.marginals, others)


def test_more_ones_than_two_bytes_count():
    """Counters that wrap around gave another log-likelihood; kernels are not run here, for they would be compiled."""
    for n, width in ((60_000, 2), (70_000, 4)):
        tape = NumbaBackend(Circuit(BetaBinomial(range(n), mean=0.3, dispersion=0.1)).program).tape
        workspaces = workspace_for(tape, np.float64, 8, n, 1, down=False), scaled_workspace(tape, 8, n, 1, down=False)
        assert [workspace.counters.dtype.itemsize for workspace in workspaces] == [width, width]
