"""Find the subcommand, run it, and turn errors and signals into one line and an exit code."""

import argparse
import errno
import io
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn, TextIO, cast

from xspn._version import __version__
from xspn.cli.output import say
from xspn.core.errors import ParameterError, QuestionError, XSPNError

COMMANDS = {
    "fit": "learn a model from a table",
    "score": "say how probable rows are",
    "query": "ask what is probable, given what is known",
    "recommend": "say which items go with a basket",
    "sample": "draw random rows",
    "impute": "fill missing cells",
    "classify": "predict one column from the others",
    "check": "find cells and rows that look wrong; no model needed",
    "compare": "say how far apart two models are",
    "convert": "write a model in another format",
    "show": "show what a model is made of, and why",
    "segments": "name the contexts of rows, and say which one each row belongs to",
    "report": "write a report on a model and a table: fit, calibration, segments, oddities",
    "explore": "write a model as a page that answers, and open it",
    "serve": "answer over HTTP: models behind an address",
    "test": "find columns that can be interchanged; no model needed",
    "completion": "print a script that completes commands in bash, zsh or fish",
    "datasets": "list, describe, fetch and generate the paper's data sets",
    "demo": "learn SPNs and XSPNs on generated data, against the truth and the paper",
    "reproduce": "run the paper's experiments again: tables, figures, a report beside the published numbers",
}

# What the command line has for what would help, by the short names that errors have for it.
HINTS = {
    "identifier": "on the command line: --exclude NAME, or --domains NAME=categorical",
    "header": "on the command line: --header",
    "text among numbers": "on the command line: --missing TEXT, or --domains NAME=categorical",
    "layout": "on the command line: --layout long, baskets or wide",
    "ragged": "if each line is a basket of items: --layout baskets",
    "long columns": "on the command line: --row NAME --item NAME, and --value NAME",
    "decimal": "on the command line: --decimal , or --decimal .",
    "encoding": "on the command line: --encoding NAME",
}

STRAY = {"query": "--ask 'a=yes' asks, --given 'b=no' says what is known"}  # of commands, where a word is out of place

FAILED = 1
USER_ERROR = 2
OF_A_SIGNAL = 128  # and its number
USERS_ERRORS = (errno.ELOOP, errno.ENAMETOOLONG)
USERS_FILES = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError, FileExistsError)
WORKERS = b"loky.backend.popen_loky"  # in a worker's command; the tracker of resources cleans up and ends by itself
PATIENCE = 5.0  # seconds for threads to come to an end and for files to be removed that are half written


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


def _run(arguments: Sequence[str] | None, signals: "Signals") -> int:
    try:
        given = sys.argv[1:] if arguments is None else list(arguments)
        args = _parser(given).parse_args(given)
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
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return _fail(f"a fault of this program ({text}); XSPN_TRACEBACK=1 shows where", FAILED)
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
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(error: BaseException | str, status: int) -> int:
    text = str(error)
    if isinstance(error, XSPNError) and error.remedy in HINTS:
        text = f"{text} ({HINTS[error.remedy]})"
    if isinstance(error, OSError) and not isinstance(error, XSPNError) and error.strerror:
        reason = error.strerror[0].lower() + error.strerror[1:]
        text = reason if error.filename is None else f"{error.filename}: {reason}"
    with suppress(OSError):  # nobody listens: the status tells
        if isinstance(error, QuestionError):
            say(f"xspn: {error.fault}", error=True)
            for line in error.pointer:
                say(line, error=True)
        else:
            say(f"xspn: {' '.join(text.split())}", error=True)
    return status


def _parser(arguments: Sequence[str]) -> "Parser":
    """Return the parser; only the command that is named is imported, and says what it takes."""
    parser = Parser(
        prog="xspn", description="Exchangeability-aware sum-product networks: exact probabilities from tables."
    )
    parser.add_argument("--version", action="version", version=f"xspn {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        if name not in arguments[:1]:
            subparsers.add_parser(name, help=summary)
            continue
        module = import_module(f"xspn.cli.{name}")
        own = subparsers.add_parser(
            name, help=summary, description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        module.add_arguments(own)
        own.set_defaults(run=module.run)
    return parser


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line, and that takes options by their full names only."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **kwargs})

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse, refusing what is unknown where it stands: the command's own parser knows the nearest option."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is, and leave."""
        text = " ".join(message.split())
        say(f"{self.prog}: {text}{self._suggestion(text)}; usage: {self.prog} --help", error=True)
        raise SystemExit(USER_ERROR)

    def _suggestion(self, message: str) -> str:
        """Return the known word that is nearest to the one that a message complains about."""
        word, known = "", []
        if message.startswith("unrecognized arguments: "):
            word = message.split(": ", 1)[1].split()[0].split("=")[0]
            known = [option for action in self._actions for option in action.option_strings]
        elif "invalid choice: " in message:
            word = message.split("invalid choice: ", 1)[1].split("'")[1] if "'" in message else ""
            known = [str(choice) for action in self._actions for choice in action.choices or ()]
        near = get_close_matches(word, known, n=1)
        stray = STRAY.get(self.prog.split()[-1], "") if word and message.startswith("unrecognized") else ""
        return f"; did you mean {near[0]}?" if near else f"; {stray}" if stray else ""


# -- the process: streams that can be written to, signals that end it, workers that do not outlive it ------------------


@contextmanager
def usable_streams() -> Iterator[None]:
    """Provide standard streams while a command runs.

    A stream that the shell has closed (`>&-`) is opened again, so that no file takes its number: writing to standard
    output fails then like on a full disk, messages go nowhere, and input is empty. What an encoding lacks is replaced.
    Warnings are one line without the place in the source.
    """
    if sys.stdin is None:
        sys.stdin = _opened("r", os.O_RDONLY)
    if sys.stdout is None:
        sys.stdout = _opened("w", os.O_RDONLY)  # what is written there is refused, and told
    if sys.stderr is None:
        sys.stderr = _opened("w", os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with suppress(OSError, ValueError):
                stream.reconfigure(errors="xspn")
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        yield


def _opened(mode: str, flags: int) -> TextIO:
    return cast(TextIO, open(os.open(os.devnull, flags), mode, encoding="utf-8"))  # as long as the process lives


def _show_warning(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
    with suppress(OSError):
        say(f"xspn: warning: {' '.join(str(message).split())}", error=True)


class Ended(BaseException):
    """A signal asked the process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Signals:
    """The signal that asked the process to end, if there was one."""

    def __init__(self) -> None:
        self._number: int | None = None
        self._watchdog: threading.Timer | None = None

    def receive(self, number: int, frame: Any) -> None:
        """End the work: kill its workers and leave the main thread; if that takes long, end the process at once."""
        signal.signal(number, signal.SIG_IGN)  # once is enough
        self._number = number
        self._watchdog = threading.Timer(PATIENCE, _end_at_once, [number])  # heard wherever the main thread waits
        self._watchdog.daemon = True
        self._watchdog.start()
        _kill_workers()  # before they notice that their pipes are gone, and say so
        _close_results()
        raise self._reason(number)

    @contextmanager
    def come_first(self) -> Iterator[None]:
        """Take an error for the signal's consequence if there was one: workers that are gone are errors elsewhere."""
        try:
            yield
        except Exception:
            if self._number is not None:
                raise self._reason(self._number) from None
            raise

    def forget(self) -> None:
        """Let the process live on."""
        if self._watchdog is not None:
            self._watchdog.cancel()

    @staticmethod
    def _reason(number: int) -> BaseException:
        return KeyboardInterrupt() if number == signal.SIGINT else Ended(number)


@contextmanager
def ending_by_signal(process_ends: bool) -> Iterator[Signals]:
    """Raise `Ended`, or `KeyboardInterrupt`, in the main thread when a signal asks to end; ignored ones stay ignored.

    If the process has not come to its end after some seconds, because a thread is deep in some computation, it is
    ended at once: unless it is not to end with the command (`process_ends`).
    """
    signals = Signals()
    if threading.current_thread() is not threading.main_thread():
        yield signals
        return
    before = {}
    for name in ("SIGTERM", "SIGHUP", "SIGINT"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            before[number] = signal.signal(number, signals.receive)
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if not process_ends:
            signals.forget()


def _end_at_once(number: int) -> None:
    _kill_workers()
    with suppress(OSError):
        os.write(2, f"xspn: {reason(number)}\n".encode())  # the streams may be held by the thread that hangs
    os._exit(128 + number)


def reason(number: int) -> str:
    """Say in words why a signal ended the process."""
    return "interrupted" if number == signal.SIGINT else "ended by a signal"


def _kill_workers() -> None:
    """Kill the processes that joblib has started or is starting, where the system lists a process's children."""
    for children in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, children.read_text().split()):
                if WORKERS in Path(f"/proc/{child}/cmdline").read_bytes():
                    os.kill(child, signal.SIGKILL)


def _pool() -> Any:
    """Return joblib's pool of workers, or None."""
    return getattr(sys.modules.get("joblib.externals.loky.reusable_executor"), "_executor", None)


def _close_results() -> None:
    """Close the pool's own end of the pipe of results.

    A worker that is killed in the middle of a result leaves a reader that waits for the rest, for as long as anybody
    could still write it.
    """
    with suppress(Exception):  # there may be no pool, or one that is half made
        _pool()._result_queue._writer.close()


def end_workers() -> None:
    """End what is left of joblib's pool, and not wait for its work."""
    executor = _pool()
    if executor is not None:
        with suppress(Exception):  # it may be broken, or on its way down already
            executor.shutdown(wait=True, kill_workers=True)
