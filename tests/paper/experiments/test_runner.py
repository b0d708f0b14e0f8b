"""The runner: goes on where it stopped, repeats nothing, survives kill -9, works in several processes."""

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

from xspn import datasets
from xspn.core.errors import ParameterError
from xspn.paper.experiments import data, runner
from xspn.paper.experiments.plan import plan
from xspn.paper.experiments.results import Unit
from xspn.paper.experiments.runner import progress, run_unit, run_units
from xspn.paper.experiments.store import Store


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Small samples of the synthetic data sets."""
    monkeypatch.setattr(data.datasets, "make", small)
    data.dataset.cache_clear()
    data.facts.cache_clear()
    yield
    data.dataset.cache_clear()
    data.facts.cache_clear()


def small(name, original=datasets.make):
    return original(name, 300, 100, 100)


def units(models=("XSPN-TF", "XSPN-T")):
    return plan(["table1"], ("MEVM-s",), models).units


def test_a_stopped_run_goes_on_and_repeats_nothing(tmp_path, monkeypatch):
    store, todo = Store(tmp_path / "stopped"), units()
    assert len(todo) == 32
    calls = []
    original = runner.RUNNERS["density"]

    def stops_in_the_middle(unit, where):
        if len(calls) == 10:
            raise KeyboardInterrupt
        calls.append(unit)
        return original(unit, where)

    monkeypatch.setitem(runner.RUNNERS, "density", stops_in_the_middle)
    with pytest.raises(KeyboardInterrupt):
        run_units(todo, store)
    assert len(list(store)) == 10
    before = {path: path.stat().st_mtime_ns for path in store.folder.rglob("*.json")}

    again = []
    monkeypatch.setitem(runner.RUNNERS, "density", lambda unit, where: again.append(unit) or original(unit, where))
    outcome = run_units(todo, store)
    assert (outcome.done_before, outcome.done_now, outcome.failures) == (10, 22, ())
    assert not set(calls) & set(again)
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in before.items())

    whole = Store(tmp_path / "whole")
    run_units(todo, whole)
    scores = [[(r.unit, r.valid_score, r.test_score, r.parameters) for r in s] for s in (store, whole)]
    assert scores[0] == scores[1]


def test_levels_that_cannot_matter_are_not_learned_again(tmp_path):
    store = Store(tmp_path)
    run_units(units(("XSPN-T",)), store)
    taken_over = [result for result in store if "same_as" in result.facts]
    assert taken_over
    for result in taken_over:
        alone, _, _ = run_unit(result.unit, Store(tmp_path / "alone"))
        learned = Store(tmp_path / "alone").read(alone)
        assert (learned.test_score, learned.parameters) == (result.test_score, result.parameters)


def test_a_failing_unit_is_told_and_the_others_are_done(tmp_path, monkeypatch, capsys):
    original = runner.RUNNERS["density"]

    def fails_once(unit, where):
        if unit.setting("independence_threshold") == 15.0:
            raise ValueError("no such luck")
        return original(unit, where)

    monkeypatch.setitem(runner.RUNNERS, "density", fails_once)
    todo = [unit for unit in units(("SPN-default",)) if unit.setting("min_instances") == 20]
    outcome = run_units(todo, Store(tmp_path))
    assert outcome.done_now == 1
    assert outcome.failures == ("MEVM-s SPN-default rho=15 m=20 exchangeability=none: ValueError: no such luck",)
    assert "no such luck" in capsys.readouterr().err


@pytest.mark.parametrize("jobs", [0, -2, True, 1.5])
def test_impossible_numbers_of_jobs_are_refused(tmp_path, jobs):
    with pytest.raises(ParameterError, match="jobs: expected"):
        run_units([], Store(tmp_path), jobs)


SCRIPT = """
import sys
from pathlib import Path
from xspn import datasets
from xspn.paper.experiments import data
from xspn.paper.experiments.plan import plan
from xspn.paper.experiments.runner import run_units
from xspn.paper.experiments.store import Store

original = datasets.make
data.datasets.make = lambda name: original(name, 1000, 300, 300)
run_units(plan(["table1"], ("MEVM-s",), ("XSPN-TF",)).units, Store(Path(sys.argv[1])))
"""


def test_kill_9_loses_nothing_that_was_done(tmp_path):
    killed, whole = Store(tmp_path / "killed"), Store(tmp_path / "whole")
    process = _start(killed.folder)
    deadline = time.monotonic() + 30
    while len(list(killed)) < 3 and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = {path: path.read_bytes() for path in killed.folder.rglob("*.json")}
    assert len(kept) >= 3
    for folder in (killed.folder, whole.folder):
        assert _start(folder).wait() == 0
    assert all(path.read_bytes() == content for path, content in kept.items())
    scores = [[(r.unit, r.valid_score, r.test_score, r.parameters) for r in store] for store in (killed, whole)]
    assert len(scores[0]) == 16
    assert scores[0] == scores[1]


def _start(folder: Path) -> subprocess.Popen:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, "-c", SCRIPT, str(folder)], stderr=subprocess.DEVNULL, env=environment)


def test_a_quick_plan_is_part_of_the_whole_one():
    whole, quick = (set(plan(["table1"], ("exact", "conference"), quick=quick).units) for quick in (False, True))
    assert {unit for unit in quick if unit.model != "MADE"} < whole


def test_missing_files_are_told():
    found = plan(["table1", "table2"], ("senate", "exact"), ("XSPN-default",))
    assert found.skipped == ("senate: its files are not here; `xspn datasets fetch senate` gets them",)
    assert {(unit.experiment, unit.dataset, unit.generated) for unit in found.units} == {
        ("density", "exact", True),
        ("classification", "exact", False),
    }


def test_two_processes_do_the_same_as_one(tmp_path):
    todo = [Unit("classification", "threshold", "MEVM"), Unit("classification", "exact", "MEVM")]
    alone, together = Store(tmp_path / "alone"), Store(tmp_path / "together")
    run_units(todo, alone)
    assert run_units(todo, together, jobs=2).failures == ()
    assert [r.test_score for r in alone] == [r.test_score for r in together]


def test_progress_on_a_terminal_and_elsewhere(made, capsys):
    stream = io.StringIO()
    with progress(2, Console(file=stream, force_terminal=True, width=120)) as report:
        report(made("exam", "SPN", -6.0), "exam SPN", 0.5)
        report(None, "exam SPN-CLT: failed", 1.0)
    assert "2/2" in stream.getvalue()
    with progress(2) as report:
        report(made("exam", "SPN", -6.0), "exam SPN", 0.5)
        report(None, "exam SPN-CLT: failed", 1.0)
    first, last = capsys.readouterr().err.splitlines()
    assert first.startswith("[1/2] exam SPN; about")
    assert first.endswith(" left")
    assert last == "[2/2] exam SPN-CLT: failed"
