"""Validation rows: rows that nothing is learned from, used to choose settings and mixture weights."""

from dataclasses import dataclass

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.errors import DataError
from xspn.engine import Automatic, compile_graph
from xspn.graph.graph import Graph
from xspn.learning.data import different_rows
from xspn.learning.source import TrainingData

FRACTION = 0.15
MOST_UNITS = 1e9  # of which a sample can be drawn


@dataclass(frozen=True, eq=False)
class ValidationRows:
    """Rows that nothing was learned from, with their weights."""

    rows: AnyArray
    weights: FloatArray

    @classmethod
    def of(cls, rows: AnyArray) -> "ValidationRows":
        """Return rows that count once each; equal ones are one row of their number."""
        return cls(*different_rows(rows, np.ones(len(rows))))

    def row_scores(self, graph: Graph) -> FloatArray:
        """Return the log-likelihood of each row."""
        return Automatic(compile_graph(graph)).log_likelihood(self.rows)

    def score(self, graph: Graph) -> float:
        """Return the mean log-likelihood."""
        return self.mean(self.row_scores(graph))

    def clearly_prefers(self, larger: Graph, smaller: Graph) -> bool:
        """Whether the larger of two models is better by more than a standard error of the difference.

        A smaller gain is noise, and not worth additional parameters.
        """
        scores = np.array([self.row_scores(larger), self.row_scores(smaller)])
        finite = np.isfinite(scores)
        compared = finite.any(axis=0)
        if not finite[:, compared].all():
            return bool(finite[0, compared].all())  # then the smaller one finds something impossible
        gains, weights = scores[0, compared] - scores[1, compared], self.weights[compared]
        n_others = weights.sum() - 1
        if n_others <= 0:
            return False
        gain = np.average(gains, weights=weights)
        variance = np.average((gains - gain) ** 2, weights=weights)
        return bool(gain > np.sqrt(variance / n_others))

    def mean(self, row_scores: FloatArray) -> float:
        """Return the weighted mean of the rows' scores."""
        return float(np.average(row_scores, weights=self.weights))


def validation_split(data: TrainingData, seed: int) -> tuple[TrainingData, ValidationRows]:
    """Split off a random fraction of the rows; return the remaining training rows and the validation rows.

    A row that stands for several equal ones is as many units, of which some may become validation rows and others not.
    Below a weight of two it is one unit, and never on both sides.
    """
    total = float(data.weights.sum())
    if total >= MOST_UNITS:
        raise DataError(
            f"sample_weight: adds up to {total:.3g} rows, too many to draw validation rows from; "
            "scale it to the number of rows, or give X_valid"
        )
    units = np.maximum(np.floor(data.weights), 1.0).astype(np.int64)
    n_units = int(units.sum())
    if n_units < 2:
        raise DataError(
            f"X: too few rows with a value ({n_units}) to split off validation rows, which are used to choose "
            "settings; quality 'fast' needs none"
        )
    n_validation = min(max(round(FRACTION * n_units), 1), n_units - 1)
    drawn = np.random.default_rng(seed).multivariate_hypergeometric(units, n_validation, method="marginals")
    of_unit = data.weights / units
    validation, rest = of_unit * drawn, of_unit * (units - drawn)
    return data.with_weights(rest), ValidationRows(data.rows()[validation > 0], validation[validation > 0])
