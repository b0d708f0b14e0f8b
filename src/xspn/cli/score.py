"""Say how probable the rows of a table are under a model: log-likelihoods in nats per row."""

import argparse
from typing import TYPE_CHECKING

from xspn.cli.inputs import add_table_options, read_model, read_table, refuse_two_inputs
from xspn.cli.output import number, print_facts, print_json

if TYPE_CHECKING:
    from xspn.io.tables import TableFile

LEAST_LIKELY = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the model, the table and where to write."""
    parser.add_argument("model", metavar="MODEL", help="a model file, or - for standard input")
    parser.add_argument("table", metavar="TABLE", help="a table, or - for standard input")
    parser.add_argument("-o", "--output", metavar="FILE", help="write each row's log-likelihood: csv, json or parquet")
    parser.add_argument("--json", action="store_true", help="print JSON for programs")
    add_table_options(parser)


def run(args: argparse.Namespace) -> int:
    """Score the rows."""
    import numpy as np

    from xspn.io.tables.write import format_of, write_table_file

    refuse_two_inputs(args.model, args.table)
    if args.output is not None:
        format_of(args.output)
    circuit, _ = read_model(args.model)
    table = read_table(args.table, args)
    scores = circuit.log_likelihood(table.codes(circuit.columns))
    if args.output is not None:
        write_table_file(args.output, ["log_likelihood"], [[float(score) for score in scores]])
    possible = scores[np.isfinite(scores)]
    error = float(possible.std(ddof=1) / np.sqrt(len(possible))) if len(possible) > 1 else float("nan")
    order = np.argsort(scores, kind="stable")[:LEAST_LIKELY]
    least = ", ".join(f"{_line(table, int(i))} ({number(float(scores[i]), 2)})" for i in order)
    if args.json:
        return print_json(
            {
                "rows": len(scores),
                "mean": float(scores.mean()),
                "standard_error": error,
                "impossible": len(scores) - len(possible),
                "log_likelihoods": [float(score) for score in scores],
            }
        )
    if args.output == "-":
        return 0
    facts = [("rows", f"{len(scores):,}"), ("mean log-likelihood", f"{number(float(scores.mean()))} nats per row")]
    facts += [("standard error", number(error))] if len(possible) > 1 else []
    facts += [("impossible rows", f"{len(scores) - len(possible):,}")] if len(possible) < len(scores) else []
    print_facts([*facts, ("least likely", least)])
    return 0


def _line(table: "TableFile", row: int) -> str:
    """Name a row as an editor would."""
    return f"row {row}" if table.lines is None else f"line {table.lines[row]}"
