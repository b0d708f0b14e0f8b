"""Exchangeable blocks by brute force: the evidence of counts as a product of predictions, and every partition."""

from itertools import combinations
from math import comb, factorial

import numpy as np
from scipy.special import betaln, gammaln
from scipy.stats import betabinom


def log_rising(start, steps):
    """log of start (start + 1) … : `steps` factors, which need not be a whole number."""
    return gammaln(start + steps) - gammaln(start)


def evidence_of_histogram(counts):
    """One row's mass beforehand, spread over the counts; each assignment of a count is equally likely."""
    counts = np.asarray(counts, dtype=float)
    n = len(counts) - 1
    ways = np.array([comb(n, t) for t in range(n + 1)], dtype=float)
    return float(log_rising(1 / (n + 1), counts).sum() - log_rising(1.0, counts.sum()) - counts @ np.log(ways))


def evidence_of_binomial(counts):
    """Every cell on its own, with one mean and a Beta(½, ½) prior."""
    counts = np.asarray(counts, dtype=float)
    n = len(counts) - 1
    ones = float(counts @ np.arange(n + 1))
    return float(betaln(ones + 0.5, counts.sum() * n - ones + 0.5) - betaln(0.5, 0.5))


def beta_binomial_of(counts):
    """Mean and intra-class correlation by moments, within the limits that the library documents."""
    counts = np.asarray(counts, dtype=float)
    n, total = len(counts) - 1, counts.sum()
    t = np.arange(n + 1)
    mean = (counts @ t + 0.5) / (total * n + 1)
    variance = counts @ t**2 / total - (counts @ t / total) ** 2
    correlation = (variance / (n * mean * (1 - mean)) - 1) / (n - 1)
    return mean, float(np.clip(correlation, 1e-4, 0.98))


def evidence_of_beta_binomial(counts):
    """The likelihood at the moments' estimate, less log(N + 1)."""
    counts = np.asarray(counts, dtype=float)
    n = len(counts) - 1
    mean, correlation = beta_binomial_of(counts)
    scale = 1 / correlation - 1
    ways = np.array([comb(n, t) for t in range(n + 1)], dtype=float)
    logs = betabinom(n, mean * scale, (1 - mean) * scale).logpmf(np.arange(n + 1)) - np.log(ways)
    return float(counts @ logs - np.log(counts.sum() + 1))


def evidence_of_block(counts):
    """The evidence of the best of three laws, each of them equally likely beforehand."""
    if len(counts) == 2:
        return evidence_of_histogram(counts)
    laws = (evidence_of_histogram, evidence_of_beta_binomial, evidence_of_binomial)
    return max(law(counts) for law in laws) - np.log(3)


def log_prior_of(partition):
    """The logarithm of s! Π (m_b − 1)! / (n! (n + 1)), for s single variables."""
    sizes = [len(block) for block in partition]
    n, single = sum(sizes), sizes.count(1)
    ways = factorial(single) * np.prod([factorial(m - 1) for m in sizes if m > 1])
    return float(np.log(ways) - np.log(factorial(n) * (n + 1)))


def all_partitions(n):
    """Every partition of 0..n−1, as tuples of tuples."""
    found = [((0,),)] if n else [()]
    for j in range(1, n):
        larger = []
        for partition in found:
            larger.append((*partition, (j,)))
            for k in range(len(partition)):
                larger.append((*partition[:k], (*partition[k], j), *partition[k + 1 :]))
        found = larger
    return found


def scores_of_partitions(table, weights):
    """The log-evidence of every partition of the columns, that of the partition included."""
    n = table.shape[1]
    of_block = {}
    for size in range(1, n + 1):
        for block in combinations(range(n), size):
            ones = table[:, block].astype(int).sum(axis=1)
            of_block[block] = evidence_of_block(np.bincount(ones, weights=weights, minlength=size + 1))
    return {
        partition: log_prior_of(partition) + sum(of_block[block] for block in partition)
        for partition in all_partitions(n)
    }


def partition_of_labels(label):
    """The blocks of a labelling, in the order of their first variable."""
    label = np.asarray(label)
    blocks = {tuple(np.flatnonzero(label == b).tolist()) for b in np.unique(label)}
    return tuple(sorted(blocks))


def blocks_of(label):
    """The variables of each block, from the block of each variable."""
    return [np.flatnonzero(np.asarray(label) == block) for block in range(max(label) + 1)]
