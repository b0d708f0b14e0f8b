"""The public files' format: one row a line, zeros and ones with commas between them."""

from typing import Any

import numpy as np

from xspn.core.errors import DataError
from xspn.paper.datasets.dataset import BinaryTable

_ZERO, _COMMA, _NEWLINE = b"0,\n"


def parse(content: bytes, what: str = "data") -> BinaryTable:
    r"""Return the table in a file's content.

    Examples:
        >>> parse(b"0,1,1\n1,0,0\n").tolist()
        [[0, 1, 1], [1, 0, 0]]
        >>> parse(b"0,1\n1,2\n")
        Traceback (most recent call last):
        ...
        xspn.core.errors.DataError: data: expected 0 or 1, found '2' in line 2
    """
    width = content.find(b"\n") + 1
    if width > 1 and len(content) % width == 0:
        grid = np.frombuffer(content, dtype=np.uint8).reshape(-1, width)
        separators, values = grid[:, 1::2], grid[:, ::2] - np.uint8(_ZERO)
        regular = width % 2 == 0 and (separators[:, :-1] == _COMMA).all() and (separators[:, -1] == _NEWLINE).all()
        if regular and (values <= 1).all():
            return values
    return _parse_by_line(content, what)


def _parse_by_line(content: bytes, what: str) -> BinaryTable:
    """Read with care, so that an error can name the line; spaces and other line ends are allowed."""
    lines = content.decode("ascii", errors="replace").splitlines()
    rows = [[cell.strip() for cell in line.split(",")] for line in lines if line.strip()]
    if not rows:
        raise DataError(f"{what}: expected lines of zeros and ones, found nothing")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise DataError(f"{what}: expected {len(rows[0])} values as in line 1, found {len(row)} in line {number}")
        bad = next((cell for cell in row if cell not in ("0", "1")), None)
        if bad is not None:
            raise DataError(f"{what}: expected 0 or 1, found {bad!r} in line {number}")
    return np.array(rows).astype(np.uint8)


def render(table: BinaryTable | Any) -> bytes:
    r"""Return the table in the public files' format.

    Examples:
        >>> render(np.array([[0, 1, 1], [1, 0, 0]]))
        b'0,1,1\n1,0,0\n'
    """
    values = np.asarray(table, dtype=np.uint8)
    grid = np.empty((values.shape[0], 2 * values.shape[1]), dtype=np.uint8)
    grid[:, ::2] = values + np.uint8(_ZERO)
    grid[:, 1::2] = _COMMA
    grid[:, -1] = _NEWLINE
    return grid.tobytes()
