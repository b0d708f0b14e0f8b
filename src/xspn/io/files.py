"""Save circuits to files and load them again.

A file whose name ends in `.xspn` is written in the binary form: compact, and fast for models of a million parameters.
Every other name gives JSON: for small models, and to be read. Both hold the same, and `load` tells them apart by what
is in the file.
"""

import gc
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from errno import EACCES, EISDIR, ENOENT
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from xspn._core.errors import DataTypeError, FormatError, ParameterError
from xspn.io.binary_format import from_binary, to_binary
from xspn.io.container import MAGIC
from xspn.io.json_format import from_json_with_notes, to_json
from xspn.io.limits import LARGEST_FILE, LARGEST_TEXT
from xspn.model import Circuit

BINARY_SUFFIX = ".xspn"


def save(circuit: Circuit, path: str | os.PathLike[str], notes: dict[str, Any] | None = None) -> None:
    """Write a circuit: in the binary form if the name ends in `.xspn`, else as JSON.

    The file appears whole or not at all: a crash never leaves half a model. A file that is replaced keeps its mode.

    Args:
        circuit: The circuit.
        path: The file.
        notes: What else the file shall hold, in plain values: how the circuit was learned, say.
    """
    if not isinstance(circuit, Circuit):
        hint = "; pass its circuit_" if hasattr(circuit, "circuit_") else ""
        raise DataTypeError(f"save: expected a Circuit, found {type(circuit).__name__}{hint}")
    with _collector_paused():
        parts = model_parts(circuit, is_binary(path), notes)
    write_parts(Path(path), parts)


def is_binary(path: str | os.PathLike[str]) -> bool:
    """Whether a model of this name is written in the binary form."""
    return Path(path).suffix.lower() == BINARY_SUFFIX


def model_parts(circuit: Circuit, binary: bool, notes: dict[str, Any] | None = None) -> list[bytes | memoryview]:
    """Return the content of a model file, in parts to be written one after the other."""
    if binary:
        return to_binary(circuit, notes)
    text = to_json(circuit, notes=notes).encode("utf-8")
    if len(text) >= LARGEST_TEXT:
        raise ParameterError(
            f"save: {len(text):,} bytes of JSON, more than the {LARGEST_TEXT:,} that are read back; "
            f"give the file a name that ends in {BINARY_SUFFIX}"
        )
    return [text, b"\n"]


def load(path: str | os.PathLike[str]) -> Circuit:
    """Read a circuit in either form, the same to the last bit as the one that was saved."""
    return load_with_notes(path)[0]


def load_with_notes(path: str | os.PathLike[str]) -> tuple[Circuit, dict[str, Any]]:
    """Read a circuit and the notes that were saved with it."""
    file = Path(path)
    with file.open("rb") as stream:
        content = _bounded(stream, str(file))
    return read_model(content, str(file))


def _bounded(stream: BinaryIO, source: str) -> bytes:
    """Return the content of a file, or of a pipe, that is no larger than models can be."""
    parts = [stream.read(len(MAGIC))]
    most = LARGEST_FILE if parts[0] == MAGIC else LARGEST_TEXT
    size = os.fstat(stream.fileno()).st_size
    while size <= most and (part := stream.read(1 << 24)):
        parts.append(part)
        size = max(size, sum(map(len, parts)))
    if size > most:
        raise FormatError(f"{source}: {size:,} bytes or more, of which at most {most:,} are read")
    return b"".join(parts)


def read_model(content: bytes, source: str) -> tuple[Circuit, dict[str, Any]]:
    """Return the circuit and the notes of a file's content."""
    with _collector_paused():
        if content.startswith(MAGIC):
            return from_binary(np.frombuffer(content, dtype=np.uint8), source)
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise FormatError(f"{source}: not a text file; the file is damaged or not a circuit") from error
        return from_json_with_notes(text, source)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Keep the garbage collector from looking at a million new objects again and again, all of which stay."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file, whole or not at all."""
    write_parts(path, [content])


def write_parts(path: Path, parts: Iterable[bytes | memoryview]) -> None:
    """Write a file by way of a temporary one beside it; what is no file (a device, a pipe) is written to directly.

    Whoever has the old file open keeps it: nothing is ever written into a file that is there.
    """
    path = Path(os.path.realpath(path))  # a link stays one
    if path.is_dir():
        raise IsADirectoryError(EISDIR, "expected a file, found a folder", str(path))
    if path.exists() and not path.is_file():
        with path.open("wb") as stream:
            stream.writelines(parts)
        return
    check_folder(path)
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
    temporary = path.parent / f".xspn-{secrets.token_hex(8)}.part"
    # The system takes the umask off the mode of a new file; the umask itself belongs to the whole process.
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode or 0o666)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.writelines(parts)
            stream.flush()
            os.fsync(stream.fileno())
        if mode is not None:
            os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def check_folder(path: Path) -> None:
    """Refuse a file in a folder that is not there or that nothing can be written to, before any work is done for it."""
    folder = path.parent
    if not folder.is_dir():
        raise FileNotFoundError(ENOENT, "no such folder", str(folder))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(EACCES, "nothing can be written to this folder", str(folder))
