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
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import is_real_number, one_of
from xspn.core.errors import ParameterError
from xspn.leaves.events import Intervals

LARGE = 30.0  # beyond it log(eᵘ − 1) is u to the last digit
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

    @property
    def is_plain(self) -> bool:
        """Whether numbers stay what they are, however they are drawn."""
        return self == PLAIN

    def possible(self, x: AnyArray) -> AnyArray:
        """Mark the numbers in the range; what is missing is not marked."""
        if self.kind in ("plain", "asinh"):
            return np.asarray(~np.isnan(x))
        u = (x - self.low) / self.unit
        return np.asarray((u > 0) & (u < 1) if self.kind == "logit" else u > 0)

    def forward(self, x: AnyArray) -> FloatArray:
        """Return y; NaN for what is missing or out of the range."""
        if self.kind == "plain":
            return np.asarray(x, dtype=np.float64)
        u = (x - self.low) / self.unit
        if self.kind == "asinh":
            return np.asarray(np.arcsinh(u))
        u = np.where(self.possible(x), u, np.nan)
        if self.kind == "logit":
            return np.asarray(np.log(u) - np.log1p(-u))
        if self.kind == "log":
            return np.asarray(np.sign(self.unit) * np.log(u))
        near = np.minimum(u, LARGE)
        return np.asarray(self.unit * np.where(u > LARGE, u, near + np.log(-np.expm1(-near))))

    def log_slope(self, x: AnyArray) -> FloatArray:
        """Return log dy/dx; 0 for what is missing, −inf out of the range."""
        if self.kind == "plain":
            return np.zeros(np.shape(x))
        u = (x - self.low) / self.unit
        if self.kind == "asinh":
            found = -0.5 * np.log1p(u * u) - np.log(self.unit)
        else:
            inside = self.possible(x)
            u = np.where(inside, u, 0.5)
            if self.kind == "logit":
                found = -np.log(u) - np.log1p(-u) - np.log(self.unit)
            elif self.kind == "log":
                found = -np.log(u) - np.log(abs(self.unit))
            else:
                found = -np.log(-np.expm1(-u))
            found = np.where(inside, found, -np.inf)
        return np.asarray(np.where(np.isnan(x), 0.0, found))

    def log_slope_on_line(self, y: AnyArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return log dy/dx at a place of the line, up to a constant, and its first and second derivative by y.

        Examples:
            >>> value, first, second = Scale("log", unit=2.0).log_slope_on_line(np.array([0.5]))
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
            x = self.low + self.unit * np.logaddexp(0.0, np.asarray(y) / self.unit)
            ends = self._ends
        return np.asarray(np.clip(x, *ends))

    @property
    def _ends(self) -> tuple[float, float]:
        """The range of one that has one end."""
        if self.unit > 0:
            return float(np.nextafter(self.low, np.inf)), np.inf
        return -np.inf, float(np.nextafter(self.low, -np.inf))

    def image(self, numbers: Intervals) -> Intervals:
        """Return what a set of numbers becomes on the scale.

        A number in steps stands for all that are rounded to it, and the least and the most for all beyond them.

        Examples:
            >>> Scale("log").image(Intervals.of((-2.0, 1.0))).bounds
            ((-inf, 0.0),)
            >>> Scale(step=1.0, least=0.0).image(Intervals.of((0.0, 1.0), (2.5, 3.2))).bounds
            ((-inf, 1.5), (2.5, 3.5))
        """
        least, most = self._range
        found = []
        for low, high in numbers.bounds:
            if self.step > 0:
                low, high = np.ceil(low / self.step) - 0.5, np.floor(high / self.step) + 0.5
                low, high = low * self.step, high * self.step
            if high <= least or low >= most or not self._has(low, high):
                continue
            below = low <= (least if self.least is None else self.least)
            above = high >= (most if self.most is None else self.most)
            ends = self.forward(np.array([low, high]))
            found.append((-np.inf if below else float(ends[0]), np.inf if above else float(ends[1])))
        return Intervals.of(*found)

    def _has(self, low: float, high: float) -> bool:
        """Whether some number of an interval is not beyond the least or the most."""
        return (self.least is None or high >= self.least) and (self.most is None or low <= self.most)

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
        nearest = _few_digits(np.round(x / self.step) * self.step, self.step)
        return np.asarray(np.where(self.possible(nearest), nearest, x))

    def moments(self, mean: AnyArray, variance: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return the mean and the variance of x where y is normal; before rounding."""
        mean, variance = np.asarray(mean, dtype=np.float64), np.asarray(variance, dtype=np.float64)
        if self.kind == "plain":
            return mean, variance
        if self.kind == "log":
            of_u = np.exp(np.sign(self.unit) * mean + variance / 2)
            return np.asarray(self.low + self.unit * of_u), np.asarray((self.unit * of_u) ** 2 * np.expm1(variance))
        if self.kind == "asinh":
            of_u, grown = np.exp(variance / 2) * np.sinh(mean), np.expm1(variance)
            spread = 0.5 * grown * (np.exp(variance) * np.cosh(2 * mean) + 1)
            return np.asarray(self.low + self.unit * of_u), np.asarray(self.unit**2 * spread)
        x = self.inverse(mean[..., None] + np.sqrt(variance)[..., None] * _Z)
        middle = x @ _W
        return np.asarray(middle), np.asarray((x - middle[..., None]) ** 2 @ _W)

    def to_params(self) -> dict[str, Any]:
        """Return what a file stores."""
        return asdict(self)

    def __repr__(self) -> str:
        ends = {"plain": "", "logit": f", {self.low:.6g} to {self.low + self.unit:.6g}"}
        where = ends.get(self.kind, f", low={self.low:.6g}, unit={self.unit:.6g}")
        return f"Scale({self.kind!r}{where}{f', step={self.step:.6g}' if self.step else ''})"


PLAIN = Scale()


def _few_digits(x: FloatArray, step: float) -> FloatArray:
    """Remove the digits that rounding errors add: 0.30000000000000004 was meant to be 0.3."""
    digits = int(np.ceil(-np.log10(step))) + 6
    return np.asarray(np.round(x, digits)) + 0.0 if -300 < digits < 300 else x
