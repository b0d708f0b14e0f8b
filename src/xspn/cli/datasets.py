"""List, describe, fetch and generate the paper's data sets."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xspn.cli.main import FAILED
from xspn.cli.output import check_out_folder, print_json, print_table, say
from xspn.core.errors import DatasetError, ParameterError

if TYPE_CHECKING:
    from xspn.paper.datasets.dataset import Dataset


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add list, info, fetch and make."""
    actions = parser.add_subparsers(title="actions", dest="action", metavar="ACTION", required=True)

    listing = actions.add_parser("list", help="list the data sets", description="List the paper's 31 data sets.")
    listing.add_argument("--group", choices=["synthetic", "real", "benchmark"], help="only one of the three groups")

    info = actions.add_parser(
        "info", help="describe one data set", description="Say what is known of a data set and where its files are."
    )
    info.add_argument("name", metavar="NAME", help="the paper's name or the files' name, in any case")

    fetch = actions.add_parser(
        "fetch",
        help="download and verify data sets",
        description="Verify the files of data sets, downloading those that are missing into the cache folder.",
    )
    fetch.add_argument("names", metavar="NAME", nargs="+", help="names of data sets, or 'all'")
    fetch.add_argument("--base", metavar="URL", help="download from here (https, http or file); see XSPN_DOWNLOAD_BASE")

    make = actions.add_parser(
        "make",
        help="generate a synthetic data set",
        description="Draw a synthetic data set anew; write its three tables and the true circuit.",
    )
    make.add_argument("name", metavar="NAME", help="threshold, exact, parity, counting, MEVM-s, MEVM-l or conference")
    make.add_argument("--seed", type=int, default=0, help="the random seed (default: 0)")
    make.add_argument("--out", metavar="FOLDER", type=Path, required=True, help="the folder to write to")
    make.add_argument(
        "--format",
        choices=["csv", "data"],
        default="csv",
        help="csv: with a header of names (default); data: bare, as the public files are",
    )
    for split in ("train", "valid", "test"):
        make.add_argument(f"--n-{split}", type=int, metavar="ROWS", help=f"rows of {split} (default: the paper's)")

    for action in (listing, info, fetch, make):
        action.add_argument("--json", action="store_true", help="print JSON for programs")


def run(args: argparse.Namespace) -> int:
    """Run one of the four actions."""
    actions = {"list": _list, "info": _info, "fetch": _fetch, "make": _make}
    return actions[args.action](args)


def _list(args: argparse.Namespace) -> int:
    from xspn.paper.datasets import catalog
    from xspn.paper.datasets.files import Places
    from xspn.paper.datasets.loading import whereabouts

    places = Places.find()
    entries = [catalog.info(name) for name in catalog.names(args.group)]
    found = [(entry, whereabouts(entry, places)) for entry in entries]
    if args.json:
        return print_json([{**entry.to_dict(), "here": here} for entry, here in found])
    header = ("name", "files", "group", "vars", "train", "valid", "test", "here")
    rows = [(e.name, e.file_name, e.group, str(e.n_variables), *(str(n) for n in e.n_rows), here) for e, here in found]
    print_table(header, rows, right={"vars", "train", "valid", "test"})
    return 0


def _info(args: argparse.Namespace) -> int:
    from xspn.paper.datasets import catalog
    from xspn.paper.datasets.files import Places
    from xspn.paper.datasets.loading import whereabouts

    places = Places.find()
    entry = catalog.info(args.name)
    here = whereabouts(entry, places)
    addresses = {file.split: places.address(file) for file in entry.files}
    if args.json:
        return print_json({**entry.to_dict(), "here": here, "addresses": addresses, "cache": str(places.cache)})
    facts = [
        ("name", entry.name),
        ("also called", ", ".join(dict.fromkeys((entry.file_name, *entry.aliases)))),
        ("group", entry.group),
        ("variables", str(entry.n_variables)),
        ("rows", " + ".join(str(n) for n in entry.n_rows) + " (train + valid + test)"),
        ("source", entry.repository.address),
        ("license", entry.license),
        ("here", here),
    ]
    facts += [("note", entry.note)] if entry.note else []
    for file in entry.files:
        facts += [(file.split, addresses[file.split]), ("", f"git blob SHA-1 {file.sha1}")]
    for label, text in facts:
        say(f"{label:<12} {text}")
    return 0


def _fetch(args: argparse.Namespace) -> int:
    from xspn.paper.datasets import catalog, loading
    from xspn.paper.datasets.files import Places

    Places.find(base_url=args.base)  # a wrong address or folder is the user's, and is told once
    wanted = catalog.names() if "all" in args.names else [catalog.info(name).name for name in args.names]
    results: list[dict[str, Any]] = []
    failures = 0
    for name in dict.fromkeys(wanted):
        try:
            found = loading.fetch(name, base_url=args.base)
        except DatasetError as error:
            failures += 1
            results.append({"name": name, "ok": False, "error": str(error)})
            say(f"xspn: {name}: {error}", error=True)
            continue
        files = [
            {"split": f.file.split, "origin": f.origin, "path": None if f.path is None else str(f.path)} for f in found
        ]
        results.append({"name": name, "ok": True, "files": files})
        if not args.json:
            for file in files:
                say(f"{name} {file['split']}: verified, {file['origin']}, {file['path'] or 'not kept'}")
    if args.json:
        print_json(results)
    return FAILED if failures else 0


def _make(args: argparse.Namespace) -> int:
    from xspn import io
    from xspn.paper.datasets import synthetic

    if args.seed < 0:
        raise ParameterError(f"--seed: expected a number of at least 0, found {args.seed}")
    check_out_folder(args.out)
    data = synthetic.make(args.name, args.n_train, args.n_valid, args.n_test, random_state=args.seed)
    args.out.mkdir(parents=True, exist_ok=True)
    stem = data.name.lower()
    written = _write_tables(data, args.out, stem, args.format)
    if data.truth is None:
        raise ParameterError(f"{data.name}: no true circuit is known")
    truth_path = args.out / f"{stem}.truth.json"
    io.save(data.truth, truth_path)
    limit = float(data.truth.log_likelihood(data.test).mean()) if len(data.test) else None
    if args.json:
        return print_json(
            {
                "name": data.name,
                "seed": args.seed,
                "n_variables": data.n_variables,
                "n_rows": dict(zip(("train", "valid", "test"), data.n_rows, strict=True)),
                "files": {split: str(path) for split, path in written.items()},
                "truth": str(truth_path),
                "true_test_log_likelihood": limit,
            }
        )
    say(f"{data.name}: {data.n_variables} variables, seed {args.seed}")
    for (split, path), rows in zip(written.items(), data.n_rows, strict=True):
        say(f"{split}: {rows} rows, {path}")
    say(f"truth: {truth_path}")
    if limit is not None:
        say(f"true log-likelihood of the test rows: {limit:.4f} nats per row")
    return 0


def _write_tables(data: "Dataset", folder: Path, stem: str, kind: str) -> dict[str, Path]:
    from xspn.core.files import write_bytes
    from xspn.paper.datasets.files import render

    header = (",".join(data.feature_names) + "\n").encode() if kind == "csv" else b""
    written = {}
    for split, table in (("train", data.train), ("valid", data.valid), ("test", data.test)):
        written[split] = folder / f"{stem}.{split}.{kind}"
        write_bytes(written[split], header + render(table))
    return written
