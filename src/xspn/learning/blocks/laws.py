"""How the number of ones in a block of binary variables may be distributed, and the evidence for each law.

Given its law, a block's counts are integrated over the law's parameters, so that evidence needs no penalty of its own:

- a *histogram* has a probability for each count, with a Dirichlet prior of one row's mass spread evenly;
- a *beta-binomial* law has two parameters; its evidence is the likelihood at the moments' estimate, less log N;
- a *binomial* law has one: variables of one mean, each on its own, with a Beta(½, ½) prior.

Every assignment with the same count is equally likely, hence the binomial coefficients. Compiled by numba.
"""

from math import lgamma, log
from typing import Any

import numpy as np

from xspn.core.compilation import kept

Array = Any
HISTOGRAM, BETA_BINOMIAL, BINOMIAL = 0, 1, 2
PRIOR_MASS = 1.0
FEW_COUNTS = 2  # gamma functions are faster than logarithms for all draws if counts are so many times as many
LOG_LAWS = float(np.log(3.0))  # the three laws are equally likely beforehand
LOG_2, LOG_PI = float(np.log(2.0)), float(np.log(np.pi))  # the latter is 2 log Γ(½)
THIRD = PRIOR_MASS / 3.0  # for each of the three counts of two variables
LEAST_CORRELATION, LARGEST_CORRELATION = 1e-4, 0.98
NO_DISPERSION = 1.001 * LEAST_CORRELATION  # of counts that vary no more than those of independent variables


@kept(nogil=True, error_model="numpy")
def log_factorials_to(n: int) -> Array:
    """Return log t! at [t], for all t up to n."""
    found = np.zeros(n + 1)
    for t in range(n + 1):
        found[t] = lgamma(t + 1.0)
    return found


@kept(nogil=True, error_model="numpy")
def evidence_of_bit(ones: float, zeros: float) -> float:
    """Return the log-evidence of a single variable, with a Beta(½, ½) prior."""
    return (
        lgamma(ones + 0.5) + lgamma(zeros + 0.5) - lgamma(ones + zeros + 1.0) - LOG_PI
    )  # fmt: skip


@kept(nogil=True, error_model="numpy")
def evidence_of_counts(counts: Array, n: int, log_factorials: Array) -> tuple[float, int]:
    """Return the log-evidence of a block of n variables under its best law, and the law.

    Args:
        counts: The weight of the rows with t ones, at [t].
        n: The number of variables.
        log_factorials: log t! at [t], for t up to n at least.
    """
    total = 0.0
    for t in range(n + 1):
        total += counts[t]
    of_total, of_none = lgamma(total + PRIOR_MASS), lgamma(PRIOR_MASS / (n + 1))
    return evidence_with(counts, n, log_factorials, of_total, of_none, lgamma(total * n + 1.0))


@kept(nogil=True, error_model="numpy")
def evidence_with(
    counts: Array, n: int, log_factorials: Array, of_total: float, of_none: float, of_draws: float
) -> tuple[float, int]:
    """Return the same, given what does not depend on the counts: many blocks of the same rows are compared.

    Args:
        counts: The weight of the rows with t ones, at [t].
        n: The number of variables.
        log_factorials: log t! at [t], for t up to n at least.
        of_total: log Γ(N + 1), for rows of weight N in all.
        of_none: log Γ(1 / (n + 1)).
        of_draws: log Γ(n N + 1).
    """
    total, ones, squares, seen = 0.0, 0.0, 0.0, 0
    each = PRIOR_MASS / (n + 1)
    histogram = -of_total
    for t in range(n + 1):
        own = counts[t]
        if own > 0.0:
            total += own
            ones += own * t
            squares += own * t * t
            seen += 1
            log_ways = log_factorials[n] - log_factorials[t] - log_factorials[n - t]
            histogram += lgamma(own + each) - of_none - own * log_ways
    if total <= 0.0:
        return 0.0, HISTOGRAM
    if n == 1:
        return histogram, HISTOGRAM
    best, law = histogram, HISTOGRAM
    binomial = lgamma(ones + 0.5) + lgamma(max(total * n - ones, 0.0) + 0.5) - of_draws - LOG_PI
    if binomial > best:
        best, law = binomial, BINOMIAL
    mean, dispersion = _moments(total, ones, squares, n)
    if dispersion <= NO_DISPERSION and n <= total:  # the binomial law is the same with a parameter less
        return best - LOG_LAWS, law
    beta_binomial = _log_likelihood(counts, n, total, seen, mean, dispersion) - log(total + 1.0)
    if beta_binomial > best:
        best, law = beta_binomial, BETA_BINOMIAL
    return best - LOG_LAWS, law


@kept(nogil=True, error_model="numpy")
def evidence_of_pair(none: float, one: float, both: float, of_total: float, of_none: float, of_draws: float) -> float:
    """Return the evidence of a block of two variables, of which none, one or both are one so often: `evidence_with`."""
    total, ones = none + one + both, one + both * 2.0
    if total <= 0.0:
        return 0.0
    best = -of_total
    if none > 0.0:
        best += lgamma(none + THIRD) - of_none
    if one > 0.0:
        best += lgamma(one + THIRD) - of_none - one * LOG_2
    if both > 0.0:
        best += lgamma(both + THIRD) - of_none
    zeros = max(2.0 * total - ones, 0.0)
    best = max(best, lgamma(ones + 0.5) + lgamma(zeros + 0.5) - of_draws - LOG_PI)
    mean, dispersion = _moments(total, ones, one + both * 4.0, 2)
    if dispersion > NO_DISPERSION or total < 2.0:
        urn = both * log(mean + dispersion) + none * log(1.0 - mean + dispersion) - total * log(1.0 + dispersion)
        urn += (one + both) * log(mean) + (none + one) * log(1.0 - mean)
        best = max(best, urn - log(total + 1.0))
    return best - LOG_LAWS


@kept(nogil=True, error_model="numpy")
def moments_of_counts(counts: Array, n: int) -> tuple[float, float]:
    """Return mean and dispersion of the beta-binomial law with the moments of the counts."""
    total, ones, squares = 0.0, 0.0, 0.0
    for t in range(n + 1):
        total += counts[t]
        ones += counts[t] * t
        squares += counts[t] * t * t
    return _moments(total, ones, squares, n)


@kept(nogil=True, error_model="numpy")
def _moments(total: float, ones: float, squares: float, n: int) -> tuple[float, float]:
    mean = (ones + 0.5) / (total * n + 1.0)
    variance = max(squares / total - (ones / total) ** 2, 0.0)
    alone = n * mean * (1.0 - mean)  # zero where a huge weight rounds the mean to one
    correlation = (variance / alone - 1.0) / (n - 1) if alone > 0.0 else 0.0
    correlation = min(max(correlation, LEAST_CORRELATION), LARGEST_CORRELATION)
    return mean, correlation / (1.0 - correlation)


@kept(nogil=True, error_model="numpy")
def _log_likelihood(counts: Array, n: int, total: float, seen: int, mean: float, dispersion: float) -> float:
    """Return the log-likelihood of a beta-binomial law: an urn's, draw by draw (`leaves/beta_binomial_fit.py`).

    Where few of many counts were seen, products of draws come from gamma functions.
    """
    if FEW_COUNTS * seen < n:
        a, b = mean / dispersion, (1.0 - mean) / dispersion
        found = -total * (lgamma(a + b + n) - lgamma(a + b) + lgamma(a) + lgamma(b))
        for t in range(n + 1):
            if counts[t] > 0.0:
                found += counts[t] * (lgamma(a + t) + lgamma(b + n - t))
        return found
    above, below, found = 0.0, 0.0, 0.0
    for j in range(n - 1, -1, -1):
        above += counts[j + 1]
        below += counts[n - 1 - j]
        found += above * log(mean + j * dispersion) + below * log(1.0 - mean + j * dispersion)
        found -= total * log(1.0 + j * dispersion)
    return found


@kept(nogil=True, error_model="numpy")
def log_probabilities(counts: Array, n: int, log_factorials: Array, law: int, found: Array) -> None:
    """Fill in the log-probability of each single assignment with t ones, at [t], under a law fitted to the counts."""
    total, ones = 0.0, 0.0
    for t in range(n + 1):
        total += counts[t]
        ones += counts[t] * t
    if law == HISTOGRAM:
        for t in range(n + 1):
            log_ways = log_factorials[n] - log_factorials[t] - log_factorials[n - t]
            found[t] = log((counts[t] + PRIOR_MASS / (n + 1)) / (total + PRIOR_MASS)) - log_ways
        return
    mean, dispersion = (ones + 0.5) / (total * n + 1.0), 0.0
    if law == BETA_BINOMIAL:
        mean, dispersion = moments_of_counts(counts, n)
    start = 0.0
    for j in range(n):
        start -= log(1.0 + j * dispersion)
    for t in range(n + 1):
        found[t] = start
        if t < n:
            start += log(mean + t * dispersion)
    rest = 0.0
    for t in range(n, -1, -1):
        found[t] += rest
        if t > 0:
            rest += log(1.0 - mean + (n - t) * dispersion)
