"""Save circuits to files and load them again."""

import os
import tempfile
from errno import EACCES, EISDIR, ENOENT
from pathlib import Path
from typing import Any

from xspn._core.errors import DataTypeError, FormatError
from xspn.io.json_format import from_json_with_notes, to_json
from xspn.model import Circuit


def save(circuit: Circuit, path: str | os.PathLike[str], notes: dict[str, Any] | None = None) -> None:
    """Write a circuit as JSON. The file appears whole or not at all: a crash never leaves half a model.

    Args:
        circuit: The circuit.
        path: The file.
        notes: What else the file shall hold, in plain values: how the circuit was learned, say.
    """
    if not isinstance(circuit, Circuit):
        hint = "; pass its circuit_" if hasattr(circuit, "circuit_") else ""
        raise DataTypeError(f"save: expected a Circuit, found {type(circuit).__name__}{hint}")
    write_text(Path(path), to_json(circuit, notes=notes) + "\n")


def load(path: str | os.PathLike[str]) -> Circuit:
    """Read a circuit, the same to the last bit as the one that was saved."""
    return load_with_notes(path)[0]


def load_with_notes(path: str | os.PathLike[str]) -> tuple[Circuit, dict[str, Any]]:
    """Read a circuit and the notes that were saved with it."""
    file = Path(path)
    return read_model(file.read_bytes(), str(file))


def read_model(content: bytes, source: str) -> tuple[Circuit, dict[str, Any]]:
    """Return the circuit and the notes of a file's content."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{source}: not a text file; the file is damaged or not a circuit") from error
    return from_json_with_notes(text, source)


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file by way of a temporary one beside it; what is no file (a device, a pipe) is written to directly."""
    path = Path(os.path.realpath(path))  # a link stays one
    if path.is_dir():
        raise IsADirectoryError(EISDIR, "expected a file, found a folder", str(path))
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    check_folder(path)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        mode = 0o666 & ~_umask()
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def check_folder(path: Path) -> None:
    """Refuse a file in a folder that is not there or that nothing can be written to, before any work is done for it."""
    folder = path.parent
    if not folder.is_dir():
        raise FileNotFoundError(ENOENT, "no such folder", str(folder))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(EACCES, "nothing can be written to this folder", str(folder))


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
