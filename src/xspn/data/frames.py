"""DataFrames: their cells as plain arrays, and codes as columns of the type that they had.

pandas is optional: a DataFrame is recognised by what it can do, and pandas is imported only to build one.
"""

from typing import Any

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import Names, first_double
from xspn.core.errors import DataError, DataTypeError, MissingExtraError
from xspn.data.domain import Domain
from xspn.data.labels import Labels

OF_NUMBERS = ("bool", "int", "uint", "float", "double", "halffloat", "decimal", "object")  # types, as pandas names them
CATEGORY = "category"


def as_frame(X: Any) -> Any | None:
    """Return a table with named columns as a pandas DataFrame, and None for anything else."""
    if hasattr(X, "columns") and hasattr(X, "iloc"):
        return X
    if hasattr(X, "columns") and hasattr(X, "to_pandas"):
        return X.to_pandas()
    return None


def names_of(frame: Any) -> Names | None:
    """Return the names of the columns, each of them once; None where they are numbers."""
    names = list(frame.columns)
    if len(set(names)) < len(names):
        raise DataError(f"X: the column {first_double(names)!r} occurs twice; give each column a name of its own")
    texts = [isinstance(name, str) for name in names]
    if any(texts) and not all(texts):
        odd = names[texts.index(False)]
        raise DataTypeError(f"X: expected all names of columns to be strings, found {odd!r}; use X.columns.astype(str)")
    return tuple(names) if names and all(texts) else None


def cells_of(column: Any, name: str) -> AnyArray:
    """Return a column's cells: numbers and truth values as an array of their kind, anything else as objects."""
    dtype = column.dtype
    kind = getattr(dtype, "kind", "O")
    if kind in "cmM":
        found = "complex numbers" if kind == "c" else "dates or times"
        raise DataTypeError(f"X: column {name} holds {found}; convert it to numbers or to text, or leave it out")
    if isinstance(dtype, np.dtype) and kind in "biuf":
        return np.asarray(column.to_numpy())
    if kind in "biuf" and not hasattr(dtype, "categories"):
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(column.astype(object).to_numpy(dtype=object))


def type_name(dtype: Any) -> str:
    """Return a column's type as text; that of categories is named where it is not what pandas would make of them."""
    if hasattr(dtype, "categories"):
        again = need_pandas().CategoricalDtype(list(dtype.categories), dtype.ordered)
        return CATEGORY if again == dtype else f"{CATEGORY}[{dtype.categories.dtype}]"
    return str(dtype)


def column_of(codes: FloatArray, domain: Domain | None, labels: Labels | None, dtype: Any) -> Any:
    """Return codes as a column's values: labels for codes, in the type that is asked for.

    Real numbers become whole ones where the type is of whole numbers: the nearest that it can hold.
    """
    values = codes if labels is None else _labelled(codes, labels)
    if dtype is None:
        return values
    pandas = need_pandas()
    if str(dtype).startswith(CATEGORY):
        if not hasattr(dtype, "categories") or (labels and not set(labels) <= set(dtype.categories)):
            inner = str(dtype)[len(CATEGORY) :].strip("[]") or None
            categories = pandas.Index(list(labels or ()), dtype=inner)
            dtype = pandas.CategoricalDtype(categories, ordered=domain is not None and domain.ordered)
        return pandas.Categorical(values, dtype=dtype)
    if labels is None and not str(dtype).lower().startswith(OF_NUMBERS):
        return values  # a column of words or days in which every cell was empty: numbers must not become those
    if labels is None:
        values = _numbers(codes, domain, dtype)
    elif any(_is_too_much(label, getattr(dtype, "kind", "O")) for label in labels):
        return values  # an empty column, or one that shares the labels of others: its type cannot hold all of them
    if (
        np.isnan(codes).any()
        and str(dtype)[:3] in ("boo", "int", "uin")
        and "[" not in str(dtype)
        and str(dtype) != "boolean"
    ):
        return values  # nothing stands for a missing value in this type
    if str(dtype) == "object":
        return np.asarray(values, dtype=object)
    try:
        return pandas.array(values, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise DataError(f"values do not fit the type {dtype} that the model has for their column: {error}") from error


def _is_too_much(label: Any, kind: str) -> bool:
    """Whether a column of this kind of numbers cannot hold a label: a word, or a fraction among whole numbers."""
    return kind in "biufc" and (isinstance(label, str) or (kind in "iu" and label != int(label)))


def _labelled(codes: FloatArray, labels: Labels) -> AnyArray:
    missing = np.isnan(codes)
    values = np.empty(len(labels) + 1, dtype=object)
    values[:] = [*labels, None]
    return values[np.where(missing, len(labels), codes).astype(np.int64)]


def _numbers(codes: FloatArray, domain: Domain | None, dtype: Any) -> AnyArray:
    """Return numbers in a form that converts to the type without loss: rounded, or as truth values."""
    text = str(dtype).lower()
    if text.startswith("bool"):
        return np.array([None if np.isnan(code) else bool(code) for code in codes], dtype=object)
    if text.startswith(("int", "uint")):
        limits = np.iinfo(text.split("[")[0])
        return np.clip(np.rint(codes), float(limits.min), float(limits.max))
    if text == "object" and domain is not None and domain.is_discrete:
        return np.array([None if np.isnan(code) else int(code) for code in codes], dtype=object)
    return codes


def need_pandas() -> Any:
    """Return pandas, or say how to get it."""
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError("tables with labels are pandas DataFrames; pip install pandas") from error
    return pandas
