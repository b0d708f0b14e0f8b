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


def test_demo_compares_with_the_truth_and_the_paper(capsys):
    assert main(["demo"]) == 0
    shown = capsys.readouterr().out
    rows = [line.split() for line in shown.splitlines() if line.split()[:1] in (["SPN"], ["XSPN"])]
    assert [row[0] for row in rows] == ["SPN", "XSPN", "SPN", "XSPN"]
    for spn, xspn_row in (rows[:2], rows[2:]):
        assert float(xspn_row[1]) > float(spn[1])  # the XSPN is better …
        assert float(xspn_row[1]) == pytest.approx(float(xspn_row[2]), abs=0.01)  # … and all but the truth
    assert "attends_0" in shown
    assert "P(overflow | attendance)" in shown


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
    assert "P(overflow | attendance)" in done.stdout
    assert "\x1b[" not in done.stdout  # plain text where there is no terminal
