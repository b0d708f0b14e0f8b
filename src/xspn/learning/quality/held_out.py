"""Rows kept apart, to choose by."""

from dataclasses import dataclass

import numpy as np

from xspn._core.arrays import AnyArray, FloatArray
from xspn._core.errors import DataError
from xspn.circuit.graph import Graph
from xspn.engine import Automatic, compile_graph
from xspn.learning.source import TrainingData

SHARE = 0.15


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Rows that nothing was learned from, with their weights."""

    rows: AnyArray
    weights: FloatArray

    @classmethod
    def of(cls, rows: AnyArray) -> "HeldOut":
        """Return rows that count once each."""
        return cls(rows, np.ones(len(rows)))

    def row_scores(self, graph: Graph) -> FloatArray:
        """Return the log-likelihood of each row."""
        return Automatic(compile_graph(graph)).log_likelihood(self.rows)

    def score(self, graph: Graph) -> float:
        """Return the mean log-likelihood."""
        return self.mean(self.row_scores(graph))

    def clearly_prefers(self, larger: Graph, smaller: Graph) -> bool:
        """Whether the larger of two models is better by more than a standard error of the difference.

        Less is noise, for which nobody wants to pay in parameters.
        """
        gains, n_others = self.row_scores(larger) - self.row_scores(smaller), self.weights.sum() - 1
        gain = self.mean(gains)
        variance = self.mean((gains - gain) ** 2)
        return bool(n_others > 0 and gain > np.sqrt(variance / n_others))

    def mean(self, row_scores: FloatArray) -> float:
        """Return the weighted mean of what rows score."""
        return float(np.average(row_scores, weights=self.weights))


def keep_apart(data: TrainingData, seed: int) -> tuple[TrainingData, HeldOut]:
    """Return the data without a share of the rows, and these rows.

    A row that stands for several equal ones is as many units, of which some may be kept apart and others not; what its
    weight has beyond a whole number is one more.
    """
    whole = np.floor(data.weights)
    fractions = data.weights - whole
    units = np.concatenate([whole, fractions > 0]).astype(np.int64)
    n_units = int(units.sum())
    if n_units < 2:
        raise DataError(
            f"X: too few rows with a value ({n_units}) to keep some apart, by which settings could be chosen; "
            "quality 'fast' needs none"
        )
    n_apart = min(max(round(SHARE * n_units), 1), n_units - 1)
    drawn = np.random.default_rng(seed).multivariate_hypergeometric(units, n_apart, method="marginals")
    of_whole, of_fractions = np.split(drawn, 2)
    apart = of_whole + of_fractions * fractions
    return data.with_weights(data.weights - apart), HeldOut(data.rows()[apart > 0], apart[apart > 0])
