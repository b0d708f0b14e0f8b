"""What `xspn query --best-rows` and `--best-of` print: the most probable rows, and values of some columns alone."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xspn.cli.inputs import columns_like
from xspn.cli.output import number, print_aligned, print_json, say
from xspn.core.errors import ParameterError

if TYPE_CHECKING:
    from xspn.circuit import Circuit
    from xspn.inference.best_rows import BestRows


def show_best(args: argparse.Namespace, circuit: "Circuit") -> int:
    """Print the most probable rows, or the most probable values of some columns, all others summed out."""
    from xspn.questions import evidence_row

    schema = circuit.schema
    row = evidence_row(args.given, schema, "--given")
    inside = [j for j, domain in enumerate(schema.domains) if domain is not None]
    if args.best_of:
        names = schema.shown_names
        asked = list(dict.fromkeys(j for pattern in args.best_of for j in columns_like(pattern, names, "--best-of")))
        found, shown = circuit.marginal_map(asked, given=row), asked
    else:
        if args.best_rows < 1:
            raise ParameterError(f"--best-rows: expected a number of rows of at least 1, found {args.best_rows}")
        found, shown = circuit.k_best(args.best_rows, given=row), inside
    if args.json:
        known = {schema.shown_name(j): schema.label(j, row[j]) for j in inside if row[j] == row[j]}
        return print_json({"given": known, "rows": _plain(circuit, found, shown), **_certificate(found)})
    columns = [f"{k + 1}" for k in range(len(found.values))]
    logs = [number(float(value)) for value in found.log_prob]
    values = [(schema.shown_name(j), *(str(schema.label(j, code)) for code in found.values[:, j])) for j in shown]
    print_aligned(("name", *columns), [*values, ("log-probability", *logs)], right=set())
    if not found.exact:
        say(f"the search was stopped: other rows have a log-probability of at most {number(found.bound)}")
    return 0


def _plain(circuit: "Circuit", found: "BestRows", shown: Sequence[int]) -> list[dict[str, Any]]:
    schema = circuit.schema
    return [
        {
            "values": {schema.shown_name(j): schema.label(j, values[j]) for j in shown},
            "log_probability": float(log_probability),
        }
        for values, log_probability in zip(found.values, found.log_prob, strict=True)
    ]


def _certificate(found: "BestRows") -> dict[str, Any]:
    return {"exact": bool(found.exact), "bound": float(found.bound)}
