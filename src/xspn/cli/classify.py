"""Predict one column from the others, with exact probabilities.

Any model that knows the column will do; one learned with `xspn fit --target NAME` is made for it, and predicts that
column where none is named. Missing values of the other columns are summed out. If the table has the column, its values
are not used to predict, but compared.
"""

import argparse
from typing import Any

from xspn.cli.inputs import (
    add_model_and_table,
    add_table_options,
    columns_like,
    read_input,
    read_model,
    refuse_two_inputs,
)
from xspn.cli.output import STDOUT, add_rows_output, check_outputs, print_facts, print_json
from xspn.core.errors import DataError, ParameterError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the model, the table, the column and where to write."""
    add_model_and_table(parser)
    parser.add_argument("--target", metavar="NAME", help="the column to predict (default: that of `xspn fit --target`)")
    add_rows_output(parser)
    parser.add_argument("--json", action="store_true", help="print JSON for programs")
    add_table_options(parser)


def run(args: argparse.Namespace) -> int:
    """Predict, write, compare."""
    from xspn.cli.quality import posterior, quality_facts, quality_of
    from xspn.data.write import format_of, write_table_file

    refuse_two_inputs(args.model, args.table)
    format_of(args.output)
    check_outputs([args.output], [args.model, args.table])
    circuit, notes = read_model(args.model)
    args.target = _learned_for(notes) if args.target is None else args.target
    if args.target is None:
        raise ParameterError("--target: the model was not learned for one column; name the column to predict")
    target = columns_like(args.target, circuit.schema.shown_names, "--target")[0]
    domain = circuit.domains[target]
    if domain is None or domain.cardinality is None:
        why = "is not in the model" if domain is None else "is real; classes are needed"
        raise DataError(f"--target: {args.target!r} {why}")
    table = read_input(args.table, args)
    codes = table.encoded_by(circuit.schema, absent_is_missing=[circuit.schema.shown_name(target)])
    labels = [circuit.schema.label(target, code) for code in range(domain.cardinality)]
    chances = posterior(circuit, codes, target, domain.cardinality)
    predicted = [labels[int(code)] for code in chances.argmax(axis=1)]
    quality = quality_of(chances, codes[:, target])
    if args.json and args.output in (None, STDOUT):
        rows = [dict(zip(map(str, labels), map(float, own), strict=True)) for own in chances]
        return print_json({"target": args.target, "predicted": predicted, "probabilities": rows, **quality})
    names = [args.target, *(f"P({args.target}={label})" for label in labels)]
    values = [predicted, *([float(p) for p in column] for column in chances.T)]
    own = table.answers(names, values)
    write_table_file(args.output, list(own), list(own.values()), escape_formulas=args.escape_formulas)
    if args.output in (None, STDOUT):
        return 0
    if args.json:
        return print_json({"target": args.target, **quality})
    facts = [("rows", f"{len(predicted):,}"), ("written to", str(args.output))]
    print_facts([*facts, *quality_facts(quality)])
    return 0


def _learned_for(notes: dict[str, Any]) -> str | None:
    """Return the column that `xspn fit --target` has learned a model for, as its file says."""
    learned = notes.get("learned")
    own = learned.get("classification") if isinstance(learned, dict) else None
    target = own.get("target") if isinstance(own, dict) else None
    return target if isinstance(target, str) else None
