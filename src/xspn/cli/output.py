"""What commands print: JSON for programs, tables for people, lines of tab-separated values for pipes."""

import json
import sys
from collections.abc import Iterable, Sequence
from math import inf, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xspn._core.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURES = (".png", ".svg", ".pdf")


def print_json(value: Any) -> int:
    """Print a value as JSON; −inf is the string "-inf", and what is not a number is null."""
    sys.stdout.write(json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    return 0


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and isnan(value):
        return None
    return "-inf" if value == -inf else value


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]], right: set[str]) -> None:
    """Print a table on a terminal, and lines of tab-separated values elsewhere."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    if not console.is_terminal:
        sys.stdout.write("".join("\t".join(row) + "\n" for row in (header, *rows)))
        return
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for column in header:
        table.add_column(column, justify="right" if column in right else "left")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)


def print_aligned(header: Sequence[str], rows: Iterable[Sequence[str]], right: set[str]) -> None:
    """Print a small table for people, the same on a terminal and elsewhere; programs ask for JSON."""
    lines = [tuple(header), *(tuple(row) for row in rows)]
    widths = [max(len(line[j]) for line in lines) for j in range(len(header))]
    for line in lines:
        cells = [
            cell.rjust(width) if name in right else cell.ljust(width)
            for cell, width, name in zip(line, widths, header, strict=True)
        ]
        sys.stdout.write("  ".join(cells).rstrip() + "\n")


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Print what is known, one fact in a line."""
    known = list(facts)
    width = max(len(label) for label, _ in known)
    for label, text in known:
        sys.stdout.write(f"{label:<{width}}  {text}\n")


def check_picture(path: Path | None) -> None:
    """Refuse a picture that could not be drawn or written, before any work is done for it."""
    if path is None:
        return
    from xspn.io.files import check_folder
    from xspn.plotting.style import require_matplotlib

    if path.suffix.lower() not in PICTURES:
        raise ParameterError(f"{path}: expected a name ending in {', '.join(PICTURES)}")
    check_folder(path)
    require_matplotlib()


def save_picture(figure: "Figure", path: Path) -> None:
    """Write a picture, whole or not at all."""
    from io import BytesIO

    from xspn.io.files import write_bytes

    stream = BytesIO()
    figure.savefig(stream, format=path.suffix.lower().lstrip("."))
    write_bytes(path, stream.getvalue())


def number(value: float, digits: int = 4) -> str:
    """Return a number with a proper minus."""
    return f"{value:.{digits}f}".replace("-", "−")


def shortened(names: Sequence[str], most: int = 6) -> str:
    """Join names, leaving out the middle of a long list."""
    if len(names) <= most:
        return ", ".join(names)
    return ", ".join([*names[: most - 1], f"… {names[-1]}"])
