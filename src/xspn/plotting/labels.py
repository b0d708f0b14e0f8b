"""What is written in a picture: names of variables and values of a model, in little room."""

from collections.abc import Mapping
from typing import Any

from xspn.circuit import Circuit
from xspn.core.errors import ParameterError, printable
from xspn.core.names import names_within, shortened
from xspn.estimators.base import DensityEstimator

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


def value_text(circuit: Circuit, variable: int, code: int) -> str:
    """Write that a variable has a value, by the value's label if it has one."""
    return f"{variable_names(circuit)[variable]} = {shown(circuit.schema.label(variable, code))}"


def evidence_text(circuit: Circuit, given: Mapping[Any, Any], letters: int = 60) -> str:
    """Write evidence in a line."""
    names = variable_names(circuit)
    parts = [f"{names[key] if isinstance(key, int) else shown(key)} = {shown(value)}" for key, value in given.items()]
    return names_within(parts, letters)
