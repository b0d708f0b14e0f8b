"""Learn a model for the command line: the circuit, how good it is beside simple models, and why it is what it is."""

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from xspn.circuit import Circuit
from xspn.cli.inputs import names_of
from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.errors import DataError
from xspn.data.columns import Columns
from xspn.estimators import XSPN, XSPNClassifier
from xspn.estimators.explain import context_in_words
from xspn.learning.policy import Operation
from xspn.learning.trace import Trace, TraceEntry, describe_test

Score = Callable[[AnyArray], FloatArray]  # the log-likelihood of each row of codes


@dataclass(frozen=True)
class LearnedModel:
    """A circuit, the decisions of the learner (plain values), and what makes a report on it (plain values).

    The report takes a while and may fail; the circuit is there before.
    """

    circuit: Circuit
    trace: list[dict[str, Any]]
    report: Callable[[], dict[str, Any]]


def learn_model(
    train: AnyArray, valid: AnyArray | None, columns: Columns, settings: dict[str, Any], target: int | None
) -> LearnedModel:
    """Learn from rows of codes; with a target, a circuit for each of its values."""
    trace: list[dict[str, Any]] = []
    parts: list[dict[str, Any]] = []
    if target is None:
        model = XSPN(domains=list(columns.domains), **settings).fit(train)
        circuit = Circuit.of_columns(model.circuit_.graph, columns)
        trace = trace_in_words(model.trace_, columns)
        score: Score = circuit.log_likelihood
        parts = parts_of(model)
    else:
        circuit, score = _classifier(train, columns, settings, target)

    def report() -> dict[str, Any]:
        size = circuit.summary()
        kinds = Counter(domain.kind for domain in columns.domains if domain is not None)
        scores = {"this_model": score, **_simple_models(train, columns, settings)}
        new = [] if target is None or valid is None else _new_classes(columns, target, train, valid)
        return {
            "rows": len(train),
            "held_out_rows": 0 if valid is None else len(valid),
            "variables": dict(kinds),
            "missing_cells": int(np.isnan(train).sum()) if train.dtype.kind == "f" else 0,
            "nodes": size.nodes,
            "parameters": size.parameters,
            "parts": parts,
            "log_likelihood": {name: _means(own, train, valid) for name, own in scores.items()},
            "decisions": len(trace),
            "groups": groups_of(trace),
            **({"new_classes": new} if new else {}),
        }

    return LearnedModel(circuit, trace, report)


def _new_classes(columns: Columns, target: int, train: AnyArray, valid: AnyArray) -> list[str]:
    """Return the classes that held-out rows have and training rows lack."""
    codes = np.unique(valid[:, target])
    return [str(columns.label(target, c)) for c in codes if not np.isnan(c) and c not in train[:, target]]


def parts_of(model: XSPN) -> list[dict[str, Any]]:
    """Return what a model is made of, if it was learned with more effort than one circuit takes."""
    return [asdict(part) for part in model.search_.components] if hasattr(model, "search_") else []


def _classifier(train: AnyArray, columns: Columns, settings: dict[str, Any], target: int) -> tuple[Circuit, Score]:
    """Return a circuit in which the target comes last, under its own name and labels, and how rows score."""
    domain, name = columns.domains[target], names_of(columns)[target]
    if domain is None or domain.cardinality is None:
        raise DataError(f"--target: {name!r} is real; classes are needed")
    rows = np.asarray(train, dtype=np.float64)
    known = ~np.isnan(rows[:, target])
    if not known.any():
        raise DataError(f"--target: {name!r} has no values")
    others = [j for j in range(len(columns)) if j != target]
    if not others:
        raise DataError("--target: there is no other column to predict it from")
    model = XSPNClassifier(domains=[columns.domains[j] for j in others], **settings)
    model.fit(rows[known][:, others], rows[known, target].astype(np.int64))
    classes = [int(code) for code in model.classes_]
    circuit = Circuit.of_columns(model.circuit_.graph, columns.taken([*others, target], classes))

    def score(table: AnyArray) -> FloatArray:
        codes = np.asarray(table, dtype=np.float64)[:, [*others, target]]
        classes_of_rows = codes[:, -1]
        new = ~np.isnan(classes_of_rows) & ~np.isin(classes_of_rows, classes)
        codes[:, -1] = np.where(np.isnan(classes_of_rows) | new, np.nan, np.searchsorted(classes, classes_of_rows))
        return np.where(new, -np.inf, circuit.log_likelihood(codes))  # a class that was never seen is impossible

    return circuit, score


def _means(score: Score | None, train: AnyArray, valid: AnyArray | None) -> dict[str, float | None]:
    """Return mean log-likelihoods; None where there is no model or there are no rows."""
    if score is None:
        return {"train": None, "held_out": None}
    return {"train": float(score(train).mean()), "held_out": None if valid is None else float(score(valid).mean())}


def _simple_models(train: AnyArray, columns: Columns, settings: dict[str, Any]) -> dict[str, Score | None]:
    """Return what the model is compared with: independent variables, and a Chow-Liu tree of binary ones."""
    common: dict[str, Any] = {name: settings[name] for name in ("smoothing",) if name in settings}
    common |= {"domains": list(columns.domains), "exchangeability": None, "min_instances": len(train) + 1}
    independent = XSPN(leaf_learner="factorized", **common).fit(train).circuit_
    tree = XSPN(leaf_learner="chow_liu", **common).fit(train).circuit_ if columns.are_binary else None
    return {
        "independent_variables": independent.log_likelihood,
        "chow_liu_tree": None if tree is None else tree.log_likelihood,
    }


def trace_in_words(trace: Trace, columns: Columns) -> list[dict[str, Any]]:
    """Return the learner's decisions as plain values."""
    names = names_of(columns)

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
            "where": context_in_words(trace, entry, columns),
            "evidence": evidence(entry),
            "p_value": None if entry.test is None else float(entry.test.p_value),
        }
        for entry in trace
    ]


def groups_of(trace: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the decisions that found exchangeable variables, the largest groups first."""
    found = [own for own in trace if own["operation"] == Operation.EXCHANGEABLE.name.lower()]
    return sorted(found, key=lambda own: (-own["rows"] * len(own["variables"]), own["node"]))
