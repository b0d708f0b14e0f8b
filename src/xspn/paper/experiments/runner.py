"""Run what is not done yet, in one process or several, and keep every result the moment it is there."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits

from xspn.core.errors import ParameterError
from xspn.paper.experiments.classification import run_classification
from xspn.paper.experiments.density import run_density
from xspn.paper.experiments.pairwise import run_pairwise
from xspn.paper.experiments.plan import cost
from xspn.paper.experiments.progress import progress
from xspn.paper.experiments.result import Result
from xspn.paper.experiments.store import Store
from xspn.paper.experiments.unit import Experiment, Unit

RUNNERS: dict[Experiment, Callable[[Unit, Store], Result]] = {
    "density": run_density,
    "classification": run_classification,
    "pairwise": run_pairwise,
}


@dataclass(frozen=True)
class Outcome:
    """What came of a run: how many units were done before, how many now, and what failed and why."""

    done_before: int
    done_now: int
    failures: tuple[str, ...]


def run_units(units: Iterable[Unit], store: Store, jobs: int = 1, on_cluster: bool = False) -> Outcome:
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
    return Outcome(len(everything) - len(todo), len(todo) - len(failures), tuple(failures))


def _outcomes(todo: list[Unit], store: Store, jobs: int) -> Iterator[tuple[Unit, Result | None, str | None]]:
    if jobs == 1:
        yield from (run_unit(unit, store) for unit in todo)
        return
    # Workers start with one thread for each numerical library: two cores must not run four threads.
    with parallel_config(backend="loky", inner_max_num_threads=1):
        work = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs", batch_size=1)
        yield from work(delayed(run_unit)(unit, store) for unit in todo)


def _on_cluster(todo: list[Unit], store: Store) -> Iterator[tuple[Unit, Result | None, str | None]]:
    work = Parallel(return_as="generator_unordered", pre_dispatch="2*n_jobs", batch_size=1)
    for unit, result, fault in work(delayed(run_unit)(unit, store) for unit in todo):
        if result is not None and store.read(unit) is None:
            store.write(result)
        yield unit, result, fault


def run_unit(unit: Unit, store: Store) -> tuple[Unit, Result | None, str | None]:
    """Run one unit and keep its result; return the unit, and the result or what went wrong."""
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of other people's models: they are compared, not maintained, here
            result = RUNNERS[unit.experiment](unit, store)
    except Exception as error:  # one unit must not end a run of hours; the fault is told and counted
        return unit, None, f"{type(error).__name__}: {error}"
    store.write(result)
    return unit, result, None


def _line(result: Result | None) -> str:
    if result is None:
        return ""
    size = f", {result.parameters} parameters" if result.parameters is not None else ""
    return f"{result.unit}: {result.test_score:.3f}{size}, {result.seconds.get('fit', 0.0):.1f} s"
