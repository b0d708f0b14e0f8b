"""Choose among settings by the validation rows, and models among those of a family."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan

from xspn.paper.datasets.catalogue import names
from xspn.paper.experiments.result import Result
from xspn.paper.experiments.unit import Experiment


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

    result: Result
    tried: int


class Chosen:
    """The chosen result of every model on every data set of one experiment."""

    def __init__(self, results: Iterable[Result], experiment: Experiment) -> None:
        groups: dict[tuple[DataKey, str], list[Result]] = {}
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

    def get(self, row: DataKey, model: str) -> Result | None:
        """Return the chosen result of a model, or None."""
        choice = self._choices.get((row, model))
        return None if choice is None else choice.result

    def tried(self, row: DataKey, model: str) -> int:
        """Return how many settings of a model were tried."""
        choice = self._choices.get((row, model))
        return 0 if choice is None else choice.tried

    def best_of(self, row: DataKey, models: Sequence[str]) -> Result | None:
        """Return the best of several models by the validation rows: the family's entry in table 1."""
        found = [result for model in models if (result := self.get(row, model)) is not None]
        return best(found) if found else None


def best(results: Sequence[Result]) -> Result:
    """Return the result that is best on the validation rows.

    Equal accuracies are decided by the log-loss, equal scores by the number of parameters, and then by name: the order
    in which results came in plays no part.
    """
    return min(results, key=_rank)


def _rank(result: Result) -> tuple[float, float, float, str]:
    loss = result.facts.get("valid_log_loss")
    size = result.parameters if result.parameters is not None else float("inf")
    worse = float("inf") if isnan(result.valid_score) else -result.valid_score
    return worse, float("inf") if loss is None else float(loss), size, str(result.unit.path)
