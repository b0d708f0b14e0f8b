"""Data for the tests of data sets: the published files where they are at hand, small stand-ins, a local server."""

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from xspn.paper.datasets import checksums
from xspn.paper.datasets.catalog import Entry, info
from xspn.paper.datasets.download import DownloadLimits
from xspn.paper.datasets.files import render

_BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
_PUBLISHED = Path(os.environ.get("XSPN_DATA") or _BESIDE)


@pytest.fixture(scope="session")
def published() -> Path:
    """The folder of published files."""
    if not _PUBLISHED.is_dir():
        pytest.skip(f"the published files are not at hand: no folder {_PUBLISHED}; set XSPN_DATA")
    return _PUBLISHED


@pytest.fixture(autouse=True)
def _own_places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep every test away from the user's folders, variables and network."""
    monkeypatch.delenv("XSPN_DATA", raising=False)
    monkeypatch.setenv("XSPN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XSPN_DOWNLOAD_BASE", (tmp_path / "no-such-mirror").as_uri())
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@dataclass
class StandIn:
    """A small data set under the name of a real one, with checksums to match."""

    entry: Entry
    contents: dict[str, bytes]  # by path below a data folder

    def write(self, folder: Path) -> None:
        """Write the files in the layout of a data folder."""
        for path, content in self.contents.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)

    @property
    def checksums(self) -> dict[str, str]:
        """The git blob SHA-1 by file name."""
        return {Path(path).name: checksums.git_blob_sha1(content) for path, content in self.contents.items()}


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """`exam` with 12 + 5 + 6 rows of random bits."""
    entry = info("exam")
    rng = np.random.default_rng(0)
    sizes = (12, 5, 6)
    contents = {
        file.relative_path: render(rng.integers(0, 2, (rows, 7))) for file, rows in zip(entry.files, sizes, strict=True)
    }
    made = StandIn(entry, contents)
    for name, sha1 in made.checksums.items():
        monkeypatch.setitem(checksums.CHECKSUMS, name, sha1)
    return made


@dataclass
class LocalServer:
    """What the server serves, how it misbehaves, and how often it was asked."""

    contents: dict[str, bytes]
    address: str = ""
    asked: list[str] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    def base(self, manner: str) -> str:
        """The base address under which files are served in some manner."""
        return f"{self.address}/{manner}"


class _Handler(BaseHTTPRequestHandler):
    state: LocalServer

    def do_GET(self) -> None:
        _, manner, path = self.path.split("/", 2)
        self.state.asked.append(path)
        content = self.state.contents.get(path)
        if content is None or manner == "gone":
            return self.send_error(404)
        if manner == "busy" and self.state.asked.count(path) < 3:
            return self.send_error(503)
        if manner == "wrong":
            content = bytes([content[0] ^ 1]) + content[1:]
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        half = len(content) // 2
        if manner == "drops":
            self.wfile.write(content[:half])
        elif manner == "stalls":
            self.wfile.write(content[:half])
            self.wfile.flush()
            self.state.stop.wait(10)
        elif manner in ("slow", "trickles"):
            step, pause = (8, 0.002) if manner == "slow" else (1, 0.05)
            for i in range(0, len(content), step):
                self.wfile.write(content[i : i + step])
                self.wfile.flush()
                if self.state.stop.wait(pause):
                    break
        else:
            self.wfile.write(content)
        return None

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = False

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is part of the test."""


@pytest.fixture
def server(stand_in: StandIn) -> Iterator[LocalServer]:
    """A server on this machine that serves the stand-in in several manners: /ok, /slow, /stalls, /drops, /wrong, …"""
    state = LocalServer(stand_in.contents)
    handler = type("Handler", (_Handler,), {"state": state})
    with _QuietServer(("127.0.0.1", 0), handler) as http:
        state.address = f"http://127.0.0.1:{http.server_address[1]}"
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield state
        state.stop.set()
        http.shutdown()
        thread.join()


@pytest.fixture
def impatient() -> DownloadLimits:
    """Limits for tests in which the server fails."""
    return DownloadLimits(timeout=0.5, total=0.5, attempts=3, pause=0.01)


@pytest.fixture
def patient() -> DownloadLimits:
    """Limits for tests in which the server delivers in the end."""
    return DownloadLimits(timeout=10, total=30, attempts=3, pause=0.01)


@pytest.fixture
def cached_files(tmp_path: Path) -> Callable[[], list[str]]:
    """A function that lists every file below the cache folder, hidden and temporary ones included."""
    folder = tmp_path / "cache"
    return lambda: sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
