"""Find what is wrong in a table: cells and rows that are unlikely given everything else, and what would be likelier.

    xspn check table.csv
    xspn check table.csv --model model.json --fdr 0.05 -o findings.html

Without a model, models are learned from the table itself, each from all folds of the rows but one, and score the rows
of that fold: no row vouches for itself. q is the expected fraction of false discoveries in the list up to there,
counted in rows that the models draw. Unlikely is not wrong: look at each.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xspn.cli.inputs import (
    add_column_options,
    add_table_options,
    add_training_table,
    domains_of,
    excluded,
    read_input,
    read_model,
    refuse_two_inputs,
    seed_of,
    without_identifiers,
)
from xspn.cli.output import STDOUT, add_formula_option, check_outputs, number, print_aligned, print_json, say
from xspn.core.errors import ParameterError

if TYPE_CHECKING:
    from xspn.data.table_file import TableFile
    from xspn.reports.check import TableCheck

PAGE = ".html"
MOST_SHOWN = 20
MOST_ROWS_SHOWN = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the table, the model and where to write."""
    add_training_table(parser)
    parser.add_argument("--model", metavar="MODEL", help="a model of good rows (default: learned from the table)")
    parser.add_argument(
        "--fdr", type=float, default=0.1, metavar="FRACTION", help="how many findings may be false (default: 0.1)"
    )
    parser.add_argument("--folds", type=int, default=5, metavar="N", help="without a model (default: 5)")
    parser.add_argument(
        "--set-aside",
        type=float,
        default=0.0,
        metavar="P",
        help="without a model: learn again without cells of at most this probability; finds more where many are wrong",
    )
    parser.add_argument("--top", type=int, default=MOST_SHOWN, metavar="N", help="cells to print (default: 20)")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write all findings: csv, json or parquet; a page with a picture: html"
    )
    add_formula_option(parser)
    parser.add_argument("--json", action="store_true", help="print JSON for programs")
    parser.add_argument("--seed", type=int, default=0, help="the random seed (default: 0)")
    add_column_options(parser)
    add_table_options(parser)


def run(args: argparse.Namespace) -> int:
    """Check, write, print."""
    from xspn.core.files import write_text
    from xspn.data.write import format_of, write_table_file

    page = args.output is not None and Path(args.output).suffix.lower() == PAGE
    if args.output is not None:
        _check_output(args, page, format_of)
    if args.top < 0:
        raise ParameterError(f"--top: expected a number of at least 0, found {args.top}")
    if not 0 < args.fdr < 1:
        raise ParameterError(f"--fdr: expected a fraction between 0 and 1, found {args.fdr:g}")
    if not 0 <= args.set_aside < 1:
        raise ParameterError(f"--set-aside: expected a probability below 1, found {args.set_aside:g}")
    if args.folds < 2:
        raise ParameterError(f"--folds: expected a whole number of at least 2, found {args.folds}")
    found, table = _checked(args)
    if page:
        title = f"What is unlikely in {'the table' if args.table == STDOUT else Path(args.table).name}"
        write_text(Path(args.output), found.html(title, table.row_called))
    elif args.output is not None and not (args.json and args.output == STDOUT):
        names, columns = _columns(found, table)
        write_table_file(args.output, names, columns, escape_formulas=args.escape_formulas)
    if args.json:
        return print_json(_plain(found, table))
    if args.output != STDOUT:
        _print(found, table, args.top, args.output)
    return 0


def _check_output(args: argparse.Namespace, page: bool, format_of: Any) -> None:
    if page:
        from xspn.plotting.style import require_matplotlib

        require_matplotlib()
    elif args.output != STDOUT and Path(args.output).suffix.lower() not in (".csv", ".tsv", ".json", ".parquet", ".pq"):
        raise ParameterError(f"{args.output}: expected a name ending in .csv, .json, .parquet or .html")
    else:
        format_of(args.output)
    check_outputs([args.output], [args.table, args.model])


def _checked(args: argparse.Namespace) -> "tuple[TableCheck, TableFile]":
    from xspn.reports.check import check_table

    if args.model is not None:
        refuse_two_inputs(args.model, args.table)
        if args.exclude or args.domains:
            raise ParameterError("--exclude, --domains: the model knows its columns; leave them out with --model")
        circuit, _ = read_model(args.model)
        table = read_input(args.table, args)
        return check_table(table.encoded_by(circuit.schema), circuit, fdr=args.fdr, random_state=seed_of(args)), table
    whole = excluded(read_input(args.table, args), args.exclude)
    cells = without_identifiers(whole, args)
    table_of_codes = cells.read(domains_of(cells, args.domains))
    settings = {"folds": args.folds, "set_aside": args.set_aside, "random_state": seed_of(args)}
    found = check_table(table_of_codes, fdr=args.fdr, **settings)
    return found, cells


def _columns(found: "TableCheck", table: "TableFile") -> tuple[list[str], list[list[Any]]]:
    records = found.records()
    names = ["row", "column", "value", "likelier", "probability", "q"]
    columns: list[list[Any]] = [[own[name] for own in records] for name in names]
    columns[0] = [table.row_called(row) for row in columns[0]]
    return names, columns


def _plain(found: "TableCheck", table: "TableFile") -> dict[str, Any]:
    """Return the findings as plain values."""
    return {
        "rows": found.n_rows,
        "cells": found.n_cells,
        "fdr": found.fdr,
        "scored_by": found.how,
        "unlikely_cells": [{**own, "name": table.row_called(own["row"])} for own in found.records()],
        "unlikely_rows": [
            {
                "row": own.row,
                "name": table.row_called(own.row),
                "log_likelihood": own.log_likelihood,
                "deviations": own.deviations,
                "q": own.q,
            }
            for own in found.unlikely_rows
        ],
    }


def _print(found: "TableCheck", table: "TableFile", top: int, output: str | None) -> None:
    from xspn.reports.check import in_words
    from xspn.reports.oddities import chance

    say(str(found))
    say(f"rows were scored by {found.how}")
    cells = found.unlikely_cells[:top] or found.cells[: min(top, 3)]
    if cells:
        say()
        if not found.unlikely_cells:
            say("the least likely ones, which chance explains:")
        header = ("row", "column", "value", "likelier", "probability", "q")
        lines = [
            (
                table.row_called(cell.row),
                found.schema.shown_name(cell.column),
                in_words(found, cell.column, cell.value),
                in_words(found, cell.column, cell.likelier, digits=4),
                chance(cell.probability),
                f"{cell.q:.2g}",
            )
            for cell in cells
        ]
        print_aligned(header, lines, right={"probability", "q"})
        if len(found.unlikely_cells) > top:
            say(f"… and {len(found.unlikely_cells) - top:,} more: --top, or -o FILE")
    rows = found.unlikely_rows[: min(top, MOST_ROWS_SHOWN)]
    if rows:
        say()
        many = len(found.unlikely_rows)
        say(f"{many:,} {'row is' if many == 1 else 'rows are'} unlikely as a whole:")
        names = ("row", "log-likelihood", "deviations below", "q")
        odd = [
            (table.row_called(own.row), number(own.log_likelihood, 2), number(own.deviations, 1), f"{own.q:.2g}")
            for own in rows
        ]
        print_aligned(names, odd, right=set(names[1:]))
    if output is not None:
        say()
        say(f"wrote {output}")
