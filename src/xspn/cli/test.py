"""Find out which columns of a table can be interchanged, with evidence; no model is needed.

Columns are exchangeable if permuting them changes nothing: only how many are one matters, not which. Columns of
different types, or with different labels, are never interchanged.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xspn.cli.inputs import (
    add_column_options,
    add_table_options,
    add_training_table,
    domains_of,
    excluded,
    read_input,
    without_identifiers,
)
from xspn.cli.output import abridged, check_outputs, check_picture, print_aligned, print_json, save_picture, say
from xspn.core.errors import ParameterError

if TYPE_CHECKING:
    from xspn.learning.exchangeability import Group, TestResult

LEVEL = 0.01


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the table, the level and the picture."""
    add_training_table(parser)
    parser.add_argument("--level", type=float, default=LEVEL, help=f"the level of the tests (default: {LEVEL})")
    parser.add_argument("--png", "--svg", dest="picture", type=Path, metavar="FILE", help="draw the groups of columns")
    parser.add_argument("--json", action="store_true", help="print JSON for programs")
    add_column_options(parser)
    add_table_options(parser)


def run(args: argparse.Namespace) -> int:
    """Test all columns together, then find groups."""
    from xspn.learning.exchangeability.public import column_types, exchangeability_test, exchangeable_groups

    if not 0 < args.level < 1:
        raise ParameterError(f"--level: expected a number between 0 and 1, found {args.level}")
    check_picture(args.picture)
    check_outputs([args.picture], [args.table])
    cells = without_identifiers(excluded(read_input(args.table, args), args.exclude), args)
    table, names = cells.read(domains_of(cells, args.domains)), cells.names
    one_type = len(names) > 1 and len(set(column_types(table))) == 1
    whole = exchangeability_test(table) if one_type else None
    groups = exchangeable_groups(table, args.level)
    if args.picture is not None:
        _draw(groups, names, args.picture)
    found = [_plain(group, names) for group in groups]
    if args.json:
        of_all = None if whole is None else _plain_test(whole, names)
        return print_json({"rows": len(table), "all_columns": of_all, "level": args.level, "groups": found})
    if whole is not None:
        verdict = "rejected" if whole.rejects(args.level) else "not rejected"
        by = f" by: {_plain_test(whole, names)['decided_by']}" if whole.rejects(args.level) else ""
        say(f"all {len(names)} columns exchangeable: {verdict}{by}, p = {whole.p_value:.3g}")
        say()
    together = [own for own in found if len(own["columns"]) > 1]
    lines = [(str(len(own["columns"])), f"{own['p_value']:.3g}", abridged(own["columns"], 8)) for own in together]
    if lines:
        print_aligned(("columns", "p", "can be interchanged"), lines, right={"columns", "p"})
    alone = [own["columns"][0] for own in found if len(own["columns"]) == 1]
    if alone:
        say(f"on their own: {abridged(alone, 12)} ({len(alone)})")
    return 0


def _plain_test(test: "TestResult", names: tuple[str, ...]) -> dict[str, Any]:
    from xspn.learning.trace import decided_by

    figures = {name: getattr(test, name) for name in ("statistic", "dof", "p_value")}
    return {**figures, "decided_by": decided_by(test, names.__getitem__)}


def _plain(group: "Group", names: tuple[str, ...]) -> dict[str, Any]:
    p_value = None if group.test is None else float(group.test.p_value)
    return {"columns": [names[v] for v in group.variables], "p_value": p_value}


def _draw(groups: "list[Group]", names: tuple[str, ...], path: Path) -> None:
    import numpy as np

    from xspn.plotting import exchangeability_map

    together = np.zeros((len(names), len(names)))
    for group in groups:
        own = list(group.variables)
        together[np.ix_(own, own)] = 1.0
    save_picture(exchangeability_map(together, names), path)
