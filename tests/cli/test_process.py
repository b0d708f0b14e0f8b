"""A command as a process: signals that end it with its workers, closed streams, other encodings."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from xspn import Bernoulli, Circuit, save
from xspn.io import from_json

SCRIPT = "import sys; from xspn.cli import main; sys.exit(main())"
# A process that was started in the background ignores interrupts, and so do its children unless they are told.
INTERRUPTIBLE = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {SCRIPT}"
NEEDS_PROC = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")


def command(*arguments, script=SCRIPT):
    return [sys.executable, "-c", script, *map(str, arguments)]


def session_of(leader):
    """The processes of a session, but for those that have ended and wait to be noticed."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, session = path.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(session) == leader and state not in "ZX":
            found.append(int(path.parent.name))
    return found


@NEEDS_PROC
@pytest.mark.parametrize(("name", "to_all", "delay"), [("SIGTERM", False, 0.0), ("SIGINT", True, 2.0)])
def test_signals_end_a_fit_and_its_workers(tmp_path, name, to_all, delay):
    rng = np.random.default_rng(0)
    rows = (rng.random((2000, 30)) < rng.choice([0.2, 0.7], size=(2000, 1))).astype(int)
    np.savetxt(tmp_path / "table.csv", rows, fmt="%d", delimiter=",")
    before = sorted(tmp_path.iterdir())
    arguments = ("fit", tmp_path / "table.csv", "-o", tmp_path / "model.json", "--n-estimators", 5000, "--jobs", 2)
    process = subprocess.Popen(
        command(*arguments, script=INTERRUPTIBLE),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 60
        while len(session_of(process.pid)) < 4 and time.monotonic() < deadline:  # two workers, and joblib's tracker
            time.sleep(0.1)
        assert len(session_of(process.pid)) >= 4, "no workers were started"
        time.sleep(delay)
        number = getattr(signal, name)
        if to_all:  # as a terminal does
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        out, err = process.communicate(timeout=30)
        assert process.returncode == 128 + number
        assert out == b""
        said = b"xspn: interrupted\n" if number == signal.SIGINT else b"xspn: ended by a signal\n"
        assert said in err if to_all else err == said  # workers that are just starting up say something, too
        deadline = time.monotonic() + 10
        while session_of(process.pid) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert session_of(process.pid) == []
        assert sorted(tmp_path.iterdir()) == before
    finally:
        for left in session_of(process.pid):
            os.kill(left, signal.SIGKILL)


# -- streams -----------------------------------------------------------------------------------------------------------


def shell(line, *arguments, **environment):
    """Run a command in a shell; `line` says where its streams go. Return the status, and what was printed."""
    done = subprocess.run(
        ["sh", "-c", f'"$@" {line}', "sh", *command(*arguments)],
        capture_output=True,
        env={**os.environ, **environment},
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_closed_streams(survey, model, tmp_path):
    new = tmp_path / "new.json"
    said = shell(">&-", "fit", survey, "-o", new, "--exclude", "name")
    assert said == (1, b"", b"xspn: standard output is closed\n")
    assert new.stat().st_size > 1000, "the model is there nevertheless"
    assert shell(">&-", "sample", model, "-o", tmp_path / "rows.csv") == (0, b"", b"")
    assert shell("<&- 2>&-", "fit", "-", "-o", tmp_path / "other.json") == (2, b"", b"")


def test_a_reader_that_has_gone(survey, model, tmp_path):
    status, out, err = shell("| head -1", "sample", model, "-n", 5000)
    assert (status, out.count(b"\n"), err) == (0, 1, b"")


def test_an_encoding_that_lacks_letters(tmp_path):
    circuit = Circuit(Bernoulli(0, p=0.25), names=["größe"], labels={0: ["nein", "ja"]})
    save(circuit, tmp_path / "model.json")
    ascii_only = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    status, out, err = shell("", "query", tmp_path / "model.json", **ascii_only)
    assert (status, err) == (0, b"")
    assert out.split() == [b"name", b"value", b"P", b"odds", rb"gr\xf6\xdfe", b"ja", b"0.2500", b"0.333", b"########"]
    (tmp_path / "rows.csv").write_text("größe\nnein\nja\n", encoding="utf-8")
    status, out, _ = shell("", "score", tmp_path / "model.json", tmp_path / "rows.csv", "--header", **ascii_only)
    assert status == 0
    assert b"mean log-likelihood  -0.8370 nats per row" in out
    status, out, _ = shell("", "fit", tmp_path / "rows.csv", "-o", "-", "--header", **ascii_only)
    assert from_json(out.decode()).names == ("größe",), "programs get UTF-8, and the digest holds"
