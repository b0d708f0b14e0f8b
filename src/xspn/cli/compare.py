"""Compare two models of the same columns: how far apart are their distributions?

  xspn compare old.json new.json

Three numbers in bits a row: what is lost if the second stands for the first, KL(first‖second); the same the other way
round; and the Jensen–Shannon divergence, which is 0 for equal distributions and 1 for those without a row in common.
They are exact for at most 65,536 different rows, and simulated with a standard error otherwise.
"""

import argparse
from typing import TYPE_CHECKING

from xspn.cli.inputs import STDIN, read_model, seed_of
from xspn.cli.output import information_cells, plain_information, print_aligned, print_json
from xspn.core.errors import ParameterError

if TYPE_CHECKING:
    from xspn.circuit import Circuit


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the two models, and how many rows are drawn."""
    parser.add_argument("first", metavar="MODEL", help="a model file; - for standard input")
    parser.add_argument("second", metavar="OTHER", help="another model of the same columns")
    parser.add_argument("-n", type=int, default=10_000, metavar="ROWS", help="rows to draw, if any (default: 10000)")
    parser.add_argument("--seed", type=int, default=0, help="the random seed (default: 0)")
    parser.add_argument("--json", action="store_true", help="print JSON for programs")


def run(args: argparse.Namespace) -> int:
    """Print the divergences."""
    if args.n < 2:
        raise ParameterError(f"-n: expected a number of rows of at least 2, found {args.n}")
    if args.first == args.second == STDIN:
        raise ParameterError("only one of the two models can come from standard input")
    options = {"n_samples": args.n, "random_state": seed_of(args)}
    one, other = read_model(args.first)[0], read_model(args.second)[0]
    _refuse_other_names(one, other)
    found = {
        "kl_first_second": one.kl_divergence(other, **options),
        "kl_second_first": other.kl_divergence(one, **options),
        "jensen_shannon": one.jensen_shannon(other, **options),
    }
    if args.json:
        return print_json({name: plain_information(own) for name, own in found.items()})
    titles = ("KL(first‖second)", "KL(second‖first)", "Jensen–Shannon")
    rows = [(title, *information_cells(own)) for title, own in zip(titles, found.values(), strict=True)]
    print_aligned(("divergence", "bits", ""), rows, right={"bits"})
    return 0


def _refuse_other_names(one: "Circuit", other: "Circuit") -> None:
    """Refuse models whose columns have other names, or another order; a model without names fits any."""
    names = one.schema.names, other.schema.names
    if None in names or names[0] == names[1]:
        return
    a, b = one.schema.shown_names, other.schema.shown_names
    different = next(
        ((repr(x), repr(y)) for x, y in zip(a, b, strict=False) if x != y), (f"{len(a)} columns", f"{len(b)} columns")
    )
    raise ParameterError(
        f"OTHER: expected the columns of MODEL in their order, found {different[1]} for {different[0]}"
    )
