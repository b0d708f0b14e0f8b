"""Exchangeable real variables: jointly normal with one mean, one variance and one correlation."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.core.checks import is_real_number
from xspn.core.errors import ParameterError, StructureError
from xspn.core.random import Rng
from xspn.data.domain import Domain
from xspn.graph.nodes import Node, Scope
from xspn.leaves.base import Leaf, Smoothing, WebForm, packed, refuse_first, register, sizes_of
from xspn.leaves.events import Intervals, Mark, distinct_rows
from xspn.leaves.gaussian import FAR, LOG_2PI, TINY, Gaussian, check_location, in_range
from xspn.leaves.laws import law_of_numbers
from xspn.leaves.normal_mass import log_box_mass, log_one_factor_mass, log_sides_by_precision

ROUNDING = 4 * float(np.finfo(np.float64).eps)  # per variable, of the smaller eigenvalue beside the larger one


def _possible(n: Any, correlation: Any) -> Any:
    """Whether n variables can all have this correlation with each other, and not by a rounding error alone."""
    return (correlation < 1) & (1 + (n - 1) * correlation > n * ROUNDING)


@register
class ExchangeableGaussian(Leaf):
    """A normal distribution of compound symmetry: three parameters for any number of variables.

    The covariance matrix σ²[(1 − ρ)I + ρJ] has two eigenvalues: a = σ²(1 − ρ) for differences between variables, and
    b = σ²(1 + (n − 1)ρ) for their mean. Whatever is asked comes down to these two, so no matrix is ever inverted, and
    marginals and conditionals are of the same family.

    Args:
        variables: At least two variables.
        mean: The mean of each variable.
        std: The standard deviation of each variable.
        correlation: That of any two variables, above −1/(n − 1) and below 1.

    Examples:
        >>> leaf = ExchangeableGaussian([0, 1], mean=0, std=1, correlation=0.5)
        >>> leaf.log_prob(np.array([[0.0, 0.0], [0.0, np.nan]])).round(6).tolist()
        [-1.694036, -0.918939]
        >>> leaf.mode(np.array([[2.0, np.nan]]))[0].tolist()
        [[2.0, 1.0]]
    """

    __slots__ = ("correlation", "mean", "std")
    family = "exchangeable_gaussian"
    only_domain = Domain.real()
    mean: float
    std: float
    correlation: float

    def __init__(self, variables: Iterable[int], mean: float, std: float, correlation: float) -> None:
        self._set_variables(variables)
        n = len(self._variables)
        if n < 2:
            raise StructureError("ExchangeableGaussian: expected at least two variables; one alone is a Gaussian leaf")
        check_location("ExchangeableGaussian", mean, std)
        if not is_real_number(correlation) or not np.isfinite(correlation):
            raise ParameterError(f"ExchangeableGaussian: expected a finite correlation, found {correlation!r}")
        if not _possible(n, correlation):
            raise ParameterError(
                f"ExchangeableGaussian: {n} variables need a correlation above {-1 / (n - 1):.4g} and below 1, "
                f"found {correlation!r}"
            )
        self.mean, self.std, self.correlation = float(mean), float(std), float(correlation)
        self._seal()

    @property
    def n_parameters(self) -> int:
        """The number of free parameters: mean, deviation and correlation."""
        return 3

    @property
    def _apart(self) -> float:
        """The variance of differences, a."""
        return self.std**2 * (1 - self.correlation)

    @property
    def _shared(self) -> float:
        """The covariance of two variables."""
        return self.std**2 * self.correlation

    def _given(self, x: FloatArray) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
        """Return, for each row: how many are observed, their sum about the mean, and what that makes of the others.

        The missing variables have mean `self.mean + shift` and covariance `shared` with each other (beside a on the
        diagonal).
        """
        away = np.where(np.isnan(x), 0.0, x - self.mean)
        k = (~np.isnan(x)).sum(axis=1)
        with np.errstate(over="ignore"):
            total = away.sum(axis=1)
        fraction = self._shared / (self._apart + k * self._shared)  # of the eigenvalue b for k variables
        return k, total, fraction * total, fraction * self._apart  # in an order without products of two variances

    def log_prob(self, x: FloatArray) -> FloatArray:
        """Return the log-density of the observed values: any k of the variables have the same distribution."""
        k, total, _, _ = self._given(x)
        of_mean = self._apart + k * self._shared
        with np.errstate(over="ignore", invalid="ignore"):  # a logarithm beyond the largest number is −inf
            squares = np.where(np.isnan(x), 0.0, (x - self.mean) ** 2).sum(axis=1)
            mean_part = total**2 / np.maximum(k, 1)
            quadratic = (squares - mean_part) / self._apart + mean_part / of_mean
            quadratic = np.where(np.isnan(quadratic), np.inf, quadratic)
        log_determinant = (k - 1) * np.log(self._apart) + np.log(of_mean)
        return np.where(k > 0, -0.5 * (k * LOG_2PI + log_determinant + quadratic), 0.0)

    def mode(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Fill with the conditional mean."""
        _, _, shift, _ = self._given(x)
        filled = np.where(np.isnan(x), self.mean + shift[:, None], x)
        return filled, self.log_prob(filled)

    def sample(self, x: FloatArray, rng: Rng) -> FloatArray:
        """Draw differences and the mean of the missing values apart: they are independent."""
        _, _, shift, shared = self._given(x)
        missing = np.isnan(x)
        m = np.maximum(missing.sum(axis=1), 1)
        noise = rng.normal(size=x.shape)
        noise -= (np.where(missing, noise, 0.0).sum(axis=1) / m)[:, None]
        # A row without missing values has nothing to draw; as one of several its variance here might be below 0.
        of_mean = np.where(missing.any(axis=1), self._apart + m * shared, 0.0)
        common = np.sqrt(np.maximum(of_mean, 0.0) / m) * rng.normal(size=len(x))
        return np.where(missing, self.mean + (shift + common)[:, None] + np.sqrt(self._apart) * noise, x)

    def marginalize(self, keep: Scope) -> Node | None:
        """Return the same distribution over fewer variables."""
        return self._of([v for v in self._variables if v in keep], self.mean, self._shared)

    def condition(self, x: FloatArray) -> tuple[Node | None, float]:
        """Return the missing variables' distribution, which is of the same family, and the log-density of the rest."""
        _, _, shift, shared = self._given(x[None, :])
        rest = [v for v, value in zip(self._variables, x, strict=True) if np.isnan(value)]
        log_evidence = float(self.log_prob(x[None, :])[0])
        return self._of(rest, self.mean + float(shift[0]), float(shared[0])), log_evidence

    def _of(self, variables: list[int], mean: float, shared: float) -> Node | None:
        """Return the leaf over these variables with differences as here, and another mean and covariance."""
        variance = self._apart + shared
        if not variables:
            return None
        if len(variables) == 1:
            return Gaussian(variables[0], mean=mean, std=float(np.sqrt(variance)))
        return ExchangeableGaussian(variables, mean, float(np.sqrt(variance)), shared / variance)

    def tally(self, x: FloatArray, marks: Sequence[Mark | None]) -> FloatArray:
        """Return the log-probability of intervals: given the common part, the variables are independent.

        A negative correlation has no common part; it is integrated as any other normal distribution, if it can be.
        """
        distinct, which = distinct_rows(x)
        logs = self.log_prob(distinct)
        _, _, shifts, covariances = self._given(distinct)
        for place, (row, shift, shared) in enumerate(zip(distinct, shifts.tolist(), covariances.tolist(), strict=True)):
            sets = [
                own for own, value in zip(marks, row, strict=True) if isinstance(own, Intervals) and np.isnan(value)
            ]
            n = len(sets)
            mean = np.full(n, self.mean + shift)
            if n > 1 and shared >= 0:
                loading, std = np.full(n, np.sqrt(shared)), np.full(n, np.sqrt(self._apart))
                logs[place] += log_one_factor_mass(mean, loading, std, sets)
            elif n:
                covariance = self._apart * np.eye(n) + shared
                logs[place] += log_box_mass(type(self).__name__, mean, covariance, sets)
        return logs[which, None]

    def alternatives(self, x: FloatArray, best: bool = False) -> FloatArray:
        """Return what the conditional distribution functions give: K = (I − shared / b · J) / a."""
        k, _, shift, _ = self._given(x)
        precision = (1 - self._shared / (self._apart + k * self._shared)) / self._apart
        score = (x - self.mean - shift[:, None]) / self._apart
        return log_sides_by_precision(self.log_prob(x), x, score, np.broadcast_to(precision[:, None], x.shape))

    def means(self, x: FloatArray) -> FloatArray:
        """Return each row filled with the conditional mean, which is the mode."""
        return self.mode(x)[0]

    def variances(self, x: FloatArray) -> FloatArray:
        """Return the variance of any missing variable given the observed ones."""
        _, _, _, shared = self._given(x)
        return np.where(np.isnan(x), (self._apart + shared)[:, None], 0.0)

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Return the mean and the covariance."""
        n = len(self._variables)
        return np.full(n, self.mean), self._apart * np.eye(n) + self._shared

    def law(self, names: Sequence[str], label: Callable[[int], str]) -> str:
        """Say what the numbers are like, and how strongly they go together."""
        return law_of_numbers(self.mean, self.std, self.correlation, self.dependence())

    def entropy(self) -> float:
        """Return that of independent normal variables less the total correlation."""
        variances = np.diag(self.moments()[1])
        return float(0.5 * (LOG_2PI + 1 + np.log(variances)).sum()) - self.dependence()

    def dependence(self) -> float:
        """Return −½ log of the correlation matrix's determinant."""
        n = len(self._variables)
        return -0.5 * float((n - 1) * np.log1p(-self.correlation) + np.log1p((n - 1) * self.correlation))

    def interchangeable(self) -> list[IntArray]:
        """Return all positions."""
        return [np.arange(len(self._variables))]

    def web_form(self) -> WebForm:
        """Return the three parameters."""
        return WebForm("alike", np.array([self.mean, self.std, self.correlation]))

    def statistics(self, x: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the weight, and the expected sum, sum of squares and squared sum about this leaf's own mean."""
        some = ~np.isnan(x).all(axis=1)
        w = weights[some]
        _, sums, squares, squared_sums = self.row_statistics(x[some])
        return np.array([w.sum(), w @ sums, w @ squares, w @ squared_sums])

    def row_statistics(self, x: FloatArray) -> FloatArray:
        """Return what `statistics` adds up, for each row by itself: (4, rows); 0 where nothing is observed."""
        k, total, shift, shared = self._given(x)
        m = len(self._variables) - k
        squares = np.where(np.isnan(x), 0.0, (x - self.mean) ** 2).sum(axis=1)
        sums = total + m * shift
        squares = squares + m * (self._apart + shared + shift**2)
        squared_sums = sums**2 + m * (self._apart + m * shared)
        return np.where(k > 0, np.array([np.ones(len(x)), sums, squares, squared_sums]), 0.0)

    def from_statistics(self, statistics: FloatArray, smoothing: float | Smoothing = 0.0) -> Self:
        """Return the maximum-likelihood leaf; the smoothing mass counts as variance 1 in every direction."""
        mass = Smoothing.of(smoothing).mass
        weight, first, squares, squared_sums = (float(value) for value in statistics)
        if weight == 0:
            return self
        n = len(self._variables)
        shift = first / (weight * n)
        squares += n * weight * shift**2 - 2 * shift * first
        along_mean = max((squared_sums - 2 * n * shift * first + weight * (n * shift) ** 2) / n, 0.0)
        b = (along_mean + mass) / (weight + mass)
        a = (max(squares - along_mean, 0.0) / (n - 1) + mass) / (weight + mass)
        if min(a, b) <= 4 * n * ROUNDING * max(a, b):
            raise ParameterError(
                f"ExchangeableGaussian over {self.scope}: the values have no variance in some direction; "
                "use a smoothing above 0"
            )
        shared = (b - a) / n
        variance = a + shared
        return type(self)(self._variables, self.mean + shift, float(np.sqrt(variance)), shared / variance)

    def recentered(self, statistics: FloatArray) -> Self:
        """Return the leaf about the mean of all values if that is far off."""
        weight, first, squares, _ = (float(value) for value in statistics)
        total = weight * len(self._variables)
        if not squares - first * first / max(total, TINY) < FAR * squares:
            return self
        return type(self)(self._variables, self.mean + first / total, self.std, self.correlation)

    def restate(self, statistics: FloatArray, origin: Self) -> FloatArray:
        """Move the sums from the other leaf's mean to this one's."""
        weight, first, squares, squared_sums = statistics
        n, shift = len(self._variables), origin.mean - self.mean
        return np.array(
            [
                weight,
                first + n * weight * shift,
                squares + 2 * shift * first + n * weight * shift**2,
                squared_sums + 2 * n * shift * first + weight * (n * shift) ** 2,
            ]
        )

    def sensitivity(self, x: FloatArray) -> FloatArray:
        """Return what the row says of the mean, of the variance along it, and of that of differences."""
        n = len(self._variables)
        k, total, shift, shared = self._given(x)
        m, of_mean = n - k, n * (self._apart + n * self._shared)
        squares = np.where(np.isnan(x), 0.0, (x - self.mean) ** 2).sum(axis=1) + m * (self._apart + shared + shift**2)
        sums = total + m * shift
        squared = sums**2 + m * (self._apart + m * shared)
        apart = (squares - squared / n) / self._apart
        along = (squared / of_mean - 1) / np.sqrt(2)
        found = np.column_stack([sums / np.sqrt(of_mean), along, (apart - (n - 1)) / np.sqrt(2 * (n - 1))])
        return np.where(k[:, None] > 0, found, 0.0)

    def to_params(self) -> dict[str, Any]:
        """Return the three parameters."""
        return {"mean": self.mean, "std": self.std, "correlation": self.correlation}

    @classmethod
    def from_params(cls, variables: tuple[int, ...], params: dict[str, Any]) -> Self:
        """Build the leaf."""
        return cls(variables, mean=params["mean"], std=params["std"], correlation=params["correlation"])

    @classmethod
    def pack(cls, leaves: Sequence[Self]) -> dict[str, AnyArray]:
        """Return each of the three parameters of all leaves."""
        return {name: np.array([getattr(leaf, name) for leaf in leaves]) for name in ("mean", "std", "correlation")}

    @classmethod
    def unpack(cls, variables: Sequence[tuple[int, ...]], arrays: Mapping[str, AnyArray]) -> list[Self]:
        """Build the leaves."""
        numbers = {name: packed(arrays, name, len(variables)) for name in ("mean", "std", "correlation")}
        sizes = sizes_of(variables)
        good = (sizes > 1) & in_range(numbers["mean"], numbers["std"]) & _possible(sizes, numbers["correlation"])
        refuse_first(~good, lambda i: cls(variables[i], **{name: float(own[i]) for name, own in numbers.items()}))
        return cls._in_bulk(variables, **{name: own.tolist() for name, own in numbers.items()})

    @classmethod
    def example(cls, rng: np.random.Generator, first_variable: int = 0) -> Self:
        """Return two to five variables with any possible correlation."""
        n = int(rng.integers(2, 6))
        lowest = -1 / (n - 1)
        correlation = lowest + (1 - lowest) * float(rng.uniform(0.05, 0.95))
        return cls(
            range(first_variable, first_variable + n), float(rng.normal()), 0.2 + float(rng.random()), correlation
        )

    def __repr__(self) -> str:
        return (
            f"ExchangeableGaussian over {self.scope}, mean={self.mean:.6g}, std={self.std:.6g}, "
            f"correlation={self.correlation:.6g}"
        )
