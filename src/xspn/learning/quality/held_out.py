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

    def mean(self, row_scores: FloatArray) -> float:
        """Return the weighted mean of what rows score."""
        return float(np.average(row_scores, weights=self.weights))


def keep_apart(data: TrainingData, seed: int) -> tuple[TrainingData, HeldOut]:
    """Return the data without a share of the rows, and these rows.

    Of a row that stands for several equal ones, some may be kept apart and others not.
    """
    rng = np.random.default_rng(seed)
    whole = np.floor(data.weights)
    apart = rng.binomial(whole.astype(np.int64), SHARE).astype(np.float64)
    fractions = data.weights - whole
    apart += np.where(rng.random(len(fractions)) < SHARE, fractions, 0.0)
    rest = data.weights - apart
    if not (apart > 0).any() or not (rest > 0).any():
        raise DataError(
            f"X: too few rows ({len(data.weights)}) to keep some apart, by which settings could be chosen; use "
            'quality="fast", or give X_valid'
        )
    return data.with_weights(rest), HeldOut(data.rows()[apart > 0], apart[apart > 0])
