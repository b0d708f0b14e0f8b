"""Say which items go with a basket: P(item is the one more | the basket and exactly one more item), exactly.

  xspn recommend shop.json milk bread                    the ten likeliest next items
  xspn recommend shop.json milk --given day=Saturday     given what is known besides
  xspn recommend shop.json --baskets carts.csv -k 3      of each basket of a table, as CSV

Items are the columns of the model that say no and yes, or those of --items. lift is how many times an item's part of
all open items, whatever the basket. Where the output is not a terminal, cells are separated by tabs.
"""

import argparse
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from xspn.cli.inputs import (
    add_model_argument,
    add_table_options,
    columns_like,
    read_input,
    read_model,
    refuse_two_inputs,
    say_notes,
)
from xspn.cli.output import STDOUT, abridged, add_rows_output, check_outputs, print_json, print_table, say
from xspn.core.errors import DataError, ParameterError, counted

if TYPE_CHECKING:
    from xspn.circuit import Circuit
    from xspn.data import TableFile
    from xspn.questions import NextItem


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the model, the basket or baskets, and how many items are wanted."""
    add_model_argument(parser)
    parser.add_argument("basket", nargs="*", metavar="ITEM", help="the items in the basket (none: an empty basket)")
    parser.add_argument("--baskets", metavar="TABLE", help="a table of baskets instead, or - for standard input")
    parser.add_argument("-k", type=int, default=10, metavar="K", help="how many items (default: 10)")
    parser.add_argument(
        "--given", nargs="+", action="extend", default=[], metavar="NAME=VALUE", help="what is known of other columns"
    )
    parser.add_argument(
        "--items", nargs="+", action="extend", default=[], metavar="NAME", help="the columns that are items; * and ?"
    )
    parser.add_argument(
        "--exclude", nargs="+", action="extend", default=[], metavar="NAME", help="items not to recommend; * and ?"
    )
    add_rows_output(parser)
    parser.add_argument("--json", action="store_true", help="print JSON for programs")
    add_table_options(parser)


def run(args: argparse.Namespace) -> int:
    """Recommend."""
    from xspn.data.write import format_of

    if args.k < 1:
        raise ParameterError(f"-k: expected a number of items of at least 1, found {args.k}")
    if args.basket and args.baskets is not None:
        raise ParameterError("--baskets: a table of baskets stands instead of items, not beside them")
    refuse_two_inputs(args.model, *([] if args.baskets is None else [args.baskets]))
    format_of(args.output)
    check_outputs([args.output], [args.model, args.baskets])
    circuit, _ = read_model(args.model)
    names = circuit.schema.shown_names
    exclude = sorted({names[j] for pattern in args.exclude for j in columns_like(pattern, names, "--exclude")})
    table = None if args.baskets is None else _baskets(args, circuit)
    baskets: Any = [args.basket] if table is None else table.encoded_by(circuit.schema)
    found = circuit.recommend(
        baskets, args.k, given=args.given or None, items=args.items or None, exclude=exclude
    )  # for several baskets always a list of lists
    answers: list[list[NextItem]] = [own for own in found if isinstance(own, list)]
    if table is None and not answers[0]:
        raise DataError("there is nothing left to recommend: every item is in the basket or excluded")
    return _one(args, answers[0]) if table is None else _several(args, table, answers)


def _baskets(args: argparse.Namespace, circuit: "Circuit") -> "TableFile":
    """Read the table of baskets; what may be lines of items or a plain table is what the model's items tell."""
    known = set(circuit.schema.shown_names)
    table = _read(args, known)
    unknown = [name for name in table.names if name not in known] if table.is_listed else []
    if unknown and len(unknown) == len(table.names):
        raise DataError(f"{args.baskets}: the model knows none of its items, such as {unknown[0]!r}")
    if unknown:
        which = f"{counted(len(unknown), 'item')} that the model does not know: {abridged(unknown)}"
        say_notes([f"{args.baskets}: passed over {which}"])
    return table


def _read(args: argparse.Namespace, known: set[str]) -> "TableFile":
    """Return the table of baskets: lines of items where cells rather than names of columns are items."""
    if args.layout != "auto" or args.baskets == STDOUT:
        return read_input(args.baskets, args, quiet=True)
    as_baskets = argparse.Namespace(**{**vars(args), "layout": "baskets"})
    try:
        table = read_input(args.baskets, args, quiet=True)
    except DataError as error:
        if args.row or args.item is not None:
            raise
        with suppress(DataError):
            table = read_input(args.baskets, as_baskets, quiet=True)
            if not known.isdisjoint(table.names):
                return table
        raise error from None
    has_items = any(cell in known for own in table.cells for cell in own if isinstance(cell, str))
    if not table.is_listed and (has_items or known.isdisjoint(table.names)):
        return read_input(args.baskets, as_baskets, quiet=True)
    return table


def _one(args: argparse.Namespace, answer: "list[NextItem]") -> int:
    """Print or write the answer for one basket."""
    if args.json and args.output in (None, STDOUT):
        return print_json({"basket": args.basket, "given": args.given, "items": [_plain(item) for item in answer]})
    if args.output is not None:
        return _write(args, {"item": [own.item for own in answer]}, answer, len(answer))
    rows = [(own.item, f"{own.probability:.4f}", f"{own.lift:.2f}") for own in answer]
    print_table(("item", "P", "lift"), rows, right={"P", "lift"})
    return 0


def _several(args: argparse.Namespace, table: "TableFile", answers: "list[list[NextItem]]") -> int:
    """Print or write the answers for a table of baskets: a line for each basket and item."""
    called = _names_of_rows(table)
    if args.json and args.output in (None, STDOUT):
        own = [
            {"basket": name, "items": [_plain(item) for item in answer]}
            for name, answer in zip(called, answers, strict=True)
        ]
        return print_json({"given": args.given, "baskets": own})
    columns = {
        "basket": [name for name, answer in zip(called, answers, strict=True) for _ in answer],
        "rank": [rank for answer in answers for rank in range(1, len(answer) + 1)],
        "item": [item.item for answer in answers for item in answer],
    }
    return _write(args, columns, [item for answer in answers for item in answer], len(answers))


def _write(args: argparse.Namespace, columns: dict[str, list[Any]], items: "list[NextItem]", count: int) -> int:
    from xspn.data.write import write_table_file

    whole = {**columns, "probability": [own.probability for own in items], "lift": [own.lift for own in items]}
    write_table_file(args.output, list(whole), list(whole.values()), escape_formulas=args.escape_formulas)
    if args.output in (None, STDOUT):
        return 0
    if args.json:
        return print_json({"rows": len(items), "output": args.output})
    what = f"next items of {counted(count, 'basket')}" if "rank" in columns else counted(count, "item")
    say(f"{what} written to {args.output}")
    return 0


def _names_of_rows(table: "TableFile") -> list[Any]:
    """Return what the baskets are called: their names, or the lines that they begin in."""
    if table.row_names is not None:
        return list(table.row_names)
    return list(range(table.n_rows)) if table.lines is None else list(table.lines)


def _plain(item: "NextItem") -> dict[str, Any]:
    return {"item": item.item, "probability": item.probability, "lift": item.lift}
