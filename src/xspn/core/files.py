"""Files that are written whole or not at all, and values in the form that JSON can hold."""

import os
import secrets
import stat
from collections.abc import Iterable
from errno import EACCES, EISDIR, ENOENT
from math import isfinite, isnan
from pathlib import Path
from typing import Any

from xspn.core.errors import DataTypeError, ParameterError


def path_of(path: Any, what: str) -> Path:
    """Return the path of a file, or refuse what can be none.

    Examples:
        >>> path_of(5, "load")
        Traceback (most recent call last):
        ...
        xspn.core.errors.DataTypeError: load: expected the path of a file, found 5
    """
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise DataTypeError(f"{what}: expected the path of a file, found {path!r:.60}")
    if "\0" in os.fspath(path):
        raise ParameterError(f"{what}: a zero byte in the path {os.fspath(path)!r:.80}")
    return Path(path)


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


def json_value(value: Any) -> Any:
    """Return a value in the form that JSON can hold: −∞ is "-inf", ∞ "inf", and what is not a number null.

    Examples:
        >>> json_value([1.5, float("-inf"), {"p": float("nan")}])
        [1.5, '-inf', {'p': None}]
    """
    if isinstance(value, dict):
        return {key: json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    if not isinstance(value, float) or isfinite(value):
        return value
    return None if isnan(value) else "inf" if value > 0 else "-inf"
