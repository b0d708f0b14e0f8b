"""Two clusters by the value of one variable, as cutset networks split: the resulting sum is deterministic."""

from dataclasses import replace

import numpy as np
from scipy.special import xlogy

from xspn.core.arrays import FloatArray
from xspn.learning.clustering.base import Rule, Split, bic_penalty, clusterings, factorized_log_likelihood
from xspn.learning.steps import step
from xspn.learning.summary import BinarySummary

TINY = 1e-300


def variable_split(summary: BinarySummary, seed: int) -> Split | None:
    """Return the split on the variable whose two clusters explain the others best; all variables are tried at once.

    Row i of G counts the ones among the rows where variable i is one, so the score of every split is n × n arithmetic.
    """
    gain = np.concatenate([_gains(summary, tried) for tried in summary.blocks()])
    gain[summary.constant()] = -np.inf
    best = int(np.argmax(gain))
    if np.isneginf(gain[best]):
        return None
    # Each cluster has its own n − 1 bits, plus the weight of the sum; unsplit there are n bits.
    score = float(gain[best]) - bic_penalty(summary.total, 2 * (summary.n - 1) + 1 - summary.n)
    rule = _rule(summary, best)
    second = rule.responsibilities(summary.rows()[0])
    labels = (second > 0.5).astype(np.int64)
    return Split(labels, None if summary.complete else second, variable=best, score=score, rule=rule)


def _gains(summary: BinarySummary, tried: slice) -> FloatArray:
    """Return what a split on each of some variables gains in log-likelihood."""
    n11, n10, n01, n00 = summary.pair_table(tried)  # (split variable, variable)
    inside = np.array([n01, n11])  # (value, split variable, variable)
    seen, ones = summary.seen[tried], summary.ones[tried]
    sizes = np.array([seen - ones, ones])  # (value, split variable)
    rows = sizes if summary.complete else np.array([n01 + n00, n11 + n10])
    split = factorized_log_likelihood(inside, rows).sum(axis=0)
    step()
    split += (xlogy(sizes, sizes) - xlogy(sizes, np.maximum(seen, TINY))).sum(axis=0)
    return np.asarray(split - _unsplit(summary, tried))


def _unsplit(summary: BinarySummary, tried: slice) -> FloatArray:
    """Return the log-likelihood without a split, for each split variable over the rows that have it."""
    if summary.complete:
        return factorized_log_likelihood(summary.ones, summary.total)
    _, ones, both = summary.where_seen(tried)
    return factorized_log_likelihood(ones, both)


def _rule(summary: BinarySummary, best: int) -> Rule:
    """Return the rule of a split on one variable: its value; P(one | the row's other values) where it is missing."""
    nothing = np.zeros(summary.n)
    if summary.complete:
        return Rule(nothing, nothing, 0.0, best)
    n11, n10, n01, n00 = (cell[0] for cell in summary.pair_table(slice(best, best + 1)))
    rows = np.array([n01 + n00, n11 + n10])
    p = (np.array([n01, n11]) + 1) / (rows + 2)  # (value, variable)
    p[:, best] = 0.5  # nothing is seen of it where the others are asked
    sizes = np.array([summary.seen[best] - summary.ones[best], summary.ones[best]]) + 1
    return replace(Rule.of_bernoullis(p, np.log(sizes)), variable=best)


clusterings.add("variable", variable_split)
