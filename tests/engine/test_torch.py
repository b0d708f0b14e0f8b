"""The torch back end on the CPU device answers as the NumPy passes do; without an accelerator it says so."""

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from support.cases import any_case, counting_case
from xspn import Bernoulli, Categorical, Circuit, Product, Sum
from xspn.core.errors import DataError, EvidenceError, ParameterError, QueryError
from xspn.engine import NumpyBackend

torch = pytest.importorskip("torch")
torch_backend = pytest.importorskip("xspn.engine.torch_backend")
TorchBackend = torch_backend.TorchBackend


@pytest.mark.parametrize("seed", range(30))
def test_tensors_answer_as_the_numpy_passes_do(seed):
    circuit, possible, rows = counting_case(seed)
    reference, tensors = NumpyBackend(circuit.program), circuit.to("torch")
    np.testing.assert_allclose(tensors.log_likelihood(rows), reference.log_likelihood(rows), atol=1e-10)
    np.testing.assert_allclose(tensors.backend.marginals(possible), reference.marginals(possible), atol=1e-10)
    single = circuit.to("torch", dtype="float32")
    error = np.abs(single.log_likelihood(possible) - reference.log_likelihood(possible))
    assert error.max() <= single.error_bound < 1e-3
    np.testing.assert_array_equal(tensors.sample(5, random_state=0), circuit.sample(5, random_state=0))
    np.testing.assert_array_equal(tensors.mpe(possible[:3]).values, circuit.to("numpy").mpe(possible[:3]).values)


@pytest.mark.parametrize("seed", range(60))
def test_tensors_gather_the_statistics_that_the_numpy_passes_do(seed, monkeypatch):
    monkeypatch.setitem(torch_backend.CELLS, "cpu", 1)  # blocks of 64 rows
    circuit, possible, rows, rng = any_case(seed)
    reference, tensors = NumpyBackend(circuit.program), TorchBackend(circuit.program)
    table = np.concatenate([rows, possible, rows[::-1]])
    weights = rng.random(len(table))
    weights[::7] = 0.0
    for own, mass in ((table, weights), (possible[:1], np.ones(1)), (table[:0], weights[:0])):
        found, expected = tensors.counts(own, mass), reference.counts(own, mass)
        np.testing.assert_allclose(found.log_prob, expected.log_prob, atol=1e-10)
        for one, other in zip(found.sums, expected.sums, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-10)
        for (_, block), one, other in zip(circuit.program.blocks, found.leaves, expected.leaves, strict=True):
            np.testing.assert_allclose(block.expected_statistics(one), block.expected_statistics(other), atol=1e-10)


@pytest.mark.parametrize("seed", range(8))
def test_other_parameters_of_a_circuit_on_the_same_tensors(seed):
    circuit, possible, _, _ = any_case(seed)
    fitted = circuit.fit_parameters(possible, n_iter=2, smoothing=0.5)
    again = TorchBackend(circuit.program).with_parameters(fitted.program).with_parameters(fitted.program)
    np.testing.assert_allclose(again.log_likelihood(possible), fitted.log_likelihood(possible), atol=1e-10)


def test_rows_that_underflow_are_computed_again():
    circuit = Circuit(Sum([0.4, 0.6], [Product([Bernoulli(i, p=p) for i in range(150)]) for p in (1e-3, 2e-3)]))
    rows = np.ones((5, 150))
    rows[:, :10] = np.nan
    rows[3] = np.nan
    expected = NumpyBackend(circuit.program).log_likelihood(rows)
    for dtype, tolerance in (("float64", 1e-10), ("float32", 1e-3)):
        tensors = circuit.to("torch", dtype=dtype)
        np.testing.assert_allclose(tensors.log_likelihood(rows), expected, rtol=0, atol=tolerance)
        np.testing.assert_allclose(tensors.marginals(rows), circuit.to("numpy").marginals(rows), atol=tolerance)
        weights = np.arange(1.0, 6.0)
        found, same = tensors.backend.counts(rows, weights), NumpyBackend(circuit.program).counts(rows, weights)
        np.testing.assert_allclose(found.sums[0], same.sums[0], atol=1e-9)


def test_bad_rows_are_refused_by_name():
    circuit = Circuit(Product([Bernoulli(0, p=0.0), Bernoulli(1, p=0.5)]))
    tensors = circuit.to("torch")
    with pytest.raises(DataError, match="found 3 at row 1, column 1"):
        tensors.log_likelihood([[0, 0], [0, 3]])
    with pytest.raises(EvidenceError, match="row 1 has probability zero"):
        tensors.marginals([[0, 0], [1, 0]])


def test_leaves_that_the_device_does_not_know_are_asked_before():
    circuit = Circuit(Product([Categorical(0, [0.2, 0.3, 0.5]), Bernoulli(1, p=0.25)]))
    tensors = circuit.to("torch")
    np.testing.assert_allclose(np.exp(tensors.log_likelihood([[2, 1], [np.nan, 0]])), [0.125, 0.75])
    np.testing.assert_allclose(tensors.marginals([[np.nan, 1]]), [[[0.2, 0.3, 0.5], [0.0, 1.0, np.nan]]])
    with pytest.raises(DataError, match="found 3 at row 0, column 0"):
        tensors.log_likelihood([[3, 1]])


def test_a_device_that_is_not_there_is_refused_with_what_to_do(monkeypatch):
    circuit = Circuit(Bernoulli(0, p=0.5))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(QueryError, match="sees no CUDA device; leave the device out to use the CPU"):
        circuit.to(device="cuda")
    with pytest.raises(QueryError, match="torch knows no device 'abacus'"):
        circuit.to(device="abacus")
    with pytest.raises(QueryError, match="cannot compute there"):
        circuit.to(device="meta")  # torch knows it; its tensors have no values
    for device in (None, ["cpu"], b"cpu"):
        with pytest.raises(ParameterError, match="device: expected a name"):
            circuit.to(device=device)


def test_the_kernel_for_accelerators_in_an_interpreter():
    """Triton can interpret a kernel on the CPU; CPU builds of torch do not bring it."""
    pytest.importorskip("triton")
    program = """
import numpy as np, torch
from support.cases import counting_case
from xspn.engine.tape import tape_of
from xspn.engine.torch_kernel import TapeKernel
circuit, _, rows = counting_case(3)
codes = torch.as_tensor(np.where(np.isnan(rows), 2, rows == 1).astype(np.uint8).T.copy())
found = TapeKernel(tape_of(circuit.program), torch.device("cpu"), torch.float64).run(codes).numpy()
np.testing.assert_allclose(found, np.exp(circuit.log_likelihood(rows)), atol=1e-12)
"""
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    root = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


ORDERS = {
    "as they are": lambda rows: rows,
    "read-only": lambda rows: np.frombuffer(rows.tobytes(), rows.dtype).reshape(rows.shape),
    "by columns": np.asfortranarray,
    "backwards": lambda rows: rows[::-1, ::-1].copy()[::-1, ::-1],
    "every other": lambda rows: np.repeat(np.repeat(rows, 2, axis=0), 2, axis=1)[::2, ::2],
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", ["?", "i1", ">i2", ">i8", "u2", ">u8", "f2", ">f4", "f8", ">f8"])
@pytest.mark.filterwarnings("error")
def test_rows_in_any_layout(order, kind):
    circuit, possible, _ = counting_case(3)
    rows = possible if np.dtype(kind).kind == "f" else np.nan_to_num(possible)
    expected = circuit.to("numpy").log_likelihood(rows)
    laid_out = ORDERS[order](rows.astype(kind))
    for backend in ("torch", "numba", "numpy"):
        np.testing.assert_allclose(circuit.to(backend).log_likelihood(laid_out), expected, atol=1e-10)
    possible_too = laid_out[np.isfinite(expected)]
    found, same = (circuit.to(b).marginals(possible_too) for b in ("torch", "numpy"))
    np.testing.assert_allclose(found, same, atol=1e-10)


def test_a_pickled_evaluator_answers_alike():
    circuit, possible, _ = counting_case(5)
    tensors = circuit.to("torch", dtype="float32")
    for again in (pickle.loads(pickle.dumps(tensors)), copy.deepcopy(tensors)):
        np.testing.assert_array_equal(again.log_likelihood(possible), tensors.log_likelihood(possible))
        assert again.backend.dtype == torch.float32
