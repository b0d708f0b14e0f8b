"""Run one unit of table 2: fit a classifier, and count what it gets right."""

import time
from typing import Any

import numpy as np

from xspn.paper.datasets.classification import LabelledDataset, classification
from xspn.paper.datasets.synthetic import CONSTRAINTS
from xspn.paper.experiments.classifiers import classifiers
from xspn.paper.experiments.data import dataset
from xspn.paper.experiments.models import estimator
from xspn.paper.experiments.result import Result
from xspn.paper.experiments.store import Store
from xspn.paper.experiments.unit import Unit
from xspn.paper.experiments.versions import versions


def task(name: str, generated: bool) -> LabelledDataset:
    """Return the classification task of a data set."""
    return classification(name) if name in CONSTRAINTS else classification(name, data=dataset(name, generated))


def run_classification(unit: Unit, _store: Store) -> Result:
    """Fit the classifier and compare its predictions with the classes."""
    data = task(unit.dataset, unit.generated)
    start = time.process_time()
    model = _fitted(unit, data)
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
    return Result(unit, valid_score, float(right.mean()), right, parameters, seconds, versions(), facts)


def _fitted(unit: Unit, data: LabelledDataset) -> Any:
    spec = classifiers[unit.model]
    model = estimator(spec, dict(unit.settings), unit.seed)
    if spec.stops_early:
        return model.fit(data.X_train, data.y_train, X_valid=data.X_valid, y_valid=data.y_valid)
    if spec.merges_rows:
        both = np.column_stack([data.X_train, data.y_train])
        rows, counts = np.unique(both, axis=0, return_counts=True)
        return model.fit(rows[:, :-1], rows[:, -1], sample_weight=counts)
    return model.fit(data.X_train, data.y_train)


def _log_loss(model: Any, data: LabelledDataset) -> float | None:
    """Return minus the mean log-probability of the validation rows' classes: it decides between equal accuracies."""
    if not hasattr(model, "predict_log_proba"):
        return None
    logs = model.predict_log_proba(data.X_valid)
    place = np.searchsorted(model.classes_, data.y_valid)
    loss = -float(logs[np.arange(len(logs)), place].mean())
    return loss if np.isfinite(loss) else None
