"""Learning by evidence from an out-of-core table of any columns: what is asked of all rows is summed by partition.

The first pass finds what the columns hold: the values of each, as many as a discrete column may have, and the least and
the largest number. A small table of these has the same schema as the whole one would have in memory.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.core.checks import weights_of_rows
from xspn.core.errors import ClusterError, DataError, DataTypeError, XSPNError
from xspn.data.column_types import MOST_CODES
from xspn.data.domain import Domain
from xspn.data.frames import dask_module
from xspn.data.schema import Schema
from xspn.data.table import binarized
from xspn.distributed.checkpoint import Checkpoint, plain_result, result_of_plain
from xspn.distributed.cluster import compute, merge_tree
from xspn.distributed.gathering import as_collection
from xspn.distributed.growth import PassReport
from xspn.distributed.partitions import BLOCK_ROWS, partitions_of_weights
from xspn.learning import sampling
from xspn.learning.config import LearnConfig
from xspn.learning.long_tables import S, cells_of_codes
from xspn.learning.sampling import Block, RowStatistics

Identity = dict[str, Any]
MOST_VALUES = MOST_CODES + 1  # of a column that are collected, beside the least and the largest number


@dataclass(frozen=True, eq=False)
class TablePart:
    """A partition of a table, and that of its weights; both are Dask objects until a worker has them."""

    source: str
    rows: Any
    weights: Any = None


@dataclass(frozen=True, eq=False)
class OutOfCoreColumns:
    """What the first pass over a table finds.

    Attributes:
        parts: The partitions.
        template: A small table whose columns have the values of the whole one's.
        statistics: What must be known of the rows before some are drawn.
        sizes: How many rows of each partition say something.
        digest: A fingerprint of all cells and weights.
        report: What the pass did.
    """

    parts: tuple[TablePart, ...]
    template: Any
    statistics: RowStatistics
    sizes: tuple[int, ...]
    digest: str
    report: PassReport


def identity_of_rows(
    columns: OutOfCoreColumns, schema: Schema, config: LearnConfig, seed: int, binarize: float | None
) -> Identity:
    """Return what must be the same for a fit to be resumed: data, settings, seed."""
    data = {"rows": columns.statistics.rows, "digest": columns.digest, "columns": schema.names}
    settings = {**asdict(config), "seed": seed, "binarize": binarize, "sampled_rows": sampling.MOST_ROWS}
    settings["domains"] = [str(domain) for domain in schema.domains]
    settings["labels"] = [None if labels is None else list(map(str, labels)) for labels in schema.labels]
    plain: Identity = json.loads(json.dumps({"data": data, "settings": settings}))
    return plain


def read_columns(X: Any, sample_weight: Any = None) -> OutOfCoreColumns:
    """Read a Dask collection or a Parquet path once, and return what its columns hold."""
    start = perf_counter()
    collection = as_collection(X)
    if collection.ndim != 2:
        raise DataError(f"X: expected a 2-D table of rows and columns, found {collection.ndim}-D")
    if hasattr(collection, "columns"):
        _refuse_unknown_categories(collection._meta)
        delayed_parts = list(collection.to_delayed())
    elif collection.dtype.kind not in "biuf":
        raise DataTypeError(f"X: expected a Dask array of numbers, found {collection.dtype}; text needs a DataFrame")
    else:
        delayed_parts = collection.rechunk({1: -1}).to_delayed()[:, 0].tolist()
    weights = partitions_of_weights(sample_weight, len(delayed_parts))
    own = zip(delayed_parts, weights, strict=True)
    parts = tuple(TablePart(f"partition {k}", rows, weight) for k, (rows, weight) in enumerate(own))
    delayed = dask_module("dask").delayed
    read = [delayed(_read_columns, pure=False, nout=2)(part) for part in parts]
    firsts, seconds = [own[0] for own in read], [own[1] for own in read]
    found, *about = compute([merge_tree(firsts, _merged_columns), *seconds], firsts, [own.source for own in parts])
    if found is None or found.statistics.rows == 0:
        raise DataError("X: found 0 sample(s) with a weight above 0 and a cell that is not missing; expected some")
    report = PassReport(0, 1, 0, perf_counter() - start)
    sizes, digests = zip(*about, strict=True)
    digest = hashlib.blake2b("".join(digests).encode(), digest_size=16).hexdigest()
    return OutOfCoreColumns(parts, _padded(found.columns), found.statistics, sizes, digest, report)


@dataclass(eq=False)
class OutOfCoreRows:
    """All rows of an out-of-core table, coded by its schema; fulfils `LongRows`.

    Attributes:
        columns: What the first pass found.
        schema: What the columns are.
        binarize: Values above this number count as 1; None takes values as they are.
        checkpoint: Where what passes find is saved, if anywhere.
        reports: What each pass did.
    """

    columns: OutOfCoreColumns
    schema: Schema
    binarize: float | None = None
    checkpoint: Checkpoint | None = None
    reports: list[PassReport] = field(default_factory=list)
    _saved: list[Any] = field(default_factory=list)
    _done: int = 0

    def __post_init__(self) -> None:
        self.reports.append(self.columns.report)
        if self.checkpoint is not None:
            self._saved = self.checkpoint.read(lambda content: list(content["passes"])) or []

    @property
    def domains(self) -> tuple[Domain, ...]:
        """The domain of each column."""
        return tuple(domain for domain in self.schema.domains if domain is not None)

    @property
    def statistics(self) -> RowStatistics:
        """What must be known before rows are drawn."""
        return self.columns.statistics

    def summed(self, measure: Callable[[Block], S]) -> S:
        """Return the sum of what is measured of all blocks of rows: one pass over the partitions, or a saved one."""
        number, self._done = self._done, self._done + 1
        if self.checkpoint is not None and number < len(self._saved):
            saved: S | None = self.checkpoint.read(lambda content: result_of_plain(content["passes"][number], measure))
            if saved is not None:
                return saved
        found = self._passed(measure)
        if self.checkpoint is not None:
            self._saved.append(plain_result(found))
            self.checkpoint.write({"passes": self._saved})
        return found

    def _passed(self, measure: Callable[[Block], S]) -> S:
        start = perf_counter()
        delayed = dask_module("dask").delayed
        shared = delayed((measure, self.schema, self.binarize), traverse=False)
        firsts = np.concatenate([[0], np.cumsum(self.columns.sizes)]).tolist()
        pairs = zip(self.columns.parts, firsts[:-1], strict=True)
        parts = [delayed(_measured, pure=False)(part, first, shared) for part, first in pairs]
        sources = [part.source for part in self.columns.parts]
        found: S = compute([merge_tree(parts, _added)], parts, sources)[0]
        self.reports.append(PassReport(0, 1, 0, perf_counter() - start))
        return found


# -- on the workers ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _ColumnValues:
    """Different values of each column, in order of first appearance, and what else is known of the rows."""

    columns: Sequence[Any]  # arrays, or the Series of a DataFrame
    statistics: RowStatistics


def _read_columns(part: TablePart) -> tuple[_ColumnValues | None, tuple[int, str]]:
    found: list[_ColumnValues] = []
    digest = hashlib.blake2b(digest_size=16)
    with _named(part):
        for rows, weights in _chunks(part):
            frame = hasattr(rows, "columns")
            hashed = dask_module("pandas").util.hash_pandas_object(rows, index=False).to_numpy() if frame else rows
            for own in (hashed, weights):
                digest.update(np.ascontiguousarray([] if own is None else own).data)
            missing = rows.isna().to_numpy() if frame else np.isnan(rows)
            columns = [rows.iloc[:, j] if frame else rows[:, j] for j in range(rows.shape[1])]
            statistics = RowStatistics.of_cells(missing, np.ones(len(rows)) if weights is None else weights)
            found.append(_ColumnValues([_different(own) for own in columns], statistics))
    whole = _merged_columns(found)
    return whole, (0 if whole is None else whole.statistics.rows, digest.hexdigest())


def _measured(part: TablePart, first: int, shared: tuple[Callable[[Block], S], Schema, float | None]) -> S | None:
    given, schema, threshold = shared
    measure = deepcopy(given)  # threads of one process would share its back end
    domains = tuple(domain for domain in schema.domains if domain is not None)
    found: S | None = None
    with _named(part):
        for rows, weights in _chunks(part):
            codes = binarized(schema.encode(rows, numbers_are_codes=False), threshold)
            block = Block.of(first, cells_of_codes(codes, domains), weights)
            first += len(block)
            own = measure(block)
            found = own if found is None else found.plus(own)
    return found


def _added(parts: list[S | None]) -> S | None:
    found: S | None = None
    for own in parts:
        found = own if found is None else found if own is None else found.plus(own)
    return found


def _chunks(part: TablePart) -> Iterator[tuple[Any, FloatArray | None]]:
    """Yield a partition's rows, some at a time, with their weights."""
    rows = part.rows
    weights = None if part.weights is None else weights_of_rows(part.weights, len(rows))
    for first in range(0, len(rows), BLOCK_ROWS):
        some = slice(first, first + BLOCK_ROWS)
        yield (rows.iloc[some] if hasattr(rows, "iloc") else rows[some]), None if weights is None else weights[some]


@contextmanager
def _named(part: TablePart) -> Iterator[None]:
    """Give errors the name of a partition."""
    try:
        yield
    except XSPNError as error:
        raise DataError(f"{part.source}: {error}") from error
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise ClusterError(f"{part.source}: could not be read ({reason})") from error


# -- what columns hold -------------------------------------------------------------------------------------------------


def _refuse_unknown_categories(meta: Any) -> None:
    for name, dtype in meta.dtypes.items():
        if "__UNKNOWN_CATEGORIES__" in list(getattr(dtype, "categories", ())):
            raise DataTypeError(
                f"X: the categories of column {name!r} are not known before the table is read; use "
                f"X[{name!r}].cat.as_known()"
            )


def _different(column: Any) -> Any:
    """Return the different values of a column, at most as many as a discrete one has, and the ends of more numbers."""
    if hasattr(column, "drop_duplicates"):
        values = column.drop_duplicates()
        if len(values) <= MOST_VALUES + 2:
            return values
        if getattr(values.dtype, "kind", "O") not in "biuf":
            raise DataError(
                f"X: column {column.name!r} has more than {MOST_CODES:,} different values that are no numbers, too "
                "many for a table that is not in memory; drop the column, or put rare values together"
            )
        ends = [values.argmin(), values.argmax()]
        return values.iloc[np.unique([*range(MOST_VALUES), *ends])]
    _, first = np.unique(column, return_index=True)
    values = column[np.sort(first)]
    if len(values) <= MOST_VALUES + 2:
        return values
    return values[np.unique([*range(MOST_VALUES), np.nanargmin(values), np.nanargmax(values)])]


def _merged_columns(parts: Sequence[_ColumnValues | None]) -> _ColumnValues | None:
    own = [part for part in parts if part is not None]
    if not own:
        return None
    statistics = own[0].statistics
    for part in own[1:]:
        statistics = statistics.plus(part.statistics)
    columns = [_different(_concatenated(column)) for column in zip(*(part.columns for part in own), strict=True)]
    return _ColumnValues(columns, statistics)


def _concatenated(columns: Sequence[Any]) -> Any:
    if len(columns) == 1:
        return columns[0]
    return dask_module("pandas").concat(columns) if hasattr(columns[0], "iloc") else np.concatenate(columns)


def _padded(columns: Sequence[Any]) -> Any:
    """Return columns of values as one table; values occur again, or they would look like identifiers of rows."""
    n_rows = 2 * max(map(len, columns)) + 1
    if not hasattr(columns[0], "iloc"):
        return np.column_stack([np.resize(own, n_rows) for own in columns])
    pandas = dask_module("pandas")
    series = [own.iloc[np.arange(n_rows) % len(own)].reset_index(drop=True) for own in columns]
    frame = pandas.concat(series, axis=1)
    frame.columns = [own.name for own in columns]
    return frame
