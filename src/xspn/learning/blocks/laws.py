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
LOG_LAWS = float(np.log(3.0))  # the three laws are equally likely beforehand
LEAST_CORRELATION, LARGEST_CORRELATION = 1e-4, 0.98


@kept(nogil=True)
def log_binomial_table(n: int) -> Array:
    """Return log C(m, t) at [m, t], for all m up to n."""
    table = np.zeros((n + 1, n + 1))
    for m in range(n + 1):
        for t in range(m + 1):
            table[m, t] = lgamma(m + 1.0) - lgamma(t + 1.0) - lgamma(m - t + 1.0)
    return table


@kept(nogil=True)
def evidence_of_bit(ones: float, zeros: float) -> float:
    """Return the log-evidence of a single variable, with a Beta(½, ½) prior."""
    return (
        lgamma(ones + 0.5) + lgamma(zeros + 0.5) - lgamma(ones + zeros + 1.0) - 2.0 * lgamma(0.5)
    )  # fmt: skip


@kept(nogil=True)
def evidence_of_counts(counts: Array, n: int, coefficients: Array) -> tuple[float, int]:
    """Return the log-evidence of a block of n variables under its best law, and the law.

    Args:
        counts: The weight of the rows with t ones, at [t].
        n: The number of variables.
        coefficients: log C(n, t) at [t].
    """
    total, ones = 0.0, 0.0
    for t in range(n + 1):
        total += counts[t]
        ones += counts[t] * t
    if total <= 0.0:
        return 0.0, HISTOGRAM
    each = PRIOR_MASS / (n + 1)
    histogram = lgamma(PRIOR_MASS) - lgamma(total + PRIOR_MASS)
    for t in range(n + 1):
        if counts[t] > 0.0:
            histogram += lgamma(counts[t] + each) - lgamma(each) - counts[t] * coefficients[t]
    if n == 1:
        return histogram, HISTOGRAM
    best, law = histogram, HISTOGRAM
    binomial = evidence_of_bit(ones, max(total * n - ones, 0.0))
    if binomial > best:
        best, law = binomial, BINOMIAL
    mean, dispersion = moments_of_counts(counts, n)
    beta_binomial = _log_likelihood(counts, n, mean, dispersion) - log(total + 1.0)
    if beta_binomial > best:
        best, law = beta_binomial, BETA_BINOMIAL
    return best - LOG_LAWS, law


@kept(nogil=True)
def moments_of_counts(counts: Array, n: int) -> tuple[float, float]:
    """Return mean and dispersion of the beta-binomial law with the moments of the counts."""
    total, ones, squares = 0.0, 0.0, 0.0
    for t in range(n + 1):
        total += counts[t]
        ones += counts[t] * t
        squares += counts[t] * t * t
    mean = (ones + 0.5) / (total * n + 1.0)
    variance = max(squares / total - (ones / total) ** 2, 0.0)
    alone = n * mean * (1.0 - mean)  # zero where a huge weight rounds the mean to one
    correlation = (variance / alone - 1.0) / (n - 1) if alone > 0.0 else 0.0
    correlation = min(max(correlation, LEAST_CORRELATION), LARGEST_CORRELATION)
    return mean, correlation / (1.0 - correlation)


@kept(nogil=True)
def _log_likelihood(counts: Array, n: int, mean: float, dispersion: float) -> float:
    """Return the log-likelihood of a beta-binomial law: an urn's, draw by draw (`leaves/beta_binomial_fit.py`)."""
    total = 0.0
    for t in range(n + 1):
        total += counts[t]
    above, below, found = 0.0, 0.0, 0.0
    for j in range(n - 1, -1, -1):
        above += counts[j + 1]
        below += counts[n - 1 - j]
        found += above * log(mean + j * dispersion) + below * log(1.0 - mean + j * dispersion)
        found -= total * log(1.0 + j * dispersion)
    return found


@kept(nogil=True)
def log_probabilities(counts: Array, n: int, coefficients: Array, law: int, found: Array) -> None:
    """Fill in the log-probability of each single assignment with t ones, at [t], under a law fitted to the counts."""
    total, ones = 0.0, 0.0
    for t in range(n + 1):
        total += counts[t]
        ones += counts[t] * t
    if law == HISTOGRAM:
        for t in range(n + 1):
            found[t] = log((counts[t] + PRIOR_MASS / (n + 1)) / (total + PRIOR_MASS)) - coefficients[t]
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
