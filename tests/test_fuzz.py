"""The fuzzer sees what it is there to see: wrong answers, foreign errors, dead and endless processes, greed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from fuzz import circuits, files
from fuzz.workers import Pool, run_case
from xspn import Atom, Transformed
from xspn.leaves import Scale, scales
from xspn.questions.queries import Queries


def fine(rng, folder):
    return "fine"


def wrong(rng, folder):
    raise AssertionError("log_likelihood, torch: found 1, expected 2")


def raw(rng, folder):
    return {}["missing"]


def crash(rng, folder):
    os.kill(os.getpid(), signal.SIGSEGV)


def endless(rng, folder):
    time.sleep(60)


def greedy(rng, folder):
    return str(np.ones(1 << 29).sum())  # 4 GiB


PLANTED = {
    fine: "",
    wrong: "disagreement",
    raw: "raw exception",
    crash: "crash",
    endless: "too slow",
    greedy: "too much memory",
}


TASKS = [(case.__name__, seed) for seed, case in enumerate([*PLANTED, fine])]


def run_planted(folder):
    """Run the planted cases as the fuzzer does and print what was found of each."""
    left = iter(TASKS)
    pool = Pool({case.__name__: case for case in PLANTED}, folder, jobs=2, limit=5.0)
    found = [(own.target, own.seed, own.failure) for own in pool.run(lambda: next(left, None))]
    sys.stdout.write(json.dumps(sorted(found)))


def test_whatever_a_case_does_is_reported_with_its_seed_and_the_others_go_on(tmp_path):
    # In a process of its own, as the fuzzer is: a process with threads, as this one may be by now, must not be forked.
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    done = subprocess.run(
        [sys.executable, __file__, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    expected = {case.__name__: failure for case, failure in PLANTED.items()}
    assert json.loads(done.stdout) == sorted([target, seed, expected[target]] for target, seed in TASKS)


def test_a_wrong_answer_of_a_circuit_is_seen(tmp_path, monkeypatch):
    assert run_case("circuits", circuits.case, 3, tmp_path).failure == ""
    ask = Queries.log_likelihood
    monkeypatch.setattr(Queries, "log_likelihood", lambda self, X: ask(self, X) + 1e-6)
    found = run_case("circuits", circuits.case, 3, tmp_path)
    assert found.failure == "disagreement"
    assert "log_likelihood" in found.cause


@pytest.fixture
def images():
    """What sets of numbers are on scales is kept: forget it before and after answers are made wrong."""
    scales._image.cache_clear()
    yield
    scales._image.cache_clear()


def a_bit_more(ask, self, *args):
    found = ask(self, *args)
    return tuple(own + 1e-6 for own in found) if isinstance(found, tuple) else found + 1e-6


def the_same_for_all_rows(ask, self, x, rng):
    return np.where(np.isnan(x), ask(self, x, rng)[:1], x)


WRONG_LEAVES = {
    "a density on a scale": (22, Scale, "log_derivative", a_bit_more, "log_likelihood"),
    "the density of an atom": (12, Atom, "log_prob", a_bit_more, "log_likelihood"),
    "a mean on a scale": (22, Scale, "moments", a_bit_more, "means"),
    "bounds that are not rounded": (51, Scale, "_rounded_into", lambda ask, self, *ends: [ends], "probability"),
    "draws that are all the same": (32, Transformed, "sample", the_same_for_all_rows, "sample"),
}


@pytest.mark.parametrize(("seed", "family", "method", "wrong", "cause"), WRONG_LEAVES.values(), ids=WRONG_LEAVES)
def test_a_wrong_answer_of_a_leaf_on_scales_is_seen(tmp_path, monkeypatch, images, seed, family, method, wrong, cause):
    ask = getattr(family, method)
    monkeypatch.setattr(family, method, lambda self, *args: wrong(ask, self, *args))
    found = run_case("circuits", circuits.case, seed, tmp_path)
    assert found.failure == "disagreement"
    assert cause in found.cause


def test_a_foreign_error_behind_a_digest_is_seen(tmp_path, monkeypatch):
    def careless(*args):
        raise ZeroDivisionError

    monkeypatch.setattr("xspn.io.files.load_with_notes", careless)
    found = run_case("models", files.model_case, 0, tmp_path)
    assert (found.failure, found.cause) == ("raw exception", "ZeroDivisionError:")


@pytest.mark.parametrize("target", ["models", "programs"])
def test_a_seed_gives_the_same_case_again(tmp_path, target):
    words = [run_case(target, files.TARGETS[target], 5, tmp_path).word for _ in range(2)]
    assert words[0] == words[1]


if __name__ == "__main__":
    run_planted(Path(sys.argv[1]))
