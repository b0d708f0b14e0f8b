"""Run one unit of table 1 and of the ablation study: fit, score the validation rows, score the test rows."""

import time
from dataclasses import replace
from typing import Any

import numpy as np

from xspn.paper.experiments.data import dataset, facts, rows_to_choose_on
from xspn.paper.experiments.models import ModelSpec, estimator, models
from xspn.paper.experiments.result import Result
from xspn.paper.experiments.store import Store
from xspn.paper.experiments.unit import Unit
from xspn.paper.experiments.versions import versions


def run_density(unit: Unit, store: Store) -> Result:
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
    model = _fitted(spec, unit, train, valid)
    fitted = time.process_time()
    valid_score = float(model.score(valid))
    if train is not data.train:
        model = _fitted(spec, unit, data.train, valid)
    start_scoring = time.process_time()
    rows = model.score_samples(data.test)
    seconds = {"fit": fitted - start, "score": time.process_time() - start_scoring}
    found = {**facts(unit.dataset, unit.generated), **_levels(model, unit)}
    return Result(unit, valid_score, float(rows.mean()), rows, _parameters(model), seconds, versions(), found)


def _fitted(spec: ModelSpec, unit: Unit, train: Any, valid: Any) -> Any:
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


def _same_circuit(unit: Unit, store: Store) -> Result | None:
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
