"""Choose among settings on the validation rows; compare numbers with the published ones and with other models'."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Literal

import numpy as np
from scipy.special import stdtr

from xspn.core.arrays import FloatArray
from xspn.core.errors import DataError
from xspn.paper.datasets.catalog import names
from xspn.paper.experiments.results import Experiment, UnitResult

Mark = Literal["better", "equal", "worse"]

TOLERANCE = 0.005  # relative: within that, a number counts as equal to the published one
LEVEL = 0.05


def against(own: float, published: float, tolerance: float = TOLERANCE) -> Mark:
    """Compare a number with a published one, of which more is better; three digits were printed.

    Examples:
        >>> against(-19.6, -19.663), against(-19.7, -19.663), against(-19.8, -19.663), against(-5.9073, -5.907)
        ('better', 'equal', 'worse', 'equal')
    """
    if own > published + 0.0005:
        return "better"
    return "equal" if own >= published - tolerance * abs(published) - 0.0005 else "worse"


def paired_p_value(first: FloatArray, second: FloatArray) -> float:
    """Return the two-sided p-value of the paired t-test that both have the same mean.

    Rows that are impossible under both models say nothing and are excluded; a row that is impossible under one of them
    makes any test pointless: the other one is infinitely better, and the answer is 0.

    Examples:
        >>> rows = np.random.default_rng(0).normal(size=50)
        >>> paired_p_value(rows, rows), paired_p_value(rows + 1 + 0.1 * rows, rows) < 1e-9
        (1.0, True)
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape:
        raise DataError(f"paired test: expected the same number of rows for both models, found {len(a)} and {len(b)}")
    possible = np.isfinite(a) | np.isfinite(b)
    differences = a[possible] - b[possible]
    if not np.isfinite(differences).all():
        return 0.0
    n = len(differences)
    mean = float(differences.mean()) if n else 0.0
    error = float(differences.std(ddof=1)) / math.sqrt(n) if n > 1 else 0.0
    if error == 0.0:
        return 1.0 if mean == 0.0 or n < 2 else 0.0
    return float(2 * stdtr(n - 1, -abs(mean / error)))


def significantly_better(first: FloatArray, second: FloatArray, level: float = LEVEL) -> bool:
    """Whether the first model's rows are better on the mean, and the paired test rejects equality."""
    return bool(np.mean(first) > np.mean(second)) and paired_p_value(first, second) < level


@dataclass(frozen=True, order=True)
class DataKey:
    """A row of a table: a data set, in the paper's order, as published or generated anew."""

    place: int
    dataset: str
    generated: bool

    def __str__(self) -> str:
        return f"{self.dataset} (generated)" if self.generated else self.dataset


@dataclass(frozen=True, eq=False)
class Choice:
    """The result of the setting that was best on the validation rows, and how many settings were tried."""

    result: UnitResult
    tried: int


class Chosen:
    """The chosen result of every model on every data set of one experiment."""

    def __init__(self, results: Iterable[UnitResult], experiment: Experiment) -> None:
        groups: dict[tuple[DataKey, str], list[UnitResult]] = {}
        order = names()
        for result in results:
            unit = result.unit
            if unit.experiment == experiment:
                key = DataKey(order.index(unit.dataset), unit.dataset, unit.generated)
                groups.setdefault((key, unit.model), []).append(result)
        self._choices = {key: Choice(best(group), len(group)) for key, group in groups.items()}

    @property
    def rows(self) -> list[DataKey]:
        """The data sets that have any result, in the paper's order."""
        return sorted({key for key, _ in self._choices})

    def __bool__(self) -> bool:
        return bool(self._choices)

    def models(self, order: Iterable[str]) -> list[str]:
        """Return the models that have any result, in the given order."""
        found = {model for _, model in self._choices}
        return [model for model in order if model in found]

    def get(self, row: DataKey, model: str) -> UnitResult | None:
        """Return the chosen result of a model, or None."""
        choice = self._choices.get((row, model))
        return None if choice is None else choice.result

    def tried(self, row: DataKey, model: str) -> int:
        """Return how many settings of a model were tried."""
        choice = self._choices.get((row, model))
        return 0 if choice is None else choice.tried

    def best_of(self, row: DataKey, models: Sequence[str]) -> UnitResult | None:
        """Return the best of several models by the validation rows: the family's entry in table 1."""
        found = [result for model in models if (result := self.get(row, model)) is not None]
        return best(found) if found else None


def best(results: Sequence[UnitResult]) -> UnitResult:
    """Return the result that is best on the validation rows.

    Equal accuracies are decided by the log-loss, equal scores by the number of parameters, and then by name: the order
    in which results came in plays no part.
    """
    return min(results, key=_rank)


def _rank(result: UnitResult) -> tuple[float, float, float, str]:
    loss = result.facts.get("valid_log_loss")
    size = result.parameters if result.parameters is not None else float("inf")
    worse = float("inf") if isnan(result.valid_score) else -result.valid_score
    return worse, float("inf") if loss is None else float(loss), size, str(result.unit.path)
