"""Compiled circuits as files of arrays, which several processes can map into their memory at once."""

import os
from dataclasses import fields
from typing import Any

import numpy as np

from xspn.circuit import Circuit
from xspn.core.arrays import AnyArray
from xspn.core.errors import FormatError
from xspn.core.files import path_of, write_parts
from xspn.data.domain import Domain
from xspn.engine import chosen_backend
from xspn.engine.tape import Tape, TapeLayout, TapeNumbers, program_of, tape_of
from xspn.engine.tape_check import check_tape
from xspn.graph.graph import merged_domains
from xspn.io.binary_format import integers, pack_leaves, unpack_leaves
from xspn.io.container import mapped, packed_file, unpacked_file
from xspn.io.json_format import UNUSABLE, columns_in_head, columns_of_head, head_of_columns, shown_error
from xspn.questions.queries import Evaluator

FORMAT, SCHEMA = "xspn-program", 3


def save_program(circuit: Circuit, path: str | os.PathLike[str]) -> None:
    """Write a compiled circuit as one file of arrays, for `open_program`.

    The file is written under another name and then takes the place of the old one: processes that have the old one
    open keep it as it was, and one that opens the file finds the old or the new one, never a mixture.

    Examples:
        >>> from tempfile import TemporaryDirectory
        >>> from xspn import Bernoulli
        >>> with TemporaryDirectory() as folder:
        ...     save_program(Circuit(Bernoulli(0, p=0.25)), f"{folder}/rain.program")
        ...     open_program(f"{folder}/rain.program", "numba").log_likelihood([[1]]).round(3).tolist()
        [-1.386]
    """
    program = circuit.program
    tape = tape_of(program)
    arrays = {field.name: getattr(part, field.name) for part in (tape.layout, tape.numbers) for field in fields(part)}
    families, which, of_leaves = pack_leaves(program.column_leaves)
    arrays["steps"] = np.array([[step.start, step.stop] for step in program.steps], dtype=np.int64).reshape(-1, 2)
    arrays |= {"family": which, **of_leaves}
    head = {
        "format": FORMAT,
        "schema": SCHEMA,
        **head_of_columns(circuit.schema),
        "selective": circuit.max_product_is_exact(),
        "families": families,
    }
    write_parts(path_of(path, "save_program"), packed_file(head, arrays))


def open_program(
    path: str | os.PathLike[str],
    backend: str | None = None,
    *,
    device: str = "cpu",
    dtype: str = "float64",
    threads: int | None = None,
) -> Evaluator:
    """Return what `save_program` wrote, ready for questions; arguments after the path are those of `Circuit.to`.

    Arrays are mapped into memory, not copied: processes that open the same file share them. The digest and every index
    are checked first, which reads the file once, at a few hundred megabytes a second. Replace such a file by
    `save_program` or by renaming another; a program that writes into it in place takes it from under its readers.
    """
    file = path_of(path, "open_program")
    if file.is_dir():
        raise FormatError(f"{file}: a folder; programs are single files now, write it again with save_program")
    head, arrays = unpacked_file(mapped(file), str(file), FORMAT, SCHEMA)
    try:
        if head["schema"] != SCHEMA or not isinstance(head["selective"], bool):
            raise FormatError(f"expected schema {SCHEMA}, found {head['schema']!r}")
        n_variables = columns_in_head(head, str(file))
        with np.errstate(all="ignore"):  # numbers that are none are refused, not warned of
            given, domains = unpack_leaves(head["families"], integers(arrays, "family"), arrays, n_variables)
            tape = Tape(TapeLayout(**_part(arrays, TapeLayout)), TapeNumbers(**_part(arrays, TapeNumbers)))
            binary = check_tape(tape, arrays["steps"], len(given), n_variables)
        found = merged_domains([*domains, *((v, Domain.binary()) for v in binary)], n_variables)
        columns = columns_of_head(head, found, str(file))
    except UNUSABLE as error:
        raise FormatError(f"{file}: the content does not form a program ({shown_error(error)})") from error
    program = program_of(tape, columns.domains, given.tolist(), arrays["steps"])
    chosen = chosen_backend(program, backend, device, dtype, threads, tape)
    return Evaluator(chosen, columns, lambda: bool(head["selective"]))


def _part(arrays: dict[str, AnyArray], part: type[TapeLayout] | type[TapeNumbers]) -> dict[str, Any]:
    return {field.name: arrays[field.name] for field in fields(part)}
