"""One real variable, normally distributed."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from xspn.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from xspn.core.checks import is_real_number
from xspn.core.errors import ParameterError
from xspn.core.random import NodeRandom, Rng
from xspn.data.domain import Domain
from xspn.leaves.base import Completed, Smoothing, Together, Univariate, WebForm, packed, refuse_first, register
from xspn.leaves.events import Intervals, Mark
from xspn.leaves.normal_mass import log_normal_mass, log_normal_sides

LOG_2PI = float(np.log(2 * np.pi))
TINY = float(np.finfo(np.float64).tiny)
LARGEST, SMALLEST = 1e150, 1e-150  # of means and deviations: their squares are finite, and not zero
FAR = 2.0**-20  # a variance that is a smaller part of the squared distance from the mean has lost digits to rounding


def in_range(mean: FloatArray, std: FloatArray) -> BoolArray:
    """Mark the pairs of a mean and a standard deviation that a leaf can have."""
    return np.asarray((np.abs(mean) <= LARGEST) & (std >= SMALLEST) & (std <= LARGEST))


def check_location(what: str, mean: Any, std: Any) -> None:
    """Refuse a mean and a standard deviation that no leaf can have."""
    if not is_real_number(mean) or not abs(mean) <= LARGEST:
        raise ParameterError(f"{what}: expected a finite mean of at most {LARGEST:g} in size, found {mean!r}")
    if not is_real_number(std) or not SMALLEST <= std <= LARGEST:
        raise ParameterError(
            f"{what}: expected a standard deviation above 0, from {SMALLEST:g} to {LARGEST:g}, found {std!r}"
        )


@register
class Gaussian(Univariate):
    """A normal distribution with a mean and a standard deviation.

    Examples:
        >>> Gaussian(0, mean=0, std=1).log_prob(np.array([[0.0], [np.nan]])).round(6).tolist()
        [-0.918939, 0.0]
    """

    __slots__ = ("mean", "std")
    family = "gaussian"
    only_domain = Domain.real()
    mean: float
    std: float

    def __init__(self, variable: int, mean: float, std: float) -> None:
        self._set_variables(variable)
        check_location("Gaussian", mean, std)
        self.mean, self.std = float(mean), float(std)
        self._seal()

    @property
    def n_parameters(self) -> int:
        """The number of free parameters: mean and deviation."""
        return 2

    def log_prob(self, x: FloatArray) -> FloatArray:
        """Return the log-density, or 0 where the value is missing."""
        with np.errstate(over="ignore"):  # a logarithm beyond the largest number is −inf
            z = (x[:, 0] - self.mean) / self.std
            return np.where(np.isnan(z), 0.0, -0.5 * (z * z + LOG_2PI) - np.log(self.std))

    @classmethod
    def together(cls, leaves: Sequence[Self]) -> Together:
        """Evaluate many leaves at once."""
        columns = np.array([leaf.variables[0] for leaf in leaves], dtype=np.int64)
        mean, std = (np.array([[getattr(leaf, name)] for leaf in leaves]) for name in ("mean", "std"))
        log_std = np.log(std)

        def log_prob(values: FloatArray, best: bool) -> FloatArray:
            with np.errstate(over="ignore"):  # a logarithm beyond the largest number is −inf
                z = (values.T[columns] - mean) / std
                missing = np.isnan(z)
                known = -0.5 * (np.where(missing, 0.0, z * z) + LOG_2PI) - log_std
            return known if best else np.where(missing, 0.0, known)

        return log_prob

    def mode(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Fill with the mean."""
        filled = np.where(np.isnan(x), self.mean, x)
        return filled, self.log_prob(filled)

    def sample(self, x: FloatArray, rng: Rng) -> FloatArray:
        """Fill with normal draws."""
        return np.where(np.isnan(x), rng.normal(self.mean, self.std, size=x.shape), x)

    def alternatives(self, x: FloatArray, best: bool = False) -> FloatArray:
        """Return the logarithms of the distribution function and of its complement."""
        return log_normal_sides((x - self.mean) / self.std)

    @classmethod
    def completed_together(cls, leaves: Sequence[Self]) -> Completed:
        """Complete by the means and deviations of many leaves."""
        mean, std = (np.array([getattr(leaf, name) for leaf in leaves]) for name in ("mean", "std"))

        def completed(values: FloatArray, which: IntArray, random: NodeRandom | None) -> FloatArray:
            drawn = mean[which] if random is None else random.normal(mean[which], std[which])
            return np.where(np.isnan(values), drawn, values)

        return completed

    def means(self, x: FloatArray) -> FloatArray:
        """Return each row filled with the conditional mean, which is the mode."""
        return self.mode(x)[0]

    def variances(self, x: FloatArray) -> FloatArray:
        """Return the variance where the value is missing."""
        return np.where(np.isnan(x), self.std**2, 0.0)

    def tally(self, x: FloatArray, marks: Sequence[Mark | None]) -> FloatArray:
        """Return the log-probability of the allowed intervals, from the distribution function."""
        logs = self.log_prob(x)
        if isinstance(marks[0], Intervals):
            logs = np.where(np.isnan(x[:, 0]), log_normal_mass(marks[0], np.array(self.mean), self.std), logs)
        return logs[:, None]

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Return the mean and the variance."""
        return np.array([self.mean]), np.array([[self.std**2]])

    def entropy(self) -> float:
        """Return ½ log 2πe + log σ."""
        return 0.5 * (LOG_2PI + 1) + float(np.log(self.std))

    def details(self, label: Callable[[int], str]) -> str:
        """Return mean and deviation."""
        return f"mean {self.mean:.4g}, deviation {self.std:.3g}"

    def web_form(self) -> WebForm:
        """Return mean and deviation."""
        return WebForm("normal", np.array([self.mean, self.std]))

    def statistics(self, x: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the weight, and the first two moments about this leaf's own mean (which keeps their digits)."""
        seen = ~np.isnan(x[:, 0])
        away, w = x[seen, 0] - self.mean, weights[seen]
        return np.array([w.sum(), w @ away, w @ away**2])

    def from_statistics(self, statistics: FloatArray, smoothing: float | Smoothing = 0.0) -> Self:
        """Return the weighted mean and deviation; the smoothing mass counts as squared distance 1 from the mean."""
        mass = Smoothing.of(smoothing).mass
        weight, first, second = statistics
        if weight == 0:
            return self
        shift = first / weight
        variance = (max(second - weight * shift**2, 0.0) + mass) / (weight + mass)
        if variance <= 0:
            raise ParameterError(
                f"Gaussian: all values of variable {self._variables[0]} are the same, so the standard deviation is 0; "
                "use a smoothing above 0"
            )
        return type(self)(self._variables[0], mean=self.mean + shift, std=float(np.sqrt(variance)))

    def recentered(self, statistics: FloatArray) -> Self:
        """Return the leaf about the rows' mean if that is far off."""
        weight, first, second = statistics
        if not second - first * first / max(weight, TINY) < FAR * second:
            return self
        return type(self)(self._variables[0], mean=self.mean + first / weight, std=self.std)

    def restate(self, statistics: FloatArray, origin: Self) -> FloatArray:
        """Move the moments from the other leaf's mean to this one's."""
        weight, first, second = statistics
        shift = origin.mean - self.mean
        return np.array([weight, first + weight * shift, second + 2 * shift * first + weight * shift**2])

    def sensitivity(self, x: FloatArray) -> FloatArray:
        """Return what the value says of the mean and of the variance: z, and (z² − 1) / √2."""
        z = (x[:, 0] - self.mean) / self.std
        return np.asarray(np.nan_to_num(np.column_stack([z, (z * z - 1) / np.sqrt(2)])))

    def to_params(self) -> dict[str, Any]:
        """Return mean and deviation."""
        return {"mean": self.mean, "std": self.std}

    @classmethod
    def from_params(cls, variables: tuple[int, ...], params: dict[str, Any]) -> Self:
        """Build the leaf."""
        return cls(cls._only(variables), mean=params["mean"], std=params["std"])

    @classmethod
    def pack(cls, leaves: Sequence[Self]) -> dict[str, AnyArray]:
        """Return all means and all deviations."""
        return {name: np.array([getattr(leaf, name) for leaf in leaves]) for name in ("mean", "std")}

    @classmethod
    def unpack(cls, variables: Sequence[tuple[int, ...]], arrays: Mapping[str, AnyArray]) -> list[Self]:
        """Build the leaves."""
        mean, std = (packed(arrays, name, len(variables)) for name in ("mean", "std"))
        refuse_first(~in_range(mean, std), lambda i: cls(variables[i][0], float(mean[i]), float(std[i])))
        return cls._in_bulk(variables, mean=mean.tolist(), std=std.tolist())

    @classmethod
    def example(cls, rng: np.random.Generator, first_variable: int = 0) -> Self:
        """Return a random normal distribution."""
        return cls(first_variable, mean=rng.normal(), std=0.2 + rng.random())

    def __repr__(self) -> str:
        return f"Gaussian({self._variables[0]}, mean={self.mean:.6g}, std={self.std:.6g})"
