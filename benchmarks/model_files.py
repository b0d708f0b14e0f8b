"""How long model files take: loading, saving, the first question and a few others, by the size of the model.

    python benchmarks/model_files.py    two to three minutes

Seconds are processor time of one core, the better of two runs where a question can be asked twice. The circuit is an
ensemble of mixtures with ten Bernoulli leaves to a product, as learners make them; one of other families comes last.
"""

import contextlib
import io
import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from harness import least_seconds, verdict
from threadpoolctl import threadpool_limits

from xspn import Bernoulli, Categorical, ChowLiu, Circuit, Exchangeable, Gaussian, Product, Sum, load, save
from xspn.cli import main as command_line
from xspn.io import open_program, save_program

N_VARIABLES = 200
SIZES = (50_000, 200_000, 1_000_000)  # parameters
# Seconds for a million parameters in the binary form; what is asked of larger and smaller models is in proportion.
BARS = {"save": 1.0, "load": 1.5, "first query": 1.0}
STEEPEST = 1.3  # exponent of the growth from the second size to the third; 1 is linear


def report() -> None:
    """Print times and sizes for models of 50 thousand to a million parameters."""
    print("model files: seconds of processor time")
    times: dict[tuple[str, int], dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            circuit = ensemble(size)
            parameters = circuit.summary().parameters
            for suffix in (".xspn", ".json"):
                path = Path(folder) / f"model{suffix}"
                times[suffix, size] = measured(circuit, path)
                _print(f"{parameters:,} parameters, {suffix}", times[suffix, size], parameters, suffix)
            del circuit
        _print_growth(times)
        for name, circuit in (("mixed families", mixed(200_000)), ("program file", ensemble(200_000))):
            parameters = circuit.summary().parameters
            path = Path(folder) / "other.xspn"
            found = measured(circuit, path) if name == "mixed families" else _program(circuit, path)
            _print(f"{parameters:,} parameters, {name}", found, parameters, ".xspn")


def measured(circuit: Circuit, path: Path) -> dict[str, float]:
    """Save a circuit, load it and ask it a few questions; return the seconds of each, and the size in megabytes."""
    row = np.zeros((1, circuit.n_variables))
    partial = row.copy()
    partial[0, ::2] = np.nan
    found = {"save": _seconds(lambda: save(circuit, path), 2)}
    found["MB"] = path.stat().st_size / 1e6
    loaded: list[Circuit] = []
    found["load"] = _seconds(lambda: loaded.append(load(path)), 2)
    found["first query"] = min(_seconds(lambda own=own: own.log_likelihood(row)) for own in loaded)
    own = loaded.pop()
    found["mpe"] = _seconds(lambda: own.mpe(partial))
    found["summary"] = _seconds(own.summary)
    found["condition"] = _seconds(lambda: own.condition(partial[0]))
    loaded.clear()
    with contextlib.redirect_stdout(io.StringIO()):
        found["show"] = _seconds(lambda: command_line(["show", str(path)]))
    return found


def _program(circuit: Circuit, path: Path) -> dict[str, float]:
    found = {"write": _seconds(lambda: save_program(circuit, path))}
    found["MB"] = path.stat().st_size / 1e6
    found["open"] = _seconds(lambda: open_program(path), 2)  # the first one loads the kernels too
    return found


def ensemble(n_parameters: int) -> Circuit:
    """Return a mixture of products of small mixtures with about so many parameters."""
    rng = np.random.default_rng(0)
    members: list[Product] = []
    for _ in range(n_parameters // (2 * N_VARIABLES + N_VARIABLES // 10)):
        groups = []
        for start in range(0, N_VARIABLES, 10):
            parts = [Product([Bernoulli(start + v, p=p) for v, p in enumerate(rng.random(10))]) for _ in range(2)]
            groups.append(Sum([0.25, 0.75], parts))
        members.append(Product(groups))
    return Circuit(Sum(np.full(len(members), 1 / len(members)), members))


def mixed(n_parameters: int) -> Circuit:
    """Return a mixture of products of leaves of several families with about so many parameters."""
    rng = np.random.default_rng(0)
    members: list[Product] = []
    for _ in range(n_parameters // 239):
        leaves: list[Any] = [Categorical(v, rng.dirichlet(np.ones(4))) for v in range(30)]
        leaves += [Gaussian(v, float(rng.normal()), 1.0) for v in range(30, 60)]
        for start in (60, 80, 100):
            leaves.append(Exchangeable.from_class_probabilities(range(start, start + 20), rng.dirichlet(np.ones(21))))
        p = rng.random((15, 2))
        p[0, 1] = p[0, 0]
        leaves.append(ChowLiu(range(120, 135), [-1, *range(14)], p))
        members.append(Product(leaves))
    return Circuit(Sum(np.full(len(members), 1 / len(members)), members))


def _seconds(run: Callable[[], Any], times: int = 1) -> float:
    return least_seconds(times, run)


def _print(title: str, found: dict[str, float], parameters: int, suffix: str) -> None:
    print(f"  {title}")
    for name, value in found.items():
        bar = BARS.get(name) if suffix == ".xspn" else None
        remark = ""
        if bar is not None:
            limit = bar * max(parameters, 200_000) / 1e6  # below that, what does not depend on the size counts most
            remark = f"  at most {limit:.2f}: {verdict(value <= limit)}"
        print(f"    {name:12} {value:8.2f}{remark}")


def _print_growth(times: dict[tuple[str, int], dict[str, float]]) -> None:
    print(f"  growth from {SIZES[1]:,} to {SIZES[2]:,} parameters (exponent; 1 is linear)")
    for suffix in (".xspn", ".json"):
        for name in ("save", "load", "first query", "condition", "show"):
            small, large = (max(times[suffix, size][name], 0.01) for size in SIZES[1:])
            exponent = math.log(large / small) / math.log(SIZES[2] / SIZES[1])
            held = verdict(exponent <= STEEPEST or large < 0.1)
            print(f"    {name + ' ' + suffix:18} {exponent:5.2f}  at most {STEEPEST}: {held}")


if __name__ == "__main__":
    with threadpool_limits(1):
        report()
