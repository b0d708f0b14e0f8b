"""A checkpoint: the tree as far as it has grown, and what it was grown from, in a file written whole or not at all."""

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from xspn.core.errors import DataError, FormatError, ParameterError
from xspn.core.files import check_folder, write_text
from xspn.distributed.gathering import GatherLimits
from xspn.distributed.partitions import TableLayout
from xspn.distributed.passes import TableStatistics
from xspn.distributed.plain import plain_tree, tree_of_plain
from xspn.distributed.tree import OpenTask, PartialTree
from xspn.learning.config import LearnConfig

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
