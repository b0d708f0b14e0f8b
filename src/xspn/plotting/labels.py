"""What is written in a picture: names of variables and values of a model, in little room."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from xspn.circuit import Circuit
from xspn.core.errors import ParameterError, printable
from xspn.estimators.base import DensityEstimator

Model = Circuit | DensityEstimator  # what a picture may be made of

LONGEST = 60  # letters


def names_within(names: Sequence[str], letters: int) -> str:
    """Name as many variables as there is room for; runs of numbered ones are drawn together.

    Examples:
        >>> names_within(["X1", "X2", "X3", "X7", "rain"], 40)
        'X1…3, X7, rain'
        >>> names_within(["ann", "bob", "cem", "dana", "eve"], 16)
        'ann, bob, … eve'
        >>> names_within([f"attends_{i}" for i in range(10)], 30)
        'attends_0…9'
    """
    parts = _runs(names)
    if len(", ".join(parts)) <= letters or len(parts) == 1:
        return shortened(", ".join(parts), letters)
    last = f"… {parts[-1]}"
    shown: list[str] = []
    for name in parts[:-1]:
        if len(", ".join([*shown, name, last])) > letters:
            break
        shown.append(name)
    return ", ".join([*shown, last]) if shown else shortened(f"{parts[0]}, …", letters)


def _runs(names: Sequence[str]) -> list[str]:
    """Write x1, x2, x3 as x1…3, where at least three follow each other."""
    parts: list[str] = []
    start = 0
    while start < len(names):
        end = start
        while end + 1 < len(names) and _follows(names[end], names[end + 1]):
            end += 1
        if end - start >= 2:
            parts.append(f"{names[start]}…{_split(names[end])[1]}")
        else:
            parts.extend(names[start : end + 1])
        start = end + 1
    return parts


def _follows(first: str, second: str) -> bool:
    (stem, number), (other, following) = _split(first), _split(second)
    return bool(number) and bool(following) and stem == other and int(following) == int(number) + 1


def _split(name: str) -> tuple[str, str]:
    found = re.fullmatch(r"(.*?)(\d*)", name, re.DOTALL)
    return (found.group(1), found.group(2)) if found else (name, "")


def shown(name: object) -> str:
    """Return a name or a value as it can be drawn: in one line, and of a length that a picture can hold."""
    return shortened(printable(str(name)), LONGEST)


def shortened(text: str, letters: int) -> str:
    """Return as much of a text as there is room for."""
    return text if len(text) <= letters else f"{text[: letters - 1]}…"


def circuit_of(model: Any) -> Circuit:
    """Return the circuit of a model."""
    circuit = getattr(model, "circuit_", model)
    if not isinstance(circuit, Circuit):
        raise ParameterError(f"picture: expected a circuit or a fitted estimator, found {type(model).__name__}")
    return circuit


def variable_names(circuit: Circuit) -> tuple[str, ...]:
    """Return the variables' names, in one line each: X0, X1, … where they have none."""
    return tuple(map(shown, circuit.schema.shown_names))


def value_text(circuit: Circuit, variable: int, code: int) -> str:
    """Write that a variable has a value, by the value's label if it has one."""
    return f"{variable_names(circuit)[variable]} = {shown(circuit.schema.label(variable, code))}"


def evidence_text(circuit: Circuit, given: Mapping[Any, Any], letters: int = 60) -> str:
    """Write evidence in a line."""
    names = variable_names(circuit)
    parts = [f"{names[key] if isinstance(key, int) else shown(key)} = {shown(value)}" for key, value in given.items()]
    return names_within(parts, letters)
