"""Models as the service has them: prepared once from a checked file, opened by every worker, replaced at once.

A model file is read and checked by whoever watches over the workers. What workers need of it goes into a folder: the
compiled program, which they map into memory and share; what there is to say about the model; the explorer's page.
"""

import hashlib
import os
import stat
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from xspn.circuit import Circuit
from xspn.core.arrays import FloatArray, IntArray
from xspn.core.errors import FormatError, ParameterError, XSPNError, printable
from xspn.core.files import json_value, write_bytes, write_text
from xspn.data.schema import Schema
from xspn.io.files import FORMATS, model_of_content
from xspn.io.programs import open_program, save_program
from xspn.questions.queries import Evaluator
from xspn.service.rows import RowReader
from xspn.web.page import page

PROGRAM, ABOUT, PAGE = "program", "about.json", "page.html"
NAME_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
LONGEST_NAME = 100
VERSION_LETTERS = 16  # of the SHA-256 of a model file
MOST_LINES = 64  # templates of answers that are kept
NEWS = 0.125  # weight of the last measurement of what a row costs
Compute = Callable[["Model", FloatArray], FloatArray]  # (rows, columns) → an array with a row for each


def named_files(sources: Sequence[str]) -> dict[str, Path]:
    """Return model files by the names that they are served under: NAME=FILE, or the file's name without its ending.

    Examples:
        >>> named_files(["models/senate.json", "old=models/senate-2019.xspn"])
        {'senate': PosixPath('models/senate.json'), 'old': PosixPath('models/senate-2019.xspn')}
    """
    found: dict[str, Path] = {}
    for source in sources:
        name, equals, rest = source.partition("=")
        path = Path(rest) if equals and not os.path.exists(source) else Path(source)
        name = name if equals and not os.path.exists(source) else path.stem
        if not name or len(name) > LONGEST_NAME or not NAME_LETTERS.issuperset(name) or name.startswith("."):
            raise ParameterError(
                f"{source}: a model's name is part of addresses: expected letters, digits, '.', '_' or '-', found "
                f"{name!r}; name it as NAME=FILE"
            )
        if name in found:
            raise ParameterError(f"{source}: a second model is called {name!r}; name one of them as NAME=FILE")
        found[name] = path
    return found


# -- preparing ---------------------------------------------------------------------------------------------------------


def signature(path: Path) -> tuple[int, int, int] | None:
    """Return what changes when a file is replaced or written to; None if it is not there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def prepare(name: str, path: Path, folder: Path) -> None:
    """Read and check a model file, and write what workers need of it into a new folder."""
    content = _content(path)
    circuit, _ = model_of_content(content, str(path))
    version = hashlib.sha256(content).hexdigest()[:VERSION_LETTERS]
    folder.mkdir(mode=0o700)
    save_program(circuit, folder / PROGRAM)
    try:
        write_text(folder / PAGE, page(circuit.graph, circuit.schema, name, source=path.name))
        why_no_page = None
    except XSPNError as error:  # too large for a page: questions are answered all the same
        why_no_page = str(error)
    about = {"card": _card(circuit, name, version, path, len(content)), "why_no_page": why_no_page}
    write_bytes(folder / ABOUT, orjson.dumps(json_value(about)))


def _content(path: Path) -> bytes:
    """Return the content of a regular file that is no larger than models can be."""
    with path.open("rb") as stream:
        found = os.fstat(stream.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise FormatError(f"{path}: expected a model file, found something that is no file")
        most = max(form.most_bytes for form in FORMATS)
        if found.st_size > most:
            raise FormatError(f"{path}: {found.st_size:,} bytes, of which at most {most:,} are read")
        return stream.read(most + 1)


def _card(circuit: Circuit, name: str, version: str, path: Path, size: int) -> dict[str, Any]:
    """Return what there is to say about a model: its size, its columns, where it comes from."""
    summary, provenance = circuit.summary(), circuit.provenance
    kinds = [domain.kind for domain in circuit.domains if domain is not None]
    return {
        "name": name,
        "version": version,
        "file": path.name,
        "bytes": size,
        "columns": {kind: kinds.count(kind) for kind in sorted(set(kinds))},
        "nodes": summary.nodes,
        "edges": summary.edges,
        "parameters": summary.parameters,
        "leaves": summary.leaves,
        "mpe_is_exact": circuit.max_product_is_exact(),
        "provenance": None if provenance is None else provenance.to_plain(),
        "prepared": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _mapped(path: Path) -> mmap:
    with path.open("rb") as stream:
        return mmap(stream.fileno(), 0, access=ACCESS_READ)


def _escaped(text: str) -> bytes:
    """Return a text as JSON, to stand in a template."""
    return orjson.dumps(text).replace(b"%", b"%%")


# -- serving -----------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Model:
    """A model that answers. It is never changed: requests keep the one that they began with.

    Attributes:
        name: Its name in addresses.
        version: The first letters of its file's SHA-256.
        evaluator: What answers: compiled kernels over memory that all workers share.
        card: What there is to say about it.
        page: The explorer's page; None with a reason in `why_no_page` if the model is too large for one.
        reader: What turns rows by name into codes.
        seconds: What a row costs, by the names of questions.
    """

    name: str
    version: str
    evaluator: Evaluator
    card: dict[str, Any]
    page: mmap | None
    why_no_page: str | None
    reader: RowReader = field(init=False)
    seconds: dict[str, float] = field(default_factory=dict)
    _lines: dict[tuple[int, ...] | None, tuple[bytes, tuple[IntArray, IntArray]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.reader = RowReader(self.evaluator.schema)

    @classmethod
    def open(cls, folder: Path) -> "Model":
        """Return the model that `prepare` made a folder of; its program is checked again and mapped into memory."""
        about = orjson.loads((folder / ABOUT).read_bytes())
        card, why = about["card"], about["why_no_page"]
        html = None if why is not None else _mapped(folder / PAGE)
        return cls(card["name"], card["version"], open_program(folder / PROGRAM, threads=1), card, html, why)

    @property
    def schema(self) -> Schema:
        """What is known of the columns."""
        return self.evaluator.schema

    def warm_up(self, questions: Sequence[tuple[str, Compute]]) -> None:
        """Ask each question some times about a row of nothing: kernels are loaded, and what a row costs is measured."""
        nothing = np.full((1, len(self.schema)), np.nan)
        for name, compute in questions:
            compute(self, nothing)
            self.seconds[name] = float("inf")
            for _ in range(3):
                started = time.perf_counter()
                compute(self, nothing)
                self.seconds[name] = min(self.seconds[name], time.perf_counter() - started)

    def computed(self, name: str, compute: Compute, rows: FloatArray) -> FloatArray:
        """Return what a question gives for some rows, and note what that cost.

        The processor's own clock would cost more than it tells; so what took much longer than usual, because others had
        the processor meanwhile, counts as twice the usual.
        """
        started, usual = time.perf_counter(), self.seconds[name]
        found = compute(self, rows)
        measured = (time.perf_counter() - started) / max(len(rows), 1)
        self.seconds[name] = usual + NEWS * (min(measured, 2 * usual) - usual)
        return found

    @cached_property
    def distributions(self) -> list[tuple[int, str, tuple[str, ...]]]:
        """What the numbers of each column's distribution are: labels as texts, or mean and deviation."""
        schema, found = self.schema, []
        for j, domain in enumerate(schema.domains):
            if domain is not None:
                size = domain.cardinality
                values = ("mean", "deviation") if size is None else tuple(str(schema.label(j, k)) for k in range(size))
                found.append((j, schema.shown_name(j), values))
        return found

    def line_of(self, columns: tuple[int, ...] | None) -> tuple[bytes, tuple[IntArray, IntArray]]:
        """Return the distributions of some columns, None for all, as JSON without its numbers, and whose these are."""
        if columns in self._lines:
            return self._lines[columns]
        shown = [own for own in self.distributions if columns is None or own[0] in columns]
        parts = [
            b"%b:{%b}" % (_escaped(name), b",".join(_escaped(value) + b":%b" for value in values))
            for _, name, values in shown
        ]
        places = [(j, k) for j, _, values in shown for k in range(len(values))]
        found = (b"{%b}" % b",".join(parts), (np.array([j for j, _ in places]), np.array([k for _, k in places])))
        if len(self._lines) < MOST_LINES:  # whoever asks for ever other columns gets no room for that
            self._lines[columns] = found
        return found

    @cached_property
    def real(self) -> list[int]:
        """The columns that hold real numbers."""
        return [j for j, domain in enumerate(self.schema.domains) if domain is not None and not domain.is_discrete]

    def described_columns(self) -> list[dict[str, Any]]:
        """Return each column's name, type and values."""
        schema, found = self.schema, []
        for j, (name, domain) in enumerate(zip(schema.shown_names, schema.domains, strict=True)):
            own: dict[str, Any] = {"name": name, "type": "absent" if domain is None else domain.kind}
            if domain is not None and domain.cardinality is not None:
                own["values"] = [schema.label(j, code) for code in range(domain.cardinality)]
            known = {key: values[j] for key, values in schema.attributes if values[j] is not None}
            found.append(own | ({"attributes": known} if known else {}))
        return found


@dataclass(frozen=True)
class Stale:
    """Why a model is older than its file."""

    reason: str
    since: str

    @classmethod
    def now(cls, reason: str) -> "Stale":
        """Return the note of a reload that just failed."""
        return cls(printable(reason), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))


class Models:
    """The models of a worker by name, and which of them are older than their files."""

    def __init__(self) -> None:
        self.by_name: dict[str, Model] = {}
        self.stale: dict[str, Stale] = {}

    def swap(self, model: Model) -> None:
        """Let new requests go to a model; those that are under way keep theirs."""
        self.by_name[model.name] = model
        self.stale.pop(model.name, None)

    def readiness(self) -> dict[str, Any]:
        """Return the state of each model."""
        return {
            name: {"version": model.version, "state": "stale" if name in self.stale else "current"}
            | ({"error": asdict(self.stale[name])} if name in self.stale else {})
            for name, model in self.by_name.items()
        }
