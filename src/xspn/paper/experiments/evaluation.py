"""Run one unit: fit a model to a data set and score it, for each of the three experiments."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from xspn.estimators import XSPN
from xspn.io.json_format import to_json
from xspn.learning.config import PublishedProgram
from xspn.learning.exchangeability import tests
from xspn.learning.summary import BinarySummary
from xspn.paper.datasets.classification import LabeledDataset, classification
from xspn.paper.datasets.synthetic import CONSTRAINTS
from xspn.paper.experiments.data import dataset, facts, rows_to_choose_on
from xspn.paper.experiments.models import ModelSpec, classifiers, estimator, models
from xspn.paper.experiments.results import Unit, UnitResult, versions
from xspn.paper.experiments.store import Store
from xspn.paper.presets import paper_model

T = TypeVar("T")
METHODS = ("pairwise", "full", "global")
COLUMNS = (3, 5, 8)
MORE_COLUMNS = (12, 16)  # beyond the paper, whose program could not go on: the full test's cost shows here
REPEATS = 3
LONG = 0.5  # seconds: a time as long as that is steady enough


def run_density(unit: Unit, store: Store) -> UnitResult:
    """Fit the model and score it; take over the outcome of another level where the circuit must be the same."""
    known = _same_circuit(unit, store)
    if known is not None:
        return replace(
            known, unit=unit, seconds={"fit": 0.0, "score": 0.0}, facts={**known.facts, "same_as": str(known.unit)}
        )
    spec = models[unit.model]
    data = dataset(unit.dataset, unit.generated)
    train, valid = rows_to_choose_on(data)
    start = time.process_time()
    model = _fitted_density(spec, unit, train, valid)
    fitted = time.process_time()
    valid_score = float(model.score(valid))
    if train is not data.train:
        model = _fitted_density(spec, unit, data.train, valid)
    start_scoring = time.process_time()
    rows = model.score_samples(data.test)
    seconds = {"fit": fitted - start, "score": time.process_time() - start_scoring}
    found = {**facts(unit.dataset, unit.generated), **_levels(model, unit)}
    return UnitResult(unit, valid_score, float(rows.mean()), rows, _parameters(model), seconds, versions(), found)


def _fitted_density(spec: ModelSpec, unit: Unit, train: Any, valid: Any) -> Any:
    model = estimator(spec, dict(unit.settings), unit.seed)
    return model.fit(train, X_valid=valid) if spec.stops_early else model.fit(train)


def _parameters(model: Any) -> int:
    """Return the free parameters of a circuit, or all weights of a network."""
    if hasattr(model, "circuit_"):
        return int(model.circuit_.summary().parameters)
    weights = [part for part in vars(model.network_).values() if isinstance(part, np.ndarray)]
    return sum(part.size for part in weights)


def _levels(model: Any, unit: Unit) -> dict[str, list[float]]:
    """Return the levels of the exchangeability test for which the circuit would be the same: above one, up to another.

    The level matters only where it separates the p-values of the tests that were made. A quarter of the grid, often
    more, need not be learned for that reason.
    """
    level = unit.setting("significance")
    if not isinstance(level, float) or not hasattr(model, "trace_"):
        return {}
    p_values = [entry.test.p_value for entry in model.trace_ if entry.test is not None]
    rejected = [p for p in p_values if p < level]
    accepted = [p for p in p_values if p >= level]
    return {"same_for_levels": [max(rejected, default=-1.0), min(accepted, default=2.0)]}


def _same_circuit(unit: Unit, store: Store) -> UnitResult | None:
    """Return a finished result with another level of the test that must have given the same circuit."""
    level = unit.setting("significance")
    folder = store.path(unit).parent
    if not isinstance(level, float) or not folder.is_dir():
        return None
    others = [(name, value) for name, value in unit.settings if name != "significance"]
    for result in store.below(folder):
        same = [(name, value) for name, value in result.unit.settings if name != "significance"] == others
        above, up_to = result.facts.get("same_for_levels", (1.0, 0.0))
        if same and result.unit.seed == unit.seed and above < level <= up_to:
            return result
    return None


def labeled_rows(name: str, generated: bool) -> LabeledDataset:
    """Return the classification task of a data set."""
    return classification(name) if name in CONSTRAINTS else classification(name, data=dataset(name, generated))


def run_classification(unit: Unit, _store: Store) -> UnitResult:
    """Fit the classifier and compare its predictions with the classes."""
    data = labeled_rows(unit.dataset, unit.generated)
    start = time.process_time()
    model = _fitted_classifier(unit, data)
    fitted = time.process_time()
    right = (model.predict(data.X_test) == data.y_test).astype(np.float64)
    seconds = {"fit": fitted - start, "score": time.process_time() - fitted}
    valid_score = float((model.predict(data.X_valid) == data.y_valid).mean())
    facts = {
        "target": data.target,
        "rows": len(data.y_train),
        "variables": data.n_variables,
        "valid_log_loss": _log_loss(model, data),
        "majority": float(max(data.y_test.mean(), 1 - data.y_test.mean())),
    }
    parameters = int(model.circuit_.summary().parameters) if hasattr(model, "circuit_") else None
    return UnitResult(unit, valid_score, float(right.mean()), right, parameters, seconds, versions(), facts)


def _fitted_classifier(unit: Unit, data: LabeledDataset) -> Any:
    spec = classifiers[unit.model]
    model = estimator(spec, dict(unit.settings), unit.seed)
    if spec.stops_early:
        return model.fit(data.X_train, data.y_train, X_valid=data.X_valid, y_valid=data.y_valid)
    if spec.merges_rows:
        both = np.column_stack([data.X_train, data.y_train])
        rows, counts = np.unique(both, axis=0, return_counts=True)
        return model.fit(rows[:, :-1], rows[:, -1], sample_weight=counts)
    return model.fit(data.X_train, data.y_train)


def _log_loss(model: Any, data: LabeledDataset) -> float | None:
    """Return minus the mean log-probability of the validation rows' classes: it decides between equal accuracies."""
    if not hasattr(model, "predict_log_proba"):
        return None
    logs = model.predict_log_proba(data.X_valid)
    place = np.searchsorted(model.classes_, data.y_valid)
    loss = -float(logs[np.arange(len(logs)), place].mean())
    return loss if np.isfinite(loss) else None


def learner(method: str, seed: int) -> XSPN:
    """Return LearnXSPN with one of the tests; all else is the paper's, with all pairs and the right distribution."""
    options = {"published": PublishedProgram()}
    return paper_model("XSPN-TF", exchangeability=method, min_instances=200, options=options, random_state=seed)


def run_pairwise(unit: Unit, _store: Store) -> UnitResult:
    """Learn with the test that the unit names; time the learning, and the one test of all rows."""
    columns = int(unit.setting("columns") or 0)
    data = dataset(unit.dataset, unit.generated)
    seconds, model = _least_time(lambda: learner(unit.model, unit.seed).fit(data.train[:, :columns]))
    bits, weights = data.train[:, :columns].astype(np.float32), np.ones(len(data.train))
    test_seconds, _ = _least_time(lambda: tests.for_bits(unit.model)(BinarySummary.of(bits, weights)))
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
    return UnitResult(unit, valid_score, float(rows.mean()), rows, size, times, versions(), facts)


def _least_time(job: Callable[[], T]) -> tuple[float, T]:
    """Return the shortest of a few times, and what the job returns."""
    times: list[float] = []
    while len(times) < REPEATS and not (times and times[-1] > LONG):
        start = time.perf_counter()
        answer = job()
        times.append(time.perf_counter() - start)
    return min(times), answer
