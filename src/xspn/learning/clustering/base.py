"""What a clustering returns, and the registry of clusterings.

A clustering is a function (summary, seed) → Split; None means that it found one cluster only. For columns of any types
it may propose several splits, of which the one is taken whose clusters' leaves predict best. To add one, write one
file, register it with what it can handle, and import it in `xspn/learning/clustering/__init__.py`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, xlogy

from xspn.core.arrays import FloatArray, IntArray
from xspn.learning.methods import Methods
from xspn.learning.steps import step
from xspn.learning.summary import BinarySummary
from xspn.learning.table_summary import TableSummary

TOLERANCE = 1e-3  # of EM, in nats per row


@dataclass(frozen=True, eq=False)
class Rule:
    """Which of two clusters a row belongs to, as a function of the row alone.

    A clustering labels the rows that it was shown; its rule says the same of rows that it was not shown: those that are
    out of core, when a sample was clustered. The log-odds of the second cluster are a sum over the variables.

    Attributes:
        ones: What a one of each variable adds.
        zeros: What a zero of each variable adds.
        bias: The log-odds of a row of which nothing is seen.
        variable: The position of the variable whose value decides where it is seen.

    Examples:
        >>> rule = Rule(np.array([2.0, 0.0]), np.array([-2.0, 0.0]), 0.0)
        >>> rule.responsibilities(np.array([[1, 0], [0, 0], [np.nan, 1]], dtype=np.float32)).round(2).tolist()
        [0.88, 0.12, 0.5]
    """

    ones: FloatArray
    zeros: FloatArray
    bias: float
    variable: int | None = None

    @classmethod
    def of_bernoullis(cls, p: FloatArray, log_sizes: FloatArray) -> "Rule":
        """Return the posterior odds under two products of Bernoullis with these probabilities, (2, n), and sizes."""
        ones, zeros = np.log(p), np.log1p(-p)
        return cls(ones[1] - ones[0], zeros[1] - zeros[0], float(log_sizes[1] - log_sizes[0]))

    @classmethod
    def of_centers(cls, centers: FloatArray) -> "Rule":
        """Return the rule of the nearer of two centers, (2, n): the difference of the squared distances."""
        near, far = (1 - centers) ** 2, centers**2
        return cls(near[0] - near[1], far[0] - far[1], 0.0)

    def responsibilities(self, cells: NDArray[np.float32]) -> FloatArray:
        """Return P(second cluster | what is seen) of each row; NaN is missing."""
        if self.variable is None:
            return np.asarray(expit(self._log_odds(cells)))
        value = cells[:, self.variable].astype(np.float64)
        unknown = np.isnan(value)
        if unknown.any():
            value[unknown] = expit(self._log_odds(cells[unknown]))
        return value

    def _log_odds(self, cells: NDArray[np.float32]) -> FloatArray:
        ones, zeros = (cells == 1).astype(np.float64), (cells == 0).astype(np.float64)
        return np.asarray(ones @ self.ones + zeros @ self.zeros + self.bias)


@dataclass(frozen=True)
class Condition:
    """What holds of the variable that a split is on, in one of the clusters.

    "=" and "≠" are for discrete values; "≈" and "≉" for a real number that occurs in many rows.

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
        responsibilities: P(second cluster | what was seen) of each row, if a row may belong to both clusters in part:
            where cells are missing, say; with more clusters the probability of each: (rows, clusters). None if each
            row belongs where its label says.
        variable: The position of the variable whose value tells the cluster, if the split is on one variable.
        conditions: What holds of this variable in each cluster.
        score: The gain in penalized log-likelihood over not splitting, variables taken as independent in each cluster.
        rule: The cluster of rows that were not shown; None if only all rows together tell.
        blocks: The exchangeable block of each variable in each cluster, if they were looked for.
    """

    labels: IntArray
    responsibilities: FloatArray | None = None
    variable: int | None = None
    conditions: tuple[Condition, ...] = ZERO_OR_ONE
    score: float = np.nan
    rule: Rule | None = None
    blocks: tuple[IntArray, ...] | None = None

    @property
    def on_category(self) -> bool:
        """Whether some cluster has one value of a discrete variable only."""
        return self.variable is not None and any(condition.relation == "=" for condition in self.conditions)


BitClustering = Callable[[BinarySummary, int], Split | None]
TableClustering = Callable[[TableSummary, int], Split | Sequence[Split] | None]
clusterings: Methods[BitClustering, TableClustering] = Methods("clustering", "clustering")


def proposals(found: Split | Sequence[Split] | None) -> Sequence[Split]:
    """Return what a clustering of columns of any types found as splits to be compared."""
    if found is None:
        return []
    return [found] if isinstance(found, Split) else found


def responsibilities_of(split: Split) -> Sequence[FloatArray]:
    """Return the responsibilities of the clusters of a split for each row."""
    if split.responsibilities is not None and split.responsibilities.ndim == 2:
        return list(split.responsibilities.T)
    second = split.labels.astype(np.float64) if split.responsibilities is None else split.responsibilities
    return 1 - second, second


def em_of_two_clusters(
    joint: Callable[[FloatArray], FloatArray], weights: FloatArray, posterior: FloatArray, max_iterations: int
) -> tuple[float, FloatArray]:
    """Run EM from a first assignment; return the log-likelihood and P(second cluster | row).

    Args:
        joint: From P(second cluster | row) to log P(row, cluster) under the clusters fitted to it: (rows, 2).
        weights: The weight of each row.
        posterior: The first assignment.
        max_iterations: The largest number of iterations.
    """
    total = float(weights.sum())
    previous = current = -np.inf
    for _ in range(max_iterations):
        logs = joint(posterior)
        row_ll = np.logaddexp(logs[:, 0], logs[:, 1])
        posterior = np.exp(logs[:, 1] - row_ll)
        current = float(weights @ row_ll)
        step()
        if current - previous < TOLERANCE * total:
            break
        previous = current
    return current, posterior


def factorized_log_likelihood(ones: FloatArray, total: FloatArray | float) -> FloatArray:
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


def gain_of_labels(summary: BinarySummary, labels: IntArray) -> float:
    """Return the penalized gain of two clusters over one."""
    cells, weights = summary.rows()
    second = labels == 1
    own = cells[second].astype(np.float64)
    ones = weights[second] @ np.nan_to_num(own)
    seen = weights[second] @ ~np.isnan(own)
    n_second = float(weights[second].sum())
    both, rows = np.array([summary.ones - ones, ones]), np.array([summary.seen - seen, seen])
    sizes = np.array([summary.total - n_second, n_second])
    split = factorized_log_likelihood(both, rows).sum() + xlogy(sizes, sizes / summary.total).sum()
    whole = factorized_log_likelihood(summary.ones, summary.seen)
    return float(split - whole) - bic_penalty(summary.total, summary.n + 1)
