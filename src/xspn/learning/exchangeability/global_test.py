"""A calibrated test of exchangeability of binary variables, in closed form.

Condition on the number of ones in each row. If the variables are exchangeable, each row is a uniformly random
arrangement of its ones, independently of the others, so the moments of the pair counts G = XᵀX are known exactly.

- Q, the means: Cochran's Q, χ² with n − 1 degrees of freedom.
- B, the item–rest associations: whether a variable is one rather in rows of many ones or of few, which tells how it
  goes with all the others taken together (an item that asks the reverse is one where they are zero); χ² with n − 1
  degrees of freedom.
- S, the pairs: what is left of the pair counts once the common mean and each variable's own effect are taken out, χ²
  with n(n − 3)/2 degrees of freedom (n ≥ 4).

Q and B are made uncorrelated, and S lives in another irreducible part of the permutation group's action; nothing is
left of means and pair counts that they do not see. Each can reject by its sum of squares or, where that has many
degrees of freedom, by the largest deviation of one variable or pair (see `learning.deviations`); the p-value is that of
the least one. Where χ² is doubtful (few ones, or few zeros) the null distribution is simulated by drawing the rows'
arrangements anew, which gives an exact p-value.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Literal, get_args

import numpy as np

from xspn.core.arrays import FloatArray, IntArray
from xspn.core.checks import one_of, whole_number
from xspn.core.errors import QueryError
from xspn.core.random import RandomState, generator
from xspn.learning.deviations import Cumulants, DeviationPart, Ends, Index, cumulants_of_product, largest, needs_largest
from xspn.learning.exchangeability.base import TestResult, in_parts, tests
from xspn.learning.exchangeability.table_global_test import table_global_test
from xspn.learning.methods import Can, Method
from xspn.learning.summary import BinarySummary

FEWEST_EXPECTED = 5.0
SMALLEST_PART = 1e-12  # of a variance: less is rounding
ROUNDING = 1e-9  # by which equal p-values may differ
Calibration = Literal["auto", "chi2", "shuffle"]


def global_test(
    summary: BinarySummary,
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
        seen = _seen_columns(summary, p_value)
        if len(seen) < 2:  # nothing to compare
            return in_parts({name: DeviationPart() for name in ("Q", "B", "S")}, seen, calibration="chi2")
        own = summary if len(seen) == summary.n else summary.part(seen)
        return in_parts(own.partial_moments.statistics(), seen, calibration="chi2")
    result = in_parts(_statistics(summary, _Null(summary.totals)), calibration="chi2")
    if p_value == "shuffle" or (p_value == "auto" and doubtful(summary)):
        return _shuffled(summary, result, n_shuffles, generator(random_state))
    return result


def _seen_columns(summary: BinarySummary, p_value: Calibration) -> IntArray:
    """Return the variables of which something was seen; the others say nothing and have no degrees of freedom."""
    if p_value == "shuffle":
        raise QueryError("global test: shuffling needs complete rows; use p_value='chi2' where cells are missing")
    return np.flatnonzero(summary.seen > 0)


def doubtful(summary: BinarySummary) -> bool:
    """Whether the variables have so few ones, or zeros, that χ² is not to be trusted."""
    mean = float(summary.ones.mean())
    return min(mean, summary.total - mean) < FEWEST_EXPECTED


@lru_cache(maxsize=64)
def _moments_by_count(n: int) -> FloatArray:
    """Return what a row with k ones contributes to the null distribution, for k = 0..n: (9, n + 1).

    Factors that vanish (k = 1 has no pairs, say) make exact zeros: rounding must not pass for variation.
    """
    k = np.arange(n + 1, dtype=np.float64)
    p = k / n
    pq = p * (n - k) / n
    p2 = k * (k - 1) / (n * max(n - 1, 1))
    spread = k * (n - k) / (n * max(n - 1, 1))
    second = p2 * (n - k) * (n - k - 1) / max((n - 2) * (n - 3), 1)
    of_pairs = cumulants_of_product(p, p2)
    return np.array([spread, p2, second, pq, pq * (1 - 2 * p), pq * (1 - 6 * pq), *of_pairs])


class _Null:
    """The moments of the pair counts under exchangeability, given the rows' numbers of ones.

    Attributes:
        n: The number of variables.
        usual: The usual number of ones in a row, rows counting as much as they vary.
        mean_pair: How often two variables are expected to be one together.
        variance_first: The variance of a variable's number of ones.
        variance_rest: The variance of that number where each row counts as much as its ones exceed the usual number.
        variance_second: The variance of a pair's residual.
        of_ones: The cumulants of a variable's number of ones.
        of_pairs: The cumulants of a pair's residual, but for terms of the order of 1/n.
    """

    def __init__(self, totals: FloatArray) -> None:
        self.n = len(totals) - 1
        by_count = _moments_by_count(self.n)
        sums = (by_count @ totals).tolist()
        self.variance_first, self.mean_pair, self.variance_second = sums[:3]
        self.of_ones: Cumulants = (sums[3], sums[4], sums[5])
        self.of_pairs: Cumulants = (sums[6], sums[7], sums[8])
        spread = totals * by_count[0]
        k = np.arange(self.n + 1, dtype=np.float64)
        self.usual = float(spread @ k) / self.variance_first if self.variance_first > 0 else 0.0
        self._totals, self._excess = totals, k - self.usual
        rest = float(spread @ self._excess**2)
        # If all rows that vary have the same number of ones, only rounding makes them differ from the usual one.
        self.variance_rest = rest if rest > SMALLEST_PART * self.n**2 * self.variance_first else 0.0

    def of_rest(self) -> Cumulants:
        """Return the cumulants of a variable's ones where each row counts as much as its ones exceed the usual one."""
        _, _, _, *own, _, _, _ = _moments_by_count(self.n)
        second, third, fourth = (
            float((self._totals * cumulant) @ self._excess**m) for m, cumulant in enumerate(own, start=2)
        )
        return second, third, fourth


def _statistics(summary: BinarySummary, null: _Null) -> dict[str, DeviationPart]:
    """Return Q, B and S. What cannot vary has no degrees of freedom."""
    n, ones, together = null.n, summary.ones, summary.ones_beside
    found = {
        "Q": _part_of_columns(ones, null.variance_first, lambda _: null.of_ones),
        "B": _part_of_columns(together - null.usual * ones, null.variance_rest, lambda _: null.of_rest()),
        "S": DeviationPart(),
    }
    dof = n * (n - 3) / 2
    if dof <= 0 or null.variance_second <= 0:
        return found
    own = (together - ones - (n - 1) * null.mean_pair) / (n - 2)
    variance = null.variance_second * (n - 3) / (n - 1)
    squares, ends = 0.0, Ends()
    for block in summary.blocks():
        residual = summary.pairs_of(block) - null.mean_pair - own[block][:, None] - own[None, :]
        residual[np.arange(len(residual)), np.arange(n)[block]] = 0.0
        squares += float(np.vdot(residual, residual))
        if needs_largest(dof):
            ends.look_at(residual, variance, block.start)
    single = ends.largest(n * (n - 1) // 2, lambda _: null.of_pairs) if needs_largest(dof) else None
    return {**found, "S": DeviationPart(squares / 2 / null.variance_second, dof, single)}


def _part_of_columns(sums: FloatArray, variance: float, cumulants: Callable[[Index], Cumulants]) -> DeviationPart:
    """Return a part that has a member for each column: sums of which the differences from their mean matter."""
    n = len(sums)
    if variance <= 0:
        return DeviationPart()
    deviations = sums - sums.mean()
    value, dof = float(deviations @ deviations) / variance, float(n - 1)
    if not needs_largest(dof):
        return DeviationPart(value, dof)
    return DeviationPart(value, dof, largest(deviations, variance * (n - 1) / n, n, cumulants))


def _shuffled(summary: BinarySummary, asymptotic: TestResult, n_shuffles: int, rng: np.random.Generator) -> TestResult:
    """Return p-values by drawing every row's arrangement anew: (1 + as extreme) / (1 + shuffles).

    The least p-value is compared with the least ones of the shuffled rows, so the several tests need no correction.
    """
    totals = np.repeat(np.arange(summary.n + 1), np.round(summary.totals).astype(np.int64))
    null = _Null(summary.totals)
    names = [name for name in asymptotic.parts if name.startswith("p_")]
    observed = np.array([asymptotic.p_value, *(asymptotic.parts[name] for name in names)])
    at_most = np.zeros(len(observed))
    for _ in range(n_shuffles):
        order = rng.random((len(totals), summary.n)).argsort(axis=1).argsort(axis=1)
        rows = (order < totals[:, None]).astype(np.float32)
        drawn = in_parts(_statistics(BinarySummary.of(rows, np.ones(len(rows))), null))
        p_values = np.array([drawn.p_value, *(drawn.parts[name] for name in names)])
        at_most += p_values <= observed * (1 + ROUNDING)
    together, *each = ((1 + at_most) / (1 + n_shuffles)).tolist()
    exact = dict(zip(names, each, strict=True))
    return replace(asymptotic, p_value=together, parts={**asymptotic.parts, **exact, "calibration": "shuffle"})


tests.add(
    "global",
    Method(bits=global_test, tables=table_global_test, can=Can.ANY_TYPE | Can.ANY_ROWS | Can.OUT_OF_CORE),
)
