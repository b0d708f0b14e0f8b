"""Name the contexts of rows that a model has, and say how probable each of them is for the rows of a table.

    xspn segments model.json
    xspn segments model.json table.csv -o rows.csv

Segments are named after what marks them, and the groups of columns in them have a strength: lift and intraclass
correlation. With -o each row's probabilities of all segments are written, exact whatever cells are missing.
"""

import argparse
from typing import TYPE_CHECKING, Any

from xspn.cli.inputs import add_model_argument, add_table_options, read_input, read_model, refuse_two_inputs
from xspn.cli.output import STDOUT, add_formula_option, check_outputs, print_json, say
from xspn.core.errors import ParameterError

if TYPE_CHECKING:
    from xspn.inference.segments import ColumnGroup, Segments
    from xspn.inference.strength import Strength


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the model, the table and where to write."""
    add_model_argument(parser)
    parser.add_argument("table", metavar="TABLE", nargs="?", help="a table whose rows are counted, or - for stdin")
    parser.add_argument("-o", "--output", metavar="FILE", help="write P(segment | row): csv, json or parquet")
    add_formula_option(parser)
    parser.add_argument("--json", action="store_true", help="print JSON for programs")
    add_table_options(parser)


def run(args: argparse.Namespace) -> int:
    """Show the segments; write the responsibilities of rows."""
    from xspn.data.write import format_of, write_table_file

    if args.output is not None and args.table is None:
        raise ParameterError("-o: expected a table whose rows are told; name it after the model")
    if args.output == STDOUT and args.json:
        raise ParameterError("-o - and --json: both are for standard output; name a file for the rows")
    if args.table is not None:
        refuse_two_inputs(args.model, args.table)
    if args.output is not None:
        format_of(args.output)
        check_outputs([args.output], [args.model, args.table])
    circuit, _ = read_model(args.model)
    found = circuit.segments()
    if args.table is not None:
        table = read_input(args.table, args)
        chances = circuit.responsibilities(table)
        found = found.with_rows(chances.sum(axis=0).tolist())
        if args.output is not None:
            own = table.answers(found.names, [column.tolist() for column in chances.T])
            write_table_file(args.output, list(own), list(own.values()), escape_formulas=args.escape_formulas)
    if args.output == STDOUT:
        return 0
    if args.json:
        return print_json(_plain(found))
    for line in str(found).splitlines():
        say(line)
    return 0


def _plain(found: "Segments") -> dict[str, Any]:
    """Return segments as plain values."""
    return {
        "columns": list(found.columns),
        "segments": [
            {
                "name": own.name,
                "node": own.node,
                "weight": own.weight,
                "rows": own.rows,
                "marks": [
                    {
                        "text": mark.text, "columns": list(mark.columns), "value": mark.value,
                        "here": mark.here, "overall": mark.overall,
                    }
                    for mark in own.marks
                ],
                "groups": [_group(group) for group in own.groups],
            }
            for own in found
        ],
        "common": [_group(group) for group in found.common],
    }  # fmt: skip


def _group(group: "ColumnGroup") -> dict[str, Any]:
    return {
        "columns": list(group.columns), "law": group.law, "node": group.node,
        "here": _strength(group.strength), "overall": _strength(group.overall),
    }  # fmt: skip


def _strength(own: "Strength | None") -> dict[str, Any] | None:
    return None if own is None else {"measure": own.measure, "correlation": own.correlation, "lift": own.lift}
