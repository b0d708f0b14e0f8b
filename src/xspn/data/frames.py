"""What a table may be besides an array: a DataFrame of any library, a Dask collection, a path.

pandas DataFrames are read and built by pandas itself, whose columns may hold any objects; those of polars, pyarrow and
others through narwhals: cells become plain arrays, and codes become columns of the library and type that they had. Dask
collections and Parquet paths are read out of core. No library is imported before a table of its own is at hand.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import Names, first_double, whole_number
from xspn.core.errors import DataError, DataTypeError, MissingExtraError
from xspn.data.domain import EXACT_WHOLE, Domain, Labels

OF_NUMBERS = ("bool", "int", "uint", "float", "double", "halffloat", "decimal", "object")  # types, as pandas names them
CATEGORY = "category"
PANDAS = "pandas"
PARQUET_ENDINGS = (".parquet", ".pq")
EXCEL_ENDINGS = (".xlsx", ".xlsm")
OTHER_ENDINGS = (".csv", ".tsv", ".txt", ".data", ".dat", ".npz", ".gz", *EXCEL_ENDINGS)
GATHER_CELLS = 10_000_000  # of a collection that is gathered, unless Dask is configured otherwise (`xspn.gather_cells`)
PATTERN = "*?["  # what a path has that stands for several files


@dataclass(frozen=True)
class Categories:
    """The categories of a column's type, as pandas' own types tell them."""

    categories: tuple[Any, ...]
    ordered: bool


@dataclass(frozen=True, eq=False)
class Frame:
    """A DataFrame, column by column.

    Attributes:
        native: A pandas DataFrame (or one that acts like it), or a narwhals DataFrame around any other.
        library: The name of the library: "pandas", "polars", "pyarrow", …
    """

    native: Any
    library: str

    @classmethod
    def of(cls, X: Any) -> "Frame | None":
        """Return a DataFrame as such, and None for anything else."""
        if isinstance(X, np.ndarray | list | tuple | dict | str) or not hasattr(type(X), "columns"):
            return None
        if hasattr(X, "iloc"):
            return cls(X, PANDAS)
        import narwhals as nw

        frame = nw.from_native(X, eager_only=True, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            library = frame.implementation.value
            return cls(X.to_native(), PANDAS) if library == PANDAS else cls(frame, str(library))
        if isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame):
            raise DataTypeError("X: a lazy frame has no rows yet; pass X.collect()")
        return None

    @property
    def is_pandas(self) -> bool:
        """Whether pandas reads and builds it."""
        return self.library == PANDAS

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return len(self.native), len(self._columns)

    @cached_property
    def _columns(self) -> list[Any]:
        return list(self.native.columns)

    @cached_property
    def _dtypes(self) -> list[Any]:
        return list(self.native.dtypes) if self.is_pandas else list(self.native.schema.values())

    @cached_property
    def names(self) -> Names | None:
        """The names of the columns, each of them once; None where they are numbers."""
        return names_of(self.native)

    @property
    def template(self) -> Any | None:
        """A pandas DataFrame without its rows; None for other libraries, whose types have names of their own."""
        return self.native.iloc[:0] if self.is_pandas else None

    def name(self, column: int) -> Any:
        """Return what a column is called: a number in some pandas DataFrames."""
        return self._columns[column]

    def cells(self, column: int) -> AnyArray:
        """Return a column's cells: numbers and truth values as an array of their kind, anything else as objects."""
        name = repr(self.name(column))
        if self.is_pandas:
            return _cells_of_pandas(self.native.iloc[:, column], name)
        return _cells(self.native[self.name(column)], name)

    def numbers(self) -> AnyArray | None:
        """Return a table of numbers of one type as one array, much faster than column by column; None otherwise."""
        if not self.is_pandas:
            return None
        dtypes = set(self._dtypes)
        plain = len(dtypes) == 1 and all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in dtypes)
        return np.asarray(self.native.to_numpy()) if plain else None

    def categories(self, column: int) -> Any | None:
        """Return the categories that a column's type lists, with `.categories` and `.ordered`; None if it lists none.

        A polars Categorical lists the categories of all columns of the program: it is read like text.
        """
        dtype = self._dtypes[column]
        if self.is_pandas:
            return dtype if hasattr(dtype, "categories") else None
        import narwhals as nw

        return Categories(tuple(dtype.categories), ordered=True) if isinstance(dtype, nw.Enum) else None

    def type_name(self, column: int) -> str:
        """Return a column's type, by the name that pandas has for it."""
        if self.is_pandas:
            return type_name(self._dtypes[column])
        series = self.native[self.name(column)]
        kind = str(series.dtype).partition("(")[0]
        if kind in ("Enum", "Categorical"):
            return CATEGORY
        if kind == "Boolean":
            return "boolean" if series.null_count() else "bool"
        if kind.startswith(("Int", "UInt")):
            return kind if series.null_count() else kind.lower()
        return kind.lower() if kind.startswith("Float") else "float64" if kind == "Decimal" else "str"


def names_of(frame: Any) -> Names | None:
    """Return the names of a DataFrame's columns, each of them once; None where they are numbers."""
    names = list(frame.columns)
    if len(set(names)) < len(names):
        raise DataError(f"X: the column {first_double(names)!r} occurs twice; give each column a name of its own")
    texts = [isinstance(name, str) for name in names]
    if any(texts) and not all(texts):
        odd = names[texts.index(False)]
        raise DataTypeError(f"X: expected all names of columns to be strings, found {odd!r}; use X.columns.astype(str)")
    return tuple(names) if names and all(texts) else None


def _cells_of_pandas(column: Any, name: str) -> AnyArray:
    dtype = column.dtype
    kind = getattr(dtype, "kind", "O")
    if kind in "cmM":
        raise _not_a_value("complex numbers" if kind == "c" else "dates or times", name)
    if isinstance(dtype, np.dtype) and kind in "biuf":
        return np.asarray(column.to_numpy())
    if kind in "biuf" and not hasattr(dtype, "categories"):
        numbers = np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
        if kind == "f" or not has_huge_numbers(numbers):
            return numbers
    return np.asarray(column.astype(object).to_numpy(dtype=object))


def _cells(column: Any, name: str) -> AnyArray:
    import narwhals as nw

    dtype = column.dtype
    if dtype.is_temporal():
        raise _not_a_value("dates or times", name)
    if dtype.is_numeric() or dtype == nw.Boolean:
        if not column.null_count() and dtype != nw.Decimal:
            return np.asarray(column.to_numpy())
        numbers = np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)
        if not dtype.is_integer() or not has_huge_numbers(numbers):
            return numbers
    cells = np.empty(len(column), dtype=object)
    cells[:] = column.to_list()
    return cells


def has_huge_numbers(cells: AnyArray) -> bool:
    """Whether there are whole numbers among these that floats have no room for, as identifiers may be."""
    return bool((np.abs(cells.astype(np.float64)) >= EXACT_WHOLE).any())


def _not_a_value(found: str, name: str) -> DataTypeError:
    return DataTypeError(f"X: column {name} holds {found}; convert it to numbers or to text, or leave it out")


def type_name(dtype: Any) -> str:
    """Return a pandas type as text; for categories with their dtype where pandas would infer another one."""
    if hasattr(dtype, "categories"):
        again = need_pandas().CategoricalDtype(list(dtype.categories), dtype.ordered)
        return CATEGORY if again == dtype else f"{CATEGORY}[{dtype.categories.dtype}]"
    return str(dtype)


# -- from values to DataFrames -----------------------------------------------------------------------------------------


def built(library: Any, names: Sequence[str], columns: Sequence[Sequence[Any]], types: Sequence[Any]) -> Any:
    """Return a DataFrame of a library other than pandas, of plain values; types are narwhals' own, None to infer."""
    import narwhals as nw

    series = {}
    for name, values, dtype in zip(names, columns, types, strict=True):
        try:
            series[name] = nw.new_series(name, list(values), dtype, backend=library)
        except Exception:  # each library has its own errors for values that a type cannot hold: take the type of these
            series[name] = nw.new_series(name, list(values), None, backend=library)
    return nw.from_dict(series).to_native()


def narwhals_type(name: str | None, domain: Domain | None, labels: Labels | None) -> Any | None:
    """Return the type of a column that `Frame.type_name` named; None where it follows from the values."""
    import narwhals as nw

    if name is None:
        return None
    if name.startswith(CATEGORY):
        words = [str(label) for label in labels or ()]
        return nw.Enum(words) if domain is not None and domain.ordered else nw.Categorical()
    known = {"boolean": "Boolean", "bool": "Boolean"}.get(name.lower(), name.lower().replace("uint", "UInt"))
    return getattr(nw, known[:1].upper() + known[1:], None) if name.lower().startswith(OF_NUMBERS[:4]) else None


def pandas_column(codes: FloatArray, domain: Domain | None, labels: Labels | None, dtype: Any) -> Any:
    """Return codes as a pandas column's values: labels for codes, in the type that is asked for.

    Real numbers become whole ones where the type is of whole numbers: the nearest that it can hold.
    """
    values = codes if labels is None else labeled(codes, labels)
    if dtype is None:
        return values
    pandas = need_pandas()
    if str(dtype).startswith(CATEGORY) and (domain is None or domain.is_discrete):
        if not hasattr(dtype, "categories") or (labels and not set(labels) <= set(dtype.categories)):
            inner = str(dtype)[len(CATEGORY) :].strip("[]") or None
            categories = pandas.Index(list(labels or ()), dtype=inner)
            dtype = pandas.CategoricalDtype(categories, ordered=domain is not None and domain.ordered)
        return pandas.Categorical(values, dtype=dtype)
    if labels is None and not str(dtype).lower().startswith(OF_NUMBERS):
        return values  # categories that are real numbers to the model, or words or days of which every cell was empty
    if labels is None:
        values = _numbers(codes, domain, dtype)
    elif any(_is_too_much(label, dtype) for label in labels):
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


def _is_too_much(label: Any, dtype: Any) -> bool:
    """Whether a column of numbers cannot hold a label: a word, a fraction among whole numbers, or one out of range."""
    kind = getattr(dtype, "kind", "O")
    if isinstance(label, str) or kind not in "iuf":
        return isinstance(label, str) and kind in "biufc"
    if kind == "f" and str(dtype) in ("float16", "float32") and abs(label) > float(np.finfo(str(dtype)).max):
        return True
    if kind == "f":  # floats have no room for all whole numbers
        return bool(isinstance(label, int) and (abs(label) > sys.float_info.max or int(float(label)) != label))
    limits = np.iinfo(_name_of_numbers(dtype))
    return bool(label != int(label) or not limits.min <= label <= limits.max)


def _name_of_numbers(dtype: Any) -> str:
    """Return what NumPy calls a type of numbers: "int64" for Int64 and int64[pyarrow]."""
    return str(dtype).lower().split("[")[0]


def labeled(codes: FloatArray, labels: Labels) -> AnyArray:
    """Return the labels that codes stand for, None where a code is missing."""
    missing = np.isnan(codes)
    values = np.empty(len(labels) + 1, dtype=object)
    values[:] = [*labels, None]
    return values[np.where(missing, len(labels), codes).astype(np.int64)]


def _numbers(codes: FloatArray, domain: Domain | None, dtype: Any) -> AnyArray:
    """Return numbers in a form that converts to the type: rounded, the nearest that it can hold, or truth values."""
    text = str(dtype).lower()
    if text.startswith("bool"):
        return np.array([None if np.isnan(code) else bool(code) for code in codes], dtype=object)
    if text.startswith(("int", "uint")):
        limits = np.iinfo(_name_of_numbers(dtype))
        return np.clip(np.rint(codes), float(limits.min), float(limits.max))
    if text.startswith(("float16", "float32")):
        largest = float(np.finfo(text[:7]).max)
        return np.clip(codes, -largest, largest)
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


# -- out of core -------------------------------------------------------------------------------------------------------


def is_collection(X: Any) -> bool:
    """Whether a table is a Dask array or a Dask DataFrame.

    Examples:
        >>> is_collection([[0, 1]])
        False
    """
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "__dask_graph__")


def is_path(X: Any) -> bool:
    """Whether a table is given by its path."""
    return isinstance(X, str | os.PathLike)


def is_parquet(path: str | os.PathLike[str]) -> bool:
    """Whether a path is one of Parquet files: by its ending, or a folder, or a pattern such as `sales/*`.

    Examples:
        >>> [is_parquet(path) for path in ("sales.parquet", "sales/*", "sales[1].csv")]
        [True, True, False]
    """
    text = os.fspath(path)
    if text.lower().endswith((*PARQUET_ENDINGS, *OTHER_ENDINGS)):
        return text.lower().endswith(PARQUET_ENDINGS)
    return any(sign in text for sign in PATTERN) or Path(text).is_dir()


def is_out_of_core(X: Any) -> bool:
    """Whether a table is read by partitions, where its rows are, rather than at once.

    Examples:
        >>> is_out_of_core("sales.parquet"), is_out_of_core("sales.csv"), is_out_of_core([[0, 1]])
        (True, False, False)
    """
    return is_parquet(X) if is_path(X) else is_collection(X)


def dask_module(name: str) -> Any:
    """Return a module of Dask (or one that comes with it), or say how to get it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError(f"tables out of core need Dask ({error}): pip install 'xspn[dask]'") from error


def gather_limit() -> int:
    """Return how many cells a collection may have that is gathered."""
    limit: int = dask_module("dask").config.get("xspn.gather_cells", GATHER_CELLS)
    whole_number("xspn.gather_cells", limit, 1)
    return limit


def collection_shape(X: Any) -> tuple[int, int]:
    """Return the numbers of rows and columns; a collection that does not know its rows is computed for it, once."""
    if not hasattr(X, "columns") and not np.isnan(X.shape[0]):
        return int(X.shape[0]), int(X.shape[1])
    parts = X.to_delayed() if hasattr(X, "columns") else X.to_delayed()[:, 0].tolist()
    dask = dask_module("dask")
    n_rows = int(sum(dask.compute(*(dask.delayed(len)(part) for part in parts))))
    return n_rows, len(X.columns) if hasattr(X, "columns") else int(X.shape[1])


def gather_collection(X: Any, what: str = "X") -> Any:
    """Return a Dask collection that is small enough as a table in memory: an array, or a DataFrame."""
    if X.ndim != 2:
        raise DataError(f"{what}: expected a 2-D table of rows and columns, found {X.ndim}-D")
    rows, columns = collection_shape(X)
    if rows * columns > gather_limit():
        raise DataError(
            f"{what}: {rows:,} rows of {columns:,} columns are too many to be gathered here (xspn.gather_cells); take "
            "fewer rows, as X.sample(frac=0.1) does"
        )
    return X.compute()
