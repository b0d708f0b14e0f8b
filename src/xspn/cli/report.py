"""Write a report on a model and a table, as one page (.html) or one Markdown file (.md) that doubles as model card.

    xspn report model.json table.csv -o report.html
    xspn report model.json train.csv --test test.csv -o report.md

It tells how well rows are predicted that were not learned from, beside simple models; whether probabilities are as
frequent as they say; which segments of rows and groups of columns there are; odd rows and cells; limits; provenance.
Rows that `xspn fit --valid 0.2` held out are found again.
"""

import argparse
from pathlib import Path

from xspn.cli.inputs import (
    STDIN,
    add_model_and_table,
    add_table_options,
    read_input,
    read_model,
    refuse_two_inputs,
)
from xspn.cli.output import STDOUT, check_outputs, say
from xspn.core.errors import ParameterError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the model, the table, and where to write."""
    add_model_and_table(parser)
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="the report: .html or .md")
    parser.add_argument("--test", metavar="TABLE", help="rows to score that were not learned from")
    parser.add_argument("--title", help="what the report is called (default: the model's name)")
    parser.add_argument(
        "--refit",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="learn again from three quarters of the rows if the model has seen all (default: if the table is small)",
    )
    add_table_options(parser)


def run(args: argparse.Namespace) -> int:
    """Measure, and write the report."""
    from xspn.plotting.style import require_matplotlib
    from xspn.reports import report
    from xspn.reports.report import check_ending

    if args.output == STDOUT:
        raise ParameterError("-o: expected a file; a report has pictures")
    path = Path(args.output)
    check_ending(path)
    refuse_two_inputs(args.model, args.table, *([args.test] if args.test else []))
    check_outputs([path], [args.model, args.table, args.test])
    require_matplotlib()
    circuit, _ = read_model(args.model)
    table = read_input(args.table, args)
    test = None if args.test is None else read_input(args.test, args)
    report(
        circuit, table, path, test=test, refit=args.refit,
        title=args.title or f"Report: {'model' if args.model == STDIN else Path(args.model).stem}",
        row_name=table.row_called,
    )  # fmt: skip
    say(f"wrote {path}, {path.stat().st_size / 1e6:.1f} MB")
    return 0
