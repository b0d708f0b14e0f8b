"""A calibrated test of exchangeability of binary variables, in closed form.

Condition on the number of ones in each row. If the variables are exchangeable, each row is a uniformly random
arrangement of its ones, independently of the others, so the moments of the pair counts G = XᵀX are known exactly.

- Q, the means: Cochran's Q, χ² with n − 1 degrees of freedom.
- B, the bonds: whether a variable is one rather in rows of many ones or of few, which tells how it goes with all the
  others taken together (an item that asks the reverse is one where they are zero); χ² with n − 1 degrees of freedom.
- S, the pairs: what is left of the pair counts once the common mean and each variable's own effect are taken out, χ²
  with n(n − 3)/2 degrees of freedom (n ≥ 4).

Q and B are made uncorrelated, and S lives in another irreducible part of the permutation group's action; so the sum is
χ² with the degrees added, and nothing is left of means and pair counts that it does not see. Where χ² is doubtful (few
ones, or few zeros) the null distribution is simulated by drawing the rows' arrangements anew, which gives an exact
p-value.
"""

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from xspn._core.arrays import FloatArray
from xspn._core.errors import QueryError
from xspn._core.options import one_of, whole_number
from xspn._core.random import RandomState, generator
from xspn.learning.exchangeability.base import Statistics, TestResult, in_parts, tests
from xspn.learning.summary import Summary

FEWEST_EXPECTED = 5.0
SMALLEST_PART = 1e-12  # of a variance: less is rounding
PARTS = ("Q", "B", "S")
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
        found = summary.partial_moments.statistics()
    else:
        found = _statistics(summary, _Null.of(summary.totals))
    result = in_parts(found, calibration="chi2")
    if summary.complete and (p_value == "shuffle" or (p_value == "auto" and doubtful(summary))):
        return _shuffled(summary, result, n_shuffles, generator(random_state))
    return result


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


@dataclass(frozen=True, eq=False)
class _Null:
    """The moments of the pair counts under exchangeability, given the rows' numbers of ones.

    Attributes:
        n: The number of variables.
        usual: The usual number of ones in a row, rows counting as much as they vary.
        mean_pair: How often two variables are expected to be one together.
        variance_first: The variance of a variable's number of ones.
        variance_bond: The variance of that number where each row counts as much as its ones exceed the usual number.
        variance_second: The variance of a pair's residual.
    """

    n: int
    usual: float
    mean_pair: float
    variance_first: float
    variance_bond: float
    variance_second: float

    @classmethod
    def of(cls, totals: FloatArray) -> "_Null":
        n = len(totals) - 1
        k = np.arange(n + 1, dtype=np.float64)
        spread = totals * (k * (n - k)) / (n * (n - 1)) if n > 1 else np.zeros(n + 1)
        first = float(spread.sum())
        usual = float(spread @ k) / first if first > 0 else 0.0
        bond = float(spread @ (k - usual) ** 2)
        p2 = k * (k - 1) / (n * (n - 1)) if n > 1 else np.zeros(n + 1)
        p3 = p2 * (k - 2) / (n - 2) if n > 2 else np.zeros(n + 1)
        p4 = p3 * (k - 3) / (n - 3) if n > 3 else np.zeros(n + 1)
        # If all rows that vary have the same number of ones, only rounding makes them differ from the usual one.
        bond = bond if bond > SMALLEST_PART * n**2 * first else 0.0
        return cls(n, usual, float(totals @ p2), first, bond, float(totals @ (p2 - 2 * p3 + p4)))


def _statistics(summary: Summary, null: _Null) -> Statistics:
    """Return Q, B and S with their degrees of freedom. Without variation there is nothing to test, and all are 0."""
    n, ones, together = null.n, summary.ones, summary.ones_beside
    q = _squares_about_mean(ones) / null.variance_first if null.variance_first > 0 else 0.0
    b = _squares_about_mean(together - null.usual * ones) / null.variance_bond if null.variance_bond > 0 else 0.0
    found = {"Q": (q, float(n - 1)), "B": (b, float(n - 1) if null.variance_bond > 0 else 0.0), "S": (0.0, 0.0)}
    if n < 4:
        return found
    dof = n * (n - 3) / 2
    if null.variance_second <= 0:
        return {**found, "S": (0.0, dof)}
    own = (together - ones - (n - 1) * null.mean_pair) / (n - 2)
    return {**found, "S": (_squared_residuals(summary, null.mean_pair, own) / 2 / null.variance_second, dof)}


def _squared_residuals(summary: Summary, mean: float, own: FloatArray) -> float:
    """Return Σ (G_ij − mean − own_i − own_j)² over all i ≠ j."""
    if not summary.wide:
        residual = summary.pairs - mean - own[:, None] - own[None, :]
        np.fill_diagonal(residual, 0.0)
        return float((residual**2).sum())
    # Multiplied out, nothing but sums over G are needed, and G itself is not.
    n, beside, sum_of_own = summary.n, summary.ones_beside - summary.ones, float(own.sum())
    observed = summary.sum_of_squared_pairs - float(summary.ones @ summary.ones)
    crossed = mean * float(beside.sum()) + 2 * float(own @ beside)
    expected = n * (n - 1) * mean**2 + 4 * (n - 1) * mean * sum_of_own
    expected += 2 * (n - 2) * float(own @ own) + 2 * sum_of_own**2
    return float(max(observed - 2 * crossed + expected, 0.0))


def _squares_about_mean(values: FloatArray) -> float:
    """Return the sum of squared differences from the mean."""
    return float(((values - values.mean()) ** 2).sum())


def _shuffled(summary: Summary, asymptotic: TestResult, n_shuffles: int, rng: np.random.Generator) -> TestResult:
    """Return p-values by drawing every row's arrangement anew: (1 + as extreme) / (1 + shuffles)."""
    totals = np.repeat(np.arange(summary.n + 1), np.round(summary.totals).astype(np.int64))
    null = _Null.of(summary.totals)
    observed = np.array([asymptotic.statistic, *(asymptotic.parts[name] for name in PARTS)])
    at_least = np.zeros(len(observed))
    for _ in range(n_shuffles):
        order = rng.random((len(totals), summary.n)).argsort(axis=1).argsort(axis=1)
        rows = (order < totals[:, None]).astype(np.float32)
        drawn = _statistics(Summary.of(rows, np.ones(len(rows))), null)
        values = [drawn[name][0] for name in PARTS]
        at_least += np.array([sum(values), *values]) >= observed - 1e-9
    together, *each = ((1 + at_least) / (1 + n_shuffles)).tolist()
    exact = {f"p_{name}": p for name, p in zip(PARTS, each, strict=True)}
    return replace(asymptotic, p_value=together, parts={**asymptotic.parts, **exact, "calibration": "shuffle"})


tests.add("global", global_test)
