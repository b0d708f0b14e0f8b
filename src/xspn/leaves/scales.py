"""Scales of real columns: increasing maps of what a column can be onto the real line, where it is taken for normal.

These are the translations of Johnson's system (Johnson, 1949), with one more for numbers that are positive but not
skewed. All are smooth, with a derivative above zero, so that a density on the line is one in the column's own units.

| scale | range | y | normal y gives |
|---|---|---|---|
| `plain` | all numbers | x | a normal distribution |
| `log` | one side of `low` | log u | a log-normal one: positive and skewed |
| `soft` | one side of `low` | unit · log(eᵘ − 1) | nearly normal, but nothing beyond `low` |
| `logit` | `low` to `high` | log((x − low) / (high − x)) | a bounded one, with one peak or two |
| `asinh` | all numbers | asinh u | heavy tails |

Here u = (x − low) / unit; a negative unit is for numbers below `low`. Numbers of a table that come in steps have a
`step`: what is drawn or filled in is rounded to it.
"""

from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import is_real_number, one_of
from xspn.core.errors import ParameterError
from xspn.leaves.events import Intervals

LARGE = 30.0  # beyond it log(eᵘ − 1) is u to the last digit
SMALLEST = 5e-324  # distance from an end in units: a quotient may be rounded to zero
LARGEST = 600.0  # exponent: means of logarithms given what is far away would be beyond all numbers
MOST_STEPS = 2.0**53  # in a number that a float holds to the step
FAR, NODES = 12.0, 1201  # of the quadrature, in deviations: errors fall exponentially with the number of nodes
_Z = np.linspace(-FAR, FAR, NODES)
_W = np.exp(-0.5 * _Z**2) / np.exp(-0.5 * _Z**2).sum()


@dataclass(frozen=True)
class Scale:
    """What a real column can be, as a map onto the real line.

    Attributes:
        kind: One of "plain", "log", "soft", "logit", "asinh".
        low: The end of the range; the center for "asinh".
        unit: The unit of u; below 0 for numbers below `low`. For "logit" the length of the range.
        step: The step in which numbers come; 0 where they come in none.
        least: The least number that is drawn; what falls below it is reflected. None for the range itself.
        most: The largest number that is drawn, likewise.

    Examples:
        >>> scale = Scale("log", low=0.0, unit=2.0)
        >>> scale.forward(np.array([2.0, -1.0, np.nan])).tolist()
        [0.0, nan, nan]
        >>> scale.inverse(np.array([0.0])).tolist()
        [2.0]
    """

    kind: str = "plain"
    low: float = 0.0
    unit: float = 1.0
    step: float = 0.0
    least: float | None = None
    most: float | None = None

    KINDS: ClassVar[tuple[str, ...]] = ("plain", "log", "soft", "logit", "asinh")

    def __post_init__(self) -> None:
        one_of("scale", self.kind, self.KINDS)
        for name in ("low", "unit", "step"):
            value = getattr(self, name)
            if not is_real_number(value) or not np.isfinite(value):
                raise ParameterError(f"scale: expected a finite number for {name}, found {value!r}")
            object.__setattr__(self, name, float(value))
        if self.unit == 0 or (self.unit < 0 and self.kind in ("logit", "asinh")):
            raise ParameterError(f"scale: expected a unit above 0 for {self.kind!r}, found {self.unit!r}")
        for name in ("least", "most"):
            value = getattr(self, name)
            if value is not None and (not is_real_number(value) or not np.isfinite(value)):
                raise ParameterError(f"scale: expected a finite number or None for {name}, found {value!r}")
        if self.step < 0:
            raise ParameterError(f"scale: expected a step of at least 0, found {self.step!r}")
        self._refuse_ends()

    def _refuse_ends(self) -> None:
        """Refuse ends at which numbers would be reflected out of the range."""
        if self.least is not None and self.most is not None:
            raise ParameterError(
                f"scale: expected a least or a most number, found both, {self.least!r} and {self.most!r}: what is "
                "reflected at one may be beyond the other"
            )
        low, high = self._range
        for name, end, first in (("least", self.least, low), ("most", self.most, high)):
            if end is not None and (not low <= end <= high or not low <= 2 * end - first <= high):
                raise ParameterError(
                    f"scale: expected a {name} number with which the range {low:g} to {high:g} is not left by "
                    f"reflection, found {end!r}"
                )

    @property
    def is_plain(self) -> bool:
        """Whether numbers stay what they are, however they are drawn."""
        return self == PLAIN

    def possible(self, x: AnyArray) -> AnyArray:
        """Mark the numbers in the range; what is missing is not marked."""
        if self.kind in ("plain", "asinh"):
            return np.asarray(~np.isnan(x))
        low, high = self._range
        return np.asarray((x > low) & (x < high))

    def side(self, x: AnyArray) -> AnyArray:
        """Return −1 for numbers below the range, 1 for those above it, 0 for all others and what is missing."""
        if self.kind in ("plain", "asinh"):
            return np.zeros(np.shape(x))
        low, high = self._range
        return np.asarray(np.where(x >= high, 1.0, np.where(x <= low, -1.0, 0.0)))

    def forward(self, x: AnyArray) -> FloatArray:
        """Return y; NaN for what is missing or out of the range."""
        if self.kind == "plain":
            return np.asarray(x, dtype=np.float64)
        if self.kind == "asinh":
            return np.asarray(np.arcsinh((x - self.low) / self.unit))
        u = self._distance(x, self.low)
        if self.kind == "logit":  # each end is a distance of its own: 1 − u would lose the digits of a small one
            return np.asarray(np.log(u) - np.log(self._distance(x, self._range[1])))
        if self.kind == "log":
            return np.asarray(np.sign(self.unit) * np.log(u))
        near = np.minimum(u, LARGE)
        return np.asarray(self.unit * np.where(u > LARGE, u, near + np.log(-np.expm1(-near))))

    def _distance(self, x: AnyArray, end: float) -> FloatArray:
        """Return the distance to an end of the range in units, above 0; NaN for what is missing or out of the range."""
        u = np.abs((x - end) / self.unit)
        return np.asarray(np.where(self.possible(x), np.maximum(u, SMALLEST), np.nan))

    def log_derivative(self, x: AnyArray) -> FloatArray:
        """Return log dy/dx; 0 for what is missing, −inf out of the range."""
        if self.kind == "plain":
            return np.zeros(np.shape(x))
        log_unit = np.log(abs(self.unit))
        if self.kind == "asinh":
            found = -np.log(np.hypot((x - self.low) / self.unit, 1.0)) - log_unit
        else:
            u = self._distance(x, self.low)
            if self.kind == "logit":
                found = -np.log(u) - np.log(self._distance(x, self._range[1])) - log_unit
            elif self.kind == "log":
                found = -np.log(u) - log_unit
            else:
                found = -np.log(-np.expm1(-u))
            found = np.where(np.isnan(found), -np.inf, found)
        return np.asarray(np.where(np.isnan(x), 0.0, found))

    def mean_log_derivative(self, mean: float, variance: float) -> float:
        """Return E[log dy/dx] where y is normal, by quadrature.

        Examples:
            >>> round(Scale("log", unit=2.0).mean_log_derivative(0.5, 1.0) + float(np.log(2.0)), 9)
            -0.5
        """
        return float(_W @ self.log_derivative(self.inverse(mean + np.sqrt(variance) * _Z)))

    def log_derivative_on_line(self, y: AnyArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return log dy/dx at a place of the line, up to a constant, and its first and second derivative by y.

        Examples:
            >>> value, first, second = Scale("log", unit=2.0).log_derivative_on_line(np.array([0.5]))
            >>> value.tolist(), first.tolist(), second.tolist()
            ([-0.5], [-1.0], [0.0])
        """
        y = np.asarray(y, dtype=np.float64)
        if self.kind in ("plain", "log"):
            first = np.full_like(y, -np.sign(self.unit) if self.kind == "log" else 0.0)
            return first * y, first, np.zeros_like(y)
        if self.kind == "asinh":
            first = -np.tanh(y)
            return -np.logaddexp(y, -y), first, first**2 - 1
        if self.kind == "logit":
            first = np.tanh(y / 2)
            return np.logaddexp(0.0, y) + np.logaddexp(0.0, -y), first, (1 - first**2) / 2
        t = y / self.unit
        return np.logaddexp(0.0, -t), -expit(-t) / self.unit, expit(t) * expit(-t) / self.unit**2

    @property
    def most_bent(self) -> float:
        """The largest value of the second derivative; above 0 there may be several peaks."""
        return {"soft": 0.25 / self.unit**2, "logit": 0.5}.get(self.kind, 0.0)

    def inverse(self, y: AnyArray) -> FloatArray:
        """Return x, always inside the range."""
        if self.kind == "plain":
            return np.asarray(y, dtype=np.float64)
        if self.kind == "asinh":
            return np.asarray(self.low + self.unit * np.sinh(np.clip(y, -700.0, 700.0)))
        if self.kind == "logit":
            x = self.low + self.unit * expit(y)
            ends = np.nextafter(self.low, np.inf), np.nextafter(self.low + self.unit, -np.inf)
        elif self.kind == "log":
            x = self.low + self.unit * np.exp(np.clip(np.sign(self.unit) * y, -700.0, 700.0))
            ends = self._ends
        else:
            z = np.asarray(y) / self.unit
            x = self.low + self.unit * (np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z))))
            ends = self._ends
        return np.asarray(np.clip(x, *ends))

    @property
    def _ends(self) -> tuple[float, float]:
        """The range of one that has one end."""
        if self.unit > 0:
            return float(np.nextafter(self.low, np.inf)), np.inf
        return -np.inf, float(np.nextafter(self.low, -np.inf))

    def image(self, numbers: Intervals) -> Intervals:
        """Return where a number is on the scale if what is drawn or filled in for it is one of a set of numbers.

        A number in steps stands for all that are rounded to it, and one above the least also for what is reflected to
        it there.

        Examples:
            >>> Scale("log").image(Intervals.of((-2.0, 1.0))).bounds
            ((-inf, 0.0),)
            >>> Scale(step=1.0).image(Intervals.of((0.0, 1.0), (2.5, 3.2))).bounds
            ((-0.5, 1.5), (2.5, 3.5))
            >>> Scale(least=0.0).image(Intervals.of((-4.0, 1.0), (2.0, 3.0))).bounds
            ((-3.0, -2.0), (-1.0, 1.0), (2.0, 3.0))
        """
        return _image(self, numbers)

    def _rounded_into(self, low: float, high: float) -> list[tuple[float, float]]:
        """Return the numbers that are written as one of an interval: in steps where the nearest is a possible one."""
        steps = self._possible_steps if self.step > 0 else None
        if steps is None:
            return [(low, high)]
        first, last = max(self._step_from(low), steps[0]), min(-self._step_from(-high), steps[1])
        least, most = (steps[0] - 0.5) * self.step, (steps[1] + 0.5) * self.step  # beyond, numbers stay what they are
        inner = [((first - 0.5) * self.step, (last + 0.5) * self.step)] if first <= last else []
        return [*inner, (low, min(high, least)), (max(low, most), high)]

    def _step_from(self, low: float) -> float:
        """Return the number of the first step that is, as it is written, not below a bound."""
        if not np.isfinite(low):
            return low
        number = float(np.ceil(low / self.step))  # of a quotient that is rounded: it may be one off
        return next(k for k in (number - 1, number, number + 1) if k == number + 1 or self._written(k) >= low)

    def _written(self, number: float) -> float:
        return float(_few_digits(np.array(number * self.step), self.step))

    @property
    def _possible_steps(self) -> tuple[float, float] | None:
        """The numbers of the first and the last step in the range; None if no step is."""
        low, high = (np.floor(end / self.step) for end in self._range)
        inside = [k + more for k in (low, high) for more in (-1.0, 0.0, 1.0, 2.0) if np.isfinite(k)]
        found = [k for k in inside if self.possible(np.array(self._written(k)))]
        if not found and np.isfinite(low) and np.isfinite(high):
            return None
        return (min(found) if np.isfinite(low) else -np.inf), (max(found) if np.isfinite(high) else np.inf)

    def _reflected_into(self, low: float, high: float) -> list[tuple[float, float]]:
        """Return the numbers that an interval has after reflection at the least or the most."""
        end = self.least if self.least is not None else self.most
        if end is None:
            return [(low, high)]
        low, high = (max(low, end), high) if self.least is not None else (low, min(high, end))
        return [(low, high), (2 * end - high, 2 * end - low)] if low <= high else []

    def _forward_interval(self, low: float, high: float) -> list[tuple[float, float]]:
        """Return an interval on the scale, without what is out of the range."""
        least, most = self._range
        if high <= least or low >= most or low > high:
            return []
        ends = self.forward(np.array([low, high]))
        return [(-np.inf if low <= least else float(ends[0]), np.inf if high >= most else float(ends[1]))]

    @property
    def _range(self) -> tuple[float, float]:
        """Where numbers can be."""
        if self.kind == "logit":
            return self.low, self.low + self.unit
        if self.kind in ("plain", "asinh"):
            return -np.inf, np.inf
        return (self.low, np.inf) if self.unit > 0 else (-np.inf, self.low)

    def presented(self, x: FloatArray) -> FloatArray:
        """Return numbers as the column has them: reflected at the ends, and rounded to steps."""
        for end, sign in ((self.least, 1.0), (self.most, -1.0)):
            if end is not None:
                x = end + sign * np.abs(x - end)
        if self.step == 0:
            return np.asarray(x)
        small = np.abs(x) < MOST_STEPS * self.step  # beyond, neighboring floats are farther apart than steps
        nearest = _few_digits(np.round(np.where(small, x, 0.0) / self.step) * self.step, self.step)
        return np.asarray(np.where(small & self.possible(nearest), nearest, x))

    def moments(self, mean: AnyArray, variance: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return the mean and the variance of x where y is normal; before rounding."""
        mean, variance = np.asarray(mean, dtype=np.float64), np.asarray(variance, dtype=np.float64)
        if self.kind == "plain":
            return mean, variance
        if self.kind in ("log", "asinh"):
            with np.errstate(over="ignore", divide="ignore"):  # squares of units, and a variance of zero
                of_u, spread = self._moments_of_unit(mean, variance)
                return np.asarray(self.low + self.unit * of_u), np.asarray(self.unit * (self.unit * spread))
        x = self.inverse(mean[..., None] + np.sqrt(variance)[..., None] * _Z)
        middle = x @ _W
        return np.asarray(middle), np.asarray((x - middle[..., None]) ** 2 @ _W)

    def _moments_of_unit(self, mean: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the mean and the variance of u, for logarithms and their like, from logarithms of their parts."""
        log_grown = variance + np.log(-np.expm1(-variance))  # of exp(variance) − 1
        if self.kind == "log":
            log_u = np.sign(self.unit) * mean + variance / 2
            return _exp(log_u), _exp(2 * log_u + log_grown)
        far = np.abs(mean)
        of_u = np.sign(mean) * _exp(far + variance / 2) * -np.expm1(-2 * far) / 2
        spread = _exp(log_grown + variance + 2 * far) * (1 + np.exp(-4 * far)) / 4 + _exp(log_grown) / 2
        return np.asarray(of_u), np.asarray(spread)

    def to_params(self) -> dict[str, Any]:
        """Return what a file stores."""
        return asdict(self)

    def __repr__(self) -> str:
        ends = {"plain": "", "logit": f", {self.low:.6g} to {self.low + self.unit:.6g}"}
        where = ends.get(self.kind, f", low={self.low:.6g}, unit={self.unit:.6g}")
        return f"Scale({self.kind!r}{where}{f', step={self.step:.6g}' if self.step else ''})"


PLAIN = Scale()


@lru_cache(maxsize=1024)  # the leaves of a column are asked for the same
def _image(scale: Scale, numbers: Intervals) -> Intervals:
    before = [own for bounds in numbers.bounds for own in scale._rounded_into(*bounds)]
    before = [own for bounds in before for own in scale._reflected_into(*bounds)]
    return Intervals.of(*(own for bounds in before for own in scale._forward_interval(*bounds)))


def _exp(x: FloatArray) -> FloatArray:
    """Return the exponential, a finite number whatever x is."""
    return np.asarray(np.exp(np.minimum(x, LARGEST)))


def _few_digits(x: FloatArray, step: float) -> FloatArray:
    """Remove the digits that rounding errors add: 0.30000000000000004 was meant to be 0.3."""
    digits = int(np.ceil(-np.log10(step))) + 6
    if not -300 < digits < 300:
        return x
    small = np.abs(x) < MOST_STEPS * step  # beyond, rounding to so many digits changes nothing, or overflows
    return np.where(small, np.round(np.where(small, x, 0.0), digits), x) + 0.0
