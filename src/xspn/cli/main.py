"""Find the subcommand, run it, and turn errors and signals into one line and an exit code."""

import argparse
import contextlib
import errno
import os
import signal
import sys
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor
from importlib import import_module

from xspn._version import __version__
from xspn.cli.output import say
from xspn.cli.parser import Parser
from xspn.cli.process import Ended, Signals, end_workers, ending_by_signal, reason, usable_streams
from xspn.core.errors import ParameterError, XSPNError

COMMANDS = {
    "fit": "learn a model from a table",
    "score": "say how probable rows are",
    "query": "ask what is probable, given what is known",
    "sample": "draw random rows",
    "impute": "fill missing cells",
    "classify": "predict one column from the others",
    "show": "show what a model is made of, and why",
    "test": "find columns that can be interchanged; no model needed",
    "datasets": "list, describe, fetch and generate the paper's data sets",
    "demo": "learn SPNs and XSPNs on generated data, against the truth and the paper",
    "reproduce": "run the paper's experiments again: tables, figures, a report beside the published numbers",
}

# What the command line has for what would help, by the short names that errors have for it.
HINTS = {
    "identifier": "on the command line: --exclude NAME, or --domains NAME=categorical",
    "text among numbers": "on the command line: --missing TEXT, or --domains NAME=categorical",
    "encoding": "on the command line: --encoding NAME",
}

FAILED = 1
USER_ERROR = 2
OF_A_SIGNAL = 128  # and its number
USERS_ERRORS = (errno.ELOOP, errno.ENAMETOOLONG)
USERS_FILES = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError, FileExistsError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return 0, 1 (it failed), 2 (the input is at fault), or 128 and the number of a signal."""
    with usable_streams(), ending_by_signal(process_ends=arguments is None) as signals:
        try:
            return _run(arguments, signals)
        except Ended as end:
            end_workers()
            return _fail(reason(end.number), OF_A_SIGNAL + end.number)
        except KeyboardInterrupt:
            end_workers()
            return _fail(reason(signal.SIGINT), OF_A_SIGNAL + signal.SIGINT)


def _run(arguments: Sequence[str] | None, signals: Signals) -> int:
    try:
        args = _parser().parse_args(arguments)
    except SystemExit:  # help was printed, or what is wrong was told
        _flush_stdout()
        raise
    try:
        _refuse_zero_bytes(args)
        with signals.come_first():
            status = int(args.run(args))
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone (xspn … | head): not an error.
        _leave_stdout()
        return 0
    except (XSPNError, *USERS_FILES) as error:
        return _fail(error, USER_ERROR)
    except OSError as error:
        _leave_stdout()
        if error.errno in USERS_ERRORS:
            return _fail(error, USER_ERROR)
        return _fail("standard output is closed" if error.errno == errno.EBADF else error, FAILED)
    except MemoryError:
        return _fail("out of memory", FAILED)
    except BrokenExecutor:
        return _fail("a worker ended before its work was done, for want of memory perhaps; try fewer --jobs", FAILED)
    except Exception as error:
        if os.environ.get("XSPN_TRACEBACK"):
            raise
        said = " ".join(f"{type(error).__name__}: {error}".split())
        return _fail(f"a fault of this program ({said}); XSPN_TRACEBACK=1 shows where", FAILED)
    return status


def _refuse_zero_bytes(args: argparse.Namespace) -> None:
    """Refuse what no name of a file, and no cell of a table, can hold."""
    for name, value in vars(args).items():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str | os.PathLike) and "\0" in os.fspath(text):
                raise ParameterError(f"{name}: a zero byte in {os.fspath(text)!r}")


def _flush_stdout() -> None:
    try:
        sys.stdout.flush()
    except OSError:
        _leave_stdout()


def _leave_stdout() -> None:
    """Let what is still to be written go nowhere, so that Python does not complain at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(error: BaseException | str, status: int) -> int:
    text = str(error)
    if isinstance(error, XSPNError) and error.remedy in HINTS:
        text = f"{text} ({HINTS[error.remedy]})"
    if isinstance(error, OSError) and not isinstance(error, XSPNError) and error.strerror:
        reason = error.strerror[0].lower() + error.strerror[1:]
        text = reason if error.filename is None else f"{error.filename}: {reason}"
    with contextlib.suppress(OSError):  # nobody listens: the status tells
        say(f"xspn: {' '.join(text.split())}", error=True)
    return status


def _parser() -> Parser:
    parser = Parser(
        prog="xspn", description="Exchangeability-aware sum-product networks: exact probabilities from tables."
    )
    parser.add_argument("--version", action="version", version=f"xspn {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        module = import_module(f"xspn.cli.{name}")
        own = subparsers.add_parser(
            name, help=summary, description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        module.add_arguments(own)
        own.set_defaults(run=module.run)
    return parser
