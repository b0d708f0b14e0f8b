"""What the benchmarks share: the choice of parts, where the data is, processor seconds, one verdict for every bar."""

import argparse
import os
import resource
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"


def verdict(good: bool) -> str:
    return "ok" if good else "MISSED"


def parser(doc: str | None, parts: Iterable[str], default: Iterable[str] = ()) -> argparse.ArgumentParser:
    """Return a parser for the parts to run (all of them by default); published files are found beside the checkout."""
    if "XSPN_DATA" not in os.environ and BESIDE.is_dir():
        os.environ["XSPN_DATA"] = str(BESIDE)
    known = list(parts)
    usual = list(default) or known

    def part(name: str) -> str:
        if name not in known:
            raise argparse.ArgumentTypeError(f"unknown part {name!r}; known: {', '.join(known)}")
        return name

    own = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    text = f"what to run: {', '.join(known)} (default: {'all' if usual == known else ', '.join(usual)})"
    own.add_argument("parts", nargs="*", type=part, default=usual, metavar="PART", help=text)
    return own


def least_seconds(
    repeats: int, job: Callable[..., object], *arguments: object, clock: Callable[[], float] = time.process_time
) -> float:
    """Return the least time of some runs: processor seconds, which other programs on the machine disturb least."""
    times = []
    for _ in range(repeats):
        start = clock()
        job(*arguments)
        times.append(clock() - start)
    return min(times)


def peak_megabytes() -> float:
    """Return the most memory that this process has had, not counting that of the program it was started from."""
    status = Path("/proc/self/status")
    if status.exists():  # where a started process begins with the peak of its parent in `ru_maxrss`
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1024)
