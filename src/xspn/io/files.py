"""Save circuits to files and load them again.

A file whose name ends in `.xspn` is written in the binary form: compact, and fast for models of a million parameters.
Every other name gives JSON: for small models, and to be read. Both hold the same, and `load` tells them apart by what
is in the file.
"""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from xspn.circuit import Circuit
from xspn.core.errors import DataTypeError, FormatError, ParameterError
from xspn.core.files import write_parts
from xspn.io.binary_format import from_binary, to_binary
from xspn.io.container import MAGIC
from xspn.io.json_format import LARGEST_FILE, LARGEST_TEXT, from_json_with_notes, to_json

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
    """Pause the garbage collector while a million objects are made that all stay."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()
