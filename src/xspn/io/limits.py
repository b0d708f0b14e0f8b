"""How much a file may ask for: every limit that is checked before memory or time is spent on a file's content.

| what | limit |
|---|---|
| a model as JSON text | 512 MiB; larger models are stored in the binary form |
| a model in the binary form | 16 GiB |
| an integer in JSON | 40 digits |
| nesting of JSON lists and objects | 100 levels |
| columns of a table | 10,000,000 |
| nodes of a circuit | 100,000,000 |
| values of one variable, classes of a statistic | 20,000,000 (`xspn.statistics.base.LARGEST_TABLE`) |
| the head of a binary file | 512 MiB, and never more than the file |

A variable's index is below the number of columns that the file declares, a child's is below its parent's, and an array
lies inside its file, so that what is read never takes much more memory than the file itself.
"""

import json
import re
from collections.abc import Iterable
from typing import Any, NoReturn

from xspn.core.errors import FormatError

LARGEST_TEXT = 512 << 20  # bytes
LARGEST_FILE = 16 << 30
MOST_DIGITS = 40
DEEPEST = 100
MOST_COLUMNS = 10_000_000
MOST_NODES = 100_000_000

# The types of columns that pandas has and this library can hand out: anything else in a file was not written by it.
_PLAIN_TYPE = r"(bool|boolean|object|str|string|double|float|large_string|u?int(8|16|32|64)|float(16|32|64|128)?)"
_TYPE = re.compile(rf"(category(\[.{{1,80}}\])?|Sparse\[.{{1,80}}\]|{_PLAIN_TYPE}(\[[\w, ]{{1,40}}\])?)", re.IGNORECASE)


def parse_json(text: str | bytes, source: str) -> Any:
    """Return the content of a JSON text within the limits, or say where the text is damaged."""
    if len(text) > LARGEST_TEXT:
        raise FormatError(
            f"{source}: {len(text):,} bytes of JSON, more than the {LARGEST_TEXT:,} that are read; "
            "store large models in the binary form (.xspn)"
        )

    def integer(digits: str) -> int:
        if len(digits) > MOST_DIGITS:
            raise FormatError(f"{source}: an integer of {len(digits)} digits, at most {MOST_DIGITS} are read")
        return int(digits)

    def constant(name: str) -> NoReturn:
        raise FormatError(f"{source}: some number is not finite ({name}), which JSON has no number for")

    try:
        return json.loads(text, parse_int=integer, parse_constant=constant)
    except RecursionError as error:
        raise FormatError(f"{source}: nested deeper than the {DEEPEST} levels that are read") from error
    except FormatError:
        raise
    except ValueError as error:
        where = f"line {error.lineno}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else f"{error}"
        raise FormatError(f"{source}: not a complete JSON text ({where}); the file is truncated or damaged") from error


def check_depth(value: Any, source: str) -> None:
    """Refuse plain values that are nested too deep; level by level, so that this needs no depth of its own."""
    level = [value]
    for _ in range(DEEPEST):
        level = [item for parent in level for item in _items(parent) if isinstance(item, dict | list | tuple)]
        if not level:
            return
    raise FormatError(f"{source}: nested deeper than the {DEEPEST} levels that are supported")


def _items(parent: Any) -> Iterable[Any]:
    return parent.values() if isinstance(parent, dict) else parent if isinstance(parent, list | tuple) else ()


def check_columns(count: int, source: str) -> None:
    """Refuse more columns than are supported."""
    if count > MOST_COLUMNS:
        raise FormatError(f"{source}: {count:,} columns, more than the {MOST_COLUMNS:,} that are supported")


def check_nodes(count: int, source: str) -> None:
    """Refuse circuits without nodes, and those of more nodes than are supported."""
    if not count:
        raise FormatError(f"{source}: there are no nodes")
    if count > MOST_NODES:
        raise FormatError(f"{source}: {count:,} nodes, more than the {MOST_NODES:,} that are supported")


def check_dtypes(dtypes: Iterable[Any], source: str) -> None:
    """Refuse types of columns that are none."""
    for dtype in dtypes:
        if dtype is not None and not isinstance(dtype, str):
            raise FormatError(f"{source}: some type of a column is not a text; the file was altered")
        if dtype is not None and not _TYPE.fullmatch(dtype):
            raise FormatError(f"{source}: {dtype[:40]!r} is not a type of a column; the file was altered")
