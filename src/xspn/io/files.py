"""Save circuits to files and load them again.

A file whose name ends in `.xspn` is written in the binary form: compact, and fast for models of a million parameters.
The endings `.jpc`, `.spn` and `.psdd` give text for other programs, which holds the distribution and nothing else.
Every other name gives JSON: for small models, and to be read. JSON and the binary form hold the same, and `load` tells
all forms apart by what is in the file. Among the notes of a file is the circuit's provenance
(`xspn.data.provenance`), and how many rows stand behind each sum and leaf (`xspn.inference.uncertainty`); `load` gives
both back with the circuit. `FORMATS` lists the formats: a new one is a file beside this one and a line there.
"""

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from xspn.circuit import Circuit
from xspn.core.errors import DataTypeError, FormatError, ParameterError
from xspn.core.files import path_of, write_parts
from xspn.data.provenance import Provenance
from xspn.inference.uncertainty import NodeCounts
from xspn.io import jpc_format, psdd_format, spn_format
from xspn.io.binary_format import from_binary, to_binary
from xspn.io.container import MAGIC
from xspn.io.jpc_format import from_jpc, to_jpc
from xspn.io.json_format import LARGEST_FILE, LARGEST_TEXT, from_json_bytes, to_json_bytes
from xspn.io.node_lines import begins_with
from xspn.io.psdd_format import from_psdd, psdd_vtree, to_psdd
from xspn.io.spn_format import from_spn, to_spn

PROVENANCE, COUNTS = "provenance", "counts"  # among the notes
HEAD = 1 << 16  # bytes of a file that tell its format
Notes = dict[str, Any]  # plain values that a file holds beside the circuit
Parts = list[bytes | memoryview]  # of a file's content, to be written one after the other


@dataclass(frozen=True)
class ModelFormat:
    """A form in which circuits are stored.

    Attributes:
        suffix: The ending of the names that ask for it, in small letters.
        magic: The bytes that its files begin with; empty if `word` tells.
        most_bytes: Larger files are neither written nor read.
        write: From a circuit and its notes to the content of a file.
        read: From the content of a file, and its name for messages, to the circuit and the notes. If there is a second
            file, its content and name follow.
        word: The first word of its files after comments, for text.
        beside: The ending of a second file that belongs to each, and what writes it.
        is_whole: Whether names, labels and notes have a place in it.
    """

    suffix: str
    magic: bytes
    most_bytes: int
    write: Callable[[Circuit, Notes], Parts]
    read: Callable[..., tuple[Circuit, Notes]]
    word: bytes = b""
    beside: tuple[str, Callable[[Circuit], Parts]] | None = None
    is_whole: bool = True

    def recognizes(self, content: bytes) -> bool:
        """Whether a file begins as those of this format do."""
        return begins_with(content, self.word) if self.word else content.startswith(self.magic)


# JSON comes last: it is taken for names of any other ending, and its text may begin with anything.
FORMATS = (
    ModelFormat(".xspn", MAGIC, LARGEST_FILE, to_binary, from_binary),
    ModelFormat(".jpc", b"", LARGEST_TEXT, to_jpc, from_jpc, jpc_format.WORD, is_whole=False),
    ModelFormat(".psdd", b"", LARGEST_TEXT, to_psdd, from_psdd, psdd_format.WORD, (".vtree", psdd_vtree), False),
    ModelFormat(".spn", spn_format.MAGIC, LARGEST_TEXT, to_spn, from_spn, is_whole=False),
    ModelFormat(".json", b"", LARGEST_TEXT, to_json_bytes, from_json_bytes),
)


def save(circuit: Circuit, path: str | os.PathLike[str], notes: Notes | None = None) -> None:
    """Write a circuit: in the binary form if the name ends in `.xspn`, else as JSON.

    Names that end in `.jpc`, `.spn` or `.psdd` give the text formats of other programs, without names, labels and
    notes; a `.psdd` comes with its `.vtree`. The file appears whole or not at all: a crash never leaves half a model.
    A file that is replaced keeps its mode.

    Args:
        circuit: The circuit.
        path: The file.
        notes: What else the file shall hold, in plain values: how the circuit was learned, say.
    """
    if not isinstance(circuit, Circuit):
        hint = "; pass its circuit_, or use xspn.save, which keeps estimators" if hasattr(circuit, "circuit_") else ""
        raise DataTypeError(f"save: expected a Circuit, found {type(circuit).__name__}{hint}")
    place = path_of(path, "save")
    form = format_of_name(place)
    with _collector_paused():
        parts = form.write(circuit, notes_of(circuit, notes))
        second = None if form.beside is None else form.beside[1](circuit)
    size = sum(map(len, parts))
    if size > form.most_bytes:
        larger = [own.suffix for own in FORMATS if own.is_whole and own.most_bytes > form.most_bytes]
        hint = f"; give the file a name that ends in {' or '.join(larger)}" if larger else ""
        raise ParameterError(f"save: {size:,} bytes, more than the {form.most_bytes:,} that are read back{hint}")
    if form.beside is not None and second is not None:
        write_parts(place.with_suffix(form.beside[0]), second)
    write_parts(place, parts)


def format_of_name(path: str | os.PathLike[str]) -> ModelFormat:
    """Return the format that the name of a file asks for."""
    suffix = Path(path).suffix.lower()
    return next((form for form in FORMATS if form.suffix == suffix), FORMATS[-1])


def format_of_content(content: bytes, source: str = "") -> ModelFormat:
    """Return the format of a file: by how it begins, or, for text without any mark, by its name."""
    marked = next((form for form in FORMATS[:-1] if form.recognizes(content)), None)
    named = format_of_name(source)
    return marked or (named if named.word and not content.startswith(b"{") else FORMATS[-1])


def load(path: str | os.PathLike[str]) -> Circuit:
    """Read a circuit in either form, the same to the last bit as the one that was saved."""
    return load_with_notes(path)[0]


def load_with_notes(path: str | os.PathLike[str]) -> tuple[Circuit, Notes]:
    """Read a circuit and the notes that were saved with it."""
    file = path_of(path, "load")
    with file.open("rb") as stream:
        content = bounded(stream, str(file))
    second = _second_file(file, content)
    if second is None:
        return model_of_content(content, str(file))
    with second.open("rb") as stream:
        return model_of_content(content, str(file), bounded(stream, str(second)), str(second))


def files_of(path: str | os.PathLike[str]) -> list[Path]:
    """Return the files that `load` reads: the one that is named, and the one beside it that belongs to it, if any."""
    file = Path(path)
    if not file.is_file():
        return [file]
    with file.open("rb") as stream:
        second = _second_file(file, stream.read(HEAD))
    return [file] if second is None else [file, second]


def _second_file(file: Path, content: bytes) -> Path | None:
    """Return the file that lies beside one of this content, if there is one."""
    form = format_of_content(content, str(file))
    second = None if form.beside is None else file.with_suffix(form.beside[0])
    return second if second is not None and second.is_file() and second != file else None


def bounded(stream: BinaryIO, source: str) -> bytes:
    """Return the content of a file, or of a pipe, that is no larger than models can be."""
    parts = [stream.read(max(len(form.magic) for form in FORMATS))]
    most = format_of_content(parts[0]).most_bytes
    try:
        size = os.fstat(stream.fileno()).st_size
    except OSError:  # no file of the system: it is as large as what is read
        size = 0
    while size <= most and (part := stream.read(1 << 24)):
        parts.append(part)
        size = max(size, sum(map(len, parts)))
    if size > most:
        raise FormatError(f"{source}: {size:,} bytes or more, of which at most {most:,} are read")
    return b"".join(parts)


def model_of_content(content: bytes, source: str, *second: Any) -> tuple[Circuit, Notes]:
    """Return the circuit and the notes of a file's content; what lies beside it follows, content and name."""
    with _collector_paused():
        circuit, notes = format_of_content(content, source).read(content, source, *second)
    known = Provenance.from_plain(notes[PROVENANCE], source) if PROVENANCE in notes else None
    counts = NodeCounts.from_plain(notes[COUNTS], circuit.graph, source) if COUNTS in notes else None
    return Circuit.of_schema(circuit.graph, circuit.schema, known, counts), notes


def notes_of(circuit: Circuit, notes: Notes | None = None) -> Notes:
    """Return what a file holds beside a circuit: where it and its parameters come from, if known, and the notes."""
    known = {} if circuit.provenance is None else {PROVENANCE: circuit.provenance.to_plain()}
    counts = {} if circuit.counts is None else {COUNTS: circuit.counts.to_plain(circuit.graph)}
    return {**known, **counts, **(notes or {})}


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
