"""A command is one file in `cli` and one line in `COMMANDS`."""

import sys
from types import ModuleType

import pytest

from xspn.cli import main
from xspn.cli.main import COMMANDS
from xspn.cli.output import say
from xspn.core.errors import DataError


@pytest.fixture
def greet(monkeypatch):
    """A command as a file would hold it."""
    module = ModuleType("xspn.cli.greet", "Greet somebody.\n\nA second paragraph, for `--help` alone.")
    module.add_arguments = lambda parser: parser.add_argument("name", metavar="NAME", help="who is greeted")

    def run(args):
        if args.name == "nobody":
            raise DataError("nobody: expected somebody")
        say(f"hello, {args.name}")
        return 0

    module.run = run
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(COMMANDS, "greet", "greet somebody")


def test_a_new_command_is_found_run_and_helped_with(greet, capsys):
    assert main(["greet", "ann"]) == 0
    assert capsys.readouterr().out == "hello, ann\n"
    with pytest.raises(SystemExit):
        main(["greet", "--help"])
    assert "A second paragraph" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "greet somebody" in capsys.readouterr().out


def test_its_errors_are_one_line_and_a_status(greet, capsys):
    assert main(["greet", "nobody"]) == 2
    assert capsys.readouterr().err == "xspn: nobody: expected somebody\n"
    with pytest.raises(SystemExit, match="2"):
        main(["greet"])
    assert capsys.readouterr().err.startswith("xspn greet: ")


def test_only_the_command_that_is_named_is_imported(greet, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "xspn.cli.reproduce", None)
    assert main(["greet", "bob"]) == 0
