"""What commands read: tables and models, from files or standard input."""

import argparse
import codecs
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xspn.core.errors import DataError, ParameterError

if TYPE_CHECKING:
    from xspn.circuit import Circuit
    from xspn.data import TableFile

STDIN = "-"


def add_table_options(parser: argparse.ArgumentParser) -> None:
    """Add how text tables are read."""
    group = parser.add_argument_group("how the table is read", "CSV and similar text, .parquet and .npz are recognized")
    group.add_argument("--delimiter", metavar="CHAR", help="what separates cells (default: detected)")
    group.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="whether the first row holds names (default: detected)",
    )
    group.add_argument("--missing", nargs="+", default=[], metavar="TEXT", help="further texts for missing values")
    group.add_argument("--encoding", default="utf-8", help="default: utf-8")


def read_table(path: str, args: argparse.Namespace) -> "TableFile":
    """Read the table of a command."""
    from xspn.data import ReadOptions, read_table_file

    delimiter = "\t" if args.delimiter == "\\t" else args.delimiter
    if delimiter is not None and len(delimiter) != 1:
        raise ParameterError(f"--delimiter: expected one character, found {delimiter!r}")
    try:
        codecs.lookup(args.encoding)
    except LookupError as error:
        raise ParameterError(f"--encoding: unknown encoding {args.encoding!r}") from error
    return read_table_file(path, ReadOptions(delimiter, args.header, tuple(args.missing), args.encoding))


def read_model(path: str) -> "tuple[Circuit, dict[str, Any]]":
    """Read a circuit and its notes; "-" is standard input."""
    from xspn.io.files import load_with_notes
    from xspn.io.files import read_model as model_of

    if path == STDIN:
        return model_of(sys.stdin.buffer.read(), "standard input")
    if Path(path).is_dir():
        raise DataError(f"{path}: expected a model file, found a folder")
    return load_with_notes(path)


def refuse_two_inputs(*paths: str) -> None:
    """Refuse a model and a table that both come from standard input."""
    if paths.count(STDIN) > 1:
        raise ParameterError("only one of model and table can come from standard input")


def matching(pattern: str, names: tuple[str, ...], what: str) -> list[int]:
    """Return the columns that a name or a pattern with * and ? stands for, or suggest the nearest name."""
    from xspn.core.checks import nearest

    if pattern in names:
        return [names.index(pattern)]
    found = [j for j, name in enumerate(names) if fnmatchcase(name, pattern)]
    if found:
        return found
    near = nearest(pattern, names)
    hint = "" if near is None else f"; did you mean {near!r}?"
    raise DataError(f"{what}: there is no column {pattern!r}{hint}")


def seed_of(args: argparse.Namespace) -> int:
    """Return the seed, if it can be one."""
    if args.seed < 0:
        raise ParameterError(f"--seed: expected a number of at least 0, found {args.seed}")
    return int(args.seed)
