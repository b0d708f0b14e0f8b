"""A compiled circuit in a folder answers as the circuit does, mapped into memory, in any process."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

from support.cases import any_case
from xspn import Bernoulli, Circuit, Gaussian
from xspn._core.errors import FormatError
from xspn.io import open_program, save_program


@pytest.mark.parametrize("seed", range(20))
def test_an_opened_program_answers_as_the_circuit_does(seed, tmp_path):
    circuit, possible, rows, _ = any_case(seed)
    save_program(circuit, tmp_path / "program")
    opened, fast = open_program(tmp_path / "program"), circuit.on()
    np.testing.assert_array_equal(opened.log_likelihood(rows), fast.log_likelihood(rows))
    np.testing.assert_array_equal(opened.marginals(possible), fast.marginals(possible))
    np.testing.assert_array_equal(opened.sample(20, random_state=0), fast.sample(20, random_state=0))
    found, expected = opened.mpe(possible), fast.mpe(possible)
    np.testing.assert_array_equal(found.values, expected.values)
    assert found.exact == expected.exact
    simple = open_program(tmp_path / "program", "simple")
    np.testing.assert_allclose(simple.log_likelihood(rows), fast.log_likelihood(rows), atol=1e-10)


def test_arrays_are_mapped_and_cannot_be_changed(tmp_path):
    circuit, _, _, _ = any_case(4)
    save_program(circuit, tmp_path)
    tape = open_program(tmp_path).backend.tape
    assert isinstance(tape.layout.op, np.memmap)
    for part in (tape.layout, tape.numbers):
        assert not any(value.flags.writeable for value in vars(part).values() if isinstance(value, np.ndarray))


def test_names_and_labels_travel(tmp_path):
    circuit = Circuit(Bernoulli(0, p=0.4), names=["rain"], labels={"rain": ["dry", "wet"]})
    save_program(circuit, tmp_path)
    assert np.exp(open_program(tmp_path).log_likelihood([["wet"]]))[0] == pytest.approx(0.4)


def test_programs_can_be_pickled(tmp_path):
    circuit, _, rows, _ = any_case(6)
    save_program(circuit, tmp_path)
    expected = circuit.on().log_likelihood(rows)
    for backend in (circuit.on().backend, circuit.on("simple").backend, open_program(tmp_path).backend):
        copy = pickle.loads(pickle.dumps(backend))
        np.testing.assert_allclose(copy.log_likelihood(rows), expected, atol=1e-10)


def test_another_process_opens_it(tmp_path):
    save_program(Circuit(Bernoulli(0, p=0.25)), tmp_path)
    program = f"from xspn.io import open_program; print(open_program({str(tmp_path)!r}).log_likelihood([[1]])[0])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert float(done.stdout) == pytest.approx(np.log(0.25))


@pytest.mark.parametrize("fault", ["nothing", "head", "array", "schema"])
def test_folders_that_are_none_are_refused(fault, tmp_path):
    if fault != "nothing":
        save_program(Circuit(Bernoulli(0, p=0.25)), tmp_path)
    if fault == "head":
        (tmp_path / "program.json").write_text("{")
    if fault == "array":
        (tmp_path / "weight.npy").unlink()
    if fault == "schema":
        text = (tmp_path / "program.json").read_text()
        (tmp_path / "program.json").write_text(text.replace('"schema": 1', '"schema": 9'))
    with pytest.raises(FormatError, match="not a folder that save_program wrote"):
        open_program(tmp_path)


def test_real_variables_are_answered_by_the_simple_passes(tmp_path):
    save_program(Circuit(Gaussian(0, mean=0.0, std=1.0)), tmp_path)
    assert open_program(tmp_path).log_likelihood([[0.0]])[0] == pytest.approx(-0.5 * np.log(2 * np.pi))
