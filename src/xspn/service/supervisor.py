"""Processes: one that watches over model files and workers, and workers that share its listening socket.

Workers are forked after everything is loaded, so that they share it, and a new one takes the place of one that died
within milliseconds. The socket outlives them all: connections that nobody has accepted yet wait for whoever comes next.
A changed model file is read by a process of its own; only when that has gone well are workers told to open the result.
"""

import gc
import json
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xspn.core.errors import MissingExtraError, ParameterError, XSPNError
from xspn.service.app import OTHERS, Limits
from xspn.service.endpoints import BATCHED, QUERIES
from xspn.service.models import Model, Models, Stale, prepare, signature
from xspn.service.monitoring import Log, Metrics

POLL = 0.25  # seconds between two looks at the model files
SLOW_START = 5.0  # seconds that models take to load only where kernels are compiled for them
SOONEST = 0.5  # seconds between two starts of the same worker, if the first did not live longer
BACKLOG = 2048
ERROR = "error.txt"
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class Settings:
    """How to serve.

    Attributes:
        host: The address to listen on.
        port: The port; 0 for any that is free.
        workers: How many processes answer.
        limits: What may be asked for.
        token: The bearer token that requests must bring, if there is one.
        log: How much is told; see `Log`.
        grace: Seconds that requests under way have to end when the service stops.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    limits: Limits = field(default_factory=Limits)
    token: str | None = None
    log: str = "info"
    grace: float = 30.0


@dataclass
class Served:
    """A model file, and what workers have of it."""

    name: str
    path: Path
    folder: Path
    known: tuple[int, int, int] | None  # the signature of the file that was read last
    seen: tuple[int, int, int] | None = None
    stale: Stale | None = None
    loader: int | None = None  # the process that reads a changed file
    loading: Path | None = None


@dataclass
class Worker:
    """A process that answers."""

    number: int
    pid: int
    started: float
    news: int  # where to write what has changed


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, OverflowError, UnicodeError) as error:
        raise ParameterError(f"host: {host!r} is no address to listen on ({error})") from error
    family, kind, protocol, _, address = found[0]
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise ParameterError(f"cannot listen on {host} port {port}: {error.strerror}; choose another port") from error
    sock.setblocking(False)
    return sock


def serve(files: dict[str, Path], settings: Settings) -> int:
    """Serve models until a signal asks to stop; return 0 after all requests under way were answered."""
    if not hasattr(os, "fork"):
        raise MissingExtraError("serving needs a system that can fork processes, such as Linux or macOS")
    try:
        import httptools  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("serving needs more packages: pip install 'xspn[serve]'") from error
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="xspn-serve-")))
        served = [_first(name, path, folder) for name, path in files.items()]
        sock = stack.enter_context(bound_socket(settings.host, settings.port))
        return Supervisor(served, folder, sock, settings).run()


def _first(name: str, path: Path, folder: Path) -> Served:
    known = signature(path)
    place = folder / f"{name}-0"
    prepare(name, path, place)
    return Served(name, path, place, known, known)


class Supervisor:
    """Watches over files and workers, and does nothing else: it is one thread, and never waits for any of them."""

    def __init__(self, served: list[Served], folder: Path, sock: socket.socket, settings: Settings) -> None:
        self.served, self.folder, self.sock, self.settings = served, folder, sock, settings
        self.log = Log(settings.log)
        self.metrics = Metrics(settings.workers, [own.name for own in served], [*QUERIES, *OTHERS])
        self.workers: dict[int, Worker] = {}  # by their numbers
        self._starts = [0.0] * settings.workers
        self._folders = 0
        self._stopping: float | None = None  # until when workers may go on

    def run(self) -> int:
        """Run until a signal asks to stop."""
        warnings.showwarning = self.log.take_warning  # of workers, too; the command restores what was there
        self._load_kernels()
        gc.collect()
        gc.freeze()  # what is there now stays, and is never written to by a collection: workers share it
        with self._signals() as wake:
            self._tell_start()
            while True:
                self._start_missing_workers()
                if self._stopping is not None and not self.workers:
                    break
                for number in _received(wake, POLL):
                    self._take(number)
                self._bury()
                self._look_at_files()
                if self._stopping is not None and time.monotonic() > self._stopping:
                    for worker in self.workers.values():
                        _kill(worker.pid, signal.SIGKILL)
        for own in self.served:
            if own.loader is not None:
                _kill(own.loader, signal.SIGKILL)
                with suppress(ChildProcessError):
                    os.waitpid(own.loader, 0)
        self.log.tell("stopped")
        return 0

    def _load_kernels(self) -> None:
        """Load compiled kernels before there are workers, so that each of them has them from the start."""
        from xspn.engine.kernels.__main__ import compile_all

        started = time.monotonic()
        for own in self.served:
            Model.open(own.folder).warm_up(BATCHED)
        if time.monotonic() - started > SLOW_START:
            self.log.tell("compiling", note="kernels are compiled, once for this installation: about a minute")
        # All of them, so that nobody's first question waits for a compiler until it is too late for an answer.
        compile_all()

    def _tell_start(self) -> None:
        host, port = self.sock.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        facts: dict[str, Any] = {
            "models": [own.name for own in self.served],
            "workers": self.settings.workers,
            "pid": os.getpid(),
        }
        self.log.tell("started", address=f"http://{shown}:{port}", **facts)
        if self.settings.token is None and self.settings.host not in LOOPBACK:
            note = "whoever reaches this address can ask the models and read them: there is no token"
            self.log.tell("warning", "quiet", note=note)

    # -- signals -------------------------------------------------------------------------------------------------------

    @contextmanager
    def _signals(self) -> Iterator[socket.socket]:
        """Let signals arrive as bytes in a socket while the service runs."""
        wake, write = socket.socketpair()
        wake.setblocking(False)
        write.setblocking(False)
        before = {number: signal.signal(number, lambda *_: None) for number in SIGNALS}
        old = signal.set_wakeup_fd(write.fileno(), warn_on_full_buffer=False)
        try:
            yield wake
        finally:
            signal.set_wakeup_fd(old)
            for number, handler in before.items():
                signal.signal(number, handler)
            wake.close()
            write.close()

    def _take(self, number: int) -> None:
        if number in (signal.SIGTERM, signal.SIGINT):
            if self._stopping is None:
                self.log.tell("stopping", workers=len(self.workers))
                self._stopping = time.monotonic() + self.settings.grace
                for worker in self.workers.values():
                    _kill(worker.pid, signal.SIGTERM)
            elif number == signal.SIGINT:  # asked for twice
                self._stopping = 0.0
        elif number == signal.SIGHUP:
            for own in self.served:
                own.known = None  # read again, whether it looks changed or not

    # -- workers -------------------------------------------------------------------------------------------------------

    def _start_missing_workers(self) -> None:
        for number in range(self.settings.workers):
            is_due = time.monotonic() - self._starts[number] > SOONEST
            if number not in self.workers and self._stopping is None and is_due:
                self.workers[number] = self._started(number)

    def _started(self, number: int) -> Worker:
        self._starts[number] = time.monotonic()
        read, write = os.pipe()
        os.set_blocking(write, False)
        pid = _fork()
        if pid == 0:
            status = 1
            try:
                signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a whole terminal: the supervisor says when to stop
                signal.signal(signal.SIGHUP, signal.SIG_IGN)
                os.close(write)
                for other in self.workers.values():
                    os.close(other.news)
                status = self._work(number, read)
            finally:
                _leave(status)
        os.close(read)
        self.log.tell("worker started", worker=number, pid=pid)
        return Worker(number, pid, time.monotonic(), write)

    def _work(self, number: int, news: int) -> int:
        """Be a worker."""
        from xspn.service.worker import work

        models = Models()
        for own in self.served:
            model = Model.open(own.folder)
            model.warm_up(BATCHED)
            models.swap(model)
            if own.stale is not None:
                models.stale[own.name] = own.stale
        return work(number, self.sock, models, news, self.settings, self.metrics, self.log)

    def _bury(self) -> None:
        """Note which children have ended."""
        by_pid = {worker.pid: worker for worker in self.workers.values()}
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if (worker := by_pid.get(pid)) is not None:
                del self.workers[worker.number]
                os.close(worker.news)
                code = os.waitstatus_to_exitcode(status)
                if self._stopping is None:
                    self.log.tell("worker ended", "quiet", worker=worker.number, pid=pid, status=code)
            for own in self.served:
                if own.loader == pid:
                    self._finish_loading(own, os.waitstatus_to_exitcode(status))

    # -- model files ---------------------------------------------------------------------------------------------------

    def _look_at_files(self) -> None:
        """Have changed files read, once they have stopped changing."""
        for own in self.served:
            now = signature(own.path)
            is_quiet, own.seen = now == own.seen, now
            if own.loader is not None or now == own.known or not is_quiet or self._stopping is not None:
                continue
            own.known = now
            if now is None:
                self._keep_old(own, f"{own.path.name}: the file is not there any more")
                continue
            self._folders += 1
            own.loading = self.folder / f"{own.name}-{self._folders}"
            own.loader = _fork()
            if own.loader == 0:
                _leave(_loaded(own, own.loading))

    def _finish_loading(self, own: Served, status: int) -> None:
        place, own.loader = own.loading, None
        assert place is not None, "it was being loaded"
        if status != 0:
            with suppress(OSError):
                self._keep_old(own, place.with_name(f"{place.name}-{ERROR}").read_text(encoding="utf-8"))
                return
            self._keep_old(own, f"{own.path.name}: the process that read the file ended with status {status}")
            return
        old, own.folder, own.stale = own.folder, place, None
        self._send({"name": own.name, "folder": str(place)})
        self.log.tell("reloaded", model=own.name)
        shutil.rmtree(old, ignore_errors=True)  # workers keep what they have opened, and open the newest

    def _keep_old(self, own: Served, reason: str) -> None:
        own.stale = Stale.now(reason)
        self._send({"name": own.name, "reason": own.stale.reason, "since": own.stale.since})
        self.log.tell("reload failed", "quiet", model=own.name, reason=own.stale.reason)

    def _send(self, message: dict[str, Any]) -> None:
        line = json.dumps(message).encode() + b"\n"
        for worker in self.workers.values():
            with suppress(OSError):  # it has just died: the next one begins with what is new
                os.write(worker.news, line)


def _loaded(own: Served, place: Path) -> int:
    """Read a changed file; return 0, or leave a note of what is wrong with it."""
    try:
        prepare(own.name, own.path, place)
        Model.open(place).warm_up(BATCHED)  # what cannot be asked is not served
    except (XSPNError, OSError, MemoryError) as error:
        place.with_name(f"{place.name}-{ERROR}").write_text(f"{error}" or type(error).__name__, encoding="utf-8")
        return 1
    return 0


def _fork() -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # none may get lost between two ways to take it
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads: those of linear algebra survive a fork
            pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            for number in SIGNALS:
                signal.signal(number, signal.SIG_DFL)
        return pid
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def _leave(status: int) -> None:
    """End a forked process without what belongs to the one that it was forked from."""
    with suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(status)


def _kill(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _received(wake: socket.socket, seconds: float) -> bytes:
    """Return the numbers of the signals that arrive within some time."""
    ready, _, _ = select.select([wake], [], [], seconds)
    with suppress(BlockingIOError):
        return wake.recv(4096) if ready else b""
    return b""
