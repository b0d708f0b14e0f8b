"""Draw random rows from a model, given what is known if anything is."""

import argparse

from xspn.cli.inputs import add_model_argument, read_model, seed_of
from xspn.cli.output import add_rows_output, check_outputs
from xspn.core.errors import ParameterError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the model, the number of rows, the evidence and where to write."""
    add_model_argument(parser)
    parser.add_argument("-n", type=int, default=10, metavar="ROWS", help="how many (default: 10)")
    parser.add_argument("--given", nargs="+", action="extend", default=[], metavar="NAME=VALUE", help="what is known")
    parser.add_argument("--seed", type=int, default=0, help="the random seed (default: 0)")
    add_rows_output(parser)
    parser.add_argument("--json", action="store_true", help="JSON instead of CSV on standard output")


def run(args: argparse.Namespace) -> int:
    """Draw and write."""
    from xspn.data.write import format_of, write_table_file
    from xspn.questions import evidence_row

    if args.n < 0:
        raise ParameterError(f"-n: expected a number of rows of at least 0, found {args.n}")
    kind = "json" if args.json and args.output in (None, "-") else format_of(args.output)
    check_outputs([args.output], [args.model])
    seed = seed_of(args)
    circuit, _ = read_model(args.model)
    schema = circuit.schema
    rows = circuit.sample(args.n, given=evidence_row(args.given, schema, "--given"), random_state=seed)
    values = [schema.plain_column(j, rows[:, j]) for j in range(len(schema))]
    write_table_file(args.output, schema.shown_names, values, kind, args.escape_formulas)
    return 0
