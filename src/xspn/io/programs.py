"""Compiled circuits as folders of arrays, which several processes can map into their memory at once."""

import json
import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from xspn._core.arrays import IntArray
from xspn._core.errors import FormatError, XSPNError
from xspn.circuit.domain import Domain
from xspn.engine import chosen_backend
from xspn.engine.blocks import LoopBlock
from xspn.engine.program import Program
from xspn.engine.tape import Layout, Numbers, Tape
from xspn.engine.tape_reader import program_of
from xspn.engine.tape_writer import tape_of
from xspn.io.files import write_text
from xspn.leaves.base import Leaf, leaves
from xspn.model.circuit import Circuit
from xspn.model.columns import Columns
from xspn.model.evaluator import Evaluator

FORMAT, SCHEMA = "xspn program", 1
HEAD = "program.json"


def save_program(circuit: Circuit, folder: str | os.PathLike[str]) -> None:
    """Write a compiled circuit of discrete variables as a folder of arrays.

    Examples:
        >>> from tempfile import TemporaryDirectory
        >>> from xspn import Bernoulli
        >>> with TemporaryDirectory() as folder:
        ...     save_program(Circuit(Bernoulli(0, p=0.25)), folder)
        ...     open_program(folder, "compiled").log_likelihood([[1]]).round(3).tolist()
        [-1.386]
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    program, columns = circuit.program, circuit.columns
    tape = tape_of(program)
    for part in (tape.layout, tape.numbers):
        for field in fields(part):
            np.save(target / f"{field.name}.npy", getattr(part, field.name))
    np.save(target / "steps.npy", np.array([[step.start, step.stop] for step in program.steps]).reshape(-1, 2))
    head = {
        "format": FORMAT,
        "schema": SCHEMA,
        "names": None if columns.names is None else list(columns.names),
        "domains": [None if domain is None else domain.to_params() for domain in columns.domains],
        "labels": [own and list(own) for own in columns.labels],
        "dtypes": list(columns.dtypes),
        "selective": circuit.why_not_selective() is None,
        "leaves": [_stored(leaf) for leaf in _other_leaves(program)],
    }
    write_text(target / HEAD, json.dumps(head, ensure_ascii=False))


def open_program(
    folder: str | os.PathLike[str],
    backend: str | None = None,
    *,
    device: str = "cpu",
    dtype: str = "float64",
    threads: int | None = None,
) -> Evaluator:
    """Return what `save_program` wrote, ready for questions; arguments are those of `Circuit.on`.

    Arrays are mapped into memory, not read: processes that open the same folder share them.
    """
    source = Path(folder)
    try:
        head = json.loads((source / HEAD).read_text(encoding="utf-8"))
        if head["format"] != FORMAT or head["schema"] != SCHEMA:
            raise FormatError(f"expected {FORMAT!r} of schema {SCHEMA}, found {head['format']!r} of {head['schema']!r}")
        tape = Tape(Layout(**_arrays(source, Layout)), Numbers(**_arrays(source, Numbers)))
        steps: IntArray = np.load(source / "steps.npy")
        domains = [own and Domain(own["cardinality"], own.get("ordered", False)) for own in head["domains"]]
        columns = Columns.of(domains, head["names"], head["labels"], head["dtypes"])
        given = [_leaf(stored) for stored in head["leaves"]]
    except (OSError, KeyError, TypeError, ValueError, XSPNError) as error:
        raise FormatError(f"{source}: not a folder that save_program wrote ({error})") from error
    program = program_of(tape, tuple(domains), given, steps)
    chosen = chosen_backend(program, backend, device, dtype, threads, tape)
    return Evaluator(chosen, columns, lambda: bool(head["selective"]))


def _arrays(source: Path, part: type[Layout] | type[Numbers]) -> dict[str, Any]:
    return {field.name: np.load(source / f"{field.name}.npy", mmap_mode="r") for field in fields(part)}


def _other_leaves(program: Program) -> list[Leaf]:
    return [leaf for _, block in program.blocks if type(block) is LoopBlock for leaf in block.leaves]


def _stored(leaf: Leaf) -> dict[str, Any]:
    return {"family": leaf.family, "variables": list(leaf.variables), "params": leaf.to_params()}


def _leaf(stored: dict[str, Any]) -> Leaf:
    return leaves[stored["family"]].from_params(tuple(stored["variables"]), stored["params"])
