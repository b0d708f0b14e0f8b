"""What a clustering returns, and the registry of clusterings.

A clustering is a function (summary, seed) → Split or None; None means that it found one cluster only. To add one, write
one file, register it, and import it in `xspn/learning/clustering/__init__.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import xlogy

from xspn.core.arrays import FloatArray, IntArray
from xspn.core.registry import Registry
from xspn.learning.clustering.rule import Rule
from xspn.learning.summary import Summary

clusterings: "Registry[Callable[[Summary, int], Split | None]]" = Registry("clustering")


@dataclass(frozen=True)
class Condition:
    """What holds of the variable that a split is on, in one of the clusters.

    "=" and "≠" are said of discrete values; "≈" and "≉" of a number that comes up again and again.

    Examples:
        >>> str(Condition("≤", 2.5))
        '≤ 2.5'
    """

    relation: Literal["=", "≠", "≤", ">", "≈", "≉"]
    value: float

    def __str__(self) -> str:
        return f"{self.relation} {self.value:g}"


ZERO_OR_ONE = (Condition("=", 0), Condition("=", 1))


@dataclass(frozen=True, eq=False)
class Split:
    """Rows split into clusters 0..k−1.

    Attributes:
        labels: The cluster of each row.
        shares: P(second cluster | what was seen) of each row where cells are missing: a row that does not tell belongs
            to both clusters in part. None if no cell is missing: then a row belongs where its label says.
        variable: The position of the variable whose value tells the cluster, if the split is on one variable.
        conditions: What holds of this variable in each cluster.
        score: The gain in penalised log-likelihood over not splitting, variables taken as independent in each cluster.
        rule: The cluster of rows that were not shown; None if only all rows together tell.
    """

    labels: IntArray
    shares: FloatArray | None = None
    variable: int | None = None
    conditions: tuple[Condition, ...] = ZERO_OR_ONE
    score: float = np.nan
    rule: Rule | None = None

    @property
    def on_category(self) -> bool:
        """Whether some cluster has one value of a discrete variable only."""
        return self.variable is not None and any(condition.relation == "=" for condition in self.conditions)


def factorised_log_likelihood(ones: FloatArray, total: FloatArray | float) -> FloatArray:
    """Return the maximum log-likelihood of independent bits with these counts of ones, summed over the last axis.

    Args:
        ones: How often each bit is one: (…, n).
        total: In how many rows: (…) for all bits alike, or (…, n).
    """
    total = np.asarray(total, dtype=np.float64)
    total = total if total.ndim == ones.ndim else total[..., None]
    zeros = np.maximum(total - ones, 0.0)
    return np.asarray((xlogy(ones, ones) + xlogy(zeros, zeros) - xlogy(total, total)).sum(axis=-1))


def bic_penalty(total: float, n_parameters: int) -> float:
    """Return the price of free parameters: half the logarithm of the number of rows each."""
    return 0.5 * n_parameters * float(np.log(max(total, 1.0)))


def gain_of_labels(summary: Summary, labels: IntArray) -> float:
    """Return the penalised gain of two clusters over one."""
    cells, weights = summary.rows()
    second = labels == 1
    own = cells[second].astype(np.float64)
    ones = weights[second] @ np.nan_to_num(own)
    seen = weights[second] @ ~np.isnan(own)
    n_second = float(weights[second].sum())
    both, rows = np.array([summary.ones - ones, ones]), np.array([summary.seen - seen, seen])
    sizes = np.array([summary.total - n_second, n_second])
    split = factorised_log_likelihood(both, rows).sum() + xlogy(sizes, sizes / summary.total).sum()
    whole = factorised_log_likelihood(summary.ones, summary.seen)
    return float(split - whole) - bic_penalty(summary.total, summary.n + 1)
