"""All back ends answer as the NumPy passes do, whatever the circuit, the threads and the cutting into batches."""

import copy
import pickle

import numpy as np
import pytest

from support.cases import any_case
from support.circuits import any_rows
from xspn import Bernoulli, Categorical, ChowLiu, Circuit, Exchangeable, Gaussian, Product, Sum
from xspn.core.errors import DataError, EvidenceError, ParameterError
from xspn.engine import NumpyBackend, RowBlock, Semiring
from xspn.engine.numba_backend import NumbaBackend
from xspn.leaves import MultivariateGaussian

N_CIRCUITS = 200


@pytest.mark.parametrize("seed", range(N_CIRCUITS))
def test_compiled_kernels_answer_as_the_numpy_passes_do(seed):
    circuit, possible, rows, rng = any_case(seed)
    reference, fast = NumpyBackend(circuit.program), NumbaBackend(circuit.program)
    np.testing.assert_allclose(fast.log_likelihood(rows), reference.log_likelihood(rows), atol=1e-10)
    np.testing.assert_allclose(fast.marginals(possible), reference.marginals(possible), atol=1e-10)
    for semiring in Semiring:
        root = circuit.program.root
        found, expected = fast.log_values(rows_of(rows), semiring), reference.log_values(rows_of(rows), semiring)
        np.testing.assert_allclose(found[root], expected[root], atol=1e-10)
        np.testing.assert_allclose(found, expected, atol=1e-8)
    whole = rows[~np.isnan(rows).any(axis=1)]
    for table in (rows, whole):
        assert_same_statistics(fast, reference, table, rng.random(len(table)))


def rows_of(table):
    return RowBlock(np.where(np.isnan(table), np.nan, table))


def assert_same_statistics(fast, reference, table, weights):
    found, expected = fast.counts(table, weights), reference.counts(table, weights)
    np.testing.assert_allclose(found.log_prob, expected.log_prob, atol=1e-10)
    for own, other in zip(found.sums, expected.sums, strict=True):
        np.testing.assert_allclose(own, other, atol=1e-10)
    for (_, block), own, other in zip(reference.program.blocks, found.leaves, expected.leaves, strict=True):
        np.testing.assert_allclose(block.expected_statistics(own), block.expected_statistics(other), atol=1e-10)


def large_case():
    """A circuit and rows enough for several blocks, chunks and threads; every third row has missing values."""
    circuit, _, _, rng = any_case(seed=8, binary=True)
    rows = any_rows(rng, circuit, 5000)
    rows[::3] = circuit.sample(len(rows[::3]), random_state=1)
    return circuit, rows, rng


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_answers_do_not_depend_on_threads_or_batches(dtype, monkeypatch):
    monkeypatch.setattr("xspn.engine.tape_runner.WORTH_A_THREAD", 0)
    circuit, rows, rng = large_case()
    one, three = NumbaBackend(circuit.program, dtype), NumbaBackend(circuit.program, dtype, threads=3)
    expected = one.log_likelihood(rows)
    np.testing.assert_array_equal(three.log_likelihood(rows), expected)
    parts = [one.log_likelihood(part) for part in np.split(rows, [1, 2, 9, 300, 301, 1024, 4000])]
    np.testing.assert_array_equal(np.concatenate(parts), expected)
    np.testing.assert_array_equal(one.log_likelihood(np.asfortranarray(rows)), expected)
    possible = rows[np.isfinite(expected)]
    marginals = one.marginals(possible)
    np.testing.assert_array_equal(three.marginals(possible), marginals)
    parts = [one.marginals(part) for part in np.split(possible, [1, 2, 9, 300, 301, 1024])]
    np.testing.assert_array_equal(np.concatenate(parts), marginals)
    weights = rng.random(len(rows))
    found, again = one.counts(rows, weights), three.counts(rows, weights)
    for own, other in zip([*found.sums, *found.leaves], [*again.sums, *again.leaves], strict=True):
        np.testing.assert_array_equal(own, other)


def test_integers_and_booleans_are_read_as_floats_are():
    circuit, rows, _ = large_case()
    whole = rows[~np.isnan(rows).any(axis=1)]
    fast = NumbaBackend(circuit.program)
    for dtype in (bool, np.uint8, np.int64, np.float32):
        np.testing.assert_array_equal(fast.log_likelihood(whole.astype(dtype)), fast.log_likelihood(whole))


def deep_mixture(n):
    """Rows over n variables whose probability is about 10⁻³ⁿ, or 0."""
    unlikely = [Product([Bernoulli(i, p=p) for i in range(n)]) for p in (1e-3, 2e-3)]
    return Circuit(Sum([0.4, 0.6], unlikely))


@pytest.mark.parametrize("n", [20, 90, 100, 300])
def test_rows_that_underflow_are_computed_again(n):
    circuit = deep_mixture(n)
    rows = np.ones((40, n))
    rows[:, : n // 4] = np.nan
    rows[7] = np.nan
    reference = NumpyBackend(circuit.program)
    for dtype, tolerance in ((np.float64, 1e-10), (np.float32, 1e-3)):
        fast = NumbaBackend(circuit.program, dtype)
        np.testing.assert_allclose(fast.log_likelihood(rows), reference.log_likelihood(rows), rtol=0, atol=tolerance)
        np.testing.assert_allclose(fast.marginals(rows), reference.marginals(rows), atol=tolerance)
        assert_same_statistics(fast, reference, rows, np.linspace(0, 1, len(rows)))


def test_marginals_of_rows_far_less_probable_than_others():
    """A whole row of two zeros has probability e⁻⁸⁰⁰; with warnings as errors nothing may overflow beside it."""
    circuit = Circuit(Exchangeable([0, 1], log_weights=[-800.0, np.log(0.25), np.log(0.5)]))
    for backend in (NumpyBackend(circuit.program), NumbaBackend(circuit.program)):
        np.testing.assert_array_equal(backend.marginals(np.zeros((3, 2)))[:, :, 1], np.zeros((3, 2)))


def test_marginals_of_rows_whose_probability_is_hardly_a_number():
    """1e-310 is above zero, but one over it is no number: such rows are computed again, without a warning."""
    circuit = Circuit(Product([Bernoulli(0, p=1e-310), Categorical(1, [0.25, 0.25, 0.5])]))
    for backend in (NumpyBackend(circuit.program), NumbaBackend(circuit.program)):
        found = backend.marginals(np.array([[1.0, np.nan]]))
        np.testing.assert_allclose(found[0, 1], [0.25, 0.25, 0.5], atol=1e-12)


def test_impossible_evidence_is_refused_by_its_row():
    circuit = Circuit(Product([Bernoulli(0, p=0.0), Bernoulli(1, p=0.5)]))
    rows = np.zeros((30, 2))
    rows[17, 0] = 1
    fast = NumbaBackend(circuit.program)
    assert fast.log_likelihood(rows)[17] == -np.inf
    with pytest.raises(EvidenceError, match="row 17 has probability zero"):
        fast.marginals(rows)


@pytest.mark.parametrize("value", [2.0, -1.0, 0.5])
def test_values_outside_the_domain_are_refused_by_their_place(value):
    circuit, rows, _ = large_case()
    column = next(i for i, domain in enumerate(circuit.domains) if domain is not None)
    rows[4321, column] = value
    with pytest.raises(DataError, match=rf"found {value:g} at row 4321, column {column}"):
        NumbaBackend(circuit.program).log_likelihood(rows)


@pytest.mark.parametrize("seed", range(30))
def test_single_precision_keeps_its_bound(seed):
    circuit, rows, _, _ = any_case(seed)
    single = circuit.to(dtype="float32")
    error = np.abs(single.log_likelihood(rows) - NumpyBackend(circuit.program).log_likelihood(rows))
    assert error.max() <= single.error_bound
    assert single.error_bound < 1e-4


def real_case(seed):
    """Bits, categories, real numbers alone and in pairs, some of them far from everything or of any unit."""
    rng = np.random.default_rng(seed)
    unit = 10.0 ** rng.integers(-30, 30)

    def pair():
        root = rng.normal(size=(2, 3)) * unit
        if rng.random() < 0.5:
            return [MultivariateGaussian([0, 1], rng.normal(size=2) * unit, root @ root.T)]
        return [Gaussian(v, rng.normal() * unit, (0.1 + rng.random()) * unit) for v in (0, 1)]

    parts = [
        Product([*pair(), Bernoulli(2, p=rng.random()), Categorical(3, rng.dirichlet(np.ones(3)))]) for _ in range(4)
    ]
    parts.append(Product([Sum([0.5, 0.5], parts[:2]), Bernoulli(4, p=0.3)]))
    circuit = Circuit(Sum([0.25, 0.75], [parts[4], Product([parts[2], ChowLiu([4], [-1], [[0.4, 0.4]])])]))
    rows = circuit.sample(300, random_state=seed)
    rows[::7, :2] *= 100
    rows[::11, :2] *= 1e9
    return circuit, np.where(rng.random(rows.shape) < 0.3, np.nan, rows), rng


@pytest.mark.parametrize("seed", range(6))
def test_real_variables_are_answered_by_kernels(seed):
    circuit, rows, rng = real_case(seed)
    expected = NumpyBackend(circuit.program)
    assert isinstance(circuit.to().backend, NumbaBackend)
    logs = expected.log_likelihood(rows)
    for name, threads in (("numba", 1), ("numba", 3), ("torch", None)):
        fast = circuit.to(name, threads=threads)
        np.testing.assert_allclose(fast.log_likelihood(rows), logs, rtol=1e-12, atol=1e-10)
        np.testing.assert_allclose(fast.marginals(rows), expected.marginals(rows), atol=1e-9)
        np.testing.assert_allclose(fast.means(rows), circuit.to("numpy").means(rows), rtol=1e-9)
    for dtype in ("numba", "torch"):
        single = circuit.to(dtype, dtype="float32")
        np.testing.assert_allclose(single.log_likelihood(rows), logs, rtol=1e-6, atol=1e-4)
    weights = rng.random(len(rows))
    same = expected.counts(rows, weights)
    found = NumbaBackend(circuit.program).counts(rows, weights)
    np.testing.assert_allclose(found.log_prob, logs, rtol=1e-12, atol=1e-10)
    for own, other in zip([*found.sums, *found.leaves], [*same.sums, *same.leaves], strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-9 * np.abs(other).max())


def test_a_density_that_underflows_in_every_part_is_still_right():
    """Both parts are 40 deviations off in one variable and disagree in the other: only logarithms can tell."""
    parts = [Product([Gaussian(0, mean, 1.0), Gaussian(1, -mean, 1.0)]) for mean in (-40.0, 40.0)]
    circuit = Circuit(Sum([0.5, 0.5], parts))
    rows = np.array([[-40.0, -40.0], [1e5, 1e5], [0.0, np.nan]])
    expected = circuit.to("numpy").log_likelihood(rows)
    for name in ("numba", "torch"):
        np.testing.assert_allclose(circuit.to(name).log_likelihood(rows), expected, rtol=1e-13)


def test_much_work_is_done_by_kernels_with_the_same_answers(monkeypatch):
    circuit, rows, _ = large_case()
    reference = circuit.log_likelihood(rows)
    assert circuit.backend._for(0) is circuit.backend._numpy
    monkeypatch.setattr("xspn.engine.backend.WORTH_KERNELS", 1)
    np.testing.assert_allclose(circuit.log_likelihood(rows), reference, atol=1e-10)
    assert isinstance(circuit.backend._for(1), NumbaBackend)
    samples = circuit.sample(50, random_state=3)
    np.testing.assert_array_equal(samples, circuit.to("numpy").sample(50, random_state=3))
    np.testing.assert_array_equal(samples, circuit.to().sample(50, random_state=3))


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({"backend": "fast"}, "expected 'numpy', 'numba' or 'torch', found 'fast'"),
        ({"dtype": "float16"}, "expected 'float64' or 'float32', found 'float16'"),
        ({"threads": 0}, "at least 1, or None for all, found 0"),
        ({"backend": "numpy", "device": "cuda"}, "the numpy back end runs on the CPU only"),
        ({"backend": "numpy", "dtype": "float32"}, "float64 only"),
    ],
)
def test_unknown_choices_are_refused(arguments, fault):
    with pytest.raises(ParameterError, match=fault):
        Circuit(Bernoulli(0, p=0.5)).to(**arguments)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("seed", range(4))
def test_a_pickled_evaluator_answers_alike(backend, seed):
    circuit, possible, rows, _ = any_case(seed)
    evaluator = circuit.to(backend, **({"threads": 1} if backend == "numba" else {}))
    asked = evaluator.log_likelihood(rows)  # with workspace and arrays made
    for again in (pickle.loads(pickle.dumps(evaluator)), copy.deepcopy(evaluator)):
        np.testing.assert_array_equal(again.log_likelihood(rows), asked)
        np.testing.assert_array_equal(again.marginals(possible), evaluator.marginals(possible))
        best, expected = again.mpe(possible), evaluator.mpe(possible)
        np.testing.assert_array_equal(best.values, expected.values)
        assert best.exact == expected.exact
        assert again.names == evaluator.names
