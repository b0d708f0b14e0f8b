"""The command line: help, version, the demo, and errors as one line and an exit code."""

import subprocess
import sys

import pytest

import xspn
from xspn.cli import main as cli_main
from xspn.cli.main import COMMANDS, main


def test_version(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"xspn {xspn.__version__}\n"


def test_help_lists_every_command(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in COMMANDS)


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_help(name, capsys):
    with pytest.raises(SystemExit) as stop:
        main([name, "--help"])
    assert stop.value.code == 0
    assert f"xspn {name}" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["dmeo"], ["demo", "--loud"]])
def test_misuse_is_exit_code_2(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert "usage: xspn" in capsys.readouterr().err


def test_demo_answers_three_questions(capsys):
    assert main(["demo"]) == 0
    shown = capsys.readouterr().out
    for question in ("1. How many will come?", "Will Dana?", "likeliest world?"):
        assert question in shown
    assert "exact" in shown
    assert "nan" not in shown.lower().split()
    chances = [
        float(line.split()[1].rstrip("%"))
        for line in shown.splitlines()
        if line.strip()[:2].strip().isdigit() and "%" in line
    ]
    assert len(chances) == 11
    assert sum(chances) == pytest.approx(100, abs=1)


def test_errors_are_one_line_and_exit_code_2(monkeypatch, capsys):
    def fail(args):
        raise xspn.XSPNError("the table has no rows")

    monkeypatch.setattr("xspn.cli.demo.run", fail)
    assert main(["demo"]) == 2
    assert capsys.readouterr().err == "xspn: the table has no rows\n"


def test_the_entry_point_is_the_same_function():
    assert cli_main is main


def test_as_a_program():
    script = "from xspn.cli import main; raise SystemExit(main())"
    done = subprocess.run(
        [sys.executable, "-c", script, "demo"], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "Will Dana?" in done.stdout
    assert "\x1b[" not in done.stdout  # plain text where there is no terminal
