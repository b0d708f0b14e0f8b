"""Learning from more rows than fit in memory, on a local Dask cluster of two worker processes: what it costs.

    python benchmarks/cluster.py growth              # 2 and 20 million rows × 100 variables
    python benchmarks/cluster.py growth --rows 200000 2000000
    python benchmarks/cluster.py evidence --rows 2000000   # the same by evidence, the default learner
    python benchmarks/cluster.py accuracy            # distributed against local on nltcs, plants, jester
    python benchmarks/cluster.py killed              # SIGKILL for a worker in the middle of a fit
    python benchmarks/cluster.py search              # table 1's grid search: one process against the cluster

Every part prints what was measured and whether it is within its bar, and ends with status 1 if something is not.
"""

import argparse
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

import dask
import dask.array
import numpy as np
import psutil
import pyarrow
import pyarrow.parquet
from harness import parser, verdict

from xspn import XSPN, datasets
from xspn.distributed.cluster import connected
from xspn.io.json_format import to_json
from xspn.paper.experiments.comparison import Chosen
from xspn.paper.experiments.plan import plan
from xspn.paper.experiments.runner import run_units
from xspn.paper.experiments.store import Store
from xspn.paper.experiments.tables import table1

WORKERS = 2
VARIABLES = 100
ROOM = 10  # columns of a workshop
ROWS_PER_GROUP = 250_000
MEMORY = "3GB"
# With ρ = 5 one pair of independent variables in 600 seems dependent, and there are 4500 such pairs.
SETTINGS = {"exchangeability": "global", "independence_threshold": 15.0, "random_state": 0}
LARGEST_WORKER = 3e9
LARGEST_RATIO = 12.0
MOST_PASSES, MOST_PASSES_BY_EVIDENCE = 5, 7
LARGEST_DIFFERENCE = 0.005


def conference_blocks(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Ten workshops: the first column of each is its hot topic, the other nine are guests who can be interchanged.

    There are two kinds of days, which no column tells: on quiet ones hardly anybody comes. Given the kind of the day
    workshops are independent; given its topic a workshop is well visited or not, and everybody is as likely to come.
    """
    workshops = VARIABLES // ROOM
    quiet = rng.random((rows, 1)) < 0.3
    hot = rng.random((rows, workshops)) < np.where(quiet, 0.2, 0.5)
    full = rng.random((rows, workshops)) < np.where(hot, 0.8, 0.4)
    chance = np.where(quiet, 0.02, np.where(full, 0.75, 0.35)).astype(np.float32)
    draws = rng.random((rows, workshops, ROOM), dtype=np.float32) < chance[:, :, None]
    draws[:, :, 0] = hot
    return draws.reshape(rows, VARIABLES)


def write_table(path: Path, rows: int) -> None:
    """Write the generated rows to a Parquet file, group by group."""
    names = [f"person_{i}" for i in range(VARIABLES)]
    schema = pyarrow.schema([(name, pyarrow.uint8()) for name in names])
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        for number, first in enumerate(range(0, rows, ROWS_PER_GROUP)):
            size = min(ROWS_PER_GROUP, rows - first)
            bits = conference_blocks(np.random.default_rng([7, number]), size).astype(np.uint8)
            writer.write_table(pyarrow.table([pyarrow.array(column) for column in bits.T], schema=schema))


class MemoryWatch:
    """The most that any worker process has held, read from the operating system four times a second."""

    def __init__(self, client) -> None:
        self.pids = list(client.run(os.getpid).values())
        self.most = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        while not self._stop.wait(0.25):
            for pid in self.pids:
                try:
                    self.most = max(self.most, psutil.Process(pid).memory_info().rss)
                except psutil.NoSuchProcess:
                    continue

    def __enter__(self) -> "MemoryWatch":
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._stop.set()
        self._thread.join()


def bar(met: bool, text: str) -> bool:
    print(f"  {verdict(met):<6} {text}", flush=True)
    return met


def evidence(args: argparse.Namespace) -> bool:
    """The same with the default learner: structure from a sample of the rows, parameters from all."""
    return growth(args, {"random_state": 0}, most_passes=MOST_PASSES_BY_EVIDENCE)


def growth(args: argparse.Namespace, settings=SETTINGS, most_passes=MOST_PASSES) -> bool:
    """Time, memory and passes as the rows grow, learning by tests."""
    seconds, met = [], True
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        for rows in args.rows:
            path = Path(folder) / f"{rows}.parquet"
            start = time.perf_counter()
            write_table(path, rows)
            print(f"{rows:,} rows: {path.stat().st_size / 1e6:.0f} MB, written in {time.perf_counter() - start:.0f} s")
            with connected("local", n_workers=WORKERS, memory_limit=MEMORY) as client:
                client.run(lambda: __import__("xspn.distributed.growth"))
                with MemoryWatch(client) as watch:
                    start = time.perf_counter()
                    model = XSPN(**settings).fit(str(path))
                    seconds.append(time.perf_counter() - start)
                    start = time.perf_counter()
                    score = model.score(str(path))
                    scored = time.perf_counter() - start
                size = model.circuit_.summary()
            passes = getattr(model, "passes_", ())
            levels = [own.level for own in passes]
            most = max((levels.count(level) for level in levels), default=1) + (1 if levels else 0)  # the first look
            for own in passes:
                print(f"    level {own.level}: {own.measured} measured, {own.gathered} gathered, {own.seconds:.1f} s")
            print(f"  learned in {seconds[-1]:.0f} s: {size.nodes} nodes; {score:.3f} nats a row in {scored:.0f} s")
            met &= bar(watch.most <= LARGEST_WORKER, f"largest worker {watch.most / 1e9:.2f} GB (bar 3 GB)")
            met &= bar(most <= most_passes, f"at most {most} passes over the data for a level (bar {most_passes})")
    for rows, before, now in zip(args.rows[1:], seconds, seconds[1:], strict=False):
        met &= bar(
            now / before <= LARGEST_RATIO, f"{rows:,} rows: {now / before:.1f} × the time (bar {LARGEST_RATIO:g})"
        )
    if len(seconds) > 1:
        slope = (seconds[-1] - seconds[0]) / (args.rows[-1] - args.rows[0])
        hours = (seconds[0] + slope * (1e9 - args.rows[0])) * WORKERS / 3600
        print(f"  1 billion rows, by the line through these: {hours:.0f} worker hours")
    return met


def accuracy(args: argparse.Namespace) -> bool:
    """Test log-likelihoods of the distributed learner, with next to nothing gathered early, and of the local one."""
    met = True
    with connected("local", n_workers=WORKERS):
        for name in args.datasets:
            data = datasets.load(name)
            local = XSPN(exchangeability="global", random_state=0, n_jobs=1).fit(data.train).score(data.test)
            blocks = dask.array.from_array(data.train, chunks=(2000, -1))
            with dask.config.set(
                {"xspn.gather_cells": data.train.size // 50, "xspn.sample_rows": len(data.train) // 3}
            ):
                model = XSPN(exchangeability="global", random_state=0).fit(blocks)
            found = model.score(data.test)
            measured = sum(own.measured for own in model.passes_)
            difference = (found - local) / abs(local)
            text = f"{name}: local {local:.4f}, distributed {found:.4f} ({difference:+.2%}), {measured} places measured"
            met &= bar(abs(difference) <= LARGEST_DIFFERENCE, text)
    return met


def killed(args: argparse.Namespace) -> bool:
    """A worker is killed while it works; the circuit must be the one of an undisturbed fit."""
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        path = Path(folder) / "table.parquet"
        write_table(path, args.kill_rows)
        with (
            connected("local", n_workers=WORKERS, memory_limit=MEMORY) as client,
            dask.config.set({"xspn.gather_cells": args.kill_rows * VARIABLES // 20}),
        ):
            start = time.perf_counter()
            undisturbed = XSPN(**SETTINGS).fit(str(path))
            alone = time.perf_counter() - start
            victim = next(iter(client.run(os.getpid).values()))
            timer = threading.Timer(alone / 2, os.kill, (victim, signal.SIGKILL))
            timer.start()
            start = time.perf_counter()
            disturbed = XSPN(**SETTINGS).fit(str(path))
            together = time.perf_counter() - start
            timer.join()
    same = to_json(disturbed.circuit_) == to_json(undisturbed.circuit_)
    print(f"undisturbed {alone:.0f} s, with a worker killed after {alone / 2:.0f} s: {together:.0f} s")
    return bar(same, "the circuit is the same to the last bit")


def search(args: argparse.Namespace) -> bool:
    """The grid search of table 1 in one process and on the cluster: the same table."""
    units = plan(["table1"], tuple(args.search), ("SPN", "XSPN-TF"), args.quick).units
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        here, there = Store(Path(folder) / "here"), Store(Path(folder) / "there")
        start = time.perf_counter()
        run_units(units, here)
        alone = time.perf_counter() - start
        with connected("local", n_workers=WORKERS):
            start = time.perf_counter()
            run_units(units, there, on_cluster=True)
            together = time.perf_counter() - start
        print(f"{len(units)} units: {alone:.0f} s in one process, {together:.0f} s on {WORKERS} workers")
        tables = [[table.header, table.rows] for table in (table1(Chosen(store, "density")) for store in (here, there))]
    return bar(tables[0] == tables[1], "the table is the same")


PARTS = {"growth": growth, "evidence": evidence, "accuracy": accuracy, "killed": killed, "search": search}


def main() -> int:
    own = parser(__doc__, PARTS)
    own.add_argument("--rows", nargs="+", type=int, default=[2_000_000, 20_000_000])
    own.add_argument("--kill-rows", type=int, default=1_000_000)
    own.add_argument("--datasets", nargs="+", default=["nltcs", "plants", "jester"])
    own.add_argument("--search", nargs="+", default=["exact", "conference", "MEVM-s"])
    own.add_argument("--quick", action="store_true", help="the small grid for the search")
    own.add_argument("--folder", type=Path, help="where tables are written (default: the system's temporary folder)")
    args = own.parse_args()
    met = True
    for part in args.parts:
        print(f"== {part}: {PARTS[part].__doc__}")
        met &= PARTS[part](args)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
