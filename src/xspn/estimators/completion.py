"""Missing values filled in, by one of three methods."""

from typing import Any, Literal, get_args

import numpy as np

from xspn.circuit import Circuit
from xspn.core.arrays import AnyArray, BoolArray, FloatArray
from xspn.core.checks import as_array
from xspn.core.errors import ParameterError
from xspn.core.random import RandomState
from xspn.data.frames import Frame, built, need_pandas, pandas_column
from xspn.data.schema import Schema

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


def filled_in(X: Any, schema: Schema, missing: BoolArray, filled: FloatArray) -> Any:
    """Return a table as it came, with the cells that are missing taken from completed rows of codes.

    All other cells are copied: through codes a whole number above 2⁵³, say, would not come back as it was.
    """
    frame = Frame.of(X)
    if frame is None:
        values, out = schema.values(filled), np.array(as_array(X, "X"))
        if missing.any() and (out.dtype.kind in "US" or values.dtype == object):
            out = out.astype(object)  # a label may be longer than the texts that are there
        out[missing] = values[missing]
        return out
    columns = range(len(schema))
    if not frame.is_pandas:
        series = [frame.native[frame.name(j)] for j in columns]
        cells = [
            _filled_cells(own.to_list(), schema.plain_column(j, filled[:, j]), missing[:, j])
            for j, own in enumerate(series)
        ]
        return built(frame.library, [own.name for own in series], cells, [own.dtype for own in series])
    native = frame.native
    own = {j: _filled_column(native.iloc[:, j], j, schema, missing[:, j], filled[:, j]) for j in columns}
    answer = need_pandas().DataFrame(own, index=native.index)
    answer.columns = native.columns
    return answer


def _filled_cells(cells: list[Any], values: list[Any], missing: BoolArray) -> list[Any]:
    return [value if gone else cell for cell, value, gone in zip(cells, values, missing.tolist(), strict=True)]


def _filled_column(column: Any, variable: int, schema: Schema, missing: BoolArray, codes: FloatArray) -> Any:
    """Return a DataFrame's column with its missing cells filled in."""
    new = pandas_column(codes[missing], schema.domains[variable], schema.labels[variable], column.dtype)
    if hasattr(new.dtype, "categories") and new.dtype != column.dtype:
        column = column.astype(new.dtype)  # the column's own categories do not tell of all labels
    if not missing.any():
        return column
    if new.dtype == object and column.dtype.kind in "biuf":
        column = column.astype(object)
    out = column.copy()
    try:
        out.iloc[np.flatnonzero(missing)] = new
    except (TypeError, ValueError):  # a column of text without any text: its cells are numbers to the model
        out = column.astype(object)
        out.iloc[np.flatnonzero(missing)] = new
    return out


def _likeliest(circuit: Circuit, rows: AnyArray) -> FloatArray:
    """Return each cell's likeliest value given its row; the mean where it is real, NaN outside the circuit."""
    found = np.nan_to_num(circuit.marginals(rows), nan=-1.0).argmax(axis=2).astype(np.float64)
    found[:, [domain is None for domain in circuit.domains]] = np.nan
    real = [domain is not None and not domain.is_discrete for domain in circuit.domains]
    return np.where(real, circuit.means(rows), found) if any(real) else found
