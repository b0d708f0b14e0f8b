"""What `xspn query --information` prints: entropies of columns and what they tell of each other, in bits."""

import argparse
from itertools import combinations
from math import isfinite, log
from typing import TYPE_CHECKING, Any

from xspn.cli.inputs import columns_like
from xspn.cli.output import number, print_aligned, print_json
from xspn.core.errors import ParameterError

if TYPE_CHECKING:
    from xspn.circuit import Circuit
    from xspn.inference.information import Information

ROUNDING = 1e-9  # bits: what differences of exact sums are off by
MOST_COLUMNS = 20  # of which every two are compared


def show_information(args: argparse.Namespace, circuit: "Circuit") -> int:
    """Print the entropy of some columns together and alone, and the mutual information of every two."""
    from xspn.questions import evidence_row

    schema = circuit.schema
    row = evidence_row(args.given, schema, "--given")
    names = schema.shown_names
    asked = list(
        dict.fromkeys(j for pattern in args.information for j in columns_like(pattern, names, "--information"))
    )
    if len(asked) > MOST_COLUMNS:
        raise ParameterError(
            f"--information: every two columns are compared; expected at most {MOST_COLUMNS}, found {len(asked)}"
        )
    alone = [(names[j], circuit.entropy([j], given=row)) for j in asked]
    pairs = [(names[a], names[b], circuit.mutual_information([a], [b], given=row)) for a, b in combinations(asked, 2)]
    together = circuit.entropy(asked, given=row)
    if args.json:
        return print_json(
            {
                "given": args.given,
                "entropy": plain_information(together),
                "columns": [{"column": name, **plain_information(own)} for name, own in alone],
                "pairs": [{"columns": [a, b], **plain_information(own)} for a, b, own in pairs],
            }
        )
    rows = [(f"H({name})", *cells(own)) for name, own in alone]
    if len(asked) > 1:
        rows.append(("H(all of them)", *cells(together)))
    rows += [(f"I({a}; {b})", *cells(own)) for a, b, own in pairs]
    print_aligned(("information", "bits", ""), rows, right={"bits"})
    return 0


def plain_information(own: "Information") -> dict[str, Any]:
    """Return a quantity in bits, and how it was found, for programs."""
    bit = log(2.0)
    return {
        "bits": own.bits,
        "method": own.method,
        "error": own.error / bit,
        "lower": own.lower / bit,
        "upper": own.upper / bit,
    }


def cells(own: "Information") -> tuple[str, str]:
    """Return a quantity in bits, and how it was found, for people."""
    if own.method == "exact":
        return number(own.bits if abs(own.bits) > ROUNDING else 0.0), "exact"
    bit = log(2.0)
    ends = [f"at least {number(own.lower / bit)}"] if isfinite(own.lower) else []
    ends += [f"at most {number(own.upper / bit)}"] if isfinite(own.upper) else []
    return number(own.bits), ", ".join([f"± {number(own.error / bit)} ({own.n_rows:,} drawn rows)", *ends])
