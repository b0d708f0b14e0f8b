"""Learn a model from Parquet files on a cluster, for the command line."""

import argparse
from typing import Any

from xspn.cli.cluster import columns_of, is_parquet, refuse_options
from xspn.cli.inputs import matching
from xspn.cli.learned import LearnedModel, groups_of, parts_of, trace_in_words
from xspn.core.errors import ParameterError
from xspn.distributed.gathering import as_collection, n_rows
from xspn.estimators import XSPN

NOT_THERE = ("target", "domains", "delimiter", "missing")


def learn_there(args: argparse.Namespace, settings: dict[str, Any]) -> LearnedModel:
    """Learn where the rows are; nothing is compared with simple models, which would cost passes of their own."""
    refuse_options(args, NOT_THERE)
    table: Any = args.table
    collection = as_collection(args.table)
    if args.exclude:
        names = tuple(str(name) for name in collection.columns)
        dropped = {names[j] for pattern in args.exclude for j in matching(pattern, names, "--exclude")}
        table = collection = collection[[name for name in names if name not in dropped]]
    if args.valid is not None and not is_parquet(args.valid):
        raise ParameterError(f"--valid: on a cluster a table of its own is needed, of Parquet files, not {args.valid}")
    valid = None if args.valid is None else as_collection(args.valid)
    if valid is not None:  # before hours of work, not after
        names = tuple(str(name) for name in collection.columns)
        valid = columns_of(valid, names, len(names), args.valid)
    model = XSPN(**settings).fit(table, checkpoint=args.checkpoint)
    circuit = model.circuit_
    trace = trace_in_words(model.trace_, circuit.columns)

    def report() -> dict[str, Any]:
        size = circuit.summary()
        kinds = [domain.kind for domain in circuit.columns.domains if domain is not None]
        held_out = None if valid is None else model.score(valid)
        return {
            "rows": n_rows(table),
            "held_out_rows": 0 if valid is None else n_rows(args.valid),
            "variables": {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)},
            "missing_cells": int(collection.isna().sum().sum().compute()),
            "nodes": size.nodes,
            "parameters": size.parameters,
            "log_likelihood": {"this_model": {"train": model.score(collection), "held_out": held_out}},
            "parts": parts_of(model),
            "decisions": len(trace),
            "groups": groups_of(trace),
            "passes": len(getattr(model, "passes_", ())),
        }

    return LearnedModel(circuit, trace, report)
