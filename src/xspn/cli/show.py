"""Show what a model is made of: a tree of sums, products and leaves, and why each part is what it is.

Every node has a number; `xspn show model.json --why 17` says why node 17 was made.
"""

import argparse
from pathlib import Path
from typing import Any

from xspn.cli.inputs import add_model_argument, read_model
from xspn.cli.output import abridged, check_outputs, check_picture, print_json, save_picture, say
from xspn.core.errors import DataError, ParameterError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the model and what to show of it."""
    add_model_argument(parser)
    parser.add_argument("--depth", type=int, default=4, help="how deep to show the tree (default: 4)")
    parser.add_argument("--most", type=int, default=6, metavar="N", help="how many children of a node (default: 6)")
    parser.add_argument("--why", type=int, metavar="NODE", help="say why a node is what it is")
    parser.add_argument("--png", "--svg", dest="picture", type=Path, metavar="FILE", help="draw the structure instead")
    parser.add_argument("--map", type=Path, metavar="FILE", help="draw which columns share exchangeable leaves instead")
    parser.add_argument("--json", action="store_true", help="print JSON for programs")


def run(args: argparse.Namespace) -> int:
    """Show a model."""
    from xspn.cli.tree import tree_lines

    for name, value in (("--depth", args.depth), ("--most", args.most)):
        if value < 1:
            raise ParameterError(f"{name}: expected a number of at least 1, found {value}")
    check_picture(args.picture)
    check_picture(args.map)
    check_outputs([args.picture, args.map], [args.model])
    circuit, notes = read_model(args.model)
    if args.picture is not None or args.map is not None:
        from xspn.plotting import draw_circuit, exchangeability_map

        for draw, path in ((draw_circuit, args.picture), (exchangeability_map, args.map)):
            if path is not None:
                save_picture(draw(circuit), path)
        return 0
    if args.why is not None:
        return _why(notes, args.why, len(circuit.graph), args.json)
    if args.json:
        size = circuit.summary()
        return print_json(
            {
                "nodes": size.nodes,
                "edges": size.edges,
                "depth": size.depth,
                "parameters": size.parameters,
                "variables": size.variables,
                "leaves": dict(size.leaves),
                "names": None if circuit.names is None else list(circuit.names),
                "learned": notes.get("learned"),
            }
        )
    say(str(circuit.summary()))
    say()
    for line in tree_lines(circuit, args.depth, args.most):
        say(line)
    return 0


def _why(notes: dict[str, Any], node: int, n_nodes: int, as_json: bool) -> int:
    if not 0 <= node < n_nodes:
        raise DataError(f"--why: expected a node from 0 to {n_nodes - 1}, found {node}")
    trace = notes.get("trace")
    if not trace:
        raise DataError(
            "--why: the model file tells of no decisions; `xspn fit` writes files that do, but for those with --target "
            "and for mixtures that EM fitted all of"
        )
    try:
        found = [entry for entry in trace if entry["node"] == node]
        lines = [line for entry in found for line in _lines(entry)]
    except (LookupError, TypeError, ValueError) as error:
        raise DataError("--why: what the model file tells of decisions was altered and cannot be read") from error
    if as_json:
        return print_json({"node": node, "decisions": found})
    if not found:
        say(f"node {node} is part of a leaf or a product that was made above it; no decision of its own")
    for line in lines:
        say(line)
    return 0


def _lines(entry: dict[str, Any]) -> list[str]:
    """Say what a decision was, and why, in a few lines."""
    detail = f" ({entry['detail']})" if entry["detail"] else ""
    where = f" where {entry['where']}" if entry["where"] else ""
    lines = [
        f"node {entry['node']}: {entry['what']}{detail}",
        f"  columns   {abridged(entry['variables'], 8)} ({len(entry['variables'])})",
        f"  rows      {entry['rows']:,g}{where}",
    ]
    return [*lines, f"  evidence  {entry['evidence']}"] if entry["evidence"] else lines
