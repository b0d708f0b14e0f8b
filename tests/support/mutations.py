"""Files with something wrong: bytes lost, added, changed or swapped, and altered content under a digest of its own."""

import hashlib
import json

import numpy as np

from xspn.io import container


def mutated(content, rng):
    """Return a file that differs from the given one: truncated, prolonged, or with other bytes in some place."""
    kind = rng.integers(7)
    data = bytearray(content)
    at = int(rng.integers(len(data)))
    if kind == 0:
        return bytes(data[:at])
    if kind == 1:
        return bytes(data) + rng.bytes(int(rng.integers(1, 100)))
    if kind == 2:
        data[at] ^= 1 << int(rng.integers(8))
    elif kind == 3:
        size = int(rng.integers(1, 65))
        data[at : at + size] = rng.bytes(size)
    elif kind == 4:
        del data[at : at + int(rng.integers(1, 65))]
    elif kind == 5:
        at = int(rng.integers(64))  # the magic, versions, lengths, the digest
        data[at] ^= int(rng.integers(1, 256))
    else:
        size = int(rng.integers(1, 65))
        other = int(rng.integers(len(data)))
        data[at : at + size], data[other : other + size] = data[other : other + size], data[at : at + size]
    return bytes(data) if bytes(data) != content else content[:-1]


def resealed(head, arrays, listed=lambda entries: entries):
    """Return a binary file with the right digest, whatever its head and its list of arrays say."""
    entries = [[name, array.dtype.str, list(array.shape)] for name, array in arrays.items()]
    first = json.dumps({**head, "arrays": listed(entries)}).encode()
    content = bytearray(first)
    start = container.FIXED.size + container.DIGEST_SIZE
    for array in arrays.values():
        content += bytes(-(start + len(content)) % container.ALIGNMENT)
        content += np.ascontiguousarray(array).tobytes()
    fixed = container.FIXED.pack(container.MAGIC, container.VERSION, 0, len(first), start + len(content))
    return fixed + hashlib.sha256(fixed + bytes(content)).digest() + bytes(content)
