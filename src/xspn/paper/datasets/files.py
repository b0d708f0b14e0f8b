"""A data set's files: where they are, whether they are undamaged, and the tables parsed from them.

Three environment variables say where files are: `XSPN_DATA` (a folder of files), `XSPN_CACHE` (where downloads and
parsed tables are kept) and `XSPN_DOWNLOAD_BASE` (the address to download from).

The cache keeps parsed tables with one bit a value, named by the file that they came from and its checksum. A stored
table is used only if its own checksum holds (a zip archive carries one) and if the file beside it, where there is one,
has not changed since it was verified. Otherwise the file is verified and parsed again.
"""

import contextlib
import gzip
import io
import os
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np

from xspn.core.errors import ChecksumError, DataError, DatasetError, DatasetMissingError, ParameterError
from xspn.core.files import write_parts
from xspn.paper.datasets.catalog import SourceFile
from xspn.paper.datasets.checksums import git_blob_sha1
from xspn.paper.datasets.dataset import BinaryTable
from xspn.paper.datasets.download import AbsentError, Content, DownloadLimits, download

PUBLIC_BASE = "https://raw.githubusercontent.com/{owner}/{repository}/{branch}/{path}"
PACKED = ".gz"
_PART = 1 << 20  # bytes unpacked at a time
SCHEMES = ("https://", "http://", "file://")

AnyPath = str | os.PathLike[str]
Origin = Literal["data folder", "cache", "download"]
_ZERO, _COMMA, _NEWLINE = b"0,\n"


@dataclass(frozen=True, slots=True)
class Places:
    """The folders and the address that one call uses.

    Attributes:
        data: The user's own folder of files, or None. It is never written to.
        cache: The cache folder; it need not exist, nor be writable.
        base: The address to download from: a template with {path} and, if wanted, {owner}, {repository} and {branch};
            or the beginning of an address, to which `repository/path` is added.
        download: Whether anything may be downloaded.
    """

    data: Path | None
    cache: Path
    base: str
    download: bool = True

    @classmethod
    def find(
        cls,
        data_dir: AnyPath | None = None,
        cache_dir: AnyPath | None = None,
        base_url: str | None = None,
        download: bool = True,
    ) -> "Places":
        """Return the places: arguments first, then environment variables, then defaults.

        Examples:
            >>> Places.find(cache_dir="kept", base_url="https://example.org/mirror").base
            'https://example.org/mirror'
        """
        data = data_dir if data_dir is not None else os.environ.get("XSPN_DATA") or None
        if data is not None and not Path(data).is_dir():
            raise DatasetError(
                f"data folder: expected a folder at {os.fspath(data)}, found none; correct the argument data_dir or "
                "the environment variable XSPN_DATA, or leave it out to use the cache and downloads"
            )
        base = base_url or os.environ.get("XSPN_DOWNLOAD_BASE") or PUBLIC_BASE
        if not base.startswith(SCHEMES):
            raise ParameterError(
                f"download address: expected one that begins with {', '.join(SCHEMES)}, found {base!r}; "
                "correct the argument base_url or the environment variable XSPN_DOWNLOAD_BASE"
            )
        cache = cache_dir if cache_dir is not None else default_cache_folder()
        return cls(None if data is None else Path(data), Path(cache), base, download)

    def in_data(self, file: SourceFile) -> Path | None:
        """Return where the file is in the user's folder, as it is or packed by gzip; None if it is not there."""
        if self.data is None:
            return None
        path = self.data / file.relative_path
        packed = path.with_name(path.name + PACKED)
        return path if path.is_file() else packed if packed.is_file() else None

    def in_cache(self, file: SourceFile) -> Path:
        """Return where the cache keeps the downloaded file: the layout is that of a data folder."""
        return self.cache / "files" / file.relative_path

    def parsed(self, file: SourceFile) -> Path:
        """Return where the cache keeps the parsed table of the file's content."""
        return self.cache / "parsed" / f"{file.name}.{file.sha1}.npz"

    def address(self, file: SourceFile) -> str:
        """Return where the file is downloaded from.

        Examples:
            >>> from xspn.paper.datasets.catalog import info
            >>> file = info("nltcs").files[0]
            >>> Places.find(cache_dir="kept", base_url="file:///srv/data").address(file)
            'file:///srv/data/DEBD/datasets/nltcs/nltcs.train.data'
        """
        template = self.base if "{path}" in self.base else self.base.rstrip("/") + "/{repository}/{path}"
        repository = file.repository
        fields = {
            "{owner}": repository.owner,
            "{repository}": repository.name,
            "{branch}": repository.branch,
            "{path}": file.path,
        }
        for placeholder, value in fields.items():
            template = template.replace(placeholder, value)
        return template


def default_cache_folder() -> Path:
    """Return the folder that XSPN_CACHE names, or the platform's own place for caches."""
    chosen = os.environ.get("XSPN_CACHE")
    if chosen:
        return Path(chosen)
    from platformdirs import user_cache_path

    return user_cache_path("xspn", appauthor=False)


@dataclass(frozen=True, slots=True)
class Verified:
    """The content of a file that has passed its checksum.

    Attributes:
        content: The bytes.
        origin: "data folder", "cache" or "download".
        path: Where the file is now; None if it was downloaded and the cache folder is not writable.
    """

    content: Content
    origin: Origin
    path: Path | None


def obtain(file: SourceFile, places: Places, limits: DownloadLimits | None = None) -> Verified:
    """Return the file's verified content: from the data folder, the cache, or the public address, in this order.

    A damaged file in the user's own folder is an error (and is left to the user); one in the cache is deleted and
    fetched anew.
    """
    path = places.in_data(file)
    if path is not None:
        advice = "replace it with an undamaged copy, or delete it to have it downloaded"
        if path.suffix == PACKED:
            with path.open("rb") as packed:
                content: Content = _unpacked(packed, file, f"{path}", advice)
        else:
            content = path.read_bytes()
        check(content, file, f"{path}", advice)
        return Verified(content, "data folder", path)
    path = places.in_cache(file)
    cached = _read_cached(path, file)
    if cached is not None:
        return Verified(cached, "cache", path)
    content = _download(file, places, limits)
    return Verified(content, "download", path if keep(path, content) else None)


def _unpacked(packed: BinaryIO, file: SourceFile, where: str, advice: str) -> bytearray:
    """Return what a packed file holds, read part by part, and no more of it than the file can have."""
    most = _most_bytes(file)
    unpacked = bytearray()
    try:
        with gzip.open(packed) as stream:
            while len(unpacked) < most and (part := stream.read(min(_PART, most - len(unpacked)))):
                unpacked += part
    except (OSError, EOFError, zlib.error) as error:
        raise ChecksumError(f"{where}: the file is damaged ({error}); it was not used; {advice}") from error
    return unpacked


def _most_bytes(file: SourceFile) -> int:
    """Return how much may be read: twice the size that the catalog implies leaves room for other line ends."""
    return 2 * file.expected_size + (1 << 20)


def check(content: Content, file: SourceFile, where: str, advice: str) -> None:
    """Raise `ChecksumError` unless the content is what the catalog says."""
    found = git_blob_sha1(content)
    if found != file.sha1:
        raise ChecksumError(
            f"{where}: the file is damaged: expected git blob SHA-1 {file.sha1}, found {found} "
            f"({len(content)} bytes, about {file.expected_size} expected); it was not used; {advice}"
        )


def keep(path: Path, content: Content) -> bool:
    """Store content in the cache, whole or not at all; a folder that cannot be written to is no error."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_parts(path, [memoryview(content)])
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


def _download(file: SourceFile, places: Places, limits: DownloadLimits | None) -> Content:
    """Return the file from the address, where it may lie as it is or packed."""
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
    own = limits or DownloadLimits(size=_most_bytes(file))

    def whole(content: Content) -> Content:
        check(content, file, address, advice)
        return content

    def unpacked(content: Content) -> Content:
        return whole(_unpacked(io.BytesIO(content), file, address + PACKED, advice))

    try:
        try:
            return download(address, own, whole, file.name)
        except AbsentError as absent:
            try:
                return download(address + PACKED, own, unpacked, file.name + PACKED)
            except AbsentError:
                raise absent from None  # the address that the file should have is the one to name
    except ChecksumError:
        raise
    except DatasetError as error:
        raise DatasetMissingError(
            f"{file.name} is not here and could not be downloaded from {error}. {ways}; "
            "XSPN_DOWNLOAD_BASE names another address to download from"
        ) from error


def parse(content: Content, what: str = "data") -> BinaryTable:
    r"""Return the table in a file's content.

    Examples:
        >>> parse(b"0,1,1\n1,0,0\n").tolist()
        [[0, 1, 1], [1, 0, 0]]
        >>> parse(b"0,1\n1,2\n")
        Traceback (most recent call last):
        ...
        xspn.core.errors.DataError: data: expected 0 or 1, found '2' in line 2
    """
    width = content.find(b"\n") + 1
    if width > 1 and len(content) % width == 0:
        grid = np.frombuffer(content, dtype=np.uint8).reshape(-1, width)
        separators, values = grid[:, 1::2], grid[:, ::2] - np.uint8(_ZERO)
        regular = width % 2 == 0 and (separators[:, :-1] == _COMMA).all() and (separators[:, -1] == _NEWLINE).all()
        if regular and (values <= 1).all():
            return values
    return _parse_by_line(content, what)


def _parse_by_line(content: Content, what: str) -> BinaryTable:
    """Read with care, so that an error can name the line; spaces and other line ends are allowed."""
    lines = content.decode("ascii", errors="replace").splitlines()
    rows = [[cell.strip() for cell in line.split(",")] for line in lines if line.strip()]
    if not rows:
        raise DataError(f"{what}: expected lines of zeros and ones, found nothing")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise DataError(f"{what}: expected {len(rows[0])} values as in line 1, found {len(row)} in line {number}")
        bad = next((cell for cell in row if cell not in ("0", "1")), None)
        if bad is not None:
            raise DataError(f"{what}: expected 0 or 1, found {bad!r} in line {number}")
    return np.array(rows).astype(np.uint8)


def render(table: BinaryTable | Any) -> bytes:
    r"""Return the table in the public files' format.

    Examples:
        >>> render(np.array([[0, 1, 1], [1, 0, 0]]))
        b'0,1,1\n1,0,0\n'
    """
    values = np.asarray(table, dtype=np.uint8)
    grid = np.empty((values.shape[0], 2 * values.shape[1]), dtype=np.uint8)
    grid[:, ::2] = values + np.uint8(_ZERO)
    grid[:, 1::2] = _COMMA
    grid[:, -1] = _NEWLINE
    return grid.tobytes()


@dataclass(frozen=True, slots=True)
class Stamp:
    """Size and modification time of a verified file; while both are the same it is not verified again."""

    size: int
    changed: int

    @classmethod
    def of(cls, path: Path | None) -> "Stamp | None":
        """Return the stamp of a file, or None where there is no file."""
        if path is None:
            return None
        try:
            status = path.stat()
        except OSError:
            return None
        return cls(status.st_size, status.st_mtime_ns)


def read_parsed(path: Path, stamp: Stamp | None) -> BinaryTable | None:
    """Return the stored table, or None if there is none to be trusted; a damaged one is deleted.

    Args:
        path: Where the table is stored.
        stamp: The stamp of the file beside it; None where there is no such file any more.
    """
    try:
        content = path.read_bytes()
    except OSError:
        return None
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            rows, columns = (int(n) for n in stored["shape"])
            verified = Stamp(*(int(n) for n in stored["stamp"]))
            bits = stored["bits"]
        if bits.dtype != np.uint8 or bits.shape != (rows, -(-columns // 8)):
            raise ValueError("the stored bits do not have the stored shape")
    except (ValueError, TypeError, KeyError, OSError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError):
        discard(path)
        return None
    if stamp is not None and stamp != verified:
        return None
    return np.unpackbits(bits, axis=1, count=columns)


def write_parsed(path: Path, table: BinaryTable, stamp: Stamp | None) -> None:
    """Store a table, if the cache folder can be written to."""
    own = stamp or Stamp(-1, -1)
    stream = io.BytesIO()
    np.savez(
        stream,
        shape=np.array(table.shape, dtype=np.int64),
        stamp=np.array([own.size, own.changed], dtype=np.int64),
        bits=np.packbits(table, axis=1),
    )
    keep(path, stream.getvalue())
