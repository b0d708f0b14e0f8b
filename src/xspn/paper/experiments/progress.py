"""Progress with the time left: a bar on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from xspn.core.text import printable
from xspn.paper.experiments.result import Result

if TYPE_CHECKING:
    from rich.console import Console

SECONDS_BETWEEN_LINES = 1.0


class Report(Protocol):
    """What the runner tells: a result, and the share of the work that is done."""

    def __call__(self, result: Result | None, note: str, done: float) -> None:
        """Take note of one finished unit."""


def time_left(seconds: float) -> str:
    """Say a length of time in words.

    Examples:
        >>> time_left(42), time_left(125), time_left(9000)
        ('42 s', '2 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


@contextmanager
def progress(n_units: int, console: "Console | None" = None) -> Iterator[Report]:
    """Show how far a run is; yields the function that is told of every finished unit.

    Args:
        n_units: The number of units.
        console: Where to show it; standard error by default.
    """
    from rich.console import Console

    own = console or Console(stderr=True, highlight=False)
    if own.is_terminal:
        with _bar(own, n_units) as report:
            yield report
    else:
        yield _lines(n_units)


@contextmanager
def _bar(console: "Console", n_units: int) -> Iterator[Report]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    start = time.perf_counter()
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        TextColumn("{task.description}", style="dim", markup=False),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("", total=n_units, left="")

        def report(result: Result | None, note: str, done: float) -> None:
            left = f"about {time_left(_remaining(start, done))} left" if done < 1 else ""
            bar.update(task, advance=1, description=printable(note), left=left)

        yield report


def _lines(n_units: int) -> Report:
    start = time.perf_counter()
    count, shown = 0, 0.0

    def report(result: Result | None, note: str, done: float) -> None:
        nonlocal count, shown
        count += 1
        now = time.perf_counter()
        # Hundreds of units that take no time would bury what matters; failures and the last line are always told.
        if result is not None and count < n_units and now - shown < SECONDS_BETWEEN_LINES:
            return
        shown = now
        left = f"; about {time_left(_remaining(start, done))} left" if done < 1 else ""
        sys.stderr.write(f"[{count}/{n_units}] {printable(note)}{left}\n")
        sys.stderr.flush()

    return report


def _remaining(start: float, done: float) -> float:
    return (time.perf_counter() - start) * (1 - done) / max(done, 1e-9)
