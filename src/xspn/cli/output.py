"""What commands print and write: JSON for programs, lines for people, and no file over one that was read.

Everything for people goes through `say`, so that names which hold control characters cannot reach the terminal.
Everything for programs is UTF-8 and keeps the data as it is.
"""

import argparse
import codecs
import json
import os
import sys
from collections.abc import Iterable, Sequence
from math import isfinite, log
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from xspn.core.errors import ParameterError, printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from xspn.inference.information import Information
    from xspn.plotting.style import Format

PICTURES = (".png", ".svg", ".pdf")
STDOUT = "-"
SPARE = 20  # letters
LONG = 1e15
ROUNDING = 1e-9  # bits: what differences of exact sums are off by
IN_ASCII = str.maketrans(
    {"−": "-", "–": "-", "…": "...", "×": "x", "·": "*", "±": "+/-", "█": "#", "├": "|", "└": "`", "│": "|", "─": "-"}
    | {"≤": "<=", "≥": ">=", "≠": "!=", "≈": "~", "∞": "inf"}
    | dict(zip("▁▂▃▄▅▆▇", "_.,:;+*", strict=True))
)


def say(line: str = "", error: bool = False) -> None:
    """Print one line for people, on standard output or standard error."""
    stream = sys.stderr if error else sys.stdout
    stream.write(f"{printable(line)}\n")


def _in_other_words(error: UnicodeError) -> tuple[str, int]:
    """Replace what an encoding lacks: signs by similar ones, letters by their escapes."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(IN_ASCII)
    return text.encode("ascii", "backslashreplace").decode("ascii"), error.end


codecs.register_error("xspn", _in_other_words)


def write_utf8(text: str) -> None:
    """Write text for programs to standard output: UTF-8 whatever the terminal's encoding is."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()


def print_json(value: Any) -> int:
    """Print a value as JSON; −inf is the string "-inf", and what is not a number is null."""
    from xspn.core.files import json_value

    write_utf8(json.dumps(json_value(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    return 0


def add_formula_option(parser: argparse.ArgumentParser) -> None:
    """Add how text is written that spreadsheets compute."""
    parser.add_argument(
        "--escape-formulas", action="store_true", help="in CSV, put ' before text that a spreadsheet would compute"
    )


def add_rows_output(parser: argparse.ArgumentParser) -> None:
    """Add where rows are written, and how."""
    parser.add_argument("-o", "--output", metavar="FILE", help="csv, json or parquet (default: CSV to standard output)")
    add_formula_option(parser)


def check_outputs(outputs: Iterable[str | Path | None], inputs: Iterable[str | Path | None]) -> None:
    """Refuse to write where nothing can be written, or over what is read, before any work is done.

    Args:
        outputs: The files to write; None and "-" are none.
        inputs: The files and folders that are read.
    """
    from xspn.core.files import check_folder

    written = [os.fspath(path) for path in outputs if path is not None and os.fspath(path) != STDOUT]
    read = [os.fspath(path) for path in inputs if path is not None and os.fspath(path) != STDOUT]
    for place, path in enumerate(written):
        if not path or "\0" in path or path.endswith(("/", os.sep)):
            raise ParameterError(f"{path!r}: expected the name of a file to write to")
        for name in (path, path + " " * SPARE):  # files are written under a longer name first
            try:
                os.stat(name)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise ParameterError(f"{path}: {(error.strerror or str(error)).lower()}; name another file") from error
        if os.path.isdir(path):
            raise ParameterError(f"{path}: expected a file, found a folder")
        if os.path.isfile(path) or not os.path.exists(path):  # neither a device nor a pipe
            check_folder(Path(os.path.realpath(path)))
        for other in _read_with(read) if os.path.isfile(path) else read:
            if _is_within(path, other):
                raise ParameterError(f"{path}: the output would replace what is read ({other}); name another file")
        if any(os.path.realpath(path) == os.path.realpath(other) for other in written[:place]):
            raise ParameterError(f"{path}: named for two outputs; name another file for one of them")


def _read_with(paths: Iterable[str]) -> list[str]:
    """Return the files that are read and those that lie beside them and are read, too."""
    from xspn.io.files import files_of

    return [os.fspath(own) for path in paths for own in (files_of(path) if os.path.isfile(path) else (path,))]


def check_out_folder(path: Path) -> None:
    """Refuse a folder to write to that cannot be one, before any work is done for it."""
    from xspn.core.files import check_folder

    nearest = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    if not nearest.is_dir():
        raise ParameterError(f"--out: expected a folder, found a file at {nearest}")
    check_folder(nearest / "any")


def _is_within(path: str, other: str) -> bool:
    """Whether a file is another one, by whatever name, or lies in that folder."""
    if os.path.isdir(other):
        return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(other))
    try:
        return os.path.samefile(path, other) and os.path.isfile(path)
    except (OSError, ValueError):
        return False  # one of them is not there


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]], right: set[str]) -> None:
    """Print a table on a terminal, and lines of tab-separated values elsewhere."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    if not console.is_terminal:
        for row in (header, *rows):
            write_utf8("\t".join(row) + "\n")
        return
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for column in header:
        table.add_column(column, justify="right" if column in right else "left")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    console.print(table)


def print_aligned(header: Sequence[str], rows: Iterable[Sequence[str]], right: set[str]) -> None:
    """Print a small table for people, the same on a terminal and elsewhere; programs ask for JSON."""
    lines = [tuple(header), *(tuple(map(printable, row)) for row in rows)]
    widths = [max(len(line[j]) for line in lines) for j in range(len(header))]
    for line in lines:
        cells = [
            cell.rjust(width) if name in right else cell.ljust(width)
            for cell, width, name in zip(line, widths, header, strict=True)
        ]
        say("  ".join(cells).rstrip())


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Print what is known, one fact in a line."""
    known = list(facts)
    width = max(len(label) for label, _ in known)
    for label, text in known:
        say(f"{label:<{width}}  {text}")


def check_picture(path: Path | None) -> None:
    """Refuse a picture that could not be drawn or written, before any work is done for it."""
    if path is None:
        return
    from xspn.plotting.style import require_matplotlib

    if path.suffix.lower() not in PICTURES:
        raise ParameterError(f"{path}: expected a name ending in {', '.join(PICTURES)}")
    require_matplotlib()


def save_picture(figure: "Figure", path: Path) -> None:
    """Write a picture, whole or not at all."""
    from xspn.core.files import write_bytes
    from xspn.plotting.style import image

    write_bytes(path, image(figure, cast("Format", path.suffix.lower().lstrip("."))))


def number(value: float, digits: int = 4) -> str:
    """Return a number with a proper minus; one with more digits than can be read, with an exponent.

    Examples:
        >>> number(-1234.5), number(-1e300)
        ('−1234.5000', '−1.0000e+300')
    """
    return f"{value:.{digits}{'e' if LONG <= abs(value) < float('inf') else 'f'}}".replace("-", "−")


def abridged(names: Sequence[str], most: int = 6) -> str:
    """Join names, leaving out the middle of a long list."""
    if len(names) <= most:
        return ", ".join(names)
    return ", ".join([*names[: most - 1], f"… {names[-1]}"])


def plain_information(own: "Information") -> dict[str, Any]:
    """Return a quantity in bits, and how it was found, for programs."""
    bit = log(2.0)
    return {
        "bits": own.bits,
        "method": own.method,
        "error": own.error / bit,
        "lower": own.lower / bit,
        "upper": own.upper / bit,
    }


def information_cells(own: "Information") -> tuple[str, str]:
    """Return a quantity in bits, and how it was found, for people."""
    if own.method == "exact":
        return number(own.bits if abs(own.bits) > ROUNDING else 0.0), "exact"
    bit = log(2.0)
    ends = [f"at least {number(own.lower / bit)}"] if isfinite(own.lower) else []
    ends += [f"at most {number(own.upper / bit)}"] if isfinite(own.upper) else []
    return number(own.bits), ", ".join([f"± {number(own.error / bit)} ({own.n_rows:,} drawn rows)", *ends])
