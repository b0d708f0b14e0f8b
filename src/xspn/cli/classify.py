"""Predict one column from the others, with exact probabilities.

Any model that knows the column will do; one learned with `xspn fit --target NAME` is made for it. Missing values of
the other columns are summed out. If the table has the column, its values are not used to predict, but compared.
"""

import argparse
from typing import TYPE_CHECKING, Any

from xspn.cli.inputs import add_model_and_table, add_table_options, matching, read_model, read_table, refuse_two_inputs
from xspn.cli.output import STDOUT, add_rows_output, check_outputs, number, print_facts, print_json
from xspn.core.errors import DataError

if TYPE_CHECKING:
    from xspn.circuit import Circuit
    from xspn.core.arrays import AnyArray, FloatArray


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the model, the table, the column and where to write."""
    add_model_and_table(parser)
    parser.add_argument("--target", required=True, metavar="NAME", help="the column to predict")
    add_rows_output(parser)
    parser.add_argument("--json", action="store_true", help="print JSON for programs")
    add_table_options(parser)


def run(args: argparse.Namespace) -> int:
    """Predict, write, compare."""
    from xspn.data.write import format_of, write_table_file

    refuse_two_inputs(args.model, args.table)
    format_of(args.output)
    check_outputs([args.output], [args.model, args.table])
    circuit, _ = read_model(args.model)
    target = matching(args.target, circuit.schema.shown_names, "--target")[0]
    domain = circuit.domains[target]
    if domain is None or domain.cardinality is None:
        raise DataError(f"--target: {args.target!r} {'is not in the model' if domain is None else 'is real'}")
    codes = read_table(args.table, args).encoded_by(
        circuit.schema, absent_is_missing=[circuit.schema.shown_name(target)]
    )
    labels = [circuit.schema.label(target, code) for code in range(domain.cardinality)]
    chances = _posterior(circuit, codes, target, domain.cardinality)
    predicted = [labels[int(code)] for code in chances.argmax(axis=1)]
    quality = _quality(chances, codes[:, target])
    if args.json and args.output in (None, STDOUT):
        rows = [dict(zip(map(str, labels), map(float, own), strict=True)) for own in chances]
        return print_json({"target": args.target, "predicted": predicted, "probabilities": rows, **quality})
    names = [args.target, *(f"P({args.target}={label})" for label in labels)]
    values = [predicted, *([float(p) for p in column] for column in chances.T)]
    write_table_file(args.output, names, values, escape_formulas=args.escape_formulas)
    if args.output in (None, STDOUT):
        return 0
    if args.json:
        return print_json({"target": args.target, **quality})
    facts = [("rows", f"{len(predicted):,}"), ("written to", str(args.output))]
    if quality["known"]:
        facts.append(("known answers", f"{quality['known']:,}"))
        facts.append(("accuracy", number(quality["accuracy"])))
        facts.append(("log-loss", number(quality["log_loss"])))
    print_facts(facts)
    return 0


def _posterior(circuit: "Circuit", codes: "AnyArray", target: int, size: int) -> "FloatArray":
    """Return P(target | the other columns): (rows, values)."""
    import numpy as np

    from xspn.core.logspace import logsumexp_quiet
    from xspn.engine import refuse_impossible

    joint = np.empty((len(codes), size))
    for code in range(size):
        rows = codes.copy()
        rows[:, target] = code
        joint[:, code] = circuit.log_likelihood(rows)
    total = logsumexp_quiet(joint, axis=1)
    refuse_impossible(total)
    return np.asarray(np.exp(joint - total[:, None]))


def _quality(chances: "FloatArray", answers: "FloatArray") -> dict[str, Any]:
    """Compare with the rows whose answer is known."""
    import numpy as np

    known = ~np.isnan(answers)
    if not known.any():
        return {"known": 0, "accuracy": None, "log_loss": None}
    right = answers[known].astype(np.int64)
    with np.errstate(divide="ignore"):
        loss = -np.log(chances[known, right]).mean()
    accuracy = (chances[known].argmax(axis=1) == right).mean()
    return {"known": int(known.sum()), "accuracy": float(accuracy), "log_loss": float(loss)}
