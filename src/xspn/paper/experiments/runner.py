"""Run what is not done yet, in one process or several; save every result at once, and show progress."""

import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits

from xspn.core.errors import ParameterError, printable
from xspn.paper.experiments.evaluation import run_classification, run_density, run_pairwise
from xspn.paper.experiments.plan import cost
from xspn.paper.experiments.results import Experiment, Unit, UnitResult
from xspn.paper.experiments.store import Store

if TYPE_CHECKING:
    from rich.console import Console

SECONDS_BETWEEN_LINES = 1.0


class OnUnitDone(Protocol):
    """What the runner tells: a result, and the fraction of the work that is done."""

    def __call__(self, result: UnitResult | None, note: str, done: float) -> None:
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
def progress(n_units: int, console: "Console | None" = None) -> Iterator[OnUnitDone]:
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
def _bar(console: "Console", n_units: int) -> Iterator[OnUnitDone]:
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

        def report(result: UnitResult | None, note: str, done: float) -> None:
            left = f"about {time_left(_remaining(start, done))} left" if done < 1 else ""
            bar.update(task, advance=1, description=printable(note), left=left)

        yield report


def _lines(n_units: int) -> OnUnitDone:
    start = time.perf_counter()
    count, shown = 0, 0.0

    def report(result: UnitResult | None, note: str, done: float) -> None:
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


RUNNERS: dict[Experiment, Callable[[Unit, Store], UnitResult]] = {
    "density": run_density,
    "classification": run_classification,
    "pairwise": run_pairwise,
}


@dataclass(frozen=True)
class RunOutcome:
    """What came of a run: how many units were done before, how many now, and what failed and why."""

    done_before: int
    done_now: int
    failures: tuple[str, ...]


def run_units(units: Iterable[Unit], store: Store, jobs: int = 1, on_cluster: bool = False) -> RunOutcome:
    """Run the units that have no result yet.

    Each result is written by the process that computed it, as soon as it has it; so a run can be killed at any moment
    and loses only what was being computed. Times are measured with one thread, whatever the number of processes.

    Args:
        units: What to run.
        store: Where results are kept.
        jobs: The number of processes; −1 for one on each core.
        on_cluster: Whether to run where joblib runs, on the cluster that is connected, instead. Results of workers that
            do not see the store's folder are written here.
    """
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs == 0 or jobs < -1:
        raise ParameterError(f"jobs: expected a number of processes of at least 1, or -1 for all cores, found {jobs!r}")
    store.sweep()
    everything = list(dict.fromkeys(units))
    todo = [unit for unit in everything if store.read(unit) is None]
    failures: list[str] = []
    total, done = sum(map(cost, todo)), 0.0
    if todo:
        with progress(len(todo)) as report:
            for unit, result, fault in _on_cluster(todo, store) if on_cluster else _outcomes(todo, store, jobs):
                done += cost(unit)
                if fault is not None:
                    failures.append(f"{unit}: {fault}")
                report(result, failures[-1] if fault is not None else _line(result), done / total)
    return RunOutcome(len(everything) - len(todo), len(todo) - len(failures), tuple(failures))


def _outcomes(todo: list[Unit], store: Store, jobs: int) -> Iterator[tuple[Unit, UnitResult | None, str | None]]:
    if jobs == 1:
        yield from (run_unit(unit, store) for unit in todo)
        return
    # Workers start with one thread for each numerical library: two cores must not run four threads.
    with parallel_config(backend="loky", inner_max_num_threads=1):
        work = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs", batch_size=1)
        yield from work(delayed(run_unit)(unit, store) for unit in todo)


def _on_cluster(todo: list[Unit], store: Store) -> Iterator[tuple[Unit, UnitResult | None, str | None]]:
    work = Parallel(return_as="generator_unordered", pre_dispatch="2*n_jobs", batch_size=1)
    for unit, result, fault in work(delayed(run_unit)(unit, store) for unit in todo):
        if result is not None and store.read(unit) is None:
            store.write(result)
        yield unit, result, fault


def run_unit(unit: Unit, store: Store) -> tuple[Unit, UnitResult | None, str | None]:
    """Run one unit and keep its result; return the unit, and the result or what went wrong."""
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of other people's models: they are compared, not maintained, here
            result = RUNNERS[unit.experiment](unit, store)
    except Exception as error:  # one unit must not end a run of hours; the fault is told and counted
        return unit, None, f"{type(error).__name__}: {error}"
    store.write(result)
    return unit, result, None


def _line(result: UnitResult | None) -> str:
    if result is None:
        return ""
    size = f", {result.parameters} parameters" if result.parameters is not None else ""
    return f"{result.unit}: {result.test_score:.3f}{size}, {result.seconds.get('fit', 0.0):.1f} s"
