"""What is written in a picture: names of variables and values of a model, in little room."""

from collections.abc import Mapping, Sequence
from typing import Any

from xspn.circuit import Circuit
from xspn.core.errors import ParameterError, printable
from xspn.core.names import listed, shortened
from xspn.data.attributes import common_attributes
from xspn.estimators.base import DensityEstimator
from xspn.leaves.laws import percent
from xspn.questions.grammar import conjunction

Model = Circuit | DensityEstimator  # what a picture may be made of

LONGEST = 60  # letters


def shown(name: object) -> str:
    """Return a name or a value as it can be drawn: in one line, and of a length that a picture can hold."""
    return shortened(printable(str(name)), LONGEST)


def circuit_of(model: Any) -> Circuit:
    """Return the circuit of a model."""
    circuit = getattr(model, "circuit_", model)
    if not isinstance(circuit, Circuit):
        raise ParameterError(f"picture: expected a circuit or a fitted estimator, found {type(model).__name__}")
    return circuit


def variable_names(circuit: Circuit) -> tuple[str, ...]:
    """Return the variables' names, in one line each: X0, X1, … where they have none."""
    return tuple(map(shown, circuit.schema.shown_names))


def common_words(circuit: Circuit, variables: Sequence[int]) -> str:
    """Return what the attributes of some variables have in common, to go on with after their number."""
    found = common_attributes(circuit.schema, variables)
    return "".join(f"; {shown(name)} {shown(value)} {percent(part)}" for name, value, part in found)


def value_text(circuit: Circuit, variable: int, code: int) -> str:
    """Write that a variable has a value, by the value's label if it has one."""
    return f"{variable_names(circuit)[variable]} = {shown(circuit.schema.label(variable, code))}"


def evidence_text(circuit: Circuit, given: Any) -> str:
    """Write evidence, all of it: as it was asked, or values with the names that have them."""
    if isinstance(given, str):
        return shown_text(given)
    if not isinstance(given, Mapping):
        return shown_text(conjunction(list(map(str, given))))
    names = variable_names(circuit)
    of_value: dict[str, list[str]] = {}
    for key, value in given.items():
        of_value.setdefault(shown(value), []).append(names[key] if isinstance(key, int) else shown(key))
    return ", ".join(f"{listed(own)} = {value}" for value, own in of_value.items())


def shown_text(text: str) -> str:
    """Return a text of any length as it can be drawn."""
    return printable(" ".join(text.split()))
