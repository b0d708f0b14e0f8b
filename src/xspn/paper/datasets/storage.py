"""Find a data set's file, verify it, and download it if need be."""

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from xspn.core.errors import ChecksumError, DatasetError, DatasetMissingError
from xspn.core.files import write_bytes
from xspn.paper.datasets.checksums import git_blob_sha1
from xspn.paper.datasets.download import Limits, download
from xspn.paper.datasets.entry import SourceFile
from xspn.paper.datasets.places import Places

Origin = Literal["data folder", "cache", "download"]


@dataclass(frozen=True, slots=True)
class Verified:
    """The content of a file that has passed its checksum.

    Attributes:
        content: The bytes.
        origin: "data folder", "cache" or "download".
        path: Where the file is now; None if it was downloaded and the cache folder is not writable.
    """

    content: bytes
    origin: Origin
    path: Path | None


def obtain(file: SourceFile, places: Places, limits: Limits | None = None) -> Verified:
    """Return the file's verified content: from the data folder, the cache, or the public address, in this order.

    A damaged file in the user's own folder is an error (and is left to the user); one in the cache is deleted and
    fetched anew.
    """
    path = places.in_data(file)
    if path is not None:
        content = path.read_bytes()
        check(content, file, f"{path}", "replace it with an undamaged copy, or delete it to have it downloaded")
        return Verified(content, "data folder", path)
    path = places.in_cache(file)
    cached = _read_cached(path, file)
    if cached is not None:
        return Verified(cached, "cache", path)
    content = _download(file, places, limits)
    return Verified(content, "download", path if keep(path, content) else None)


def check(content: bytes, file: SourceFile, where: str, advice: str) -> None:
    """Raise `ChecksumError` unless the content is what the catalogue says."""
    found = git_blob_sha1(content)
    if found != file.sha1:
        raise ChecksumError(
            f"{where}: the file is damaged: expected git blob SHA-1 {file.sha1}, found {found} "
            f"({len(content)} bytes, about {file.expected_size} expected); it was not used; {advice}"
        )


def keep(path: Path, content: bytes) -> bool:
    """Store content in the cache, whole or not at all; a folder that cannot be written to is no error."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, content)
    except OSError:
        return False
    return True


def discard(path: Path) -> None:
    """Delete a file of the cache, if that is possible."""
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


def _read_cached(path: Path, file: SourceFile) -> bytes | None:
    try:
        content = path.read_bytes()
    except OSError:
        return None
    if git_blob_sha1(content) == file.sha1:
        return content
    discard(path)
    return None


def _download(file: SourceFile, places: Places, limits: Limits | None) -> bytes:
    address = places.address(file)
    ways = (
        f"Two ways to provide it: set XSPN_DATA to a folder that holds it as {file.relative_path}, "
        f"or put it into the cache as {places.in_cache(file)}"
    )
    if not places.download:
        raise DatasetMissingError(
            f"{file.name} is not here and downloading is switched off. Its address is {address}. {ways}"
        )
    advice = f"the server or the way to it altered it; try again later, or use another source. {ways}"
    # The table of properties implies the size; twice as much leaves room for other line ends, not for a wrong address.
    own = limits or Limits(size=2 * file.expected_size + (1 << 20))
    try:
        return download(address, own, lambda content: check(content, file, address, advice), file.name)
    except ChecksumError:
        raise
    except DatasetError as error:
        raise DatasetMissingError(
            f"{file.name} is not here and could not be downloaded from {error}. {ways}; "
            "XSPN_DOWNLOAD_BASE names another address to download from"
        ) from error
