"""Leaves of one's own: one file and one entry point, and every back end, file, drawing and command knows them."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from xspn import Bernoulli, Circuit, Exchangeable, Product, Sum, load, save
from xspn.core.errors import RegistryError
from xspn.core.registry import Registry
from xspn.engine.numba_backend import NumbaBackend
from xspn.io import open_program, save_program, to_dot, to_equation
from xspn.leaves import leaves
from xspn.plotting import draw_circuit

TOYS = Path(__file__).parents[1] / "support" / "toys" / "leaves.py"
BACK_ENDS = ("numpy", "numba", "torch")


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A folder with an installed package of two families, on the path."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(TOYS, folder / "toy_leaves.py")
    about = folder / "toys-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toys\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[xspn.leaves]\ndecay = toy_leaves:Decay\nparity = toy_leaves:Parity\nbroken = no_such_module\n"
    )
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))
    sys.modules.pop("toy_leaves", None)
    for family in ("decay", "parity"):
        leaves._items.pop(family, None)


@pytest.fixture
def toys(package):
    assert leaves["decay"].__name__ == "Decay"  # found by its entry point
    return sys.modules["toy_leaves"]


@pytest.fixture
def circuit(toys):
    def part(rate, even, p):
        block = Exchangeable.from_class_probabilities([5, 6], [p, 0.5 * (1 - p), 0.5 * (1 - p)])
        return Product([toys.Decay(0, rate, 4), toys.Parity([1, 2, 3], even), Bernoulli(4, p=p), block])

    names = ["grade", "a", "b", "c", "rain", "x", "y"]
    return Circuit(Sum([0.4, 0.6], [part(0.3, 0.9, 0.2), part(1.7, 0.25, 0.7)]), names=names)


@pytest.fixture
def rows(circuit):
    rng = np.random.default_rng(0)
    rows = circuit.sample(60, random_state=1)
    return np.where(rng.random(rows.shape) < rng.random((len(rows), 1)), np.nan, rows)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", BACK_ENDS)
def test_every_back_end_answers_as_enumeration_does(circuit, rows, toys, name, dtype):
    if (name, dtype) == ("numpy", "float32"):
        pytest.skip("the numpy back end has one precision")
    toys.used.clear()
    tolerance = 1e-12 if dtype == "float64" else 1e-5
    asked = circuit.to(name, dtype=dtype)
    np.testing.assert_allclose(asked.log_likelihood(rows), circuit.oracle.log_likelihood(rows), atol=tolerance)
    np.testing.assert_allclose(asked.marginals(rows), circuit.oracle.marginals(rows), atol=tolerance)
    assert toys.used == {name}
    best = asked.mpe(rows[:10], exact=True)
    np.testing.assert_allclose(best.log_prob, circuit.oracle.best_log_prob(rows[:10]), atol=tolerance)
    np.testing.assert_array_equal(asked.sample(9, random_state=0), circuit.sample(9, random_state=0))


def test_parameters_are_fitted_by_kernels_as_without_them(circuit, rows, monkeypatch):
    plain = circuit.fit_parameters(rows, n_iter=3, smoothing=0.1)
    monkeypatch.setattr("xspn.engine.backend.WORTH_KERNELS", 1)
    monkeypatch.setattr("xspn.engine.backend.FEW_SLOTS", 0)
    assert isinstance(circuit.backend._for(1), NumbaBackend)
    fast = circuit.fit_parameters(rows, n_iter=3, smoothing=0.1)
    np.testing.assert_allclose(fast.log_likelihood(rows), plain.log_likelihood(rows), atol=1e-9)
    assert plain.log_likelihood(rows).mean() > circuit.log_likelihood(rows).mean()


@pytest.mark.parametrize("ending", ["json", "xspn"])
def test_files(circuit, rows, tmp_path, ending):
    save(circuit, tmp_path / f"model.{ending}")
    again = load(tmp_path / f"model.{ending}")
    np.testing.assert_array_equal(again.log_likelihood(rows), circuit.log_likelihood(rows))
    save_program(circuit, tmp_path / "program")
    for name in BACK_ENDS:
        opened = open_program(tmp_path / "program", name)
        np.testing.assert_array_equal(opened.log_likelihood(rows), circuit.to(name).log_likelihood(rows))


def test_drawings_and_text(circuit):
    assert "Decay(grade)" in to_equation(circuit)
    assert "Parity(a, b, c)" in to_equation(circuit)
    assert "Parity" in to_dot(circuit)
    draw_circuit(circuit)
    draw_circuit(circuit, max_nodes=3)


def test_the_command_line_loads_and_shows_them(circuit, package, tmp_path):
    save(circuit, tmp_path / "model.json")
    paths = [str(package), *sys.path]
    command = f"import sys; sys.path[:0] = {paths!r}; from xspn.cli import main; sys.exit(main(sys.argv[1:]))"
    for arguments, expected in (
        (["show", "model.json"], ["grade: decays by 0.30", "a, b, c (3): depend on each other (Parity)"]),
        (["show", "model.json", "--tree"], ["grade: decays by 0.30", "Parity: a, b, c (3)"]),
        (["query", "model.json", "--given", "a=1", "b=0", "--ask", "c"], ["c"]),
    ):
        done = subprocess.run(
            [sys.executable, "-c", command, *arguments], capture_output=True, text=True, cwd=tmp_path, check=False
        )
        assert done.returncode == 0, done.stderr
        assert all(text in done.stdout for text in expected), done.stdout


def test_families_that_are_not_there_are_refused_by_name(package):
    with pytest.raises(RegistryError, match="unknown leaf family 'decays'; did you mean 'decay'"):
        leaves["decays"]
    with pytest.raises(RegistryError, match="leaf family 'broken': the package toys cannot be loaded"):
        leaves["broken"]
    with pytest.raises(RegistryError, match="unknown color 'decay'"):
        Registry("color")["decay"]
