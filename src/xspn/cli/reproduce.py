"""Reproduce the paper's tables and figures, side by side with the published numbers.

Every (data set, model, setting) is one result file below the output folder. A run that was stopped or killed is resumed
by the same command; --merge copies results of other runs.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from xspn.cli.inputs import add_cluster_option, on_cluster
from xspn.cli.main import FAILED
from xspn.cli.output import check_out_folder, say
from xspn.core.errors import ParameterError
from xspn.paper.experiments import TARGETS

if TYPE_CHECKING:
    from xspn.paper.experiments.store import Store


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what to reproduce, and on what."""
    parser.add_argument("what", nargs="+", choices=[*TARGETS, "all"], metavar="WHAT", help=f"{', '.join(TARGETS)}, all")
    parser.add_argument("--datasets", nargs="+", metavar="NAME", default=[], help="only these data sets")
    parser.add_argument("--models", nargs="+", metavar="NAME", default=[], help="only these models")
    parser.add_argument("--quick", action="store_true", help="a small part of the grid, on small data sets: minutes")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes; -1 for all cores (default: 1)")
    add_cluster_option(parser, "run")
    parser.add_argument("--out", type=Path, default=Path("results"), metavar="FOLDER", help="default: results")
    parser.add_argument("--seed", type=int, default=0, help="the random seed of learning (default: 0)")
    parser.add_argument(
        "--merge", type=Path, nargs="+", default=[], metavar="FOLDER", help="copy results of other runs"
    )
    parser.add_argument("--report-only", action="store_true", help="run nothing; report on existing results")


def run(args: argparse.Namespace) -> int:
    """Run what is missing, then write the report."""
    from xspn.paper.experiments.plan import known_models, plan, planned
    from xspn.paper.experiments.report import content, write_report
    from xspn.paper.experiments.runner import run_units
    from xspn.paper.experiments.store import Store
    from xspn.plotting.style import require_matplotlib

    if args.seed < 0:
        raise ParameterError(f"--seed: expected a number of at least 0, found {args.seed}")
    unknown = [name for name in args.models if name not in known_models()]
    if unknown:
        raise ParameterError(f"--models: expected some of {', '.join(known_models())}, found {unknown[0]!r}")
    require_matplotlib()  # before hours of work, not after
    check_out_folder(args.out)
    targets = TARGETS if "all" in args.what else tuple(dict.fromkeys(args.what))
    store = Store((args.out / "units").resolve())  # the same place for a worker with another working folder
    refused = _merge(store, args.merge)
    todo = plan(targets, tuple(args.datasets), tuple(args.models), args.quick, args.seed)
    for reason in todo.skipped:
        say(f"xspn: skipped: {reason}", error=True)
    failures: tuple[str, ...] = ()
    if not args.report_only:
        with on_cluster(args.cluster):
            outcome = run_units(todo.units, store, args.jobs, on_cluster=args.cluster is not None)
        say(f"xspn: {outcome.done_now} units done, {outcome.done_before} were done before", error=True)
        failures = outcome.failures
    found = store.found(planned)
    skipped = [*todo.skipped, *(f"failed: {failure}" for failure in failures), *found.refused]
    made = content(targets, found.results, skipped)
    written = write_report(args.out, made, found.results)
    for line in made.summary:
        say(line)
    say(f"report: {written[0]}, {written[1]}")
    for reason in (*refused, *found.refused):
        say(f"xspn: skipped: {reason}", error=True)
    return FAILED if failures or refused or found.refused else 0


def _merge(store: "Store", folders: list[Path]) -> list[str]:
    """Take over the results of other folders; return which of their files were refused, and why."""
    from xspn.paper.experiments.plan import planned

    refused: list[str] = []
    for folder in folders:
        merged = store.merge(folder / "units" if (folder / "units").is_dir() else folder, planned)
        refused += merged.refused
        say(f"xspn: {folder}: {merged.new} results copied, {merged.same} were here already", error=True)
        for conflict in merged.conflicts:
            say(f"xspn: {folder}: differs, our own is kept: {conflict}", error=True)
    return refused
