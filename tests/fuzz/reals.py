"""What leaves of real variables mean: normal ones, normal on scales, and single values.

Nothing here is the library's: a scale is written down as in its table (`xspn.leaves.scales`), with fifty digits; its
derivative is a difference quotient, its inverse a bisection; expectations are sums over a fine grid; the probability of
an interval is added up between all points where what is written down of a number may change.
"""

from decimal import Decimal
from functools import lru_cache

import numpy as np
from mpmath import mp, mpf
from scipy.special import log_ndtr
from scipy.stats import norm

from xspn import Atom, ExchangeableGaussian, Gaussian, MultivariateGaussian, Transformed

mp.dps = 50
GRID = np.linspace(-11.0, 11.0, 2201)  # deviations; of smooth functions such sums have all digits
MASS = norm.pdf(GRID) / norm.pdf(GRID).sum()
COARSE = slice(None, None, 8)  # of the grid, in each of two directions
LEAST_CHANCE = 1e-15  # of two intervals at once: what is integrated is within nine deviations
SMALL = mpf(10) ** -20  # of the difference quotient, beside the distance to the nearest end


def is_real(leaf):
    return isinstance(leaf, Gaussian | MultivariateGaussian | ExchangeableGaussian | Transformed | Atom)


def normal_parameters(leaf):
    """The mean and covariance of a normal leaf."""
    n = len(leaf.variables)
    if isinstance(leaf, Gaussian):
        return np.array([leaf.mean]), np.array([[leaf.std**2]])
    if isinstance(leaf, MultivariateGaussian):
        return np.array(leaf.mean), np.array(leaf.covariance)
    apart = (1 - leaf.correlation) * np.eye(n)
    return np.full(n, leaf.mean), leaf.std**2 * (apart + leaf.correlation)


def normal_log(mean, covariance, row):
    """The log-density of the observed part of one row."""
    seen = ~np.isnan(row)
    if not seen.any():
        return 0.0
    away, own = row[seen] - mean[seen], covariance[np.ix_(seen, seen)]
    with np.errstate(over="ignore"):  # so far away that nothing is as far
        distance = float(away @ np.linalg.solve(own, away))
    return -0.5 * (seen.sum() * np.log(2 * np.pi) + np.linalg.slogdet(own)[1] + distance)


def normal_given(mean, covariance, row):
    """The mean and covariance of what a row does not know, given what it knows, and which variables these are."""
    missing = np.isnan(row)
    if not missing.any():
        return np.zeros(0), np.zeros((0, 0)), missing
    linear = np.linalg.solve(covariance[np.ix_(~missing, ~missing)], covariance[np.ix_(~missing, missing)]).T
    left = covariance[np.ix_(missing, missing)] - linear @ covariance[np.ix_(~missing, missing)]
    return mean[missing] + linear @ (row - mean)[~missing], left, missing


# -- scales ------------------------------------------------------------------------------------------------------------


def ends_of(scale):
    """The open interval of possible numbers."""
    if scale.kind == "logit":
        return mpf(scale.low), mpf(scale.low + scale.unit)
    if scale.kind in ("log", "soft"):
        return (mpf(scale.low), mpf("inf")) if scale.unit > 0 else (mpf("-inf"), mpf(scale.low))
    return mpf("-inf"), mpf("inf")


def place(scale, x):
    """y of a possible number."""
    x = mpf(x)
    low, high = ends_of(scale)
    if scale.kind == "log":
        return mp.log((x - low) / scale.unit) if scale.unit > 0 else -mp.log((high - x) / -scale.unit)
    if scale.kind == "soft":
        return scale.unit * mp.log(mp.expm1((x - scale.low) / mpf(scale.unit)))
    if scale.kind == "logit":
        return mp.log(x - low) - mp.log(high - x)
    return mp.asinh((x - scale.low) / mpf(scale.unit)) if scale.kind == "asinh" else x


@lru_cache(maxsize=100_000)  # each is asked for by every back end
def place_and_slope(scale, x):
    """y of a number and log dy/dx; (NaN, −inf) of one out of the range."""
    low, high = ends_of(scale)
    if not low < x < high:
        return np.nan, -np.inf
    bend = max(mpf(abs(scale.unit)), abs(mpf(x) - scale.low) / 10**6)  # within it a scale is a straight line, nearly
    step = min([abs(x - end) for end in (low, high) if mp.isfinite(end)] + [bend]) * SMALL
    slope = (place(scale, x + step) - place(scale, x - step)) / (2 * step)
    return float(place(scale, x)), float(mp.log(slope))


def number_at(scale, y):
    """x of numbers y, in double precision."""
    y = np.asarray(y, dtype=np.float64)
    if scale.kind == "log":
        return scale.low + scale.unit * np.exp(y if scale.unit > 0 else -y)
    if scale.kind == "soft":
        z = y / scale.unit
        return scale.low + scale.unit * (np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z))))
    if scale.kind == "logit":
        return scale.low + scale.unit / (1 + np.exp(-y))
    return scale.low + scale.unit * np.sinh(y) if scale.kind == "asinh" else y


def written(scale, x):
    """A number as it is written down: reflected at the least or the most, and rounded if that leaves a possible one."""
    if scale.least is not None and x < scale.least:
        x = 2 * scale.least - x
    if scale.most is not None and x > scale.most:
        x = 2 * scale.most - x
    if not scale.step:
        return float(x)
    low, high = ends_of(scale)
    nearest = in_steps(scale, int(mp.nint(mpf(x) / mpf(scale.step))))
    return nearest if low < nearest < high else float(x)


def in_steps(scale, number):
    """So many steps, with no more digits than the step has."""
    return float(Decimal(number) * Decimal(repr(scale.step)))


def is_written_within(scale, x, low, high):
    return low <= written(scale, x) <= high


# -- leaves ------------------------------------------------------------------------------------------------------------


def real_log(leaf, row):
    """The log-density of what a row knows of a leaf's variables."""
    if isinstance(leaf, Atom):
        if np.isnan(row[0]):
            return 0.0
        return -np.log(leaf.width) if abs(row[0] - leaf.value) <= leaf.width / 2 else -np.inf
    if not isinstance(leaf, Transformed):
        return normal_log(*normal_parameters(leaf), row)
    pairs = [(np.nan, 0.0) if np.isnan(x) else place_and_slope(scale, float(x))
             for scale, x in zip(leaf.scales, row, strict=True)]  # fmt: skip
    slope = sum(own for _, own in pairs)
    if np.isneginf(slope):
        return -np.inf
    return normal_log(*normal_parameters(leaf.base), np.array([y for y, _ in pairs])) + slope


def on_line(leaf, row):
    """A leaf as a normal one: scales, mean, covariance and the row on the scales."""
    if not isinstance(leaf, Transformed):
        return [None] * len(row), *normal_parameters(leaf), row
    y = [np.nan if np.isnan(x) else place_and_slope(scale, float(x))[0]
         for scale, x in zip(leaf.scales, row, strict=True)]  # fmt: skip
    return leaf.scales, *normal_parameters(leaf.base), np.array(y)


@np.errstate(over="ignore", invalid="ignore")
def real_moments(leaf, row):
    """The mean and covariance of a leaf's variables, before they are written down, given what a row knows.

    Infinite or NaN where there is none, far out on a scale of logarithms.
    """
    if isinstance(leaf, Atom):
        seen = not np.isnan(row[0])
        return np.array([row[0] if seen else leaf.value]), np.array([[0.0 if seen else leaf.width**2 / 12]])
    scales, mean, covariance, y = on_line(leaf, row)
    middle, left, missing = normal_given(mean, covariance, y)
    places = np.flatnonzero(missing)
    out, spread = row.copy(), np.zeros((len(row), len(row)))
    if scales[0] is None:
        out[missing], spread[np.ix_(missing, missing)] = middle, left
        return out, spread
    for a, i in enumerate(places):
        x = number_at(scales[i], middle[a] + np.sqrt(left[a, a]) * GRID)
        out[i] = x[len(x) // 2] + MASS @ (x - x[len(x) // 2])
        spread[i, i] = MASS @ (x - out[i]) ** 2
        for b, j in enumerate(places[:a]):
            root = np.linalg.cholesky(left[np.ix_([b, a], [b, a])])
            z, weights = GRID[COARSE], MASS[COARSE] / MASS[COARSE].sum()
            one = number_at(scales[j], middle[b] + root[0, 0] * z[:, None]) - out[j]
            other = number_at(scales[i], middle[a] + root[1, 0] * z[:, None] + root[1, 1] * z) - out[i]
            spread[i, j] = spread[j, i] = weights @ (one * other) @ weights
    return out, spread


# -- intervals ---------------------------------------------------------------------------------------------------------


def turning_points(scale, low, high):
    """All numbers at which the answer may change whether what is written down is between two numbers."""
    if scale is None or (scale.kind == "plain" and not scale.step and scale.least is None and scale.most is None):
        return [low, high]
    ends = [float(end) for end in ends_of(scale) if mp.isfinite(end)]
    found = [x for x in (low, high, *ends, scale.least, scale.most) if x is not None and np.isfinite(x)]
    if scale.step:
        near = [np.floor(x / scale.step) + k + 0.5 for x in found for k in range(-3, 3)]
        found += [x * scale.step for x in near]
    for end in (scale.least, scale.most):
        found += [2 * end - x for x in found] if end is not None else []
    return found


def pieces(scale, low, high):
    """The intervals of the line on which what is written down is between two numbers."""
    if scale is None:
        return [(low, high)]
    first, last = (float(end) for end in ends_of(scale))
    points = sorted({x for x in turning_points(scale, low, high) if first < x < last} - {np.inf, -np.inf})
    reach = 1 + max(abs(x) for x in (*points, first, last, scale.low, scale.unit) if np.isfinite(x))
    outer = [first if np.isfinite(first) else -4 * reach, *points, last if np.isfinite(last) else 4 * reach]
    found = []
    for a, b in zip([first, *points], [*points, last], strict=True):
        inner = [max(a, outer[0]), min(b, outer[-1])]
        if is_written_within(scale, (mpf(inner[0]) + mpf(inner[1])) / 2, low, high):
            ys = [float(end) if not np.isfinite(x) or x in (first, last) else place_and_slope(scale, x)[0]
                  for x, end in ((a, -np.inf), (b, np.inf))]  # fmt: skip
            found.append(tuple(ys))
    return found


def log_between(low, high, mean, std):
    """log P of an interval of the line; in the lower tail, where there are all digits."""
    a, b = (low - mean) / std, (high - mean) / std
    a, b = np.where(a > 0, -b, a), np.where(a > 0, -a, b)
    with np.errstate(divide="ignore"):
        return log_ndtr(b) + np.log(-np.expm1(np.minimum(log_ndtr(a) - log_ndtr(b), 0.0)))


def log_mass(parts, mean, std):
    """log P of some intervals of the line; for several means at once."""
    return np.logaddexp.reduce([np.full(np.shape(mean), -np.inf), *(log_between(*own, mean, std) for own in parts)])


def interval_log(leaf, row, bounds):
    """log P of what a row knows of a leaf, and that others of its variables are written in {place: (low, high)}.

    None where three or more of them depend on each other, or two in a far corner.
    """
    if isinstance(leaf, Atom):
        low, high = bounds.get(0, (-np.inf, np.inf))
        seen = not np.isnan(row[0])
        return real_log(leaf, row) if seen or low <= leaf.value <= high else -np.inf
    known = real_log(leaf, row)
    asked = {i: own for i, own in bounds.items() if np.isnan(row[i])}
    if not asked or np.isneginf(known):
        return known
    scales, mean, covariance, y = on_line(leaf, row)
    middle, left, missing = normal_given(mean, covariance, y)
    at = {int(i): k for k, i in enumerate(np.flatnonzero(missing))}
    parts = {at[i]: pieces(scales[i], *own) for i, own in asked.items()}
    chosen = sorted(parts)
    if len(chosen) > 2:
        return None
    first = chosen[0]
    if len(chosen) == 1:
        return known + float(log_mass(parts[first], middle[first], np.sqrt(left[first, first])))
    if not all(parts.values()):
        return -np.inf
    chance = mass_of_two(*(parts[k] for k in chosen), middle[chosen], left[np.ix_(chosen, chosen)])
    return known + np.log(chance) if chance > LEAST_CHANCE else None


def mass_of_two(one, other, mean, covariance):
    """P that two numbers are each in some intervals, integrated over the first one by Gauss's rule, piece by piece."""
    std, slope = np.sqrt(covariance[0, 0]), covariance[0, 1] / covariance[0, 0]
    rest = np.sqrt(covariance[1, 1] - slope * covariance[0, 1])
    nodes, weights = np.polynomial.legendre.leggauss(24)
    total = 0.0
    for low, high in one:
        low, high = max(low, mean[0] - 9 * std), min(high, mean[0] + 9 * std)
        if low >= high:
            continue
        jumps = [mean[0] + (end - mean[1]) / slope for own in other for end in own if slope and np.isfinite(end)]
        width = min(std, rest / abs(slope)) if slope else std
        edges = [x + width * k for x in [*jumps, low, high] for k in (*range(-8, 9), 16, -16, 32, -32)]
        edges = np.unique(np.clip([low, *np.linspace(low, high, 20), *edges, high], low, high))
        half = np.diff(edges) / 2
        y = ((edges[:-1] + half)[:, None] + half[:, None] * nodes).ravel()
        inner = np.exp(log_mass(other, mean[1] + slope * (y - mean[0]), rest))
        total += float((half[:, None] * weights).ravel() @ (norm.pdf(y, mean[0], std) * inner))
    return total


def cumulative(leaf, at, value):
    """P(what is drawn for a variable ≤ value)."""
    row = np.full(len(leaf.variables), np.nan)
    return float(np.exp(interval_log(leaf, row, {at: (-np.inf, value)})))
