"""Say how probable the rows of a table are under a model: log-likelihoods in nats per row."""

import argparse
from typing import TYPE_CHECKING

from xspn.cli.inputs import (
    add_cluster_option,
    add_model_and_table,
    add_table_options,
    known_columns,
    on_cluster,
    read_input,
    read_model,
    refuse_options,
    refuse_two_inputs,
    stays_out_of_core,
)
from xspn.cli.output import STDOUT, check_outputs, number, print_facts, print_json

if TYPE_CHECKING:
    from xspn.circuit import Circuit
    from xspn.core.arrays import FloatArray
    from xspn.data.table_file import TableFile

LEAST_LIKELY = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the model, the table and where to write."""
    add_model_and_table(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="write each row's log-likelihood: csv, json or parquet")
    parser.add_argument("--json", action="store_true", help="print JSON for programs")
    add_cluster_option(parser, "score")
    add_table_options(parser)


def run(args: argparse.Namespace) -> int:
    """Score the rows."""
    import numpy as np

    from xspn.data.write import format_of, write_table_file
    from xspn.questions import score_facts

    refuse_two_inputs(args.model, args.table)
    if args.output is not None:
        format_of(args.output)
        check_outputs([args.output], [args.model, args.table])
    circuit, _ = read_model(args.model)
    with on_cluster(args.cluster):
        scores, table = _scores(args, circuit)
    if args.output is not None and not (args.json and args.output == STDOUT):  # JSON has them all, and stands alone
        columns = {"log_likelihood": [float(score) for score in scores]}
        own = columns if table is None else table.answers(list(columns), list(columns.values()))
        write_table_file(args.output, list(own), list(own.values()))
    found = score_facts(scores)
    if args.json:
        return print_json(found)
    order = np.argsort(scores, kind="stable")[:LEAST_LIKELY]
    least = ", ".join(
        f"{f'row {i}' if table is None else table.row_called(int(i))} ({number(float(scores[i]), 2)})" for i in order
    )
    if args.output == STDOUT:
        return 0
    error, impossible = found["standard_error"], found["impossible"]
    facts = [("rows", f"{len(scores):,}"), ("mean log-likelihood", f"{number(found['mean'])} nats per row")]
    facts += [("standard error", number(error))] if error == error else []
    facts += [("impossible rows", f"{impossible:,}")] if impossible else []
    print_facts([*facts, ("least likely", least)])
    return 0


def _scores(args: argparse.Namespace, circuit: "Circuit") -> "tuple[FloatArray, TableFile | None]":
    """Return each row's log-likelihood, and the table, unless it stays out of core."""
    schema = circuit.schema
    if not stays_out_of_core(args):
        table = read_input(args.table, args)
        return circuit.log_likelihood(table.encoded_by(schema)), table
    from xspn.distributed.gathering import as_collection
    from xspn.distributed.lazy import answers

    refuse_options(args, ("delimiter", "missing"))
    known = known_columns(as_collection(args.table), schema.names, len(schema), args.table)
    return answers(circuit, "log_likelihood", known).compute(), None
