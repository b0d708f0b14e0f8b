"""A command as a process: streams that can be written to, signals that end it, workers that do not outlive it."""

import io
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

from xspn.cli.output import say

PATIENCE = 5.0  # seconds for threads to come to an end and for files to be removed that are half written


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


@contextmanager
def ending_by_signal() -> Iterator[None]:
    """Raise `Ended` in the main thread when a signal asks to end; signals that are ignored (nohup) stay so.

    If the process has not come to its end after some seconds, because a thread is deep in some computation, it is
    ended at once.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {}
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            before[number] = signal.signal(number, _end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int, frame: Any) -> None:
    signal.signal(number, signal.SIG_IGN)  # once is enough
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, lambda *_: _end_at_once(number))
        signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    raise Ended(number)


def _end_at_once(number: int) -> None:
    end_workers()
    os._exit(128 + number)


def end_workers() -> None:
    """End the processes that joblib has started, and not wait for their work."""
    pools = sys.modules.get("joblib.externals.loky.reusable_executor")
    executor = getattr(pools, "_executor", None)
    if executor is not None:
        with suppress(Exception):  # it may be broken, or on its way down already
            executor.shutdown(wait=True, kill_workers=True)
