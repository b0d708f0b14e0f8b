"""A command as a process: streams that can be written to, signals that end it, workers that do not outlive it."""

import io
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO, cast

from xspn.cli.output import say

WORKERS = b"loky.backend.popen_loky"  # in a worker's command; the tracker of resources cleans up and ends by itself
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
