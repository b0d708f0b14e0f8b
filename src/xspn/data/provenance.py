"""Where a model comes from: which version learned it, by which settings and seed, from which rows.

A model file keeps it beside the circuit, so that a report can say whether the rows it is shown are those that the model
was learned from. Rows are known by their digest: no cell of the table is kept.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from xspn._version import __version__
from xspn.core.arrays import AnyArray, BoolArray
from xspn.core.errors import FormatError
from xspn.data.schema import Schema

ROWS_AT_ONCE = 1 << 14
MISSING = 255  # the byte of a missing bit
LONGEST = 200  # letters of a setting that is kept as text
PLAIN = (bool, int, float, str, type(None))


@dataclass(frozen=True)
class HeldOut:
    """Rows of the same table that were not learned from: a random fraction, drawn by a seed.

    Attributes:
        fraction: The fraction that was asked for.
        seed: The seed of the permutation.
        rows: How many rows these are.
    """

    fraction: float
    seed: int
    rows: int


@dataclass(frozen=True)
class Provenance:
    """How a circuit was learned.

    Attributes:
        version: The version of this library.
        learner: What learned it: the estimator's name.
        settings: The estimator's parameters that differ from the defaults, but for the seed.
        seed: The random seed; None if there was none, or no number.
        rows: The number of rows; None for a table out of core of which that is not known.
        columns: The number of columns.
        missing_cells: The number of missing cells; None for a table out of core.
        weighted: Whether rows had weights.
        digest: The SHA-256 of the rows (`digest_of`); None for a table out of core.
        held_out: Which rows of the table were held out, if some were.
    """

    version: str
    learner: str
    settings: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    seed: int | None = None
    rows: int | None = None
    columns: int = 0
    missing_cells: int | None = None
    weighted: bool = False
    digest: str | None = None
    held_out: HeldOut | None = None

    @classmethod
    def of(
        cls,
        learner: str,
        settings: Mapping[str, Any],
        seed: Any,
        codes: AnyArray,
        schema: Schema,
        weighted: bool = False,
    ) -> "Provenance":
        """Return the provenance of a model of rows in memory."""
        missing = int(np.isnan(codes).sum()) if codes.dtype.kind == "f" else 0
        whole = int(seed) if isinstance(seed, int | np.integer) and not isinstance(seed, bool) else None
        return cls(
            __version__, learner, {name: _plain(value) for name, value in settings.items()}, whole,
            len(codes), len(schema), missing, weighted, digest_of(codes, schema),
        )  # fmt: skip

    def with_held_out(self, fraction: float, seed: int, rows: int) -> "Provenance":
        """Return the same with a note of which rows were held out."""
        return replace(self, held_out=HeldOut(fraction, seed, rows))

    def knows(self, codes: AnyArray, schema: Schema) -> bool:
        """Whether these are the rows that the model was learned from."""
        return self.digest is not None and len(codes) == self.rows and digest_of(codes, schema) == self.digest

    def to_plain(self) -> dict[str, Any]:
        """Return it in the values that JSON holds."""
        return {**asdict(replace(self, settings={})), "settings": dict(self.settings)}

    @classmethod
    def from_plain(cls, stored: Any, source: str) -> "Provenance":
        """Return what a file keeps, or say that it cannot be read.

        Examples:
            >>> Provenance.from_plain({"version": "0.1.0", "learner": "XSPN", "rows": 200}, "a file").rows
            200
        """
        problem = _problem(stored)
        if problem is not None:
            raise FormatError(f"{source}: 'provenance' {problem}; the file was altered")
        known = {name: stored[name] for name in cls.__dataclass_fields__ if name in stored}
        if known.get("held_out") is not None:
            known["held_out"] = HeldOut(**{name: stored["held_out"][name] for name in HeldOut.__dataclass_fields__})
        return cls(**known)


def digest_of(codes: AnyArray, schema: Schema) -> str:
    """Return the SHA-256 of rows in their order: names, kinds and labels of the columns, and every cell's value.

    Examples:
        >>> from xspn.data.table import Table
        >>> one, same, other = (Table.of([[0, 1], [1, last]]) for last in (1, 1, 0))
        >>> found = [digest_of(own.codes, own.schema) for own in (one, same, other)]
        >>> found[0] == found[1], found[0] == found[2]
        (True, False)
    """
    head = [
        [name, None if domain is None else domain.cardinality, None if labels is None else list(map(str, labels))]
        for name, domain, labels in zip(schema.shown_names, schema.domains, schema.labels, strict=True)
    ]
    found = hashlib.sha256(json.dumps([head, len(codes)], ensure_ascii=True).encode())
    bits = schema.are_binary
    for start in range(0, len(codes), ROWS_AT_ONCE):
        own = np.asarray(codes[start : start + ROWS_AT_ONCE], dtype=np.float64) + 0.0  # −0 is 0
        missing = np.isnan(own)
        if bits:
            block: AnyArray = np.where(missing, MISSING, own).astype(np.uint8)
        else:
            block = np.where(missing, np.nan, own).astype("<f8")
        found.update(np.ascontiguousarray(block).tobytes())
    return found.hexdigest()


def held_out_rows(n_rows: int, fraction: float, seed: int) -> BoolArray:
    """Return which rows a random fraction of a table is: the same for the same seed.

    Examples:
        >>> int(held_out_rows(10, 0.3, seed=0).sum())
        3
    """
    found = np.zeros(n_rows, dtype=bool)
    found[np.random.default_rng(seed).permutation(n_rows)[: round(fraction * n_rows)]] = True
    return found


def _plain(value: Any) -> Any:
    """Return a setting as JSON can hold it; anything else as text."""
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(own) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(own) for own in value]
    return value if isinstance(value, PLAIN) else str(value)[:LONGEST]


def _problem(stored: Any) -> str | None:
    """Return what is wrong with stored values, or None."""
    if not isinstance(stored, dict):
        return "is not an object"
    for name in ("version", "learner"):
        if not isinstance(stored.get(name), str):
            return f"has no text for {name!r}"
    for name in ("seed", "rows", "columns", "missing_cells"):
        value = stored.get(name, 0)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
            return f"has no whole number for {name!r}"
    if not isinstance(stored.get("columns", 0), int) or not isinstance(stored.get("weighted", False), bool):
        return "has a value of another type than it writes"
    if not isinstance(stored.get("settings", {}), dict) or not isinstance(stored.get("digest"), str | None):
        return "has a value of another type than it writes"
    held_out = stored.get("held_out")
    if held_out is None:
        return None
    if isinstance(held_out, dict):
        fraction, seed, rows = (held_out.get(name) for name in HeldOut.__dataclass_fields__)
        if isinstance(fraction, float) and 0 < fraction < 1 and isinstance(seed, int) and isinstance(rows, int):
            return None if min(seed, rows) >= 0 else "does not say which rows were held out"
    return "does not say which rows were held out"
