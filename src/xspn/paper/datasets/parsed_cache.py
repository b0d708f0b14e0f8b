"""Parsed tables in the cache: one bit a value, named by the file they came from and its checksum.

A stored table is used only if its own checksum holds (a zip archive carries one) and if the file beside it, where
there is one, has not changed since it was verified. Otherwise the file is verified and parsed again.
"""

import io
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xspn.paper.datasets.dataset import BinaryTable
from xspn.paper.datasets.storage import discard, keep


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells that a verified file has not been touched since: its size and its time of change."""

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


def read(path: Path, stamp: Stamp | None) -> BinaryTable | None:
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


def write(path: Path, table: BinaryTable, stamp: Stamp | None) -> None:
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
