"""A file of named arrays with a head of plain values and a digest over all of it. No pickle, nothing is executed.

```
8 bytes   the magic: 89 "xspn" 0D 0A 1A
u32       version of this layout, little-endian as all numbers are
u32       0
u64       length of the head in bytes
u64       length of the file in bytes
32 bytes  SHA-256 of the 32 bytes before it and of everything after it
head      JSON: {"format": …, "schema": …, "arrays": [[name, type, shape], …], …}
arrays    one after the other, each at the next multiple of 64 bytes; zeros between them
```

Types are those of `TYPES`. Arrays are views of the content, which can be a memory map: nothing is copied.
"""

import hashlib
import json
from collections.abc import Mapping
from math import prod
from pathlib import Path
from struct import Struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xspn.core.arrays import AnyArray
from xspn.core.errors import FormatError
from xspn.io.json_format import LARGEST_TEXT, check_depth, check_schema, parse_json

MAGIC = b"\x89xspn\r\n\x1a"
VERSION = 1
TYPES = ("|u1", "|b1", "<i4", "<i8", "<f8")
FIXED = Struct("<8sIIQQ")
DIGEST_SIZE = 32
ALIGNMENT = 64
MOST_ARRAYS = 100_000

Content = NDArray[np.uint8]


def packed_file(head: dict[str, Any], arrays: Mapping[str, AnyArray]) -> list[bytes | memoryview]:
    """Return the parts of a file, to be written one after the other."""
    own = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    listed = [[name, _type_name(array), list(array.shape)] for name, array in own.items()]
    check_depth(head, "head")
    text = json.dumps({**head, "arrays": listed}, allow_nan=False, ensure_ascii=False).encode("utf-8")
    parts: list[bytes | memoryview] = [text]
    size = FIXED.size + DIGEST_SIZE + len(text)
    for array in own.values():
        padding = -size % ALIGNMENT
        parts += [bytes(padding), array.reshape(-1).view(np.uint8).data]
        size += padding + array.nbytes
    fixed = FIXED.pack(MAGIC, VERSION, 0, len(text), size)
    digest = hashlib.sha256(fixed)
    for part in parts:
        digest.update(part)
    return [fixed, digest.digest(), *parts]


def mapped(path: Path) -> Content:
    """Return a file's content as a memory map: it stays as it is when another file takes its place."""
    if not path.stat().st_size:
        return np.empty(0, dtype=np.uint8)  # nothing cannot be mapped
    return np.memmap(path, dtype=np.uint8, mode="r")


def unpacked_file(content: Content, source: str, form: str, schema: int) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return the head and the arrays of a file after its digest has been checked, at about a gigabyte a second."""
    start = FIXED.size + DIGEST_SIZE
    if content[: len(MAGIC)].tobytes() != MAGIC:
        raise FormatError(f"{source}: not a binary file of this library")
    if len(content) < start:
        raise FormatError(f"{source}: {len(content)} bytes; the file is truncated")
    _, version, _, length, size = FIXED.unpack(content[: FIXED.size].tobytes())
    if version != VERSION:
        raise FormatError(f"{source}: written in version {version}, this version reads {VERSION}; upgrade xspn")
    if size != len(content):
        raise FormatError(
            f"{source}: expected {size:,} bytes, found {len(content):,}; the file is truncated or altered"
        )
    if length > min(len(content) - start, LARGEST_TEXT):
        raise FormatError(f"{source}: a head of {length:,} bytes does not fit the file; the file was altered")
    digest = hashlib.sha256(content[: FIXED.size].data)
    digest.update(content[start:].data)
    if digest.digest() != content[FIXED.size : start].tobytes():
        raise FormatError(f"{source}: the content does not match its digest; the file is damaged or was altered")
    head = _head(content[start : start + length].tobytes(), source, form, schema)
    return head, _arrays(head.pop("arrays", None), content, start + length, source)


def _type_name(array: AnyArray) -> str:
    name = array.dtype.str
    if name not in TYPES:
        raise TypeError(f"arrays of type {name} are not stored")
    return name


def _head(text: bytes, source: str, form: str, schema: int) -> dict[str, Any]:
    try:
        head = parse_json(text.decode("utf-8"), source)
    except UnicodeDecodeError as error:
        raise FormatError(f"{source}: the head is not text; the file was altered") from error
    check_depth(head, source)
    if not isinstance(head, dict) or head.get("format") != form:
        found = head.get("format") if isinstance(head, dict) else None
        raise FormatError(f"{source}: expected a file of format {form!r}, found {str(found)[:40]!r}")
    check_schema(head.get("schema"), schema, source)
    return head


def _arrays(listed: Any, content: Content, offset: int, source: str) -> dict[str, AnyArray]:
    if not isinstance(listed, list) or len(listed) > MOST_ARRAYS:
        raise FormatError(f"{source}: expected a list of at most {MOST_ARRAYS} arrays; the file was altered")
    arrays: dict[str, AnyArray] = {}
    for entry in listed:
        name, kind, shape = _entry(entry, source)
        offset += -offset % ALIGNMENT
        count = prod(shape)  # of whole numbers that are not negative: never less than it says
        end = offset + count * np.dtype(kind).itemsize
        if end > len(content) or name in arrays:
            raise FormatError(f"{source}: the array {name!r} does not fit the file; the file was altered")
        own = content[offset:end]
        if kind == "|b1" and own.max(initial=0) > 1:
            raise FormatError(f"{source}: the array {name!r} holds something else than true and false")
        arrays[name] = own.view(kind).reshape(shape)
        offset = end
    if offset != len(content):
        raise FormatError(f"{source}: {len(content) - offset} bytes at the end belong to nothing; the file was altered")
    return arrays


def _entry(entry: Any, source: str) -> tuple[str, str, list[int]]:
    """Return the name, type and shape of an array if they can be ones."""
    if isinstance(entry, list) and len(entry) == 3:
        name, kind, shape = entry
        plain = isinstance(shape, list) and 1 <= len(shape) <= 2 and all(type(n) is int and n >= 0 for n in shape)
        if isinstance(name, str) and isinstance(kind, str) and kind in TYPES and plain and max(shape) < 1 << 40:
            return name, kind, shape
    raise FormatError(f"{source}: {str(entry)[:80]} does not describe an array; the file was altered")
