"""Probabilities of intervals under normal distributions, in log space and exact to about twelve digits.

One column needs the distribution function. Several columns with one common factor (any two, or any number with the
same positive correlation) need an integral over that factor, three columns one more around it. Beyond that no exact way
is known, and the question is refused.
"""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import log_ndtr

from xspn.core.arrays import FloatArray
from xspn.core.errors import QueryError
from xspn.core.logspace import logsumexp_quiet
from xspn.leaves.events import Intervals

NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)
REACH = 45.0  # nats below the largest value, beyond which an integrand adds nothing
FARTHEST = 2.0 * float(np.sqrt(2 * REACH)) + 2.0  # from the largest value, in deviations of the factor
NARROWEST = 1e-12  # of the steps of an integrand
MOST_COLUMNS = 3
LOG_2PI = float(np.log(2 * np.pi))

LogFunction = Callable[[FloatArray], FloatArray]  # points (k,) → logarithms (k,)


def log_normal_mass(intervals: Intervals, mean: FloatArray, std: FloatArray | float) -> FloatArray:
    """Return the logarithm of the probability that normal numbers fall into a set, in either tail to full precision.

    Examples:
        >>> np.exp(log_normal_mass(Intervals.of((-1.0, 1.0)), np.array([0.0]), 1.0)).round(6).tolist()
        [0.682689]
    """
    parts = [_log_between((low - mean) / std, (high - mean) / std) for low, high in intervals.bounds]
    if not parts:
        return np.full(np.shape(mean), -np.inf)
    return parts[0] if len(parts) == 1 else logsumexp_quiet(np.stack(parts), axis=0)


def _log_between(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return log(Φ(high) − Φ(low)); intervals right of 0 are mirrored, where Φ has all of its digits."""
    mirrored = low > 0
    a, b = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    upper, lower = log_ndtr(b), log_ndtr(a)
    with np.errstate(divide="ignore"):
        gap = lower - np.where(np.isneginf(upper), 0.0, upper)
        return np.asarray(upper + np.log(-np.expm1(np.minimum(gap, 0.0))))


def log_normal_sides(z: FloatArray) -> FloatArray:
    """Return log Φ(z), −inf and log Φ(−z), what `Leaf.alternatives` wants: (..., 3); all is below where z is missing.

    Examples:
        >>> np.exp(log_normal_sides(np.array([0.0, np.nan]))).tolist()
        [[0.5, 0.0, 0.5], [1.0, 0.0, 0.0]]
    """
    out = np.full((*z.shape, 3), -np.inf)
    seen = ~np.isnan(z)
    out[..., 0] = log_ndtr(np.where(seen, z, np.inf))
    out[..., 2] = log_ndtr(np.where(seen, -z, -np.inf))
    return out


def log_sides_by_precision(log_prob: FloatArray, x: FloatArray, score: FloatArray, precision: FloatArray) -> FloatArray:
    """Return `Leaf.alternatives` of jointly normal variables: (rows, n, 3).

    Given the others, X_i has variance 1 / K_ii and is (K (x − mean))_i / K_ii away from its mean, where K is the
    inverse of the covariance of what is observed.

    Args:
        log_prob: The log-density of each row.
        x: The rows; NaN is missing.
        score: K (x − mean): (rows, n).
        precision: K_ii: (rows, n).
    """
    seen = ~np.isnan(x)
    precision = np.where(seen, precision, 1.0)
    z = np.where(seen, score, np.nan) / np.sqrt(precision)
    own = np.where(seen, -0.5 * (z * z + LOG_2PI - np.log(precision)), 0.0)  # log-density of x_i given the others
    return np.asarray(log_normal_sides(z) + (log_prob[:, None] - own)[:, :, None])


def log_box_mass(what: str, mean: FloatArray, covariance: FloatArray, sets: Sequence[Intervals]) -> float:
    """Return the logarithm of the probability that jointly normal numbers all fall into their sets: up to three."""
    n, std = len(mean), np.sqrt(np.diag(covariance))
    if any(own.is_empty for own in sets):
        return -np.inf
    if n == 1:
        return float(log_normal_mass(sets[0], mean, std)[0])
    if n == 2:
        correlation = float(covariance[0, 1] / (std[0] * std[1]))
        loading = np.sqrt(abs(correlation)) * np.array([1.0, np.sign(correlation)])
        return log_one_factor_mass(mean, std * loading, std * np.sqrt(1 - loading**2), sets)
    if n > MOST_COLUMNS:
        raise QueryError(
            f"{what}: intervals of {n} jointly normal columns at once need an integral over {n - 1} numbers, which is "
            f"exact for {MOST_COLUMNS} columns at most; ask about fewer of them, or give exact values"
        )
    return _log_mass_of_three(what, mean, covariance, sets)


def log_one_factor_mass(mean: FloatArray, loading: FloatArray, std: FloatArray, sets: Sequence[Intervals]) -> float:
    """Return the same for numbers mean + loading · Z + std · noise, with one Z for all: log E[∏ mass given Z]."""
    if not loading.any():
        return float(sum(log_normal_mass(own, m, s) for own, m, s in zip(sets, mean, std, strict=True)))

    def given(z: FloatArray) -> FloatArray:
        parts = [log_normal_mass(own, m + c * z, s) for own, m, c, s in zip(sets, mean, loading, std, strict=True)]
        return np.asarray(sum(parts))

    edges = [(end - m) / c for own, m, c in zip(sets, mean, loading, strict=True) if c for end in _ends(own)]
    return log_normal_integral(given, np.array(edges), float((std[loading != 0] / np.abs(loading[loading != 0])).min()))


def _ends(own: Intervals) -> list[float]:
    return [end for bounds in own.bounds for end in bounds if np.isfinite(end)]


def _log_mass_of_three(what: str, mean: FloatArray, covariance: FloatArray, sets: Sequence[Intervals]) -> float:
    """Integrate over the first number, given which the other two are jointly normal."""
    std = float(np.sqrt(covariance[0, 0]))
    linear = covariance[1:, 0] / std
    rest = covariance[1:, 1:] - np.outer(linear, linear)

    def given(z: FloatArray) -> FloatArray:
        return np.array([log_box_mass(what, mean[1:] + linear * point, rest, sets[1:]) for point in z.tolist()])

    lines = [(own, m, c) for own, m, c in zip(sets[1:], mean[1:], linear, strict=True) if c]
    edges = np.array([(end - m) / c for own, m, c in lines for end in _ends(own)])
    widths = [np.sqrt(v) / abs(c) for v, c in zip(np.diag(rest), linear, strict=True) if c]
    parts = [
        log_normal_integral(given, edges, float(min([*widths, 1.0])), ((low - mean[0]) / std, (high - mean[0]) / std))
        for low, high in sets[0].bounds
    ]
    return float(logsumexp_quiet(np.array(parts)[None, :], axis=1)[0])


def log_normal_integral(
    log_integrand: LogFunction, edges: FloatArray, width: float, within: tuple[float, float] = (-np.inf, np.inf)
) -> float:
    """Return log ∫ φ(z) exp(log_integrand(z)) dz, for an integrand that is smooth but for steps near some edges.

    Gauss-Legendre rules on panels that are as wide as the steps at each edge and at the largest value, and grow by
    factors of two away from them.

    Args:
        log_integrand: The logarithm of the integrand without φ.
        edges: Where it has its steps.
        width: How wide a step is.
        within: The bounds of the integral.
    """

    def log_whole(z: FloatArray) -> FloatArray:
        return np.asarray(log_integrand(z) - 0.5 * z * z - 0.5 * np.log(2 * np.pi))

    low, high = within
    narrow = min(max(width, NARROWEST), 1.0)
    known = np.unique(np.clip(edges[np.isfinite(edges)], low, high))
    at, top = _peak(log_whole, known, narrow, low, high)
    if np.isneginf(top):
        return -np.inf
    away = narrow * 2.0 ** np.arange(64)
    away = np.concatenate([[0.0], away[away < FARTHEST]])
    centers = np.append(known[np.abs(known - at) < FARTHEST], at)
    points = np.concatenate([centers[:, None] + away, centers[:, None] - away]).ravel()
    points = np.unique(np.clip(points, low, high))
    near = np.flatnonzero(log_whole(points) > top - REACH)
    points = points[max(near[0] - 1, 0) : near[-1] + 2] if len(near) else points
    half = np.diff(points) / 2
    z = (points[:-1] + half)[:, None] + half[:, None] * NODES
    logs = log_whole(z.ravel()).reshape(z.shape)
    largest = float(logs.max(initial=-np.inf))
    if np.isneginf(largest):
        return -np.inf
    return largest + float(np.log((np.exp(logs - largest) * WEIGHTS * half[:, None]).sum()))


def _peak(log_whole: LogFunction, edges: FloatArray, narrow: float, low: float, high: float) -> tuple[float, float]:
    """Return about where an integrand is largest, and its logarithm there: on ever finer grids."""
    around = edges[:, None] + narrow * np.array([-8.0, -2.0, 0.0, 2.0, 8.0])
    tried = np.unique(np.clip(np.concatenate([[0.0], (edges[1:] + edges[:-1]) / 2, around.ravel()]), low, high))
    while True:
        values = log_whole(tried)
        best = int(np.argmax(values))
        at, top = float(tried[best]), float(values[best])
        far = max(1.0, abs(at))
        left = float(tried[best - 1]) if best else max(at - far, low)
        right = float(tried[best + 1]) if best + 1 < len(tried) else min(at + far, high)
        if np.isneginf(top) or right - left <= max(narrow / 4, 1e-9 * far):
            return at, top
        tried = np.unique(np.concatenate([[at], np.linspace(left, right, 9)]))
