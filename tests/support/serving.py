"""A service in a process of its own, and clients that load it: on loopback only, bounded in number and time."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

START = "import sys; from xspn.cli import main; sys.exit(main(sys.argv[1:]))"
START_PATIENCE = 600.0  # seconds for a service to start: it may have to compile its kernels
PATIENCE = 60.0  # seconds for a service to stop, and for an answer


class Running:
    """`xspn serve` as a process, on a free port of the loopback address; killed at the end if it does not stop."""

    def __init__(self, *arguments: str, environment: dict[str, str] | None = None) -> None:
        self._log = tempfile.NamedTemporaryFile("w+", suffix=".log", delete=False)  # noqa: SIM115
        self.process = subprocess.Popen(
            [sys.executable, "-c", START, "serve", *arguments, "--port", "0"],
            stderr=self._log,
            stdout=subprocess.DEVNULL,
            env={**os.environ, **(environment or {})},
        )

    def __enter__(self) -> "Running":
        deadline = time.monotonic() + START_PATIENCE
        while not (found := [line for line in self.log() if line["event"] == "started"]):
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.process.kill()
                raise RuntimeError(f"the service did not start:\n{Path(self._log.name).read_text()}")
            time.sleep(0.02)
        self.port = int(found[0]["address"].rsplit(":", 1)[1])
        self.wait_until(lambda: get(self.port, "/healthz")[0] == 200)
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.stop()
        self.log_lines = self.log()
        self._log.close()
        os.unlink(self._log.name)

    def stop(self) -> int:
        """Ask the service to stop; return its status."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            for pid in self.workers():
                os.kill(pid, signal.SIGKILL)
            self.process.kill()
            raise

    def log(self) -> list[dict[str, Any]]:
        """Return what the service has told so far."""
        lines = Path(self._log.name).read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]

    def workers(self) -> list[int]:
        """Return the processes that answer now, by their numbers."""
        found = {line["worker"]: line["pid"] for line in self.log() if line["event"] == "worker started"}
        ended = {line["pid"] for line in self.log() if line["event"] == "worker ended"}
        return [found[number] for number in sorted(found) if found[number] not in ended]

    def wait_until(self, is_so: Callable[[], bool], seconds: float = PATIENCE) -> None:
        """Wait until something is so."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                if is_so():
                    return
            except (OSError, ValueError, KeyError):
                pass
            if time.monotonic() > deadline:
                raise RuntimeError("it did not come about in time")
            time.sleep(0.02)


def request(
    path: str, body: bytes | None = None, kind: str = "application/json", headers: Sequence[str] = (), method: str = ""
) -> bytes:
    """Return a request of HTTP/1.1 as it goes over the wire."""
    method = method or ("GET" if body is None else "POST")
    lines = [f"{method} {path} HTTP/1.1", "host: localhost", *headers]
    if body is not None:
        lines += [f"content-type: {kind}", f"content-length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + (body or b"")


def get(port: int, path: str, headers: Sequence[str] = ()) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body of an answer, over a connection of its own."""
    return ask(port, request(path, headers=[*headers, "connection: close"]))


def post(
    port: int, path: str, body: Any, kind: str = "application/json", headers: Sequence[str] = ()
) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body of the answer to a question."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return ask(port, request(path, content, kind, [*headers, "connection: close"]))


def ask(port: int, content: bytes) -> tuple[int, dict[str, str], bytes]:
    """Send bytes over a connection of their own; return status, headers and body of the answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as sock:
        sock.sendall(content)
        received = bytearray()
        while (end := received.find(b"\r\n\r\n")) < 0:
            part = sock.recv(1 << 16)
            if not part:
                raise ConnectionError("the connection ended before the answer did")
            received += part
        first, *lines = received[:end].decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = bytearray(int(headers.get("content-length", 0)))
        filled = min(len(received) - end - 4, len(body))
        body[:filled] = received[end + 4 : end + 4 + filled]
        while filled < len(body):  # into its place: a large answer is measured, not the way in which it is put together
            found = sock.recv_into(memoryview(body)[filled:])
            if not found:
                raise ConnectionError("the connection ended before the answer did")
            filled += found
        return int(first.split(" ")[1]), headers, bytes(body)


# -- load --------------------------------------------------------------------------------------------------------------

HEAD = re.compile(rb"HTTP/1\.1 (\d+).*?\r\ncontent-length: (\d+)\r\n", re.DOTALL)


class Connection(asyncio.Protocol):
    """A connection that is kept alive, with one request at a time."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._missing = -1
        self._waiting: asyncio.Future[bytes] | None = None
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def ask(self, content: bytes) -> "asyncio.Future[bytes]":
        """Send a request; return the future of the answer, head and body."""
        assert self.transport is not None
        self._waiting = asyncio.get_running_loop().create_future()
        self._parts, self._missing = [], -1
        if self.transport.is_closing():
            self._waiting.set_exception(ConnectionError("closed"))
        self.transport.write(content)
        return self._waiting

    def close(self) -> None:
        """Close it."""
        assert self.transport is not None
        self.transport.close()

    def data_received(self, data: bytes) -> None:
        self._parts.append(data)
        if self._missing < 0:
            whole = b"".join(self._parts)
            end = whole.find(b"\r\n\r\n")
            match = HEAD.match(whole) if end >= 0 else None
            if match is None:
                return
            self._missing = end + 4 + int(match[2]) - len(whole)
        else:
            self._missing -= len(data)
        if self._missing <= 0 and self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(b"".join(self._parts))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(ConnectionError("lost"))


async def connected(port: int) -> Connection:
    """Return a new connection."""
    _, protocol = await asyncio.get_running_loop().create_connection(Connection, "127.0.0.1", port)
    return protocol


@dataclass
class Load:
    """What became of many requests: how long each took, and how many had which status (0: the connection was lost)."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    wall: float = 0.0


async def closed_load(port: int, requests: Sequence[bytes], total: int, connections: int) -> Load:
    """Send so many requests over connections each of which has one under way at any time."""
    load, left = Load(), iter(range(total))
    own = [await connected(port) for _ in range(connections)]

    async def client(connection: Connection) -> None:
        for number in left:
            started = time.perf_counter()
            answer = await connection.ask(requests[number % len(requests)])
            load.seconds.append(time.perf_counter() - started)
            load.statuses[int(answer[9:12])] += 1
        connection.close()

    started = time.perf_counter()
    await asyncio.gather(*(client(connection) for connection in own))
    load.wall = time.perf_counter() - started
    return load


async def open_load(port: int, requests: Sequence[bytes], total: int, rate: float, connections: int) -> Load:
    """Send requests at a rate, whether the ones before were answered or not; each is timed from when it was due."""
    load, loop = Load(), asyncio.get_running_loop()
    free = [await connected(port) for _ in range(connections)]
    waiting: deque[int] = deque()
    done, started = loop.create_future(), time.perf_counter()

    def send() -> None:
        while waiting and free:
            number, connection = waiting.popleft(), free.pop()
            connection.ask(requests[number % len(requests)]).add_done_callback(partial(take, number, connection))

    def take(number: int, connection: Connection, answer: "asyncio.Future[bytes]") -> None:
        load.seconds.append(time.perf_counter() - started - number / rate)
        load.statuses[int(answer.result()[9:12])] += 1
        free.append(connection)
        send()
        if len(load.seconds) == total:
            done.set_result(None)

    number = 0
    while number < total:
        due = min(int((time.perf_counter() - started) * rate) + 1, total)
        waiting.extend(range(number, due))
        number = due
        send()
        await asyncio.sleep(0.001)
    await done
    load.wall = time.perf_counter() - started
    for connection in free:
        connection.close()
    return load
