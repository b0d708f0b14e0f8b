"""A calibrated test of exchangeability of binary variables, in closed form.

Condition on the number of ones in each row. If the variables are exchangeable, each row is a uniformly random
arrangement of its ones, independently of the others, so the moments of the pair counts G = XᵀX are known exactly.

- First order, the means: Cochran's Q, χ² with n − 1 degrees of freedom.
- Second order, the pairs: what is left of the pair counts once the common mean and each variable's own effect are taken
  out, χ² with n(n − 3)/2 degrees of freedom (n ≥ 4).

The two live in different irreducible parts of the permutation group's action, hence are uncorrelated, and their sum is
χ² with the degrees added. Where χ² is doubtful (few ones, or few zeros) the null distribution is simulated by drawing
the rows' arrangements anew, which gives an exact p-value.
"""

from typing import Literal, get_args

import numpy as np
from scipy.special import chdtrc

from xspn._core.arrays import FloatArray
from xspn._core.errors import QueryError
from xspn._core.options import one_of, whole_number
from xspn._core.random import RandomState, generator
from xspn.learning.exchangeability.base import TestResult, tests
from xspn.learning.summary import Summary

FEWEST_EXPECTED = 5.0
Calibration = Literal["auto", "chi2", "shuffle"]


def global_test(
    summary: Summary,
    *,
    p_value: Calibration = "chi2",
    n_shuffles: int = 499,
    random_state: RandomState = 0,
) -> TestResult:
    """Test exchangeability by the means and the pair counts together.

    Args:
        summary: The data.
        p_value: "chi2", "shuffle", or "auto": shuffle where variables have fewer than five ones or zeros on average.
            Where cells are missing only "chi2" is possible, and "auto" takes it.
        n_shuffles: How many times to shuffle.
        random_state: The seed of the shuffles.
    """
    one_of("global test: p_value", p_value, get_args(Calibration))
    whole_number("global test: n_shuffles", n_shuffles, 1)
    if not summary.complete:
        summary = _seen_columns(summary, p_value)
        q, s = summary.partial_moments.statistics()
    else:
        q, s = _statistics(summary.pairs, _Null.of(summary.totals))
    n = summary.n
    dof_q, dof_s = float(n - 1), max(n * (n - 3) / 2, 0.0)
    parts = {
        "Q": q,
        "dof_Q": dof_q,
        "p_Q": _tail(dof_q, q),
        "S": s,
        "dof_S": dof_s,
        "p_S": _tail(dof_s, s),
        "calibration": "chi2",
    }
    if summary.complete and (p_value == "shuffle" or (p_value == "auto" and doubtful(summary))):
        return _shuffled(summary, q, s, parts, n_shuffles, generator(random_state))
    return TestResult("global", q + s, dof_q + dof_s, _tail(dof_q + dof_s, q + s), parts)


def _seen_columns(summary: Summary, p_value: Calibration) -> Summary:
    """Return the variables of which something was seen; the others say nothing and have no degrees of freedom."""
    if p_value == "shuffle":
        raise QueryError("global test: shuffling needs complete rows; use p_value='chi2' where cells are missing")
    seen = np.flatnonzero(summary.seen > 0)
    return summary if len(seen) == summary.n else summary.columns(seen)


def doubtful(summary: Summary) -> bool:
    """Whether the variables have so few ones, or zeros, that χ² is not to be trusted."""
    mean = float(summary.ones.mean())
    return min(mean, summary.total - mean) < FEWEST_EXPECTED


class _Null:
    """The moments of the pair counts under exchangeability, given the rows' numbers of ones."""

    def __init__(self, n: int, mean_pair: float, variance_first: float, variance_second: float) -> None:
        self.n = n
        self.mean_pair = mean_pair
        self.variance_first = variance_first
        self.variance_second = variance_second

    @classmethod
    def of(cls, totals: FloatArray) -> "_Null":
        n = len(totals) - 1
        k = np.arange(n + 1, dtype=np.float64)
        first = float(totals @ (k * (n - k))) / (n * (n - 1)) if n > 1 else 0.0
        p2 = k * (k - 1) / (n * (n - 1)) if n > 1 else np.zeros(n + 1)
        p3 = p2 * (k - 2) / (n - 2) if n > 2 else np.zeros(n + 1)
        p4 = p3 * (k - 3) / (n - 3) if n > 3 else np.zeros(n + 1)
        return cls(n, float(totals @ p2), first, float(totals @ (p2 - 2 * p3 + p4)))


def _statistics(pairs: FloatArray, null: _Null) -> tuple[float, float]:
    """Return Q and S. Without variation there is nothing to test, and both are 0."""
    n = null.n
    ones = np.diag(pairs)
    q = float(((ones - ones.mean()) ** 2).sum() / null.variance_first) if null.variance_first > 0 else 0.0
    if n < 4 or null.variance_second <= 0:
        return q, 0.0
    off = pairs - np.diag(ones)
    own = (off.sum(axis=1) - (n - 1) * null.mean_pair) / (n - 2)
    residual = off - null.mean_pair - own[:, None] - own[None, :]
    np.fill_diagonal(residual, 0.0)
    return q, float((residual**2).sum() / 2 / null.variance_second)


def _tail(dof: float, statistic: float) -> float:
    return float(chdtrc(dof, statistic)) if dof > 0 else 1.0


def _shuffled(
    summary: Summary, q: float, s: float, parts: dict[str, object], n_shuffles: int, rng: np.random.Generator
) -> TestResult:
    """Return p-values by drawing every row's arrangement anew: (1 + as extreme) / (1 + shuffles)."""
    totals = np.repeat(np.arange(summary.n + 1), np.round(summary.totals).astype(np.int64))
    null = _Null.of(summary.totals)
    at_least = np.zeros(3)
    for _ in range(n_shuffles):
        order = rng.random((len(totals), summary.n)).argsort(axis=1).argsort(axis=1)
        rows = (order < totals[:, None]).astype(np.float32)
        q_new, s_new = _statistics((rows.T @ rows).astype(np.float64), null)
        at_least += [q_new + s_new >= q + s - 1e-9, q_new >= q - 1e-9, s_new >= s - 1e-9]
    p_both, p_q, p_s = ((1 + at_least) / (1 + n_shuffles)).tolist()
    own = {**parts, "p_Q": p_q, "p_S": p_s, "calibration": "shuffle"}
    return TestResult("global", q + s, float(summary.n - 1 + max(summary.n * (summary.n - 3) / 2, 0)), p_both, own)


tests.add("global", global_test)
