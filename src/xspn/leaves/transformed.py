"""Real variables that are normal on a scale of their own: positive, bounded, heavy-tailed, or in steps."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Any, Self

import numpy as np

from xspn.core.arrays import FloatArray, IntArray
from xspn.core.errors import FormatError, StructureError
from xspn.core.random import NodeRandom, Rng
from xspn.data.domain import Domain
from xspn.graph.nodes import Node, Scope
from xspn.leaves.base import Completed, Leaf, Picture, Smoothing, Together, WebForm, leaf_from_params, register
from xspn.leaves.events import Intervals, Mark
from xspn.leaves.exchangeable_gaussian import ExchangeableGaussian
from xspn.leaves.gaussian import Gaussian
from xspn.leaves.multivariate_gaussian import MultivariateGaussian
from xspn.leaves.scales import Scale

Normal = Gaussian | ExchangeableGaussian | MultivariateGaussian
NORMAL = (Gaussian, ExchangeableGaussian, MultivariateGaussian)
MOST_ENDS = 4  # variables with two ends of which all choices are tried
STEPS, HALVINGS = 100, 40  # of Newton's method to a mode, and of a step that goes too far
SMALLEST = 1e-15  # what a step must be expected to gain, as a fraction
NODES = 40  # of the quadrature for covariances, in each direction


@register
class Transformed(Leaf):
    """A normal leaf over what a monotone scale makes of each variable; densities are in the variables' own units.

    A log-normal variable is `Transformed(Gaussian(0, mean=1, std=0.5), [Scale("log")])`. Numbers that come in steps
    are drawn and filled in by steps; their density is that of the numbers before rounding.

    Examples:
        >>> leaf = Transformed(Gaussian(0, mean=0.0, std=1.0), [Scale("log")])
        >>> leaf.log_prob(np.array([[1.0], [-1.0], [np.nan]])).round(6).tolist()
        [-0.918939, -inf, 0.0]
        >>> whole = Transformed(Gaussian(0, mean=3.2, std=9.0), [Scale(step=1.0)])
        >>> whole.mode(np.array([[np.nan]]))[0].tolist()
        [[3.0]]
    """

    __slots__ = ("base", "scales")
    family = "transformed"
    only_domain = Domain.real()
    base: Normal
    scales: tuple[Scale, ...]

    def __init__(self, base: Normal, scales: Sequence[Scale]) -> None:
        if not isinstance(base, NORMAL):
            raise StructureError(f"Transformed: expected a normal leaf, found {type(base).__name__}")
        self._set_variables(base.variables)
        if len(scales) != len(base.variables):
            raise StructureError(f"Transformed: expected {len(base.variables)} scales, found {len(scales)}")
        self.base, self.scales = base, tuple(scales)
        self._seal()

    @property
    def n_parameters(self) -> int:
        """The number of free parameters: those of the normal leaf; scales belong to the columns."""
        return self.base.n_parameters

    def _forward(self, x: FloatArray) -> FloatArray:
        """Return the variables on their scales; what is impossible becomes missing."""
        return np.column_stack([scale.forward(own) for scale, own in zip(self.scales, x.T, strict=True)])

    def _log_derivative(self, x: FloatArray) -> FloatArray:
        return np.asarray(sum(scale.log_derivative(own) for scale, own in zip(self.scales, x.T, strict=True)))

    def _inverse(self, y: FloatArray, x: FloatArray) -> FloatArray:
        """Fill what is missing in x from y, rounded to steps."""
        columns = zip(self.scales, y.T, x.T, strict=True)
        found = [np.where(np.isnan(own), scale.presented(scale.inverse(of)), own) for scale, of, own in columns]
        return np.column_stack(found)

    def log_prob(self, x: FloatArray) -> FloatArray:
        """Return the log-density on the scales, and that of the change of units."""
        return np.asarray(self.base.log_prob(self._forward(x)) + self._log_derivative(x))

    @classmethod
    def together(cls, leaves: Sequence[Self]) -> Together:
        """Evaluate many leaves at once: each variable is put on its scale once for all of them."""
        places: dict[tuple[int, Scale], int] = {}
        for leaf in leaves:
            for pair in zip(leaf.variables, leaf.scales, strict=True):
                places.setdefault(pair, len(places))
        pairs = [zip(leaf.variables, leaf.scales, strict=True) for leaf in leaves]
        columns = [np.array([places[pair] for pair in own]) for own in pairs]
        members = np.zeros((len(leaves), len(places)))
        by_family: dict[type[Normal], list[int]] = {}
        for slot, (leaf, own) in enumerate(zip(leaves, columns, strict=True)):
            members[slot, own] = 1.0
            by_family.setdefault(type(leaf.base), []).append(slot)
        parts: list[tuple[list[int], Together | None, list[Normal]]] = []
        for family, slots in by_family.items():
            bases: list[Any] = [_moved(leaves[slot].base, columns[slot]) for slot in slots]
            parts.append((slots, family.together(bases), bases))

        def log_prob(values: FloatArray, best: bool) -> FloatArray:
            own = [values[:, variable] for variable, _ in places]
            y = np.column_stack([scale.forward(x) for (_, scale), x in zip(places, own, strict=True)])
            log_derivatives = np.stack([scale.log_derivative(x) for (_, scale), x in zip(places, own, strict=True)])
            out = np.empty((len(leaves), len(values)))
            for slots, function, bases in parts:
                if function is not None:
                    out[slots] = function(y, False)
                else:
                    out[slots] = [base.log_prob(y[:, list(base.variables)]) for base in bases]
            impossible = np.isneginf(log_derivatives)
            out += members @ np.where(impossible, 0.0, log_derivatives)
            out[members @ impossible > 0] = -np.inf
            if best:
                for slot, leaf in enumerate(leaves):
                    part = values[:, list(leaf.variables)]
                    missing = np.isnan(part).any(axis=1)
                    if missing.any():
                        out[slot, missing] = leaf.mode(part[missing])[1]
            return out

        return log_prob

    def _given(self, y: FloatArray, x: FloatArray) -> Iterator[tuple[IntArray, IntArray, FloatArray, FloatArray]]:
        """Yield rows with the same variables missing, these, and their mean (rows, m) and covariance given the rest."""
        mean, covariance = self.base.moments()
        patterns, which = np.unique(np.isnan(x), axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns):
            rows, missing, seen = np.flatnonzero(which.reshape(-1) == number), *map(np.flatnonzero, (pattern, ~pattern))
            if not len(missing):
                continue
            of = np.linalg.solve(covariance[np.ix_(seen, seen)], covariance[np.ix_(seen, missing)])
            away = np.nan_to_num(y[np.ix_(rows, seen)] - mean[seen])
            left = covariance[np.ix_(missing, missing)] - covariance[np.ix_(missing, seen)] @ of
            yield rows, missing, mean[missing] + away @ of, left

    def mode(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Fill with the numbers of highest density; of several peaks that of the highest that was found."""
        y = self._forward(x)
        if len(self._variables) == 1:  # it is the same for all rows
            mean, covariance = self.base.moments()
            y = np.full_like(y, _joint_peak(mean[None, :], covariance, self.scales)[0, 0])
        else:
            for rows, missing, mean, covariance in self._given(y, x):
                y[np.ix_(rows, missing)] = _joint_peak(mean, covariance, [self.scales[i] for i in missing])
        filled = self._inverse(y, x)
        return filled, self.log_prob(filled)

    @property
    def mode_is_exact(self) -> bool:
        """Whether it is the peak of one variable itself: not one that was reflected or rounded, nor one of several."""
        if len(self._variables) > 1:
            return False
        mean, covariance = self.base.moments()
        peak = self.scales[0].inverse(_joint_peak(mean[None, :], covariance, self.scales)[0, 0])
        return bool(np.all(self.scales[0].presented(peak) == peak))

    def sample(self, x: FloatArray, rng: Rng) -> FloatArray:
        """Fill with draws of the normal leaf, put back on the variables' own scales."""
        return self._inverse(self.base.sample(self._forward(x), rng), x)

    @classmethod
    def completed_together(cls, leaves: Sequence[Self]) -> Completed | None:
        """Complete by the normal leaves, each scale at once."""
        bases = [leaf.base for leaf in leaves]
        normal = [base for base in bases if isinstance(base, Gaussian)]
        if len(normal) < len(bases):
            return None
        on_scale = Gaussian.completed_together(normal)
        modes = np.array([leaf.mode(np.array([[np.nan]]))[0][0, 0] for leaf in leaves])
        kinds = list(dict.fromkeys(leaf.scales[0] for leaf in leaves))
        kind = np.array([kinds.index(leaf.scales[0]) for leaf in leaves], dtype=np.int64)

        def completed(values: FloatArray, which: IntArray, random: NodeRandom | None) -> FloatArray:
            missing = np.isnan(values)
            if random is None:
                return np.where(missing, modes[which], values)
            drawn = on_scale(np.full(len(values), np.nan), which, random)
            for place, scale in enumerate(kinds):
                own = kind[which] == place
                drawn[own] = scale.presented(scale.inverse(drawn[own]))
            return np.where(missing, drawn, values)

        return completed

    def tally(self, x: FloatArray, marks: Sequence[Mark | None]) -> FloatArray:
        """Return the log-probability of intervals, which are intervals on the scales too."""
        pairs = zip(self.scales, marks, strict=True)
        on_scales = [scale.image(mark) if isinstance(mark, Intervals) else mark for scale, mark in pairs]
        return np.asarray(self.base.tally(self._forward(x), on_scales) + self._log_derivative(x)[:, None])

    def alternatives(self, x: FloatArray, best: bool = False) -> FloatArray:
        """Return what the normal leaf gives on the scales, of numbers before rounding; the rest in its own units."""
        log_derivatives = np.column_stack(
            [scale.log_derivative(own) for scale, own in zip(self.scales, x.T, strict=True)]
        )
        impossible = np.isneginf(log_derivatives)
        finite = np.where(impossible, 0.0, log_derivatives)
        of_rest = finite.sum(axis=1, keepdims=True) - finite
        of_rest[impossible.sum(axis=1, keepdims=True) - impossible > 0] = -np.inf
        found: FloatArray = self.base.alternatives(self._forward(x)) + of_rest[:, :, None]
        for i, scale in enumerate(self.scales):  # out of the range all mass is on one side
            beyond = scale.side(x[:, i])
            found[beyond < 0, i] = found[beyond < 0, i][:, ::-1]
        return found

    def means(self, x: FloatArray) -> FloatArray:
        """Return each row filled with conditional means."""
        return np.where(np.isnan(x), self._conditional_moments(x)[0], x)

    def variances(self, x: FloatArray) -> FloatArray:
        """Return conditional variances in the variables' own units, before rounding."""
        return self._conditional_moments(x)[1]

    def _conditional_moments(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance of what is missing given the rest of its row; zeros elsewhere."""
        means, variances, y = np.zeros(x.shape), np.zeros(x.shape), self._forward(x)
        y = np.where(np.isnan(x) | ~np.isnan(y), y, self.base.moments()[0])  # an impossible value tells nothing
        middle, spread = self.base.means(y), self.base.variances(y)
        for column, scale in enumerate(self.scales):
            missing = np.isnan(x[:, column])
            found = scale.moments(middle[missing, column], spread[missing, column])
            means[missing, column], variances[missing, column] = found
        return means, variances

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Return means and covariances, by quadrature where they have no closed form."""
        mean, covariance = self.base.moments()
        n = len(mean)
        pairs = [scale.moments(mean[i], covariance[i, i]) for i, scale in enumerate(self.scales)]
        middle, found = np.array([float(own[0]) for own in pairs]), np.diag([float(own[1]) for own in pairs])
        z, weights = _hermite()
        for i in range(n):
            for j in range(i):
                factor = np.linalg.cholesky(covariance[np.ix_([i, j], [i, j])])
                one = self.scales[i].inverse(mean[i] + factor[0, 0] * z[:, None]) - middle[i]
                other = self.scales[j].inverse(mean[j] + factor[1, 0] * z[:, None] + factor[1, 1] * z) - middle[j]
                found[i, j] = found[j, i] = float(weights @ (one * other) @ weights)
        return middle, found

    def marginalize(self, keep: Scope) -> Node | None:
        """Return the kept variables on their scales."""
        return self._around(self.base.marginalize(keep))

    def condition(self, x: FloatArray) -> tuple[Node | None, float]:
        """Return the normal leaf given the observed variables, on the scales of the others."""
        log_derivative = float(self._log_derivative(x[None, :])[0])
        if np.isneginf(log_derivative):
            return None, -np.inf
        rest, log_density = self.base.condition(self._forward(x[None, :])[0])
        return self._around(rest), log_density + log_derivative

    def _around(self, base: Node | None) -> Node | None:
        if base is None or base is self.base:
            return None if base is None else self
        assert isinstance(base, NORMAL)
        scale_of = dict(zip(self._variables, self.scales, strict=True))
        return Transformed(base, [scale_of[v] for v in base.variables])

    # -- how it is shown: dependence and exchangeability are the same on any scale -----------------------------------

    @property
    def title(self) -> str:
        """The normal leaf's title."""
        return self.base.title

    def details(self, label: Callable[[int], str]) -> str | None:
        """Return mean and deviation in the variable's own units."""
        mean, covariance = self.moments()
        return f"mean {mean[0]:.4g}, deviation {float(np.sqrt(covariance[0, 0])):.3g}"

    def law(self, names: Sequence[str], label: Callable[[int], str]) -> str:
        """Say what the normal leaf says."""
        return self.base.law(names, label)

    def entropy(self) -> float:
        """Return the normal leaf's entropy less the mean logarithm of the scales' derivatives, by quadrature."""
        mean, covariance = self.base.moments()
        log_derivatives = [scale.mean_log_derivative(mean[i], covariance[i, i]) for i, scale in enumerate(self.scales)]
        return self.base.entropy() - float(sum(log_derivatives))

    def dependence(self) -> float:
        """Return the total correlation, which no monotone scale changes."""
        return self.base.dependence()

    def interchangeable(self) -> list[IntArray]:
        """Return the interchangeable positions of the normal leaf, if they are on one scale."""
        return self.base.interchangeable() if len(set(self.scales)) == 1 else []

    def picture(self) -> Picture:
        """Return a bell."""
        return "bell", ()

    def web_form(self) -> WebForm:
        """Return the normal leaf's numbers and then those of the scales; which of the normal leaves, and the kinds."""
        ends = [[np.nan if end is None else end for end in (scale.least, scale.most)] for scale in self.scales]
        numbers = [[scale.low, scale.unit, scale.step, *own] for scale, own in zip(self.scales, ends, strict=True)]
        kinds = [Scale.KINDS.index(scale.kind) for scale in self.scales]
        return WebForm(
            "transformed",
            np.concatenate([self.base.web_form().reals, np.ravel(numbers)]),
            [NORMAL.index(type(self.base)), *kinds],
        )

    # -- parameters --------------------------------------------------------------------------------------------------

    def statistics(self, x: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the statistics of the normal leaf; impossible rows tell nothing."""
        possible = ~np.isneginf(self._log_derivative(x))
        return self.base.statistics(self._forward(x[possible]), weights[possible])

    def from_statistics(self, statistics: FloatArray, smoothing: float | Smoothing = 0.0) -> Self:
        """Return the most likely leaf on the same scales."""
        base = self.base.from_statistics(statistics, smoothing)
        return self if base is self.base else type(self)(base, self.scales)

    def recentered(self, statistics: FloatArray) -> Self:
        """Let the normal leaf decide."""
        base = self.base.recentered(statistics)
        return self if base is self.base else type(self)(base, self.scales)

    def restate(self, statistics: FloatArray, origin: Self) -> FloatArray:
        """Let the normal leaf restate its own."""
        base: Any = self.base
        return np.asarray(base.restate(statistics, origin.base))

    def sensitivity(self, x: FloatArray) -> FloatArray:
        """Return that of the normal leaf: scales are not fitted. Impossible rows have none."""
        possible = ~np.isneginf(self._log_derivative(x))
        found = self.base.sensitivity(self._forward(np.where(possible[:, None], x, np.nan)))
        return np.asarray(found * possible[:, None])

    def to_params(self) -> dict[str, Any]:
        """Return the normal leaf and the scales."""
        base = {"family": self.base.family, "params": self.base.to_params()}
        return {"base": base, "scales": [scale.to_params() for scale in self.scales]}

    @classmethod
    def from_params(cls, variables: tuple[int, ...], params: dict[str, Any]) -> Self:
        """Build the leaf."""
        base, scales = params["base"], params["scales"]
        if not isinstance(base, Mapping) or base.get("family") not in [family.family for family in NORMAL]:
            raise FormatError(f"{cls.family}: expected the parameters of a normal leaf, found {base!r}")
        if variables and len(scales) != len(variables):
            raise StructureError(f"Transformed: expected {len(variables)} scales, found {len(scales)}")
        normal: Any = leaf_from_params(base["family"], variables, base["params"])
        return cls(normal, [Scale(**scale) for scale in scales])

    @classmethod
    def example(cls, rng: np.random.Generator, first_variable: int = 0) -> Self:
        """Return one variable on a random scale."""
        scales = [
            Scale("plain"),
            Scale("log", low=-1.0, unit=2.0),
            Scale("log", low=1.0, unit=-2.0),
            Scale("soft", low=0.5, unit=0.3),
            Scale("logit", low=-2.0, unit=5.0),
            Scale("asinh", low=0.2, unit=2.0),
        ]
        base = Gaussian(first_variable, mean=0.2 * rng.normal(), std=0.05 + 0.1 * rng.random())
        return cls(base, [scales[int(rng.integers(len(scales)))]])

    def __repr__(self) -> str:
        return f"Transformed({self.base!r}, [{', '.join(map(repr, self.scales))}])"


def scales_of(leaves: Iterable[Node]) -> dict[int, Scale]:
    """Return the scale of each variable that has one and the same in all leaves that put it on a scale."""
    found: dict[int, set[Scale]] = {}
    for leaf in leaves:
        if isinstance(leaf, Transformed):
            for variable, scale in zip(leaf.variables, leaf.scales, strict=True):
                found.setdefault(variable, set()).add(scale)
    return {variable: own.pop() for variable, own in found.items() if len(own) == 1}


def _moved(base: Normal, columns: IntArray) -> Leaf:
    """Return a normal leaf over other variables."""
    return leaf_from_params(base.family, tuple(columns.tolist()), base.to_params())


@lru_cache(maxsize=1)
def _hermite() -> tuple[FloatArray, FloatArray]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    return nodes, weights / weights.sum()


def _joint_peak(mean: FloatArray, covariance: FloatArray, scales: Sequence[Scale]) -> FloatArray:
    """Return y where the density of x is highest, for rows of means and one covariance.

    Where the logarithm is concave there is one peak, and Newton's method finds it. Otherwise several starts are taken
    to the next peak; the highest of these is the answer.
    """
    precision: FloatArray = np.asarray(np.linalg.inv(covariance), dtype=np.float64)
    most = np.array([scale.most_bent for scale in scales])
    if not most.any() or np.linalg.eigvalsh(precision - np.diag(most))[0] > 0:
        return _climbed(mean, mean, precision, scales)
    best, height = mean, np.full(len(mean), -np.inf)
    for start in _starts(covariance, scales):
        y = _climbed(mean + start, mean, precision, scales)
        found = _hill(y, mean, precision, scales)[0]
        best = np.where((found > height)[:, None], y, best)
        height = np.maximum(found, height)
    return best


def _starts(covariance: FloatArray, scales: Sequence[Scale]) -> Iterator[FloatArray]:
    """Yield how far from the mean to start: there, and where peaks are if each derivative is one of its asymptotes."""
    yield np.zeros(len(scales))
    log_derivatives = np.array([scale.log_derivative_on_line(np.zeros(()))[1] for scale in scales])
    bent = [i for i, scale in enumerate(scales) if scale.most_bent > 0]
    ends = np.array([scales[i].log_derivative_on_line(np.array([-np.inf, np.inf]))[1] for i in bent])  # (bent, 2)
    all_choices = product((0, 1), repeat=len(bent))
    for choice in all_choices if len(bent) <= MOST_ENDS else [(0,) * len(bent), (1,) * len(bent)]:
        log_derivatives[bent] = ends[np.arange(len(bent)), list(choice)]
        yield covariance @ log_derivatives


def _climbed(y: FloatArray, mean: FloatArray, precision: FloatArray, scales: Sequence[Scale]) -> FloatArray:
    """Return the top of the hill that each row of y is on, by Newton's method with steps that never go down."""
    y = y.copy()
    height, gradient, bend = _hill(y, mean, precision, scales)
    rows = np.arange(len(y))  # those that still climb
    for _ in range(STEPS):
        curvature = precision - bend[:, :, None] * np.eye(len(scales))
        is_valley = np.linalg.eigvalsh(curvature)[:, 0] <= 0  # there the normal part alone is curved downwards
        curvature[is_valley] = precision
        move = np.linalg.solve(curvature, gradient[:, :, None])
        gain = (gradient[:, None, :] @ move)[:, 0, 0]
        size = np.ones(len(rows))
        for _ in range(HALVINGS):
            tried = y[rows] + size[:, None] * move[:, :, 0]
            found = _hill(tried, mean[rows], precision, scales)
            is_lower = found[0] < height
            if not is_lower.any():
                break
            size[is_lower] /= 2
        y[rows[~is_lower]] = tried[~is_lower]
        keep = ~is_lower & (gain > SMALLEST * (1 + np.abs(found[0])))
        if not keep.any():
            break
        rows, (height, gradient, bend) = rows[keep], (own[keep] for own in found)
    return y


def _hill(
    y: FloatArray, mean: FloatArray, precision: FloatArray, scales: Sequence[Scale]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the log-density of x up to a constant, its gradient, and what scales add to the Hessian's diagonal."""
    on_line = [scale.log_derivative_on_line(own) for scale, own in zip(scales, y.T, strict=True)]
    value, first, second = (np.column_stack(own) for own in zip(*on_line, strict=True))
    pull = (y - mean) @ precision
    return value.sum(axis=1) - 0.5 * ((y - mean) * pull).sum(axis=1), first - pull, second
