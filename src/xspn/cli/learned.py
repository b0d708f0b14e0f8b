"""Learn a model for the command line: the circuit, how good it is beside simple models, and why it is what it is."""

import argparse
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from heapq import heappop, heappush
from typing import Any

import numpy as np

from xspn.circuit import Circuit
from xspn.cli.inputs import columns_like, known_columns, refuse_options
from xspn.cli.quality import UNSEEN, posterior, quality_of
from xspn.core.arrays import AnyArray, BoolArray, FloatArray
from xspn.core.errors import DataError, ParameterError
from xspn.data.frames import is_parquet
from xspn.data.provenance import Provenance
from xspn.data.table import Table
from xspn.estimators import XSPN, XSPNClassifier
from xspn.estimators.agreement import Score, reference_model
from xspn.estimators.explanation import context_in_words
from xspn.graph.nodes import Node, Sum
from xspn.inference.composition import Composition
from xspn.inference.naming import context_names
from xspn.learning.trace import Trace, TraceEntry, describe_test
from xspn.leaves.base import Leaf

Predicted = Callable[[AnyArray], tuple[FloatArray, FloatArray]]  # P(class | row) of each row of codes, and the answers
NOT_OUT_OF_CORE = ("target", "domains", "delimiter", "missing", "attributes", "row", "item", "value", "absent")


@dataclass(frozen=True)
class LearnedModel:
    """A circuit, the decisions of the learner (plain values), and what makes a report on it (plain values).

    The report takes a while and may fail; the circuit is there before.
    """

    circuit: Circuit
    trace: list[dict[str, Any]]
    report: Callable[[], dict[str, Any]]


def learn_model(train: Table, valid: Table | None, settings: dict[str, Any], target: int | None) -> LearnedModel:
    """Learn from a table; with a target, a circuit for each of its values."""
    trace: list[dict[str, Any]] = []
    parts: list[dict[str, Any]] = []
    if target is None:
        model = XSPN(**settings).fit(train, X_valid=valid)
        circuit = model.circuit_
        trace = trace_in_words(model.trace_, circuit)
        score: Score = circuit.log_likelihood
        parts = parts_of(model)
    else:
        circuit, score, predicted = _classifier(train, settings, target)

    def report() -> dict[str, Any]:
        smoothing = settings.get("smoothing")
        scores: dict[str, Score | None] = {"this_model": score}
        scores["independent_variables"] = reference_model(train, "factorized", smoothing)
        binary = train.schema.are_binary
        scores["chow_liu_tree"] = reference_model(train, "chow_liu", smoothing) if binary else None
        new = [] if target is None or valid is None else _new_classes(train, valid, target)
        return {
            "rows": len(train),
            "held_out_rows": 0 if valid is None else len(valid),
            "variables": dict(Counter(domain.kind for domain in train.domains)),
            "missing_cells": int(np.isnan(train.codes).sum()) if train.codes.dtype.kind == "f" else 0,
            **_size(circuit),
            "parts": parts,
            "log_likelihood": {name: _means(own, train, valid) for name, own in scores.items()},
            "decisions": len(trace),
            "blocks": leaf_blocks(circuit, trace),
            **({"new_classes": new} if new else {}),
            **({} if target is None else {"classification": _classification(predicted, train, valid, target)}),
        }

    return LearnedModel(circuit, trace, report)


def _size(circuit: Circuit) -> dict[str, int]:
    size = circuit.summary()
    return {"nodes": size.nodes, "parameters": size.parameters}


def _new_classes(train: Table, valid: Table, target: int) -> list[str]:
    """Return the classes that validation rows have and training rows lack."""
    seen = train.codes[:, target]
    codes = np.unique(valid.codes[:, target])
    return [str(train.schema.label(target, code)) for code in codes if not np.isnan(code) and code not in seen]


def parts_of(model: XSPN) -> list[dict[str, Any]]:
    """Return what a model is made of, if it was learned with more effort than one circuit takes."""
    return [asdict(part) for part in model.search_.components] if hasattr(model, "search_") else []


def _classification(predicted: Predicted, train: Table, valid: Table | None, target: int) -> dict[str, Any]:
    """Return how good predictions of the target are: on validation rows if there are any, else on training rows."""
    rows = train if valid is None else valid
    chances, answers = predicted(rows.codes)
    own = np.asarray(train.codes[:, target], dtype=np.float64)
    most = np.bincount(own[~np.isnan(own)].astype(np.int64)).argmax()
    known = np.asarray(rows.codes[:, target], dtype=np.float64)
    known = known[~np.isnan(known)]
    return {
        "target": train.schema.shown_name(target),
        "on": "training rows" if valid is None else "held-out rows",
        **quality_of(chances, answers),
        "most_frequent": float((known == most).mean()) if len(known) else None,  # what guessing that class would get
    }


def _classifier(train: Table, settings: dict[str, Any], target: int) -> tuple[Circuit, Score, Predicted]:
    """Return a circuit in which the target comes last, under its own name and labels; how rows score; predictions."""
    schema = train.schema
    domain, name = schema.domains[target], schema.shown_name(target)
    if domain is None or domain.cardinality is None:
        raise DataError(f"--target: {name!r} is real; classes are needed")
    answers = np.asarray(train.codes[:, target], dtype=np.float64)
    known = ~np.isnan(answers)
    if not known.any():
        raise DataError(f"--target: {name!r} has no values")
    others = [j for j in range(len(schema)) if j != target]
    if not others:
        raise DataError("--target: there is no other column to predict it from")
    model = XSPNClassifier(**settings).fit(train.rows(known).columns(others), answers[known].astype(np.int64))
    classes = [int(code) for code in model.classes_]
    order = [*others, target]
    coded_schema = schema.take(order).with_codes(len(others), classes)
    circuit = Circuit.of_schema(model.circuit_.graph, coded_schema, counts=model.circuit_.counts)
    codes = np.asarray(train.codes[known], dtype=np.float64)[:, order]
    codes[:, -1] = np.searchsorted(classes, codes[:, -1])
    own = {name: value for name, value in settings.items() if name not in ("random_state", "n_jobs", "verbose")}
    learned_by = Provenance.of("XSPNClassifier", own, settings.get("random_state"), codes, circuit.schema)
    circuit = circuit.with_provenance(learned_by)

    def coded(table: AnyArray) -> tuple[FloatArray, BoolArray]:
        """Return rows as the circuit has them, and which are of a class that was never seen."""
        codes = np.asarray(table, dtype=np.float64)[:, order]
        classes_of_rows = codes[:, -1]
        new = ~np.isnan(classes_of_rows) & ~np.isin(classes_of_rows, classes)
        codes[:, -1] = np.where(np.isnan(classes_of_rows) | new, np.nan, np.searchsorted(classes, classes_of_rows))
        return codes, new

    def score(table: AnyArray) -> FloatArray:
        codes, new = coded(table)
        return np.where(new, -np.inf, circuit.log_likelihood(codes))  # a class that was never seen is impossible

    def predicted(table: AnyArray) -> tuple[FloatArray, FloatArray]:
        codes, new = coded(table)
        answers = np.where(new, UNSEEN, codes[:, -1])
        return posterior(circuit, codes, len(others), len(classes)), answers

    return circuit, score, predicted


def _means(score: Score | None, train: Table, valid: Table | None) -> dict[str, float | None]:
    """Return mean log-likelihoods; None where there is no model or there are no rows."""
    if score is None:
        return {"train": None, "held_out": None}
    held_out = None if valid is None else float(score(valid.codes).mean())
    return {"train": float(score(train.codes).mean()), "held_out": held_out}


def trace_in_words(trace: Trace, circuit: Circuit) -> list[dict[str, Any]]:
    """Return the learner's decisions as plain values."""
    names, composition = circuit.schema.shown_names, Composition(circuit.graph)

    def evidence(entry: TraceEntry) -> str | None:
        return None if entry.test is None else describe_test(entry.test, lambda i: names[entry.variables[i]])

    return [
        {
            "node": entry.node,
            "operation": entry.operation.name.lower(),
            "what": entry.operation.value,
            "detail": entry.detail,
            "rows": round(float(entry.rows), 6),
            "variables": [names[v] for v in entry.variables],
            "where": context_in_words(trace, entry, circuit, composition),
            "evidence": evidence(entry),
            "p_value": None if entry.test is None else float(entry.test.p_value),
        }
        for entry in trace
    ]


def leaf_blocks(circuit: Circuit, trace: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the leaves of several variables, those with the most cells first; without a trace none.

    They are the blocks of `xspn show`, with the rows that the circuit expects in each, and the context that each is in;
    of several contexts their number.
    """
    if not trace:
        return []
    composition, graph, names = Composition(circuit.graph), circuit.graph, circuit.schema.shown_names
    blocks: list[dict[str, Any]] = []
    rows = max(own["rows"] for own in trace)
    reach, contexts = {graph.id_of(circuit.root): 1.0}, {graph.id_of(circuit.root): (1, "")}
    waiting = [-place for place in reach]  # children have smaller numbers: who is taken has been reached by all ways

    def reached(node: Node, chance: float, ways: int, where: str) -> None:
        place = graph.id_of(node)
        if place not in reach:
            heappush(waiting, -place)
        reach[place], contexts[place] = reach.get(place, 0.0) + chance, (contexts.get(place, (0, ""))[0] + ways, where)

    while waiting:
        place = -heappop(waiting)
        node, chance, (ways, where) = graph.nodes[place], reach[place], contexts[place]
        if isinstance(node, Sum) and len(node.scope) > 1:
            own = zip(composition.contexts(node), context_names(composition, node, circuit.schema), strict=True)
            for (weight, context), name in own:
                reached(context, chance * weight, ways, f"{where} and {name}" if where else name)
        elif isinstance(node, Leaf) and len(node.scope) > 1:
            found: dict[str, Any] = {"node": place, "variables": [names[v] for v in node.scope]}
            blocks.append(
                {**found, "rows": round(rows * chance, 6), "contexts": ways, "where": where if ways == 1 else ""}
            )
        elif len(node.scope) > 1:
            for part in composition.parts(node).dependent:
                reached(part, chance, ways, where)
    return sorted(blocks, key=lambda own: (-own["rows"] * len(own["variables"]), own["node"]))


def learn_on_cluster(args: argparse.Namespace, settings: dict[str, Any]) -> LearnedModel:
    """Learn from Parquet files on a cluster; nothing is compared with simple models: that would take further passes."""
    from xspn.distributed.gathering import as_collection, n_rows

    refuse_options(args, NOT_OUT_OF_CORE)
    table: Any = args.table
    collection = as_collection(args.table)
    names = tuple(str(name) for name in collection.columns)
    if args.exclude:
        dropped = {names[j] for pattern in args.exclude for j in columns_like(pattern, names, "--exclude")}
        names = tuple(name for name in names if name not in dropped)
        table = collection = collection[list(names)]
    if args.valid is not None and not is_parquet(args.valid):
        raise ParameterError(f"--valid: on a cluster a table of its own is needed, of Parquet files, not {args.valid}")
    valid = None if args.valid is None else known_columns(as_collection(args.valid), names, len(names), args.valid)
    # Where nothing is chosen by them, validation rows are scored after the model is saved: that may fail.
    choosing = None if settings.get("quality", "fast") == "fast" else valid
    model = XSPN(**settings).fit(table, X_valid=choosing, checkpoint=args.checkpoint)
    circuit = model.circuit_
    trace = trace_in_words(model.trace_, circuit)

    def report() -> dict[str, Any]:
        types = [domain.kind for domain in circuit.domains if domain is not None]
        held_out = None if valid is None else model.score(valid)
        return {
            "rows": n_rows(table),
            "held_out_rows": 0 if valid is None else n_rows(args.valid),
            "variables": {name: types.count(name) for name in dict.fromkeys(types)},
            "missing_cells": int(collection.isna().sum().sum().compute()),
            **_size(circuit),
            "log_likelihood": {"this_model": {"train": model.score(collection), "held_out": held_out}},
            "parts": parts_of(model),
            "decisions": len(trace),
            "blocks": leaf_blocks(circuit, trace),
            "passes": len(getattr(model, "passes_", ())),
        }

    return LearnedModel(circuit, trace, report)
