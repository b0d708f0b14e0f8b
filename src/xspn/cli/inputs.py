"""What commands take: tables and models from files or standard input, types of columns, a cluster to work on."""

import argparse
import codecs
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xspn.cli.output import say
from xspn.core.errors import DataError, ParameterError
from xspn.core.names import matching as places_of

if TYPE_CHECKING:
    from xspn.circuit import Circuit
    from xspn.data import TableFile

STDIN = "-"


def add_model_argument(parser: argparse.ArgumentParser) -> None:
    """Add the model."""
    parser.add_argument("model", metavar="MODEL", help="a model file, or - for standard input")


def add_model_and_table(parser: argparse.ArgumentParser) -> None:
    """Add the model and the table that it is asked about."""
    add_model_argument(parser)
    parser.add_argument("table", metavar="TABLE", help="a table, or - for standard input")


def add_training_table(parser: argparse.ArgumentParser) -> None:
    """Add the table that something is learned from."""
    parser.add_argument("table", metavar="TABLE", help="a table (csv, xlsx, parquet, npz, …), or - for standard input")


def add_table_options(parser: argparse.ArgumentParser) -> None:
    """Add how text tables are read."""
    group = parser.add_argument_group(
        "how the table is read", "CSV and similar text (also .gz), .xlsx, .parquet and .npz are recognized"
    )
    group.add_argument("--delimiter", metavar="CHAR", help="what separates cells (default: detected)")
    group.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="whether the first row holds names (default: detected)",
    )
    group.add_argument("--missing", nargs="+", default=[], metavar="TEXT", help="further texts for missing values")
    group.add_argument("--encoding", default="utf-8", help="default: utf-8")
    group.add_argument("--decimal", metavar="SIGN", help="the decimal sign of numbers, . or , (default: detected)")
    group.add_argument("--sheet", metavar="NAME", help="the sheet of an Excel file (default: the first)")
    group.add_argument(
        "--layout",
        choices=("auto", "wide", "baskets", "long"),
        default="auto",
        help="wide: plain rows and columns; baskets: the items of a basket in each line; long: a line for each row and "
        "item (default: auto recognizes what is certain)",
    )
    group.add_argument("--row", nargs="+", default=[], metavar="NAME", help="long: the columns that tell rows apart")
    group.add_argument("--item", metavar="NAME", help="long: the column whose values become columns")
    group.add_argument("--value", metavar="NAME", help="long: the column whose values become cells, such as votes")
    group.add_argument(
        "--absent",
        choices=("0", "missing"),
        help="long: what an item that a row does not list is (default: 0 without values or with quantities, which "
        "become 0 and 1; otherwise missing)",
    )
    group.add_argument(
        "--min-support", type=int, default=1, metavar="ROWS", help="baskets, long: leave out items of fewer rows"
    )


def read_input(path: str, args: argparse.Namespace, quiet: bool = False) -> "TableFile":
    """Read the table of a command, and say what was recognized in it unless that is quite as expected."""
    from xspn.data import ReadOptions, read_table_file
    from xspn.data.files import A_DELIMITER, DELIMITER
    from xspn.data.layouts import LongColumns

    delimiter = "\t" if args.delimiter == "\\t" else args.delimiter
    if delimiter is not None and not DELIMITER.fullmatch(delimiter):
        raise ParameterError(f"--delimiter: expected {A_DELIMITER}, found {delimiter!r}")
    try:
        codecs.lookup(args.encoding)
    except LookupError as error:
        raise ParameterError(f"--encoding: unknown encoding {args.encoding!r}") from error
    if args.decimal not in (None, ".", ","):
        raise ParameterError(f"--decimal: expected . or , found {args.decimal!r}")
    if args.min_support < 1:
        raise ParameterError(f"--min-support: expected a number of rows of at least 1, found {args.min_support}")
    long = LongColumns(tuple(args.row), args.item, args.value)
    if (long or args.absent is not None) and args.layout not in ("auto", "long"):
        raise ParameterError(f"--row, --item, --value, --absent: for long tables, not for --layout {args.layout}")
    options = ReadOptions(
        delimiter,
        args.header,
        tuple(args.missing),
        args.encoding,
        args.layout,
        args.decimal,
        args.sheet,
        long,
        args.absent,
        args.min_support,
    )
    found = read_table_file(path, options)
    if not quiet:
        say_notes(found.notes, "--layout wide reads it as it is" if args.layout == "auto" and found.is_listed else "")
    return found


def say_notes(notes: Sequence[str], hint: str = "") -> None:
    """Say what was recognized in a table, where answers are not disturbed by it."""
    for note in notes:
        say(f"xspn: note: {note}{f' ({hint})' if hint else ''}", error=True)


def read_model(path: str) -> "tuple[Circuit, dict[str, Any]]":
    """Read a circuit and its notes; "-" is standard input."""
    from xspn.io.files import bounded, load_with_notes, model_of_content

    if path == STDIN:
        return model_of_content(bounded(sys.stdin.buffer, "standard input"), "standard input")
    if Path(path).is_dir():
        raise DataError(f"{path}: expected a model file, found a folder")
    return load_with_notes(path)


def refuse_two_inputs(*paths: str) -> None:
    """Refuse a model and a table that both come from standard input."""
    if paths.count(STDIN) > 1:
        raise ParameterError("only one of model and table can come from standard input")


def columns_like(pattern: str, names: tuple[str, ...], what: str) -> list[int]:
    """Return the columns that a name or a pattern with * and ? stands for, or suggest the nearest name."""
    from xspn.core.checks import suggestion

    if found := places_of(pattern, names):
        return found
    raise DataError(f"{what}: there is no column {pattern!r}{suggestion(pattern, names)}")


def seed_of(args: argparse.Namespace) -> int:
    """Return the seed, if it can be one."""
    if args.seed < 0:
        raise ParameterError(f"--seed: expected a number of at least 0, found {args.seed}")
    return int(args.seed)


# -- columns, and what they hold ---------------------------------------------------------------------------------------


def add_column_options(parser: argparse.ArgumentParser) -> None:
    """Add which columns to take, and as what."""
    parser.add_argument(
        "--exclude", nargs="+", action="extend", default=[], metavar="NAME", help="leave columns out; * and ? allowed"
    )
    parser.add_argument(
        "--domains",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=TYPE",
        help="what a column holds, where that shall not be inferred: binary, categorical, ordinal, real, labels as in "
        "'size=small|large', ordered ones as in 'size=small<medium<large'; TYPE alone is for all columns",
    )


def excluded(table: "TableFile", patterns: list[str]) -> "TableFile":
    """Return the table without the columns that were excluded."""
    dropped = {table.names[j] for pattern in patterns for j in columns_like(pattern, table.names, "--exclude")}
    return table.without(dropped) if dropped else table


def without_identifiers(table: "TableFile", args: argparse.Namespace, kept: Sequence[str] = ()) -> "TableFile":
    """Return the table without columns that look like row identifiers, saying so; those that are named stay."""
    asked = [text.rpartition("=")[0] for text in args.domains]
    if any(not name for name in asked):
        return table  # one type for all columns
    named = [table.names[j] for name in asked for j in places_of(name, table.names)]
    found = table.without_identifiers([*named, *kept])
    say_notes(found.notes[len(table.notes) :], "--domains NAME=categorical keeps it")
    return found


def domains_of(table: "TableFile", texts: list[str]) -> Any:
    """Return what `--domains` asks for in the form that tables are read by."""
    from xspn.data.column_types import WORDS

    specs: dict[str, Any] = {}
    said: dict[str, str] = {}
    for text in texts:
        name, equals, spec = text.rpartition("=")
        if said.setdefault(name, spec) != spec:
            raise ParameterError(f"--domains: {name!r} is both {said[name]!r} and {spec!r}; say one of them")
        if not equals:
            if len(texts) > 1:
                raise ParameterError(f"--domains: {text!r} is for all columns and cannot stand beside others")
            if spec not in WORDS:
                raise ParameterError(f"--domains: expected NAME=TYPE or one of {', '.join(WORDS)}, found {text!r}")
            return spec
        columns = columns_like(name, table.names, "--domains")
        for column in columns:
            specs[table.names[column]] = _column_spec(spec, table, columns, name)
    return specs or None


def _column_spec(spec: str, table: "TableFile", columns: list[int], name: str) -> Any:
    """Return a word, labels, or labels in order; columns of one pattern share an ordinal scale."""
    from xspn.data.column_types import WORDS

    if spec in WORDS:
        if spec == "ordinal" and len(columns) > 1:
            return _shared_scale(table, columns, name)
        return spec
    for separator in ("<", "|"):
        if separator in spec:
            labels = [label.strip() for label in spec.split(separator)]
            return _Labels(labels, ordered=separator == "<")
    raise ParameterError(f"--domains: expected {', '.join(WORDS)} or labels as in 'a|b' or 'a<b<c', found {spec!r}")


class _Labels(list[str]):
    """Labels, and whether their order means something."""

    def __init__(self, labels: list[str], ordered: bool) -> None:
        super().__init__(labels)
        self.categories = labels
        self.ordered = ordered


def _shared_scale(table: "TableFile", columns: list[int], name: str) -> Any:
    from xspn.data.column_types import MOST_CODES, is_whole
    from xspn.data.domain import Domain

    cells = [cell for j in columns for cell in table.cells[j] if cell is not None]
    if not all(is_whole(cell) or (isinstance(cell, float) and cell >= 0 and cell.is_integer()) for cell in cells):
        raise DataError(f"--domains: expected whole numbers from 0 in {name!r}; list other labels in their order")
    largest = max(map(float, cells), default=1)
    if largest >= MOST_CODES:
        raise DataError(
            f"--domains: expected numbers below {MOST_CODES} as the steps that the columns {name!r} share, found "
            f"{largest:g}; make each of them ordinal by itself, list the labels, or take them as real"
        )
    return Domain.ordinal(int(largest) + 1)


# -- a cluster, and tables that it reads out of core -------------------------------------------------------------------


def add_cluster_option(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the address of a cluster."""
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help=f"{what} on a Dask cluster: its scheduler's address, or 'local' for processes of this machine",
    )


@contextmanager
def on_cluster(address: str | None) -> Iterator[None]:
    """Connect to a cluster while something is done, if one is named."""
    if address is None:
        yield
        return
    from xspn.distributed.cluster import connected

    with connected(address):
        yield


def stays_out_of_core(args: argparse.Namespace) -> bool:
    """Whether the table is one that the cluster reads: Parquet files, and a cluster is named."""
    from xspn.data.frames import is_parquet

    return args.cluster is not None and is_parquet(args.table)


def refuse_options(args: argparse.Namespace, names: tuple[str, ...]) -> None:
    """Refuse options that have no meaning for a table out of core."""
    for name in names:
        if getattr(args, name):
            option = "--" + name.replace("_", "-")
            raise ParameterError(f"{option}: not for Parquet files that a cluster reads; leave it or --cluster out")


def known_columns(collection: Any, names: tuple[str, ...] | None, n_columns: int, source: str) -> Any:
    """Return the columns of a lazy table that a model knows; by their order if they have no names."""
    if names is None:
        if len(collection.columns) != n_columns:
            raise DataError(f"{source}: expected {n_columns} columns, found {len(collection.columns)}")
        return collection
    lacking = [name for name in names if name not in collection.columns]
    if lacking:
        raise DataError(f"{source}: the table lacks the column {lacking[0]!r} that the model knows")
    return collection[list(names)]
