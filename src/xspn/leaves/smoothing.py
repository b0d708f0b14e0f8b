"""Laplace smoothing: how much pseudo-mass is added to counts, and where it goes."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.core.checks import smoothing_mass
from xspn.core.errors import ParameterError
from xspn.core.logspace import log_binomials

Spread = Literal["assignments", "values"]


@dataclass(frozen=True)
class Smoothing:
    """A mass of pseudo-rows.

    A Bernoulli or categorical leaf adds `mass` to the count of each of its values. An exchangeable leaf adds `mass`
    in all, spread uniformly over

    - ``"assignments"``: class t gets mass · |S_t| / |all assignments|, as the program of the paper does;
    - ``"values"``: each value t of the statistic gets mass / |T|, which trusts sparse counts less.
    """

    mass: float = 0.0
    spread: Spread = "assignments"

    def __post_init__(self) -> None:
        object.__setattr__(self, "mass", smoothing_mass(self.mass))
        if self.spread not in get_args(Spread):
            raise ParameterError(f"smoothing spread: expected one of {get_args(Spread)}, found {self.spread!r}")

    def of_counts(self, n: int) -> FloatArray:
        """Return the mass that each count of ones among n bits gets: (n + 1,)."""
        if self.spread == "assignments":
            return np.asarray(self.mass * np.exp(log_binomials(n) - n * np.log(2.0)))
        return np.full(n + 1, self.mass / (n + 1))

    @classmethod
    def of(cls, smoothing: "float | Smoothing") -> "Smoothing":
        """Return a smoothing for a plain number, or the smoothing itself."""
        return smoothing if isinstance(smoothing, Smoothing) else cls(smoothing)
