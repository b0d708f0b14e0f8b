"""What a picture may be made of: a circuit, or an estimator that has learned one."""

from collections.abc import Mapping
from typing import Any

from xspn.circuit import Circuit
from xspn.core.errors import ParameterError
from xspn.core.text import default_name
from xspn.estimators.base import DensityEstimator
from xspn.plotting.names import names_within, shown

Model = Circuit | DensityEstimator


def circuit_of(model: Any) -> Circuit:
    """Return the circuit of a model."""
    circuit = getattr(model, "circuit_", model)
    if not isinstance(circuit, Circuit):
        raise ParameterError(f"picture: expected a circuit or a fitted estimator, found {type(model).__name__}")
    return circuit


def names_of(circuit: Circuit) -> tuple[str, ...]:
    """Return the variables' names, in one line each: X0, X1, … where they have none."""
    return tuple(map(shown, circuit.names or map(default_name, range(circuit.n_variables))))


def said_of_value(circuit: Circuit, variable: int, code: int) -> str:
    """Write that a variable has a value, by the value's label if it has one."""
    return f"{names_of(circuit)[variable]} = {shown(circuit.columns.label(variable, code))}"


def said_of_evidence(circuit: Circuit, given: Mapping[Any, Any], letters: int = 60) -> str:
    """Write evidence in a line."""
    names = names_of(circuit)
    said = [f"{names[key] if isinstance(key, int) else shown(key)} = {shown(value)}" for key, value in given.items()]
    return names_within(said, letters)
