"""Codes as plain values for files: labels, whole numbers, truth values, real numbers."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xspn.core.arrays import FloatArray
    from xspn.data.columns import Columns


def plain_columns(columns: "Columns", codes: "FloatArray") -> list[list[Any]]:
    """Return each column's values; None where there is none.

    A real column of whole numbers gets the nearest whole numbers.
    """
    return [_plain_column(columns, j, codes[:, j].tolist()) for j in range(len(columns))]


def _plain_column(columns: "Columns", column: int, codes: list[float]) -> list[Any]:
    domain = columns.domains[column]
    whole = (columns.dtypes[column] or "").lower().startswith(("int", "uint"))

    def value(code: float) -> Any:
        if code != code or domain is None:
            return None
        found = columns.label(column, code)
        return round(found) if whole and isinstance(found, float) else found

    return [value(code) for code in codes]
