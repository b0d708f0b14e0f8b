"""Training tables: columns inferred from arrays and DataFrames, cells turned into codes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from xspn.core.arrays import AnyArray
from xspn.core.checks import Names, as_array, cell_name, column_index, table
from xspn.core.errors import DataError, ParameterError
from xspn.data.columns import Columns
from xspn.data.domain import Domain
from xspn.data.frames import as_frame, cells_of, names_of, type_name
from xspn.data.kinds import Reading, Where, Wish, read_column, wish_of, with_shared_labels

CellPlace = Callable[[int, int], str]  # names the cell of a row and a column
BINARY = (Wish(word="binary"), Wish(domain=Domain.binary()))
CELLS_AT_ONCE = 1 << 20  # that are compared in one go
SHARED = ("categorical", "ordinal")  # said of all columns, these give them one scale


def read_table(X: Any, domains: Any = None) -> tuple[Columns, AnyArray]:
    """Return the columns of a training table, by the rules of `xspn.data.kinds`, and its cells as codes or numbers.

    A table of zeros and ones comes back as it is, in its own type.

    Examples:
        >>> columns, cells = read_table([[0, 3, 0.5], [1, np.nan, 7]])
        >>> [domain.kind for domain in columns.domains]
        ['binary', 'ordinal', 'real']
        >>> columns, cells = read_table([["no", "b"], ["yes", "a"]], domains=["binary", ["a", "b", "c"]])
        >>> columns.labels, cells.tolist()
        ((('no', 'yes'), ('a', 'b', 'c')), [[0.0, 1.0], [1.0, 0.0]])
    """
    frame = as_frame(X)
    names = None if frame is None else names_of(frame)
    if frame is None:
        array = as_array(X, "X")
        says_text = domains is not None and array.dtype.kind in "OUS" and array.ndim == 2
        array = np.asarray(array, dtype=object) if says_text else table(array, what="X")
        _refuse_empty(array.shape)
        cells = list(array.T)
        dtypes: list[Any] = [None] * len(cells)
    else:
        _refuse_empty(frame.shape)
        dtypes = list(frame.dtypes)
        if len(set(dtypes)) == 1 and isinstance(dtypes[0], np.dtype) and dtypes[0].kind in "biuf":
            array = np.asarray(frame.to_numpy())  # numbers of one type: much faster than column by column
            cells = list(array.T)
        else:
            array = None
            cells = [cells_of(frame.iloc[:, j], repr(name)) for j, name in enumerate(frame.columns)]
    return _columns_and_codes(cells, array, names, dtypes, domains, "X", None)


def read_cells(
    cells: Sequence[AnyArray], names: Names, dtypes: Sequence[str | None], domains: Any, what: str, place: CellPlace
) -> tuple[Columns, AnyArray]:
    """Return the columns and codes of a table that is at hand column by column, as from a file.

    Args:
        cells: The cells of each column: numbers (NaN where missing) or objects (None where missing).
        names: The names of the columns.
        dtypes: The types that a DataFrame of them would have.
        domains: What the user says of the columns.
        what: The name of the table, for error messages.
        place: Names a cell by row and column, for error messages.
    """
    if not cells or not len(cells[0]):
        raise DataError(f"{what}: found no {'rows' if cells else 'columns'}")
    return _columns_and_codes(list(cells), None, names, dtypes, domains, what, place)


def _columns_and_codes(
    cells: list[AnyArray],
    array: AnyArray | None,
    names: Names | None,
    dtypes: Sequence[Any],
    domains: Any,
    what: str,
    place: CellPlace | None,
) -> tuple[Columns, AnyArray]:
    """Return the columns of cells that are at hand column by column, and as one array if they came so."""

    def name_cell(row: int, column: int) -> str:
        return cell_name((row, column), names) if place is None else place(row, column)

    wishes = _wishes(domains, dtypes, names)
    known = names is not None
    may_be_binary = all(wish in (None, *BINARY) for wish in wishes)
    if may_be_binary and all(map(_is_binary, cells if array is None else [array])):
        readings = [Reading(Domain.binary(), None, own) for own in cells]
        array = np.column_stack(cells) if array is None else array
    else:
        shared = isinstance(domains, str) and domains in SHARED
        readings = (_read_as_one if shared else _read)(cells, wishes, names, what, name_cell)
        array = np.column_stack([reading.codes for reading in readings])
    columns = Columns.of(
        [reading.domain for reading in readings],
        names,
        [reading.labels for reading in readings],
        [type_name(dtype) if known and dtype is not None else None for dtype in dtypes],
    )
    return columns, array


def _refuse_empty(shape: tuple[int, ...]) -> None:
    for count, kind in zip(shape, ("sample", "feature"), strict=True):
        if count == 0:
            raise DataError(f"X: found 0 {kind}(s) (shape={shape}) while a minimum of 1 is required.")


def _is_binary(array: AnyArray) -> bool:
    """Whether a table or a column holds zeros, ones and missing cells only."""
    if array.dtype.kind == "b":
        return True
    if array.dtype.kind not in "iuf":
        return False
    step = max(CELLS_AT_ONCE * len(array) // max(array.size, 1), 1)
    some_rows = (array[start : start + step] for start in range(0, len(array), step))
    return all(bool(((rows == 0) | (rows == 1) | (rows != rows)).all()) for rows in some_rows)


def _wishes(domains: Any, dtypes: Sequence[Any], names: Names | None) -> list[Wish | None]:
    """Return what is wanted of each column: what the user says, else what its type says."""
    n = len(dtypes)
    if domains is None or isinstance(domains, str | Domain) or hasattr(domains, "categories"):
        said = [domains] * n
    elif isinstance(domains, Mapping):
        by_column = {column_index(variable, n, names): own for variable, own in domains.items()}
        said = [by_column.get(j) for j in range(n)]
    elif isinstance(domains, Sequence):
        if len(domains) != n:
            raise ParameterError(f"domains: expected one for each of the {n} columns, found {len(domains)}")
        said = list(domains)
    else:
        raise ParameterError(f"domains: expected a word, a mapping or a list, found {domains!r}")
    wishes = []
    for j, (own, dtype) in enumerate(zip(said, dtypes, strict=True)):
        name = j if names is None else repr(names[j])
        from_type = dtype if own is None and hasattr(dtype, "categories") else own
        wishes.append(wish_of(from_type, f"domains of column {name}"))
    return wishes


def _read(
    cells: list[AnyArray], wishes: list[Wish | None], names: Names | None, what: str, place: CellPlace
) -> list[Reading]:
    readings = []
    for j, (own, wish) in enumerate(zip(cells, wishes, strict=True)):
        where = Where(what, repr(j if names is None else names[j]), lambda row, column=j: place(row, column))  # type: ignore[misc]
        readings.append(read_column(own, wish, where))
    return with_shared_labels(readings)


def _read_as_one(
    cells: list[AnyArray], wishes: list[Wish | None], names: Names | None, what: str, place: CellPlace
) -> list[Reading]:
    """Read all columns as if they were one below the other, so that they get one scale."""
    n_rows = len(cells[0])
    where = Where(what, "of the table", lambda row: place(row % n_rows, row // n_rows))
    whole = read_column(np.concatenate(cells), wishes[0], where)
    return [replace(whole, codes=codes) for codes in np.split(whole.codes, len(cells))]
