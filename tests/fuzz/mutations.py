"""Damage: to bytes, to plain values as JSON holds them, to arrays, and to files of arrays under a digest of their own.

Whoever means harm computes digests anew, so what stands behind a digest is damaged too: `signed_model`, `Container`.
"""

import hashlib
import json
from copy import deepcopy
from dataclasses import dataclass
from struct import Struct

import numpy as np

DEEP = "@deep@"  # stands for lists nested deeper than Python's own writer of JSON can go
# Given out anew each time: damage to a value that stands in two places would be damage to both.
ODD = (
    None, True, False, 0, 1, -1, 2, 7, 255, 2**31, 2**63, 10**10, 10**30, -(10**30), 10**4200, 0.5, -0.5, 1e-320, 1e308,
    -1e308, float("nan"), float("inf"), float("-inf"), "", "-inf", "nan", "0", "x" * 3000, "\0", "\ud800", "../../x",
    [], {}, [[]], [0], [None], {"": None}, {"name": "count"}, DEEP,
)  # fmt: skip


def damaged_bytes(rng, content):
    """The same bytes but for one or a few places."""
    out = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        at, size = int(rng.integers(len(out) + 1)), int(rng.choice([1, 2, 8, 64, 1000]))
        match int(rng.integers(7)):
            case 0:
                out[at : at + 1] = bytes([int(rng.integers(256))])
            case 1 if out:
                out[min(at, len(out) - 1)] ^= 1 << int(rng.integers(8))
            case 2:
                del out[at : at + size]
            case 3:
                out[at:at] = rng.bytes(size)
            case 4:
                out[at:at] = out[at : at + size]
            case 5:
                del out[at:]
            case _:
                out[at : at + size] = bytes(len(out[at : at + size]))
    return bytes(out)


def damaged_value(rng, value):
    """The same plain value but for one to three places."""
    out = json.loads(json.dumps(value))
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        out = _damaged_at(rng, out, _some_path(rng, out))
    return out


def _some_path(rng, value):
    """A place in a plain value, any depth as likely as the next."""
    path = []
    while isinstance(value, dict | list) and value and rng.random() < 0.85:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        path.append(keys[int(rng.integers(len(keys)))])
        value = value[path[-1]]
    return path


def _damaged_at(rng, value, path):
    if not path:
        return _other(rng, value)
    parent = value
    for key in path[:-1]:
        parent = parent[key]
    key = path[-1]
    kind = rng.random()
    if kind < 0.65:
        parent[key] = _other(rng, parent[key])
    elif kind < 0.8:
        del parent[key]
    elif isinstance(parent, dict):
        parent[f"{key}x" if kind < 0.9 else str(ODD[int(rng.integers(len(ODD)))])[:50]] = deepcopy(parent[key])
        if kind < 0.85:
            del parent[key]
    elif kind < 0.9:
        parent.insert(int(rng.integers(len(parent) + 1)), deepcopy(parent[key]))
    else:
        other = int(rng.integers(len(parent)))
        parent[key], parent[other] = parent[other], parent[key]
    return value


def _other(rng, value):
    """Something else than a value: near to it, or far from it."""
    if isinstance(value, int | float) and not isinstance(value, bool) and rng.random() < 0.6:
        options = (value + 1, value - 1, -value, 2 * value, str(value), [value])
        if abs(value) < 1e300:
            options += (float(value), value + 1e-7, value / 2)
        return options[int(rng.integers(len(options)))]
    if isinstance(value, str) and rng.random() < 0.4:
        options = (value[:-1], value + value, value.upper(), value[::-1], f"../{value}", [value])
        return options[int(rng.integers(len(options)))]
    if isinstance(value, list) and value and rng.random() < 0.4:
        by_number = {str(i): own for i, own in enumerate(value)}
        options = (value[::-1], value[:-1], value + deepcopy(value), [value], by_number, value[0])
        return options[int(rng.integers(len(options)))]
    return deepcopy(ODD[int(rng.integers(len(ODD)))])


def text_of(value, deep=3000, **options):
    """A plain value as JSON text, NaN and deep lists included."""
    return json.dumps(value, **options).replace(f'"{DEEP}"', "[" * deep + "]" * deep)


def signed_model(data):
    """A model file with the digest that belongs to its content."""
    content = {key: value for key, value in data.items() if key not in ("format", "schema", "digest")}
    canonical = text_of(content, sort_keys=True, separators=(",", ":"))
    return text_of({**data, "digest": hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()})


def signed_checkpoint(head, content):
    """A checkpoint file with the digest that belongs to its content."""
    text = text_of(content)
    return f"{text_of({**head, 'digest': hashlib.sha256(text.encode()).hexdigest()})}\n{text}\n"


def damaged_array(rng, array):
    """The same array but for some entries, its length, its type or its shape."""
    out = np.array(array)
    kind = rng.random()
    if kind < 0.7 and out.size:
        flat = out.reshape(-1)
        for _ in range(int(rng.integers(1, 4))):
            flat[int(rng.integers(len(flat)))] = _odd_entry(rng, out.dtype)
        return out
    if kind < 0.8:
        return out[: int(rng.integers(len(out) + 1))] if out.ndim else out
    if kind < 0.85:
        return np.concatenate([out, out]) if out.ndim else out
    if kind < 0.9:
        return out.reshape(-1, 1) if out.ndim == 1 else out.reshape(-1)
    with np.errstate(invalid="ignore", over="ignore"):
        return out.astype(rng.choice([np.float64, np.int32, np.uint8, np.bool_]))


def _odd_entry(rng, dtype):
    if dtype.kind == "f":
        return rng.choice([np.nan, np.inf, -np.inf, -1.0, 0.0, 0.5, 2.0, 1e300, 1e-300])
    if dtype.kind == "b":
        return rng.random() < 0.5
    limits = np.iinfo(dtype)
    options = [-1, 0, 1, 2, 3, 7, 100, 10_000, limits.max, limits.min, limits.max // 2]
    return np.clip(int(rng.choice(np.array(options, dtype=object))), limits.min, limits.max)


MAGIC = b"\x89xspn\r\n\x1a"
FIXED = Struct("<8sIIQQ")
ALIGNMENT = 64


@dataclass
class Container:
    """A binary file of named arrays under a head and a digest, as `xspn.io` documents it."""

    head: dict
    arrays: dict

    @classmethod
    def of(cls, content):
        """Read a good file."""
        length = FIXED.unpack_from(content)[3]
        start = FIXED.size + 32
        head = json.loads(content[start : start + length])
        offset, arrays = start + length, {}
        for name, kind, shape in head.pop("arrays"):
            offset += -offset % ALIGNMENT
            count = int(np.prod(shape))
            arrays[name] = np.frombuffer(content, kind, count, offset).reshape(shape)
            offset += count * np.dtype(kind).itemsize
        return cls(head, arrays)

    def packed(self, damage=None):
        """Return the file with the digest that belongs to it; `damage` may change the list of its arrays."""
        listed = [[name, array.dtype.str, list(array.shape)] for name, array in self.arrays.items()]
        whole = {**self.head, "arrays": listed}
        text = text_of(whole if damage is None else damage(whole)).encode("utf-8", "surrogatepass")
        size, parts = FIXED.size + 32 + len(text), [text]
        for array in self.arrays.values():
            parts += [bytes(-size % ALIGNMENT), np.ascontiguousarray(array).tobytes()]
            size += -size % ALIGNMENT + array.nbytes
        fixed, body = FIXED.pack(MAGIC, 1, 0, len(text), size), b"".join(parts)
        return fixed + hashlib.sha256(fixed + body).digest() + body


def damaged_container(rng, content):
    """A container with one array or something in its head changed, and a digest that says it was meant."""
    own = Container.of(content)
    assert own.packed()[: FIXED.size] == content[: FIXED.size], "the layout of binary files is not what it was"
    if rng.random() < 0.6 and own.arrays:
        name = list(own.arrays)[int(rng.integers(len(own.arrays)))]
        own.arrays[name] = damaged_array(rng, own.arrays[name])
        return own.packed()
    return own.packed(lambda head: damaged_value(rng, head))
