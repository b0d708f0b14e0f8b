"""Run one unit of the comparison of pairwise and full tests: the first columns of a data set, learned and timed."""

import hashlib
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from xspn.estimators import XSPN
from xspn.estimators.options import paper_models
from xspn.io.json_format import to_json
from xspn.learning.exchangeability import tests
from xspn.learning.summary import BinarySummary
from xspn.paper.experiments.data import dataset
from xspn.paper.experiments.result import Result
from xspn.paper.experiments.store import Store
from xspn.paper.experiments.unit import Unit
from xspn.paper.experiments.versions import versions

T = TypeVar("T")

METHODS = ("pairwise", "full", "global")
COLUMNS = (3, 5, 8)
MORE_COLUMNS = (12, 16)  # beyond the paper, whose program could not go on: the full test's cost shows here
REPEATS = 3
LONG = 0.5  # seconds: a time as long as that is steady enough


def learner(method: str, seed: int) -> XSPN:
    """Return LearnXSPN with one of the tests; all else is the paper's, with all pairs and the right distribution."""
    options: dict[str, Any] = {
        name: value for name, value in paper_models["XSPN-TF"]["options"].items() if name != "test_options"
    }
    return XSPN.paper("XSPN-TF", exchangeability=method, min_instances=200, options=options, random_state=seed)


def run_pairwise(unit: Unit, _store: Store) -> Result:
    """Learn with the test that the unit names; time the learning, and the one test of all rows."""
    columns = int(unit.setting("columns") or 0)
    data = dataset(unit.dataset, unit.generated)
    seconds, model = _least_time(lambda: learner(unit.model, unit.seed).fit(data.train[:, :columns]))
    bits, weights = data.train[:, :columns].astype(np.float32), np.ones(len(data.train))
    test_seconds, _ = _least_time(lambda: tests[unit.model](BinarySummary.of(bits, weights)))
    rows = model.score_samples(data.test[:, :columns])
    decisions = [entry for entry in model.trace_ if entry.test is not None]
    accepted = sum(not entry.test.rejects(model.significance) for entry in decisions if entry.test is not None)
    facts = {
        "circuit": hashlib.sha256(to_json(model.circuit_).encode()).hexdigest()[:16],
        "tests": len(decisions),
        "accepted": accepted,
        "rows": len(data.train),
    }
    valid_score = float(model.score(data.valid[:, :columns]))
    times = {"fit": seconds, "test": test_seconds}
    size = int(model.circuit_.summary().parameters)
    return Result(unit, valid_score, float(rows.mean()), rows, size, times, versions(), facts)


def _least_time(job: Callable[[], T]) -> tuple[float, T]:
    """Return the shortest of a few times, and what the job returns."""
    times: list[float] = []
    while len(times) < REPEATS and not (times and times[-1] > LONG):
        start = time.perf_counter()
        answer = job()
        times.append(time.perf_counter() - start)
    return min(times), answer
