"""The parts of the global test: sums of squared deviations, and the largest deviation of a single member.

A sum over n columns, or over n²/2 pairs, finds differences that many members share and drowns those of a single one;
the largest deviation finds these. Its tail must be right far out, where counts of rare events are anything but normal:
it is that of the difference of two Poisson counts with the variance, skewness and kurtosis that the deviation has under
the null hypothesis, which are known.

Features of columns of any types are random vectors: their squares are measured by the covariance that they have if the
rows are randomly permuted.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import atan2, comb, copysign, erfc, expm1, inf, log1p, pi, sqrt, tan

import numpy as np
from scipy.special import chdtrc, chndtr

from xspn.core.arrays import FloatArray

MOST_IN_SUM = 10.0  # degrees of freedom among which a sum finds a single deviating member as well as the largest does
LEAST_STEP = 3e-3  # less, and the law of counts is the normal one
REMARKABLE = 0.5  # a p-value above which heavier tails, which would make it larger, need not be looked at
MOST_TELLING = 0.99  # p-values closer to 1, as discrete statistics have, would outweigh very small ones
Cumulants = tuple[float, float, float]  # the second, third and fourth, in any common unit
Index = tuple[int, ...]
SMALLEST_EIGENVALUE = 1e-9  # beside those of all: directions in which nothing varies are excluded


@dataclass(frozen=True)
class Largest:
    """The member that deviates most.

    Attributes:
        deviation: By how many standard deviations.
        p_value: The chance that any member deviates so much.
        member: The column, or the two columns, that it belongs to.
    """

    deviation: float
    p_value: float
    member: Index

    def at(self, member: Iterable[int]) -> "Largest":
        """Return the same with the columns that its place in an array stands for."""
        return replace(self, member=tuple(int(i) for i in member))


@dataclass(frozen=True)
class DeviationPart:
    """One of the uncorrelated parts of the test.

    Attributes:
        value: The sum of squared deviations.
        dof: Its degrees of freedom; 0 where nothing can deviate.
        largest: The member that deviates most; None where the sum finds it as well.
    """

    value: float = 0.0
    dof: float = 0.0
    largest: Largest | None = None


def needs_largest(dof: float) -> bool:
    """Whether a single deviating member would drown in a sum of so many degrees of freedom."""
    return dof > MOST_IN_SUM


def largest(
    deviations: FloatArray, variances: FloatArray | float, n_members: int, cumulants: Callable[[Index], Cumulants]
) -> Largest:
    """Return the member whose deviation is least probable, with its place in the array.

    Args:
        deviations: Of all members, in any shape; their mean is 0 under the null hypothesis.
        variances: Of each of them, or one for all (along the last axis); 0 where a member cannot deviate.
        n_members: How many of the numbers are different members.
        cumulants: Those of the member at a place, per row or for all: only their ratios matter.
    """
    if isinstance(variances, float):
        scores, unit = deviations, 1 / sqrt(variances)
    else:
        scales = np.divide(1.0, np.sqrt(variances), out=np.zeros_like(variances), where=variances > 0)
        scores, unit = deviations * scales, 1.0
    sides = [(float(scores.flat[k]) * unit, int(k)) for k in (scores.argmax(), scores.argmin())]
    sides.sort(key=lambda side: -abs(side[0]))
    (best, best_at), best_p = sides[0], 1.0
    for score, at in sides:
        p = upper_tail(abs(score), 0.0, 0.0)
        if p >= best_p:
            break
        if score and sidak(p, 2 * n_members) < REMARKABLE:
            second, third, fourth = cumulants(_place(at, scores.shape))
            scale = float(deviations.flat[at]) / score  # a standard deviation
            p = upper_tail(abs(score), copysign(third / second / scale, third * score), fourth / second / scale**2)
        if p < best_p:
            best, best_at, best_p = score, at, p
    return Largest(best, sidak(best_p, 2 * n_members) if n_members else 1.0, _place(best_at, scores.shape))


class Ends:
    """The largest deviations to both sides, of members that are looked at some rows of their table at a time."""

    def __init__(self) -> None:
        self._deviations: list[float] = []
        self._variances: list[float] = []
        self._members: list[Index] = []

    def look_at(self, deviations: FloatArray, variances: FloatArray | float, first: int = 0) -> None:
        """Note the ends of some rows, the first of which has this place in the table."""
        scores = deviations
        if not isinstance(variances, float):
            scores = deviations / np.sqrt(np.where(variances > 0, variances, np.inf))
        for at in (int(scores.argmax()), int(scores.argmin())):
            row, *others = _place(at, deviations.shape)
            self._deviations.append(float(deviations.flat[at]))
            self._variances.append(variances if isinstance(variances, float) else float(variances.flat[at]))
            self._members.append((first + row, *others))

    def largest(self, n_members: int, cumulants: Callable[[Index], Cumulants]) -> Largest:
        """Return the member whose deviation is least probable."""
        ends = np.array(self._deviations), np.array(self._variances)
        found = largest(*ends, n_members, lambda place: cumulants(self._members[place[0]]))
        return found.at(self._members[found.member[0]])


def _place(flat: int, shape: Index) -> Index:
    """Return where a number of the flattened array is."""
    place: list[int] = []
    for size in reversed(shape):
        flat, own = divmod(flat, size)
        place.insert(0, own)
    return tuple(place)


def cumulants_of_product(p: FloatArray, both: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the second to fourth cumulants of (x_i − p)(x_j − p) for two bits, but for the square of its mean.

    Up to terms of the order of 1/n this is what a pair says beyond its two members. `both` is the chance of two ones.
    """
    one_one, one_zero, zero_zero = (1 - p) ** 2, -p * (1 - p), p**2
    terms = [(both, one_one), (2 * (p - both), one_zero), (1 - 2 * p + both, zero_zero)]
    second = sum(chance * value * value for chance, value in terms)
    third = sum(chance * value * value * value for chance, value in terms)
    fourth = sum(chance * (value * value) ** 2 for chance, value in terms)
    return np.asarray(second), np.asarray(third), np.asarray(fourth - 3 * second * second)


def upper_tail(score: float, skewness: float, kurtosis: float) -> float:
    """Return the chance to be at least so many standard deviations above the mean.

    The law is that of the difference of two Poisson counts (Skellam's) with the given skewness and kurtosis: a Poisson
    law where all heaviness is on this side, as that of rare events is, and symmetric where it is none of the skewness.
    Tails that are lighter than the normal ones are taken for normal.

    Examples:
        >>> from scipy.stats import poisson
        >>> bool(np.isclose(upper_tail((9 - 2) / sqrt(2), 1 / sqrt(2), 1 / 2), poisson.sf(8, 2)))
        True
    """
    skewness = max(skewness, 0.0)
    step = max(skewness, sqrt(max(kurtosis, 0.0)))  # of the counts, in standard deviations
    if step < LEAST_STEP:
        return erfc(score / sqrt(2)) / 2
    up, down = (1 + skewness / step) / 2 / step**2, (1 - skewness / step) / 2 / step**2
    at = up - down + score / step
    return float(chndtr(2 * up, 2 * at, 2 * down)) if at > 0 else 1.0


def sum_of_squares(squares: float, variances: FloatArray, free: float) -> tuple[float, float]:
    """Return a χ² statistic, and its degrees of freedom, by the first two moments of a sum of squares.

    Args:
        squares: The sum of squares of deviations.
        variances: Their variances, which may be unequal.
        free: The fraction of the deviations that the others do not determine.
    """
    return by_two_moments(squares, float(variances.sum()), float((variances * variances).sum()), free)


def by_two_moments(squares: float, first: float, second: float, free: float) -> tuple[float, float]:
    """Return the same from the sum of the variances and that of their squares."""
    return (squares * free * first / second, free * first**2 / second) if first > 0 else (0.0, 0.0)


def tail(dof: float, statistic: float) -> float:
    """Return the chance of a χ² beyond the statistic; 1 where there is nothing to test."""
    return float(chdtrc(dof, statistic)) if dof > 0 else 1.0


def sidak(p: float, n_tests: float) -> float:
    """Return the chance that the least of so many independent p-values is at most p."""
    return -expm1(n_tests * log1p(-p)) if p < 1 else 1.0


def either(p: float, q: float) -> float:
    """Return a p-value of two tests that may depend on each other, by which either can reject (Cauchy combination).

    It is exact if the two are independent, and if they are equal; between the two it is nearly so.

    Examples:
        >>> round(either(1e-6, 0.7), 9), round(either(0.3, 0.3), 9)
        (2e-06, 0.3)
    """
    quantiles = [1 / tan(pi * own) if own > 0 else inf for own in (min(p, MOST_TELLING), min(q, MOST_TELLING))]
    mean = sum(quantiles) / 2
    return atan2(1.0, mean) / pi


# -- deviations of several members at once, measured by their covariance -----------------------------------------------


def quadratic(vectors: FloatArray, covariance: FloatArray, whole: FloatArray | None = None) -> tuple[float, int]:
    """Return Σ vᵀ C⁺ v over rows v, and the rank of C; see `whitening`."""
    directions, scales = whitening(covariance, np.diag(covariance) if whole is None else whole)
    along = (vectors / scales) @ directions
    return float(np.vdot(along, along)), directions.shape[1]


def whitening(covariance: FloatArray, whole: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return directions, and scales by which vectors must be divided first, such that they have covariance I.

    What is tiny beside the whole variances, of which C is what is left after something was explained, is rounding.
    """
    scales = np.sqrt(np.maximum(whole, 0.0))
    scales = np.where(scales > 0, scales, 1.0)  # so that features of different size have the same chance to matter
    values, directions = np.linalg.eigh(covariance / np.outer(scales, scales))
    kept = values > SMALLEST_EIGENVALUE * len(values)
    return directions[:, kept] / np.sqrt(values[kept]), scales


def beyond(vectors: FloatArray, covariance: FloatArray, d: int) -> tuple[FloatArray, FloatArray]:
    """Return what the first d numbers of random vectors do not explain of the others, and its covariance."""
    explained = explaining(covariance, d)
    return vectors[:, d:] - vectors[:, :d] @ explained.T, covariance[d:, d:] - explained @ covariance[:d, d:]


def explaining(covariance: FloatArray, d: int) -> FloatArray:
    """Return the coefficients of the first d numbers of random vectors by which they explain the others."""
    inverse = np.linalg.pinv(covariance[:d, :d], rcond=SMALLEST_EIGENVALUE, hermitian=True)
    return np.asarray(covariance[d:, :d] @ inverse)


def possible(variances: FloatArray, whole: FloatArray) -> FloatArray:
    """Return variances, with 0 where they are but rounding beside the whole ones."""
    return np.where(variances > SMALLEST_EIGENVALUE * whole, variances, 0.0)


# -- cumulants of sums over randomly permuted rows ---------------------------------------------------------------------


def cumulants_of_cells(effects: FloatArray, m: FloatArray | int, weights: FloatArray) -> Cumulants:
    """Return the cumulants of one column's sum, times n, if rows are randomly permuted.

    Args:
        effects: (rows, n), each row with mean 0 over its m seen cells, and 0 elsewhere.
        m: How many cells of each row are seen.
        weights: Those of the rows.
    """
    squares = effects * effects
    second, third, fourth = squares.sum(axis=1), _dots(squares, effects), _dots(squares, squares)
    excess = fourth - 3 * second**2 / np.maximum(m, 1)
    return float(weights @ second), float(weights @ third), float(weights @ excess)


def cumulants_of_pairs(
    one: FloatArray, other: FloatArray, sign: int, m: FloatArray | int, weights: FloatArray
) -> Cumulants:
    """Return the cumulants of φ_a(x_i) φ_b(x_j) ± φ_b(x_i) φ_a(x_j) summed over rows, times the number of pairs.

    What the two columns contribute on their own is neglected: it is of the order of 1/n.
    """
    a2, b2, ab = one * one, other * other, one * other
    sums = {  # Σ_i φ_aᵏ φ_bˡ within each row
        (2, 0): a2.sum(axis=1),
        (1, 1): ab.sum(axis=1),
        (0, 2): b2.sum(axis=1),
        (3, 0): _dots(a2, one),
        (2, 1): _dots(a2, other),
        (1, 2): _dots(b2, one),
        (0, 3): _dots(b2, other),
        (4, 0): _dots(a2, a2),
        (3, 1): _dots(a2, ab),
        (2, 2): _dots(ab, ab),
        (1, 3): _dots(b2, ab),
        (0, 4): _dots(b2, b2),
    }
    ab2 = ab * ab
    same = {2: sums[2, 2], 3: _dots(ab2, ab), 4: _dots(ab2, ab2)}  # the terms i = j, which are no pairs

    def over_pairs(order: int) -> FloatArray:
        """Return Σ_{i ≠ j} of the given power within each row."""
        found: FloatArray = -((1 + sign) ** order) * same[order]
        for k in range(order + 1):
            found = found + comb(order, k) * sign**k * sums[order - k, k] * sums[k, order - k]
        return found

    second, third, fourth = (over_pairs(order) for order in (2, 3, 4))
    excess = fourth - 3 * second**2 / np.maximum(m * (m - 1), 1)
    return float(weights @ second), float(weights @ third), float(weights @ excess)


def _dots(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the scalar products of rows."""
    return np.asarray(np.einsum("ri,ri->r", left, right))
