"""Find the subcommand, run it, and turn errors into one line and an exit code."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from xspn._core.errors import XSPNError
from xspn._version import __version__

COMMANDS = {
    "datasets": "list, describe, fetch and generate the paper's data sets",
    "demo": "learn SPNs and XSPNs on generated data, against the truth and the paper",
    "reproduce": "run the paper's experiments again: tables, figures, a report beside the published numbers",
}

USER_ERROR = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return 0, 1 (it failed) or 2 (the input is at fault)."""
    args = _parser().parse_args(arguments)
    try:
        status = int(args.run(args))
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone (xspn … | head): not an error. Keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (XSPNError, FileNotFoundError, IsADirectoryError, PermissionError) as error:
        return _fail(str(error), USER_ERROR)
    except OSError as error:
        return _fail(str(error), 1)
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    return status


def _fail(message: str, status: int) -> int:
    sys.stderr.write(f"xspn: {message}\n")
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="xspn", description="Exchangeability-aware sum-product networks: exact probabilities from tables."
    )
    parser.add_argument("--version", action="version", version=f"xspn {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        module = import_module(f"xspn.cli.{name}")
        own = subparsers.add_parser(name, help=summary, description=module.__doc__)
        module.add_arguments(own)
        own.set_defaults(run=module.run)
    return parser
