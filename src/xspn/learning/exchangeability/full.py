"""The paper's full test: Pearson's χ² over all 2ⁿ assignments."""

import numpy as np

from xspn.core.errors import QueryError
from xspn.learning.deviations import tail
from xspn.learning.exchangeability.base import TestResult, tests
from xspn.learning.summary import BinarySummary
from xspn.statistics import Count

LARGEST_N = 16


def full_test(summary: BinarySummary) -> TestResult:
    """Compare each assignment's frequency with the one that its number of ones implies.

    Degrees of freedom: cells − 1 − free parameters of T, counting only the classes that occur (the others' cells are
    expected to be empty, and are). Refuses above 16 variables, where there are too many cells to count.
    """
    if summary.n > LARGEST_N:
        raise QueryError(
            f"full test: {summary.n} variables have 2^{summary.n} assignments; at most {LARGEST_N} variables are "
            "possible, use method='global' or 'pairwise'"
        )
    if not summary.complete:
        raise QueryError(
            "full test: cells are missing, and assignments must be whole to be counted; use method='global'"
        )
    observed = summary.assignments
    assignments = np.arange(1 << summary.n)
    ones = ((assignments[:, None] >> np.arange(summary.n)) & 1).sum(axis=1)
    sizes = np.exp(Count().log_class_size(summary.n))
    expected = (summary.totals / sizes)[ones]
    seen = expected > 0
    statistic = float((((observed - expected) ** 2)[seen] / expected[seen]).sum())
    classes = int((summary.totals > 0).sum())
    dof = float(seen.sum()) - 1 - (classes - 1)
    p_value = tail(dof, statistic)
    return TestResult("full", statistic, dof, p_value)


tests.add("full", full_test)
