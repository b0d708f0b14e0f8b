"""Missing cells filled in, by one of three methods."""

from typing import Literal, get_args

import numpy as np

from xspn._core.arrays import AnyArray, FloatArray
from xspn._core.errors import ParameterError
from xspn._core.random import RandomState
from xspn.model.circuit import Circuit

Method = Literal["marginal", "mpe", "sample"]


def completed(circuit: Circuit, rows: AnyArray, method: Method, random_state: RandomState = None) -> FloatArray:
    """Return rows of codes with their missing values filled in.

    Args:
        circuit: What is known of the rows.
        rows: Codes, NaN where a value is missing.
        method: "marginal" takes each cell's likeliest value given the row, and the mean for real variables; "mpe" the
            likeliest completion of the row as a whole; "sample" a random completion.
        random_state: The seed for "sample".
    """
    if method not in get_args(Method):
        raise ParameterError(f"impute: expected method 'marginal', 'mpe' or 'sample', found {method!r}")
    if method == "mpe":
        return circuit.mpe(rows).values
    if method == "sample":
        return circuit.sample(given=rows, random_state=random_state)
    return np.where(np.isnan(rows), _likeliest(circuit, rows), rows)


def table_of_marginals(circuit: Circuit, rows: AnyArray) -> FloatArray:
    """Return P(variable = value | row) for all values, NaN beyond a domain: (rows, variables, values)."""
    found = circuit.marginals(rows)
    return found if found.ndim == 3 else np.stack([1 - found, found], axis=2)


def _likeliest(circuit: Circuit, rows: AnyArray) -> FloatArray:
    """Return each cell's likeliest value given its row; the mean where it is real, NaN outside the circuit."""
    found = np.nan_to_num(table_of_marginals(circuit, rows), nan=-1.0).argmax(axis=2).astype(np.float64)
    found[:, [domain is None for domain in circuit.domains]] = np.nan
    real = [domain is not None and not domain.is_discrete for domain in circuit.domains]
    return np.where(real, circuit.means(rows), found) if any(real) else found
