"""Memory and time of learning as tables grow, in rows and in columns: each fit in a process of its own.

    python benchmarks/memory.py

The figures are peaks of the whole process, imports and the table itself included, and processor seconds of one thread.
"""

import json
import subprocess
import sys
import time
from collections.abc import Sequence

import numpy as np
from harness import peak_megabytes, verdict

WIDE = (20, 20_000)
LONG = (1_000_000, 50)
GIGABYTE = 1e9
WIDE_BAR, LONG_BAR = 2.0, 3.0  # gigabytes
MANY_NAMES, NAMES_BAR = 40_000, 10.0  # columns, seconds
# (kind, what grows, the shapes): each shape is twice the one before.
GROWTH = (
    ("bits", "rows", ((20_000, 50), (40_000, 50), (80_000, 50))),
    ("bits", "columns", ((20, 2_000), (20, 4_000), (20, 8_000))),
    ("ordinals", "rows", ((6_250, 20), (12_500, 20), (25_000, 20))),
    ("ordinals", "columns", ((5_000, 10), (5_000, 20), (5_000, 40))),
    ("mixed", "rows", ((1_000, 10), (2_000, 10), (4_000, 10))),
    ("mixed", "columns", ((1_000, 5), (1_000, 10), (1_000, 20))),
)


def report() -> None:
    """Print peaks and times, and whether the bars were held."""
    print("memory and time of one fit (process peak, imports and table included; processor seconds)")
    for name, kind, shape, bar in (("wide", "bits", WIDE, WIDE_BAR), ("long", "alike", LONG, LONG_BAR)):
        found = measured("fit", kind, shape)
        held = verdict(found["peak"] <= bar)
        print(f"  {name}: {_in_words(kind, shape)}: {_figures(found)}, at most {bar:g} GB: {held}")
    for kind, what, shapes in GROWTH:
        print(f"  {kind}, twice the {what} each time")
        before: dict[str, float] | None = None
        for shape in shapes:
            found = measured("fit", kind, shape)
            times = "" if before is None else f", {found['seconds'] / before['seconds']:.1f} times as long"
            print(f"    {_in_words(kind, shape)}: {_figures(found)}{times}")
            before = found
    found = measured("names", "bits", (5, MANY_NAMES))
    held = verdict(found["seconds"] <= NAMES_BAR)
    print(f"  names of {MANY_NAMES:,} columns read: {found['seconds']:.1f} s, at most {NAMES_BAR:g} s: {held}")


def measured(what: str, kind: str, shape: tuple[int, int]) -> dict[str, float]:
    """Return the peak (GB; NaN if the process failed) and the processor seconds of some work in its own process."""
    command = [sys.executable, __file__, what, kind, str(shape[0]), str(shape[1])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"    the process failed: {done.stderr.strip().splitlines()[-1:]}")
        return {"peak": float("nan"), "seconds": float("nan")}
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def table(kind: str, rows: int, columns: int) -> np.ndarray:
    """Return a random table whose columns follow a hidden number, or (of kind "alike") each other in distribution."""
    rng = np.random.default_rng(0)
    if kind == "alike":
        return rng.integers(0, 5, size=(rows, columns), dtype=np.int8)
    hidden, loads = rng.normal(size=(rows, 1)), rng.normal(size=columns)
    if kind == "bits":
        return (rng.random((rows, columns)) < 1 / (1 + np.exp(-2 * hidden * loads))).astype(np.uint8)
    numbers = hidden * loads + rng.normal(size=(rows, columns))
    steps = np.clip(np.round(numbers + 2), 0, 4)
    if kind == "ordinals":
        return steps.astype(np.int8)
    numbers[:, ::3], numbers[:, 1::3] = steps[:, ::3], numbers[:, 1::3] > 0
    return numbers


def work(what: str, kind: str, rows: int, columns: int) -> dict[str, float]:
    """Do the work of a child process; return what it took."""
    from threadpoolctl import threadpool_limits

    from xspn import XSPN
    from xspn.data.table import Table

    cells = table(kind, rows, columns)
    start = time.process_time()
    if what == "names":
        import pandas as pd

        frame = pd.DataFrame(cells, columns=[f"column {j}" for j in range(columns)])
        start = time.process_time()
        Table.of(frame)
    else:
        with threadpool_limits(1):
            XSPN(random_state=0).fit(cells)
    seconds = time.process_time() - start
    return {"peak": peak_megabytes() * (1 << 20) / GIGABYTE, "seconds": seconds}


def _in_words(kind: str, shape: Sequence[int]) -> str:
    return f"{shape[0]:,} × {shape[1]:,} {'ordinals' if kind == 'alike' else kind}"


def _figures(found: dict[str, float]) -> str:
    return f"{found['peak']:.2f} GB, {found['seconds']:.1f} s"


if __name__ == "__main__":
    if len(sys.argv) == 1:
        report()
    else:
        print(json.dumps(work(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
