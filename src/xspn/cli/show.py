"""Show what a model is made of, in words: contexts of rows, blocks of columns, their laws, and what stands alone.

A page tells what matters most, --full everything, --tree the nodes of the circuit. Every part has a number, in
brackets; `xspn show model.json --why 17` says why node 17 was made.
"""

import argparse
from collections.abc import Callable
from functools import partial
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xspn.cli.inputs import add_model_argument, read_model
from xspn.cli.output import abridged, check_outputs, check_picture, print_json, save_picture, say
from xspn.core.errors import DataError, ParameterError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from xspn.circuit import Circuit
    from xspn.estimators.explanation import Reason
    from xspn.graph.nodes import Node
    from xspn.inference.composition import Composition
    from xspn.inference.strength import Strength

DEEPEST = 12  # contexts inside contexts, for programs
DEPTH, MOST_CHILDREN, MOST_CONTEXTS = 4, 6, 8
ALTERED = "what the model file tells of decisions was altered and cannot be read"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the model and what to show of it."""
    add_model_argument(parser)
    parser.add_argument("--full", action="store_true", help="describe every context, block and column")
    parser.add_argument("--tree", action="store_true", help="show the tree of nodes instead")
    parser.add_argument("--depth", type=int, help=f"how deep to show the tree (default: {DEPTH})")
    parser.add_argument(
        "--most",
        type=int,
        metavar="N",
        help=f"how many contexts (default: {MOST_CONTEXTS}), or children of a node of the tree ({MOST_CHILDREN})",
    )
    parser.add_argument("--why", type=int, metavar="NODE", help="say why a node is what it is")
    parser.add_argument("--png", "--svg", dest="picture", type=Path, metavar="FILE", help="draw the structure instead")
    parser.add_argument("--map", type=Path, metavar="FILE", help="draw which columns share exchangeable leaves instead")
    parser.add_argument("--contexts", type=Path, metavar="FILE", help="draw contexts and their blocks instead")
    parser.add_argument("--json", action="store_true", help="print JSON for programs")


def run(args: argparse.Namespace) -> int:
    """Show a model."""
    for name, value in (("--depth", args.depth), ("--most", args.most)):
        if value is not None and value < 1:
            raise ParameterError(f"{name}: expected a number of at least 1, found {value}")
    pictures = (args.picture, args.map, args.contexts)
    for path in pictures:
        check_picture(path)
    check_outputs(pictures, [args.model])
    circuit, notes = read_model(args.model)
    if any(path is not None for path in pictures):
        from xspn.plotting import draw_circuit, draw_contexts, exchangeability_map

        drawings: tuple[Callable[[Circuit], Figure], ...] = (draw_circuit, exchangeability_map, draw_contexts)
        for draw, path in zip(drawings, pictures, strict=True):
            if path is not None:
                save_picture(draw(circuit), path)
        return 0
    if args.why is not None:
        return _why(notes, args.why, len(circuit.graph), args.json)
    if args.json:
        return print_json(_facts(circuit, notes))
    if args.tree or args.depth is not None:
        from xspn.cli.tree import tree_lines

        lines = [str(circuit.summary()), "", *tree_lines(circuit, args.depth or DEPTH, args.most or MOST_CHILDREN)]
    else:
        from xspn.estimators.explanation import explain

        lines = explain(circuit, _reasons(notes), args.most or MOST_CONTEXTS, args.full)
    for line in lines:
        say(line)
    return 0


def _facts(circuit: "Circuit", notes: dict[str, Any]) -> dict[str, Any]:
    """Return the size of a model and its structure as plain values."""
    size = circuit.summary()
    return {
        "nodes": size.nodes,
        "edges": size.edges,
        "depth": size.depth,
        "parameters": size.parameters,
        "variables": size.variables,
        "leaves": dict(size.leaves),
        "names": None if circuit.names is None else list(circuit.names),
        "learned": notes.get("learned"),
        "structure": _structure(circuit),
    }


def _structure(circuit: "Circuit") -> dict[str, Any]:
    """Return a circuit's contexts, blocks and variables that stand alone as plain values, for programs.

    What is below many contexts, and what is shared with a context before, has only its node's number.
    """
    from xspn.inference.composition import Composition

    return _plain(circuit, Composition(circuit.graph), circuit.root, set(), 0)


def _plain(circuit: "Circuit", composition: "Composition", node: "Node", told: set[int], depth: int) -> dict[str, Any]:
    """Return the parts of a context; a sum is one part of it."""
    from xspn.graph.nodes import Sum
    from xspn.inference.composition import Parts
    from xspn.inference.naming import context_names
    from xspn.inference.strength import strength_of

    names, graph = circuit.schema.shown_names, circuit.graph
    parts = Parts((node,), ()) if isinstance(node, Sum) and len(node.scope) > 1 else composition.parts(node)
    blocks: list[dict[str, Any]] = []
    mixtures: list[dict[str, Any]] = []
    for block in parts.blocks:
        own = [names[v] for v in block.variables]
        law = block.law(own, partial(_label, circuit, block.variables[0]))
        shape, numbers = block.picture()
        counts = [round(p, 6) for p in numbers[0]] if shape == "bars" else None
        dependence = block.dependence()
        blocks.append(
            {
                "node": graph.id_of(block),
                "variables": own,
                "law": law,
                "means": [round(composition.marginals(block)[v].mean, 6) for v in block.variables],
                "counts": counts,
                "dependence": None if isnan(dependence) else round(dependence, 6),
                **_strength(strength_of(block, circuit.schema.domains)),
            }
        )
    for mixture in parts.mixtures:
        place = graph.id_of(mixture)
        mixtures.append({"node": place, "variables": [names[v] for v in mixture.scope]})
        if place in told or depth >= DEEPEST:
            continue
        told.add(place)
        mixtures[-1]["contexts"] = [
            {
                "node": graph.id_of(context),
                "name": name,
                "weight": round(weight, 6),
                "marks": [
                    {
                        "variable": names[mark.variable],
                        "value": None if mark.value is None else circuit.schema.label(mark.variable, mark.value),
                        "here": round(mark.here, 6),
                        "overall": round(mark.overall, 6),
                    }
                    for mark in composition.marks(context, mixture)
                ],
                **_plain(circuit, composition, context, told, depth + 1),
            }
            for name, (weight, context) in zip(
                context_names(composition, mixture, circuit.schema), composition.contexts(mixture), strict=True
            )
        ]
    alone = {names[v]: round(composition.marginals(own)[v].mean, 6) for own in parts.alone for v in own.scope}
    return {"blocks": blocks, "alone": alone, "mixtures": mixtures}


def _strength(own: "Strength | None") -> dict[str, float | None]:
    """Return how much two columns of a block go together; null where no number says it."""
    found = {"correlation": None if own is None else own.correlation, "lift": None if own is None else own.lift}
    return {key: None if value is None or isnan(value) else round(value, 6) for key, value in found.items()}


def _label(circuit: "Circuit", variable: int, code: int) -> str:
    return str(circuit.schema.label(variable, code))


def _reasons(notes: dict[str, Any]) -> "dict[int, Reason]":
    """Return why nodes were made, as far as the model file tells."""
    from xspn.estimators.explanation import Reason

    found: dict[int, Reason] = {}
    try:
        for entry in notes.get("trace") or []:
            if entry["node"] not in found or entry["evidence"]:
                p_value = None if entry["p_value"] is None else float(entry["p_value"])
                own = Reason(float(entry["rows"]), str(entry["evidence"] or ""), p_value, str(entry["detail"] or ""))
                found[int(entry["node"])] = own
    except (LookupError, TypeError, ValueError) as error:
        raise DataError(f"{ALTERED}; --tree shows the model without it") from error
    return found


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
        raise DataError(f"--why: {ALTERED}") from error
    if as_json:
        return print_json({"node": node, "decisions": found})
    if not found:
        say(f"node {node} is part of a leaf or a product that was made above it; no decision of its own")
    for line in lines:
        say(line)
    return 0


def _lines(entry: dict[str, Any]) -> list[str]:
    """Say what a decision was, and why, in a few lines."""
    from xspn.inference.segments import rows_in_words

    detail = f" ({entry['detail']})" if entry["detail"] else ""
    where = f" where {entry['where']}" if entry["where"] else ""
    lines = [
        f"node {entry['node']}: {entry['what']}{detail}",
        f"  columns   {abridged(entry['variables'], 8)} ({len(entry['variables'])})",
        f"  rows      {rows_in_words(float(entry['rows'])).removesuffix(' rows')}{where}",
    ]
    return [*lines, f"  evidence  {entry['evidence']}"] if entry["evidence"] else lines
