"""The beta-binomial distribution of largest likelihood, compiled by numba; not imported before a leaf is fitted.

With the mean μ and the dispersion θ the probability of each single assignment with t ones among n bits is
Π_{j<t} (μ + jθ) · Π_{j<n−t} (1 − μ + jθ) / Π_{j<n} (1 + jθ). With A_j the weight of all rows of more than j ones, B_j
of those of more than j zeros and N of all of them, the log-likelihood is

    Σ_j  A_j log(μ + jθ) + B_j log(1 − μ + jθ) − N log(1 + jθ).

Newton's method on (logit μ, log θ), from the moments, needs about ten steps.
"""

from typing import Any

import numpy as np

from xspn.core.compilation import kept

Array = Any
FARTHEST_LOGIT = 30.0
LOG_SMALLEST, LOG_LARGEST = -16.0, 20.7  # of θ: below, bits are independent; above (10⁹), all equal
LONGEST_STEP = 2.0
STEPS = 100
CLOSE = 1e-9


@kept(nogil=True)
def most_likely_of_each(counts: Array) -> tuple[Array, Array]:
    """Return the means and the dispersions for several leaves: (leaves, n + 1)."""
    means, dispersions = np.empty(len(counts)), np.empty(len(counts))
    for leaf in range(len(counts)):
        means[leaf], dispersions[leaf] = most_likely(counts[leaf])
    return means, dispersions


@kept(nogil=True)
def most_likely(counts: Array) -> tuple[float, float]:
    """Return the mean and the dispersion of largest likelihood, for `counts[t]` rows with t ones."""
    n = len(counts) - 1
    more_ones, more_zeros = np.zeros(n), np.zeros(n)
    above, below = 0.0, 0.0
    for j in range(n - 1, -1, -1):
        above += counts[j + 1]
        more_ones[j] = above
        below += counts[n - 1 - j]
        more_zeros[j] = below
    total = above + counts[0]
    logit, log_dispersion = _from_moments(counts, total)
    for _ in range(STEPS):
        mean, dispersion = 1.0 / (1.0 + np.exp(-logit)), np.exp(log_dispersion)
        by_mean, by_dispersion, mean_mean, mean_dispersion, dispersion_dispersion = 0.0, 0.0, 0.0, 0.0, 0.0
        for j in range(n):
            one, zero, any_ = mean + j * dispersion, 1.0 - mean + j * dispersion, 1.0 + j * dispersion
            a, b, c = more_ones[j] / one, more_zeros[j] / zero, total / any_
            by_mean += a - b
            by_dispersion += j * (a + b - c)
            mean_mean -= a / one + b / zero
            mean_dispersion -= j * (a / one - b / zero)
            dispersion_dispersion -= j * j * (a / one + b / zero - c / any_)
        derivative = mean * (1.0 - mean)
        first, second = by_mean * derivative, by_dispersion * dispersion
        h11 = mean_mean * derivative * derivative + by_mean * derivative * (1.0 - 2.0 * mean)
        h12 = mean_dispersion * derivative * dispersion
        h22 = dispersion_dispersion * dispersion * dispersion + by_dispersion * dispersion
        step, other = _uphill(first, second, h11, h12, h22)
        longest = max(abs(step), abs(other))
        if longest > LONGEST_STEP:
            step, other = step * LONGEST_STEP / longest, other * LONGEST_STEP / longest
        logit = min(max(logit + step, -FARTHEST_LOGIT), FARTHEST_LOGIT)
        log_dispersion = min(max(log_dispersion + other, LOG_SMALLEST), LOG_LARGEST)
        if longest < CLOSE:
            break
    if log_dispersion <= LOG_SMALLEST:
        return more_ones.sum() / (total * n), 0.0
    return 1.0 / (1.0 + np.exp(-logit)), np.exp(log_dispersion)


@kept(nogil=True)
def _from_moments(counts: Array, total: float) -> tuple[float, float]:
    """Return logit and log-dispersion of the distribution with the mean and the variance of the counts."""
    n = len(counts) - 1
    ones = 0.0
    for t in range(n + 1):
        ones += counts[t] * t
    mean = min(max(ones / (total * n), 1e-9), 1.0 - 1e-9)
    variance = 0.0
    for t in range(n + 1):
        variance += counts[t] * (t - n * mean) ** 2 / total
    correlation = 0.0 if n == 1 else (variance / (n * mean * (1.0 - mean)) - 1.0) / (n - 1)
    correlation = min(max(correlation, 1e-4), 0.95)
    return np.log(mean / (1.0 - mean)), np.log(correlation / (1.0 - correlation))


@kept(nogil=True)
def _uphill(first: float, second: float, h11: float, h12: float, h22: float) -> tuple[float, float]:
    """Return Newton's step, with the curvature bent down where the summit is not below the current parabola."""
    trace, determinant = h11 + h22, h11 * h22 - h12 * h12
    if not (trace < 0.0 and determinant > 0.0):
        largest = 0.5 * (trace + np.sqrt(max(trace * trace - 4.0 * determinant, 0.0)))
        bend = largest + 1e-3 * (1.0 + abs(trace))
        h11, h22 = h11 - bend, h22 - bend
        determinant = h11 * h22 - h12 * h12
    if determinant == 0.0:
        return 0.0, 0.0
    return (h12 * second - h22 * first) / determinant, (h12 * first - h11 * second) / determinant
