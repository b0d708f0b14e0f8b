"""One binary variable."""

from collections.abc import Mapping, Sequence
from math import inf, log
from typing import Any, Self

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import is_real_number
from xspn.core.errors import ParameterError
from xspn.data.domain import Domain
from xspn.graph.nodes import Node
from xspn.leaves.base import packed, refuse_first, register
from xspn.leaves.smoothing import Smoothing
from xspn.leaves.univariate import Univariate


@register
class Bernoulli(Univariate):
    """P(X = 1) = p. With p = 0 or 1 it is an indicator of one value.

    Examples:
        >>> leaf = Bernoulli(0, p=0.4)
        >>> np.exp(leaf.log_prob(np.array([[1.0], [0.0], [np.nan]]))).round(12).tolist()
        [0.4, 0.6, 1.0]
        >>> leaf.from_statistics(np.array([2.0, 6.0]), smoothing=1)  # two zeros and six ones
        Bernoulli(0, p=0.7)
    """

    __slots__ = ("p",)
    family = "bernoulli"
    only_domain = Domain.binary()
    p: float

    def __init__(self, variable: int, p: float) -> None:
        self._set_variables(variable)
        if not is_real_number(p) or not 0 <= p <= 1:
            raise ParameterError(f"Bernoulli: expected a probability p from 0 to 1, found {p!r}")
        object.__setattr__(self, "p", float(p))
        self._seal()

    @property
    def log_p(self) -> tuple[float, float]:
        """The log-probabilities of 0 and of 1."""
        return (log(1 - self.p) if self.p < 1 else -inf, log(self.p) if self.p > 0 else -inf)

    @property
    def n_parameters(self) -> int:
        """The number of free parameters: one, or none for an indicator."""
        return 1 if 0 < self.p < 1 else 0

    def log_prob(self, x: FloatArray) -> FloatArray:
        """Return log p, log(1 − p), or 0 where the value is missing."""
        value, (zero, one) = x[:, 0], self.log_p
        return np.where(value == 1, one, np.where(value == 0, zero, 0.0))

    def condition(self, x: FloatArray) -> tuple[Node | None, float]:
        """Return the leaf itself if its variable is missing, otherwise the value's log-probability."""
        value = x[0]
        return (self, 0.0) if value != value else (None, self.log_p[1 if value == 1 else 0])

    def mode(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Fill with the likelier value; 0 in case of a tie."""
        filled = np.where(np.isnan(x), float(self.p > 0.5), x)
        return filled, self.log_prob(filled)

    def sample(self, x: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Fill with 1 with probability p."""
        return np.where(np.isnan(x), (rng.random(x.shape) < self.p).astype(np.float64), x)

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Return p and p(1 − p)."""
        return np.array([self.p]), np.array([[self.p * (1 - self.p)]])

    def supports(self) -> tuple[frozenset[int] | None, ...]:
        """Return the values whose probability is not 0."""
        return (frozenset(value for value in (0, 1) if self.log_p[value] > -inf),)

    def count_distribution(self) -> FloatArray:
        """Return (1 − p, p)."""
        return np.array([1 - self.p, self.p])

    def statistics(self, x: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the weight of zeros and of ones."""
        value = x[:, 0]
        return np.array([weights[value == 0].sum(), weights[value == 1].sum()])

    def from_statistics(self, statistics: FloatArray, smoothing: float | Smoothing = 0.0) -> Self:
        """Return p = (n₁ + α) / (n + 2α)."""
        mass = Smoothing.of(smoothing).mass
        total = statistics.sum() + 2 * mass
        if total == 0:
            return self
        return type(self)(self._variables[0], p=(statistics[1] + mass) / total)

    def to_params(self) -> dict[str, Any]:
        """Return p."""
        return {"p": self.p}

    @classmethod
    def from_params(cls, variables: tuple[int, ...], params: dict[str, Any]) -> Self:
        """Build the leaf."""
        return cls(cls._only(variables), p=params["p"])

    @classmethod
    def pack(cls, leaves: Sequence[Self]) -> dict[str, AnyArray]:
        """Return all p in one array."""
        return {"p": np.array([leaf.p for leaf in leaves], dtype=np.float64)}

    @classmethod
    def unpack(cls, variables: Sequence[tuple[int, ...]], arrays: Mapping[str, AnyArray]) -> list[Self]:
        """Build the leaves."""
        p = packed(arrays, "p", len(variables))
        refuse_first(~((p >= 0) & (p <= 1)), lambda i: cls.from_params(variables[i], {"p": float(p[i])}))
        return cls._in_bulk(variables, p=p.tolist())

    @classmethod
    def example(cls, rng: np.random.Generator, first_variable: int = 0) -> Self:
        """Return a random Bernoulli leaf, sometimes an indicator."""
        return cls(first_variable, p=float(rng.choice([0.0, 1.0, rng.random(), rng.random()])))

    def __repr__(self) -> str:
        return f"Bernoulli({self._variables[0]}, p={self.p:.6g})"
