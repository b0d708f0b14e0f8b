"""A worker: an event loop that accepts connections from the shared socket, and takes up new models while it answers."""

import asyncio
import ctypes
import json
import logging
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from xspn.core.errors import XSPNError
from xspn.service.app import Service
from xspn.service.endpoints import BATCHED
from xspn.service.models import Model, Models, Stale
from xspn.service.monitoring import Log, Metrics
from xspn.service.problems import Problem
from xspn.service.rows import to_json

if TYPE_CHECKING:
    from xspn.service.supervisor import Settings

KEEP_ALIVE = 75  # seconds that a connection may be idle: longer than the 60 of usual load balancers
LARGEST_HEAD = 1 << 16  # bytes of a request's head
SLOWEST_HEAD = 10.0  # seconds
FAREWELL = 0.3  # seconds in which answers ask clients to close their connections, before these are closed
SWITCH = 0.0005  # seconds that a thread may keep others from running
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # the parameters' numbers in the C library
KEPT, LARGEST_KEPT = 1 << 27, 1 << 25  # bytes of freed memory that a worker keeps, and of one array in it


class BoundedProtocol(HttpToolsProtocol):
    """HTTP/1.1 of uvicorn, with limits on the size of a request's head and on the time that it takes to arrive."""

    _head = _in_headers = 0  # bytes of the head that is arriving, and of its complete headers
    _is_in_head = False
    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a head."""
        super().connection_made(transport)
        self._wait()

    def on_message_begin(self) -> None:
        """Begin a head."""
        self._head, self._in_headers, self._is_in_head = 0, 0, True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, unless there are too many."""
        self._in_headers += len(name) + len(value)
        if self._in_headers > LARGEST_HEAD:
            raise ValueError("the head is too large")  # which the parser makes a refusal of
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """End a head."""
        self._is_in_head = False
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        """Take what arrives, unless a head grows too large or too old."""
        super().data_received(data)
        if not self._is_in_head:
            if self._patience is not None and self.cycle is not None:
                self._patience.cancel()
                self._patience = None
            return
        self._head += len(data)
        if self._head > LARGEST_HEAD and not self.transport.is_closing():
            self.send_400_response("the head of the request is too large")
        elif self._patience is None:
            self._wait()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request, in the form that all refusals have, and close the connection."""
        detail = msg if msg.startswith("the head") else "not a request of HTTP/1.1, or one with too large a head"
        content = to_json(Problem(400, "malformed-request", detail).document())
        head = (
            b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/problem+json\r\n"
            b"content-length: %d\r\nconnection: close\r\n\r\n" % len(content)
        )
        self.transport.write(head + content)
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        if self._patience is not None:
            self._patience.cancel()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._patience = self.loop.call_later(SLOWEST_HEAD, self.timeout_keep_alive_handler)


class Server(uvicorn.Server):
    """A server that says farewell before it closes idle connections: a request on its way to one is still answered."""

    service: Service

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the event loop."""
        yield

    def stop(self) -> None:
        """Ask clients to close their connections, and then close what is idle and wait for what is under way."""
        if not self.service.is_stopping:
            self.service.is_stopping = True
            asyncio.get_running_loop().call_later(FAREWELL, self._exit)

    def _exit(self) -> None:
        self.should_exit = True


def _keep_memory() -> None:
    """Let the GNU C library keep the memory of large answers for the next ones.

    It would give every large array back to the system, and take new pages for the next: a third of an answer's time.
    """
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "mallopt"):
        libc.mallopt(M_MMAP_THRESHOLD, LARGEST_KEPT)
        libc.mallopt(M_TRIM_THRESHOLD, KEPT)


def work(
    number: int,
    sock: socket.socket,
    models: Models,
    news: int,
    settings: "Settings",
    metrics: Metrics,
    log: Log,
) -> int:
    """Answer requests until the supervisor says to stop, or is gone."""
    sys.setswitchinterval(SWITCH)
    _keep_memory()
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    service = Service(models, settings.limits, settings.token, metrics, number, log)
    config = uvicorn.Config(
        service,
        http=BoundedProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=max(int(settings.grace), 1),
        backlog=2048,
    )
    server = Server(config)
    server.service = service
    service.under_way = server.server_state.tasks.__len__
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(_served(server, sock, news))
    return 0


async def _served(server: Server, sock: socket.socket, news: int) -> None:
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, server.stop)
    server.service.on_stuck = server.stop
    reading = loop.create_task(_take_news(news, server))
    await server.serve(sockets=[sock])
    reading.cancel()


async def _take_news(news: int, server: Server) -> None:
    """Take up what the supervisor says; if it is gone, stop."""
    loop, service = asyncio.get_running_loop(), server.service
    stream = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(news, "rb", 0))
    while line := await stream.readline():
        told = json.loads(line)
        if "reason" in told:
            service.models.stale[told["name"]] = Stale(told["reason"], told["since"])
            continue
        try:
            model = await loop.run_in_executor(None, _opened, Path(told["folder"]))
        except FileNotFoundError:
            continue  # a newer one has taken its place already, and is told of next
        except (XSPNError, OSError) as error:
            facts = {"worker": service.worker, "model": told["name"], "error": type(error).__name__}
            service.log.tell("reload failed", "quiet", **facts)
            continue
        service.models.swap(model)
        service.numbers.add("reloads_total")
    server.stop()


def _opened(folder: Path) -> Model:
    model = Model.open(folder)
    model.warm_up(BATCHED)
    return model
