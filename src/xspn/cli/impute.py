"""Fill the missing values of a table from a model; all other cells stay as they are."""

import argparse
from typing import Any

from xspn.cli.inputs import add_model_and_table, add_table_options, read_input, read_model, refuse_two_inputs, seed_of
from xspn.cli.output import STDOUT, add_rows_output, check_outputs, print_json, say

METHODS = ("marginal", "mean", "mpe", "sample")
AS_TEXT = ("csv", "tsv")  # where cells that were observed stay as they were written, to the last digit


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the model, the table, the method and where to write."""
    add_model_and_table(parser)
    parser.add_argument(
        "--method",
        choices=METHODS,
        default="marginal",
        help="each cell's likeliest value (the mean of real ones), the mean of all numbers, the likeliest row as a "
        "whole, or a random row (default: marginal)",
    )
    parser.add_argument("--seed", type=int, default=0, help="the random seed (default: 0)")
    add_rows_output(parser)
    parser.add_argument("--json", action="store_true", help="print JSON for programs: the rows, or what -o wrote")
    add_table_options(parser)


def run(args: argparse.Namespace) -> int:
    """Fill and write."""
    from xspn.data.write import format_of, write_table_file
    from xspn.estimators.base import completed

    refuse_two_inputs(args.model, args.table)
    kind = "json" if args.json and args.output in (None, STDOUT) else format_of(args.output)
    check_outputs([args.output], [args.model, args.table])
    seed = seed_of(args)
    circuit, _ = read_model(args.model)
    table = read_input(args.table, args)
    schema = circuit.schema
    filled = completed(circuit, table.encoded_by(schema), args.method, seed)
    places = {name: j for j, name in enumerate(table.names if schema.names is None else schema.names)}
    out, n_filled = [], 0
    for name, cells in zip(table.names, table.cells, strict=True):
        known = name in places
        own = schema.plain_column(places[name], filled[:, places[name]]) if known else cells
        n_filled += sum(cell is None and value is not None for cell, value in zip(cells, own, strict=True))
        text_is_meant = _has_text(own) if known else _has_codes(cells)
        seen = cells if kind in AS_TEXT else table.typed_cells(table.index(name), text_is_meant)
        out.append([value if cell is None else cell for cell, value in zip(seen, own, strict=True)])
    whole = table.answers(table.names, out)
    write_table_file(args.output, list(whole), list(whole.values()), kind, args.escape_formulas)
    if args.output in (None, STDOUT):
        return 0
    if args.json:
        return print_json({"filled": n_filled, "rows": table.n_rows, "output": args.output})
    say(f"{n_filled:,} cells filled, {table.n_rows:,} rows written to {args.output}")
    return 0


def _has_codes(cells: list[Any]) -> bool:
    """Whether some number of a column that the model lacks would not come back as it is, as 007."""
    return any(isinstance(cell, str) and len(cell) > 1 and cell[0] == "0" and cell.isdigit() for cell in cells)


def _has_text(values: list[Any]) -> bool:
    """Whether a column's values are labels, of which some may look like numbers."""
    return any(isinstance(value, str) for value in values)
