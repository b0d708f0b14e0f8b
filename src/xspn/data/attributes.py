"""What is known of a table's columns beside their cells: the party of a member, the shelf of an item.

It is kept in the schema and in model files, and used where columns are named together.
"""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from xspn.core.checks import is_missing, suggestion
from xspn.core.errors import DataError, ParameterError
from xspn.core.files import path_of
from xspn.data.files import ReadOptions, read_table_file
from xspn.data.schema import Attributes, Schema

FEWEST = 3  # columns that have something in common
MOST = 0.5  # of the columns
LIFTS = (1.5, 2.0)  # times its part of all columns: a value is told that most columns have, or fewer


def attributes_of(source: Any, names: Sequence[str], row_names: Sequence[str] | None = None) -> Attributes:
    """Return attributes for columns of these names.

    Args:
        source: The path of a table with a row for each column, one of whose columns has the names; or a mapping
            {attribute: {name: value}}.
        names: The names of the columns.
        row_names: Those of the rows, if they have any: to say so if the file is about them instead.

    Examples:
        >>> attributes_of({"party": {"ann": "left", "cem": "right"}}, ["ann", "bob", "cem"])
        (('party', ('left', None, 'right')),)
    """
    if isinstance(source, str | os.PathLike):
        return _of_file(str(path_of(source, "attributes")), names, row_names or ())
    if not isinstance(source, Mapping) or not all(isinstance(own, Mapping) for own in source.values()):
        raise ParameterError("attributes: expected the path of a table, or a mapping {attribute: {column: value}}")
    found = []
    for attribute, own in source.items():
        unknown = next((name for name in own if name not in names), None)
        if unknown is not None:
            raise DataError(f"attributes: there is no column {unknown!r}{suggestion(str(unknown), names)}")
        values = [None if is_missing(own.get(name)) else str(own[name]) for name in names]
        found.append((str(attribute), tuple(values)))
    return tuple(found)


def _of_file(path: str, names: Sequence[str], row_names: Sequence[str]) -> Attributes:
    """Return the attributes in a file; the column with most of the names tells which row is about which column."""
    table = read_table_file(path, ReadOptions(layout="wide"))
    known = set(names)
    n_named = [len({str(cell) for cell in own} & known) for own in table.cells]
    key = max(range(len(n_named)), key=lambda j: n_named[j])
    if not n_named[key]:
        rows_of = set(row_names)
        about_rows = next((str(cell) for own in table.cells for cell in own if str(cell) in rows_of), None)
        if about_rows is not None:
            raise DataError(
                f"{path}: is about rows of the table, such as {about_rows!r}, and attributes are of columns; let what "
                "tells rows apart be the item, so that each of them is a column"
            ).with_remedy("long columns")
        shown = ", ".join(map(repr, list(names)[:3]))
        raise DataError(f"{path}: no row is about a column of the table; expected names such as {shown} in some column")
    if len(table.names) < 2:
        raise DataError(f"{path}: expected a column of names and one for each attribute, found names alone")
    rows: dict[str, int] = {}
    for row, cell in enumerate(table.cells[key]):
        if cell is not None and rows.setdefault(str(cell), row) != row:
            raise DataError(f"{path}: {str(cell)!r} occurs twice, again at {table.place(row, key)}; keep one of them")
    return tuple(
        (attribute, tuple(None if name not in rows else _text(own[rows[name]]) for name in names))
        for j, (attribute, own) in enumerate(zip(table.names, table.cells, strict=True))
        if j != key
    )


def _text(cell: Any) -> str | None:
    return None if cell is None else str(cell)


def common_attributes(schema: Schema, variables: Sequence[int]) -> list[tuple[str, str, float]]:
    """Return what some columns have in common: attribute, value, and the fraction of the columns that have it.

    It is said of a value that most of them have, and that is more frequent among them than among all columns; or that
    is at least twice as frequent.

    Examples:
        >>> from xspn.data.domain import Domain
        >>> party = (("party", ("left",) * 4 + ("right",) * 6),)
        >>> schema = Schema.of([Domain(2)] * 10, attributes=party)
        >>> common_attributes(schema, [0, 1, 2, 4])
        [('party', 'left', 0.75)]
    """
    found: list[tuple[str, str, float]] = []
    if len(variables) < FEWEST:
        return found
    for attribute, values in schema.attributes:
        own = Counter(values[v] for v in variables if values[v] is not None)
        if not own:
            continue
        value, count = own.most_common(1)[0]
        fraction, overall = count / len(variables), values.count(value) / len(values)
        if count > 1 and fraction >= LIFTS[fraction <= MOST] * overall:
            found.append((attribute, str(value), fraction))
    return found
