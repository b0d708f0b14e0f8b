"""Download one file into memory: time limits, a few attempts, a progress bar on a terminal.

Nothing is written here, so nothing half-written can remain; the caller checks the content and stores it.
"""

import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any

from xspn._version import __version__
from xspn.core.errors import ChecksumError, DatasetError

CHUNK = 1 << 16
NOTHING_THERE = frozenset({404, 410})
WORTH_ANOTHER_TRY = frozenset({408, 425, 429, 500, 502, 503, 504})

Advance = Callable[[int], None]
Content = bytes | bytearray
Accept = Callable[[Content], Content]


@dataclass(frozen=True, slots=True)
class DownloadLimits:
    """How patient a download is.

    Attributes:
        timeout: Seconds without a single byte after which an attempt is given up.
        total: Seconds that one attempt may take altogether.
        attempts: The number of attempts.
        pause: Seconds before the second attempt; doubled before each further one.
        size: The most bytes to accept.
    """

    timeout: float = 30.0
    total: float = 900.0
    attempts: int = 3
    pause: float = 0.5
    size: int = 1 << 28


class AbsentError(DatasetError):
    """There is no file at this address; there may be one at another."""


class _GiveUpError(Exception):
    """A failure that another attempt would only repeat."""


class _NothingThereError(_GiveUpError):
    """The address is one of no file."""


def download(
    address: str, limits: DownloadLimits | None = None, accept: Accept | None = None, label: str = ""
) -> Content:
    """Return the content at an address (https, http or file), or raise `DatasetError` with the reason.

    Args:
        address: The address.
        limits: How patient to be.
        accept: Called with what came, returns what is kept of it; a `ChecksumError` from it counts as a failed attempt.
        label: What the progress bar calls the file.
    """
    own = limits or DownloadLimits()
    reason: Exception | None = None
    for attempt in range(own.attempts):
        if attempt:
            time.sleep(own.pause * 2 ** (attempt - 1))
        try:
            content = _attempt(address, own, label or address.rsplit("/", 1)[-1])
            return content if accept is None else accept(content)
        except _NothingThereError as error:
            raise AbsentError(f"{address}: {error}") from error
        except _GiveUpError as error:
            raise DatasetError(f"{address}: {error}") from error
        except (OSError, HTTPException) as error:
            reason = error
    if isinstance(reason, ChecksumError):
        raise reason
    times = "1 attempt" if own.attempts == 1 else f"{own.attempts} attempts"
    raise DatasetError(f"{address}: no success in {times}; the last one: {_in_words(reason)}") from reason


def _attempt(address: str, limits: DownloadLimits, label: str) -> Content:
    """Read everything, once."""
    request = urllib.request.Request(address, headers={"User-Agent": f"xspn/{__version__}"})
    ends = time.monotonic() + limits.total
    try:
        response = urllib.request.urlopen(request, timeout=limits.timeout)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in WORTH_ANOTHER_TRY:
            raise
        kind = _NothingThereError if error.code in NOTHING_THERE else _GiveUpError
        raise kind(f"the server answers {error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        if address.startswith("file:"):
            raise _NothingThereError(f"cannot be read ({_in_words(error)})") from error
        raise
    with response:
        length = _announced_length(response)
        with _progress(label, length) as advance:
            content = _read(response, limits, ends, advance)
    if length is not None and len(content) != length:
        raise OSError(f"the connection ended after {len(content)} of {length} bytes")
    return content


def _read(response: Any, limits: DownloadLimits, ends: float, advance: Advance) -> Content:
    parts = bytearray()
    while chunk := response.read1(CHUNK):
        parts += chunk
        advance(len(chunk))
        if len(parts) > limits.size:
            raise _GiveUpError(f"expected at most {limits.size} bytes, found more; is this the right address?")
        if time.monotonic() > ends:
            raise TimeoutError(f"not done after {limits.total:g} seconds ({len(parts)} bytes came)")
    return parts


def _announced_length(response: Any) -> int | None:
    text = response.headers.get("Content-Length")
    return int(text) if text is not None and text.isdigit() else None


def _in_words(error: Exception | None) -> str:
    """Say what went wrong without the wrapping of the standard library."""
    reason = getattr(error, "reason", None)
    if isinstance(error, urllib.error.HTTPError):
        return f"the server answers {error.code} {error.reason}"
    if isinstance(reason, TimeoutError) or isinstance(error, TimeoutError):
        return str(error) if "seconds" in str(error) else "timed out"
    return str(reason or error or "nothing came") or type(error).__name__


@contextmanager
def _progress(label: str, length: int | None) -> Iterator[Advance]:
    """Show a bar on standard error where that is a terminal; otherwise nothing."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(label, total=length)
        yield lambda n: bar.update(task, advance=n)
