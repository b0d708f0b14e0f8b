"""Continuous mixtures: components decoded from points of a latent space, integrated by quasi-Monte Carlo."""

from xspn.learning.continuous.fit import (
    ContinuousOptions,
    FittedContinuous,
    circuit_of,
    fit_continuous,
    row_scores,
)
from xspn.learning.continuous.indicators import BlockIndicators

__all__ = [
    "BlockIndicators",
    "ContinuousOptions",
    "FittedContinuous",
    "circuit_of",
    "fit_continuous",
    "row_scores",
]
