"""A checkpoint: how far a fit has come, and what it was made from, in a file written whole or not at all.

Of a tree that grows by tests these are its records and open tasks. Learning by evidence asks the same of the same rows
every time, in the same order. So such a fit is resumed by answering the passes that were finished from the file, as
plain values: samples and expected statistics; what was learned in between is learned again, from the same sample.
"""

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from xspn.core.arrays import AnyArray
from xspn.core.errors import DataError, FormatError, ParameterError
from xspn.core.files import check_folder, write_text
from xspn.distributed.gathering import GatherLimits
from xspn.distributed.partitions import TableLayout
from xspn.distributed.passes import TableStatistics
from xspn.distributed.plain import from_text, plain_tree, to_text, tree_of_plain
from xspn.distributed.tree import OpenTask, PartialTree
from xspn.engine.program import SumStep
from xspn.learning.config import LearnConfig
from xspn.learning.em.passes import Expected
from xspn.learning.long_tables import Expectation
from xspn.learning.sampling import Draw, RowSample, SampledRows

FORMAT = "xspn-checkpoint"
SCHEMA = 2
_ABSENT = object()
T = TypeVar("T")


def identity(
    statistics: TableStatistics, layout: TableLayout, config: LearnConfig, seed: int, limits: GatherLimits
) -> dict[str, Any]:
    """Return what must be the same for a tree to go on growing: data, settings, seed, limits."""
    found = {
        "data": {
            "rows": statistics.rows,
            "total": statistics.total,
            "digest": statistics.digest,
            "columns": layout.names,
        },
        "settings": {**asdict(config), "seed": seed, "binarize": layout.binarize, **asdict(limits)},
    }
    plain: dict[str, Any] = json.loads(json.dumps(found))
    return plain


@dataclass(frozen=True)
class Checkpoint:
    """A file, and what its tree must have been grown from."""

    path: Path
    identity: dict[str, Any]

    @classmethod
    def at(cls, path: str | os.PathLike[str], own_identity: dict[str, Any]) -> "Checkpoint":
        """Return the checkpoint of a file, which need not be there yet."""
        if Path(path).is_dir():
            raise ParameterError(f"checkpoint {os.fspath(path)}: expected a file, found a folder; name a file in it")
        check_folder(Path(path))
        return cls(Path(path), own_identity)

    def save(self, tree: PartialTree) -> None:
        """Write the tree."""
        self.write({"tree": plain_tree(tree)})

    def write(self, found: dict[str, Any]) -> None:
        """Write plain values, with what they were found from."""
        content = json.dumps({"identity": self.identity, **found})
        digest = hashlib.sha256(content.encode()).hexdigest()
        head = json.dumps({"format": FORMAT, "schema": SCHEMA, "digest": digest})
        write_text(self.path, f"{head}\n{content}\n")

    def load(self, root: OpenTask) -> PartialTree | None:
        """Return the tree, or None if there is no file yet; refuse one that was grown from something else.

        Args:
            root: The open task that the tree must have grown from.
        """
        total, context_rows = self.identity["data"]["total"], self.identity["settings"]["context_rows"]
        return self.read(lambda content: tree_of_plain(content["tree"], root, total, context_rows))

    def read(self, parse: Callable[[dict[str, Any]], T]) -> T | None:
        """Return what the plain values stand for, or None if there is no file yet."""
        if not self.path.exists():
            return None
        content = self._content()
        try:
            self._refuse_other_identity(content["identity"])
            return parse(content)
        except (KeyError, TypeError, AttributeError, FormatError) as error:
            raise FormatError(f"checkpoint {self.path}: damaged ({error}); delete it to begin anew") from error

    def _refuse_other_identity(self, found: dict[str, Any]) -> None:
        for what, own in self.identity.items():
            stored = found[what]
            odd = [name for name in (*own, *stored) if stored.get(name, _ABSENT) != own.get(name, _ABSENT)]
            if odd:
                raise DataError(
                    f"checkpoint {self.path}: made from other {what} ({odd[0]}: {_short(stored.get(odd[0]))} there, "
                    f"{_short(own.get(odd[0]))} now); fit with what it was made from, or name another file"
                )

    def _content(self) -> dict[str, Any]:
        try:
            head, _, rest = self.path.read_bytes().partition(b"\n")
            header = json.loads(head)
            known = header["format"] == FORMAT and header["schema"] == SCHEMA
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise FormatError(f"checkpoint {self.path}: not a checkpoint of a fit; name another file") from error
        text = rest.removesuffix(b"\n")
        if not known or hashlib.sha256(text).hexdigest() != header.get("digest"):
            raise FormatError(f"checkpoint {self.path}: damaged, or of another version; delete it to begin anew")
        try:
            content: dict[str, Any] = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise FormatError(f"checkpoint {self.path}: damaged ({error}); delete it to begin anew") from error
        return content


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}…"


# -- what passes over all rows found, as plain values ------------------------------------------------------------------


def plain_result(result: Any) -> dict[str, Any]:
    """Return what a pass found as plain values."""
    if isinstance(result, RowSample):
        rows = {"drawn": result.drawn, "ends": result.ends, "different": result.different}
        plain = {name: None if own is None else _plain_rows(own) for name, own in rows.items()}
        return {"total": result.total, **plain}
    return {"sums": [_plain_array(own) for own in result.sums], "leaves": [_plain_array(own) for own in result.leaves]}


def result_of_plain(data: Any, measure: Any) -> Any:
    """Return what a pass found that measured this; refuse what it cannot have found."""
    if isinstance(measure, Draw):
        return _sample(data, measure)
    if isinstance(measure, Expectation):
        return _expected(data, measure)
    raise FormatError(f"passes: nothing is known of {type(measure).__name__}")


def _sample(data: Any, draw: Draw) -> RowSample:
    drawn, ends = _rows(data["drawn"], draw, draw.most + 1), _rows(data["ends"], draw, 2 * len(draw.domains))
    different = None if data["different"] is None else _rows(data["different"], draw, draw.most)
    total = data["total"]
    if not isinstance(total, float) or not 0 < total < np.inf:
        raise FormatError(f"total: expected a number above 0, found {total!r:.60}")
    if different is None and len(drawn.index) != draw.most + 1:
        raise FormatError(f"drawn: expected {draw.most + 1} rows, found {len(drawn.index)}")
    return RowSample(draw, total, drawn, ends, different)


def _expected(data: Any, measure: Expectation) -> Expected:
    program = measure.backend.program
    shapes = [step.log_weights.shape for step in program.steps if isinstance(step, SumStep)]
    leaves = [np.shape(block.expected_statistics(block.new_counts())) for _, block in program.blocks]
    return Expected(_arrays(data["sums"], shapes), _arrays(data["leaves"], leaves), 0.0)


def _plain_rows(rows: SampledRows) -> dict[str, Any]:
    return {"index": to_text(rows.index), "cells": to_text(rows.cells), "weights": to_text(rows.weights)}


def _rows(data: Any, draw: Draw, most: int) -> SampledRows:
    """Return saved rows: at most so many, in order, with cells that their columns may have."""
    n = len(draw.domains)
    bits = all(domain.cardinality == 2 for domain in draw.domains)
    index = from_text(data, "index", np.dtype(np.int64), most)
    weights = from_text(data, "weights", np.dtype(np.float64), most)
    cells = from_text(data, "cells", np.dtype(np.uint8 if bits else np.float64), most * n)
    in_order = bool((np.diff(index) > 0).all()) and (not len(index) or index[0] >= 0)
    if not in_order or len(weights) != len(index) or cells.size != n * len(index):
        raise FormatError("rows: expected as many weights and rows of cells as positions, in order")
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise FormatError("rows: expected weights of at least 0")
    cells = cells.reshape(-1, n)
    if bits and cells.size and cells.max() > 2:
        raise FormatError("rows: expected bits")
    if not bits and any(domain.outside(cells[:, j]).any() for j, domain in enumerate(draw.domains)):
        raise FormatError("rows: a cell holds what its column cannot")
    return SampledRows(index, cells, weights)


def _plain_array(array: AnyArray) -> str:
    return to_text(np.asarray(array, dtype=np.float64))


def _arrays(data: Any, shapes: Sequence[tuple[int, ...]]) -> list[AnyArray]:
    if not isinstance(data, list) or len(data) != len(shapes):
        raise FormatError(f"passes: expected the statistics of {len(shapes)} parts of the circuit")
    found = []
    for own, shape in zip(data, shapes, strict=True):
        size = int(np.prod(shape))
        array = from_text({"statistics": own}, "statistics", np.dtype(np.float64), size)
        if array.size != size or not np.isfinite(array).all():
            raise FormatError(f"statistics: expected {size} numbers")
        found.append(array.reshape(shape))
    return found
