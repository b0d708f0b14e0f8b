"""One real variable with a single value, as exactly as it was written down."""

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from xspn.core.arrays import FloatArray, IntArray
from xspn.core.checks import is_real_number
from xspn.core.errors import ParameterError
from xspn.core.random import NodeRandom, Rng
from xspn.data.domain import Domain
from xspn.leaves.base import Completed, Picture, Smoothing, Univariate, WebForm, register
from xspn.leaves.events import Intervals, Mark


@register
class Atom(Univariate):
    """All mass on a value, spread evenly over the numbers that are rounded to it.

    So its mass is a density in the column's units, which can be compared with those of other leaves: a column that is
    zero in most rows is a sum of an atom and another leaf. What is drawn is the value itself.

    Examples:
        >>> Atom(0, value=0.0, width=0.1).log_prob(np.array([[0.0], [0.1], [np.nan]])).round(6).tolist()
        [2.302585, -inf, 0.0]
    """

    __slots__ = ("value", "width")
    family = "atom"
    only_domain = Domain.real()
    value: float
    width: float

    def __init__(self, variable: int, value: float, width: float) -> None:
        self._set_variables(variable)
        if not is_real_number(value) or not np.isfinite(value):
            raise ParameterError(f"Atom: expected a finite value, found {value!r}")
        if not is_real_number(width) or not 0 < width < np.inf:
            raise ParameterError(f"Atom: expected a finite width above 0, found {width!r}")
        self.value, self.width = float(value), float(width)
        self._seal()

    @property
    def n_parameters(self) -> int:
        """The number of free parameters: the value; the width is that of rounding."""
        return 1

    def log_prob(self, x: FloatArray) -> FloatArray:
        """Return the log-density of what is rounded to the value, −inf elsewhere, 0 where the value is missing."""
        near = np.abs(x[:, 0] - self.value) <= self.width / 2
        return np.where(np.isnan(x[:, 0]), 0.0, np.where(near, -np.log(self.width), -np.inf))

    def mode(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Fill with the value."""
        filled = np.where(np.isnan(x), self.value, x)
        return filled, self.log_prob(filled)

    def sample(self, x: FloatArray, rng: Rng) -> FloatArray:
        """Fill with the value: numbers that differ from it by less than rounding are written like it."""
        return np.where(np.isnan(x), self.value, x)

    @classmethod
    def completed_together(cls, leaves: Sequence[Self]) -> Completed:
        """Complete by the values of many leaves."""
        value = np.array([leaf.value for leaf in leaves])

        def completed(values: FloatArray, which: IntArray, random: NodeRandom | None) -> FloatArray:
            return np.where(np.isnan(values), value[which], values)

        return completed

    def tally(self, x: FloatArray, marks: Sequence[Mark | None]) -> FloatArray:
        """Return whether intervals have the value, which stands for all numbers that are rounded to it."""
        logs, asked = self.log_prob(x), marks[0]
        if isinstance(asked, Intervals):
            logs = np.where(np.isnan(x[:, 0]), 0.0 if asked.contains(self.value) else -np.inf, logs)
        return logs[:, None]

    def alternatives(self, x: FloatArray, best: bool = False) -> FloatArray:
        """Return on which side all mass is; numbers that are rounded to the value are equal to it."""
        away = np.where(np.isnan(x), -np.inf, self.value - x)[:, :, None]
        near = np.abs(away) <= self.width / 2
        sides = np.concatenate([(away < 0) & ~near, near, (away > 0) & ~near], axis=2)
        return np.where(sides, 0.0, -np.inf)

    def means(self, x: FloatArray) -> FloatArray:
        """Return each row filled with the value."""
        return np.where(np.isnan(x), self.value, x)

    def variances(self, x: FloatArray) -> FloatArray:
        """Return the variance of a rounding error where the value is missing."""
        return np.where(np.isnan(x), self.width**2 / 12, 0.0)

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Return the value, and the variance of a rounding error."""
        return np.array([self.value]), np.array([[self.width**2 / 12]])

    def entropy(self) -> float:
        """Return the logarithm of the width, over which the mass is spread evenly."""
        return float(np.log(self.width))

    def details(self, label: Callable[[int], str]) -> str:
        """Return the value."""
        return f"always {self.value:.6g}"

    def picture(self) -> Picture:
        """Return a bell, as for all real variables."""
        return "bell", ()

    def web_form(self) -> WebForm:
        """Return value and width."""
        return WebForm("atom", np.array([self.value, self.width]))

    def statistics(self, x: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the weight of the rows."""
        return np.array([weights[~np.isnan(x[:, 0])].sum()])

    def from_statistics(self, statistics: FloatArray, smoothing: float | Smoothing = 0.0) -> Self:
        """Return the leaf itself: its value is not fitted."""
        return self

    def to_params(self) -> dict[str, Any]:
        """Return value and width."""
        return {"value": self.value, "width": self.width}

    @classmethod
    def from_params(cls, variables: tuple[int, ...], params: dict[str, Any]) -> Self:
        """Build the leaf."""
        return cls(cls._only(variables), value=params["value"], width=params["width"])

    @classmethod
    def example(cls, rng: np.random.Generator, first_variable: int = 0) -> Self:
        """Return a random value, rounded more or less."""
        return cls(first_variable, value=float(rng.normal()), width=0.2 + float(rng.random()))

    def __repr__(self) -> str:
        return f"Atom({self._variables[0]}, value={self.value:.6g}, width={self.width:.6g})"
