"""Learn a model from a table and say how good it is.

    xspn fit answers.csv -o model.json
    xspn fit answers.csv -o model.json --exclude id name --valid 0.2
    xspn fit baskets.parquet -o model.json --cluster tcp://10.0.0.1:8786 --checkpoint fit.json

Columns are typed by what they hold: yes/no and 0/1 are binary, words are categories, small whole numbers are steps of a
scale, other numbers are real. Cells that are empty or hold NA, NaN, null or ? are missing; nothing is imputed.
"""

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from xspn.cli.inputs import (
    add_cluster_option,
    add_column_options,
    add_table_options,
    add_training_table,
    domains_of,
    excluded,
    on_cluster,
    read_input,
    say_notes,
    seed_of,
    stays_out_of_core,
    without_identifiers,
)
from xspn.cli.output import (
    STDOUT,
    abridged,
    check_outputs,
    number,
    print_aligned,
    print_facts,
    print_json,
    say,
    write_utf8,
)
from xspn.core.errors import ParameterError, counted

if TYPE_CHECKING:
    from xspn.cli.learned import LearnedModel
    from xspn.data.table import Table

SETTINGS = (
    "min_instances",
    "independence_threshold",
    "significance",
    "smoothing",
    "exchangeability",
    "clustering",
    "leaf_learner",
    "quality",
    "n_estimators",
    "max_parameters",
    "device",
)
MOST_BLOCKS = 5
VALID = (
    "validation rows: a fraction of the rows such as 0.2, or a table; used to choose settings (with another "
    "--quality than fast, without --target) and to score"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the table, the model and the settings."""
    add_training_table(parser)
    parser.add_argument("-o", "--output", metavar="MODEL", required=True, help="the model file; - is standard output")
    parser.add_argument("--valid", metavar="FRACTION", help=VALID)
    parser.add_argument("--target", metavar="NAME", help="learn a classifier: a circuit for each value of this column")
    parser.add_argument(
        "--attributes",
        metavar="TABLE",
        help="what is known of the columns (party, shelf, group): a row for each, their names in one of its columns",
    )
    parser.add_argument("--json", action="store_true", help="print JSON for programs")
    parser.add_argument("--verbose", action="store_true", help="show progress")
    add_cluster_option(parser, "learn")
    parser.add_argument("--checkpoint", metavar="FILE", help="with --cluster: save after each pass, and resume")
    add_column_options(parser)
    add_learning_options(parser)
    add_table_options(parser)


def add_learning_options(parser: argparse.ArgumentParser) -> None:
    """Add the learner's settings; without them its defaults hold."""
    group = parser.add_argument_group("learning", "the defaults are good for most tables")
    group.add_argument(
        "--quality",
        choices=("fast", "mixed", "balanced", "best"),
        help="fast: one circuit (default); mixed: beside another and classes of independent columns, for baskets; "
        "balanced, best: settings chosen on validation rows, and many circuits; seconds, or up to some minutes",
    )
    group.add_argument("--min-instances", type=int, metavar="ROWS", help="slices of fewer rows become a leaf")
    group.add_argument("--independence-threshold", type=float, metavar="RHO", help="larger finds more independence")
    group.add_argument("--significance", type=float, metavar="LEVEL", help="smaller finds more exchangeability")
    group.add_argument("--smoothing", type=float, metavar="ALPHA", help="the pseudo-count of each value")
    group.add_argument(
        "--exchangeability",
        metavar="NAME",
        help="auto, evidence, the tests global, pairwise, full; or none: a conventional SPN",
    )
    group.add_argument("--clustering", metavar="NAME", help="auto, contexts, bernoulli, variable, gmm or kmeans")
    group.add_argument(
        "--leaf-learner", metavar="NAME", help="auto, sparse, evidence, factorized, exchangeable, chow_liu or blocks"
    )
    group.add_argument("--n-estimators", type=int, metavar="N", help="mix so many circuits, each on a bootstrap sample")
    group.add_argument(
        "--max-parameters",
        type=int,
        metavar="N",
        help="distill the model into a circuit of at most so many parameters (with --target: one for each class)",
    )
    group.add_argument(
        "--device",
        metavar="NAME",
        help="with --quality balanced or best: where EM computes, for example cuda (needs torch; default: the CPU)",
    )
    group.add_argument("--jobs", type=int, default=1, metavar="N", help="workers; -1 for all cores (default: 1)")
    group.add_argument("--seed", type=int, default=0, help="the random seed (default: 0)")


def settings_of(args: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that were given."""
    found = {name: getattr(args, name) for name in SETTINGS if getattr(args, name) is not None}
    if found.get("exchangeability") in ("none", "None"):
        found["exchangeability"] = None
    return found


def run(args: argparse.Namespace) -> int:
    """Read, learn, write, report."""
    from xspn.core.files import json_value
    from xspn.io.files import FORMATS, format_of_name, notes_of, save
    from xspn.io.json_format import to_json

    if not format_of_name(args.output).is_whole:  # what was learned might have no place in it
        whole = " or ".join(form.suffix for form in FORMATS if form.is_whole)
        raise ParameterError(f"-o: a learned model is written as {whole}; 'xspn convert' writes other formats")
    table_of_its_own = args.valid if args.valid is not None and _fraction(args.valid) is None else None
    check_outputs((args.output, args.checkpoint), (args.table, table_of_its_own, args.attributes))
    with on_cluster(args.cluster):
        learned = _learned(args, seed_of(args))
        if args.output != STDOUT:  # before anything else is done: nothing learned is lost for want of a number
            save(learned.circuit, args.output, notes=json_value({"trace": learned.trace}))
        report = learned.report()
    notes = json_value({"learned": report, "trace": learned.trace})
    if args.output == STDOUT:
        write_utf8(to_json(learned.circuit, notes=notes_of(learned.circuit, notes)) + "\n")
        return 0
    save(learned.circuit, args.output, notes=notes)
    if args.json:
        return print_json({"model": args.output, **report})
    _print(report, args.output, args.max_parameters is not None)
    return 0


def _learned(args: argparse.Namespace, seed: int) -> "LearnedModel":
    """Learn from the table in memory, or out of core."""
    from xspn.cli.learned import learn_model, learn_on_cluster

    jobs = args.jobs if args.cluster is None else None  # as many as the cluster has
    settings = {**settings_of(args), "random_state": seed, "n_jobs": jobs, "verbose": int(args.verbose)}
    if stays_out_of_core(args):
        return learn_on_cluster(args, settings)
    if args.checkpoint is not None:
        raise ParameterError("--checkpoint: only for Parquet files that a cluster reads; add --cluster local")
    whole = excluded(read_input(args.table, args), args.exclude)
    cells = without_identifiers(whole, args, [] if args.target is None else [args.target])
    table = cells.read(domains_of(cells, args.domains))
    if args.attributes is not None:
        table = table.with_attributes(args.attributes, cells.row_names)
        known = list(zip(*(values for _, values in table.schema.attributes), strict=True))
        lacking = [name for name, own in zip(cells.names, known, strict=True) if not any(own)]
        if lacking:
            which = f"{counted(len(lacking), 'column')}: {abridged(lacking)}"
            say_notes([f"{args.attributes}: nothing about {which}"])
    target = None if args.target is None else cells.index(args.target)
    train, valid = _split(table, args, seed)
    learned = learn_model(train, valid, settings, target)
    fraction, provenance = None if args.valid is None else _fraction(args.valid), learned.circuit.provenance
    if fraction is None or valid is None or provenance is None:
        return learned
    held_out = provenance.with_held_out(fraction, seed, len(valid))
    return replace(learned, circuit=learned.circuit.with_provenance(held_out))


def _split(table: "Table", args: argparse.Namespace, seed: int) -> "tuple[Table, Table | None]":
    """Return the training rows and the validation rows: a random fraction, a table of their own, or none."""
    from xspn.data.provenance import held_out_rows

    if args.valid is None:
        return table, None
    fraction = _fraction(args.valid)
    if fraction is None:
        return table, replace(table, codes=read_input(args.valid, args).encoded_by(table.schema))
    if not 0 < fraction < 1:
        raise ParameterError(f"--valid: expected a fraction between 0 and 1, or a table, found {args.valid}")
    held_out = held_out_rows(len(table), fraction, seed)
    if not 0 < held_out.sum() < len(table):
        raise ParameterError(f"--valid: {fraction:g} of {len(table)} rows leaves nothing to learn from or to score")
    return table.rows(~held_out), table.rows(held_out)


def _fraction(text: str) -> float | None:
    """Return the fraction of the rows that a text asks for; None if it names a table."""
    try:
        return float(text)
    except ValueError:
        return None


def _print(report: dict[str, Any], path: str, distilled: bool) -> None:
    """Print what was learned for people."""
    from xspn.inference.segments import rows_in_words
    from xspn.learning.search.components import ComponentSummary

    types = ", ".join(f"{count} {name}" for name, count in report["variables"].items())
    held_out = f" + {report['held_out_rows']:,} held out" if report["held_out_rows"] else ""
    made = "distilled from" if distilled else "made of"
    facts = [
        ("rows", f"{report['rows']:,}{held_out}"),
        ("variables", f"{sum(report['variables'].values())} ({types})"),
        ("missing", f"{report['missing_cells']:,} cells"),
        ("circuit", f"{counted(report['nodes'], 'node')}, {counted(report['parameters'], 'parameter')}"),
        *((made if k == 0 else "", str(ComponentSummary(**part))) for k, part in enumerate(report["parts"])),
        ("model file", path),
    ]
    print_facts(facts)
    say()
    say("log-likelihood in nats per row")
    header = ("model", "train", "held out") if report["held_out_rows"] else ("model", "train")
    keys = ("train", "held_out")[: len(header) - 1]
    rows = []
    for name, own in report["log_likelihood"].items():
        scores = ["binary only" if own[key] is None else number(own[key], 3) for key in keys]
        rows.append((name.replace("_", " "), *scores))
    print_aligned(header, rows, right={"train", "held out"})
    if "classification" in report:
        _print_classification(report["classification"])
    if report.get("new_classes"):
        say(f"held-out rows of classes that no training row has: {abridged(report['new_classes'])}")
    blocks = report["blocks"]
    if not report["decisions"]:
        return
    say()
    if not blocks:
        say("no block of columns that depend on each other, or can be interchanged")
        return
    say(f"{counted(len(blocks), 'block')} of columns that depend on each other, or can be interchanged")
    for block in blocks[:MOST_BLOCKS]:
        where = f" where {block['where']}" if block["where"] else ""
        where = f" of {block['contexts']} contexts" if block["contexts"] > 1 else where
        columns = f"{abridged(block['variables'])} ({len(block['variables'])})"
        say(f"  node {block['node']}: {columns}, in {rows_in_words(block['rows'])}{where}")
    if len(blocks) > MOST_BLOCKS:
        say(f"  … and {counted(len(blocks) - MOST_BLOCKS, 'smaller one')}: xspn show {path}")


def _print_classification(found: dict[str, Any]) -> None:
    """Print how good predictions are."""
    from xspn.cli.quality import calibration_rows, quality_facts

    hint = "" if found["on"] == "held-out rows" else " (--valid 0.2 holds rows out)"
    say()
    say(f"predictions of {found['target']} on {found['on']}{hint}")
    facts = quality_facts(found)
    if not facts:
        say("no row has an answer to compare with")
        return
    print_facts([*facts, ("most frequent", f"{number(found['most_frequent'])} would be right by guessing that class")])
    say()
    header = ("probability", "rows", "expected", "right")
    print_aligned(header, calibration_rows(found), right=set(header[1:]))
