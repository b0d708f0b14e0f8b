"""The paper's full test: Pearson's χ² over all assignments, 2ⁿ of bits, of a few columns with a few values."""

import numpy as np

from xspn.core.errors import QueryError
from xspn.learning.deviations import tail
from xspn.learning.exchangeability.base import TestResult, tests
from xspn.learning.methods import Can, Method
from xspn.learning.summary import BinarySummary
from xspn.learning.table_summary import TableSummary
from xspn.statistics import Count, ValueCounts

LARGEST_N = 16
MOST_ASSIGNMENTS = 1 << 16  # of columns of any types


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


def table_full_test(summary: TableSummary) -> TestResult:
    """Compare each assignment's frequency with the one that its value counts imply.

    Degrees of freedom: cells − classes, counting only the classes that occur. Refuses more assignments than can be
    counted out.
    """
    column = summary.columns[0]
    if column.n_values**summary.n > MOST_ASSIGNMENTS:
        raise QueryError(
            f"full test: {summary.n} columns of {column.n_values} values have more than the {MOST_ASSIGNMENTS} "
            "assignments that can be counted out; use 'global' or 'pairwise'"
        )
    k, n = column.n_values, summary.n
    T = ValueCounts(k)
    powers = k ** np.arange(n)
    observed = np.bincount(summary.cells.astype(np.int64) @ powers, weights=summary.weights, minlength=k**n)
    assignments = (np.arange(k**n)[:, None] // powers) % k
    of_class = T.of(assignments)
    classes = np.bincount(of_class, weights=observed, minlength=T.size(n))
    expected = (classes / np.exp(T.log_class_size(n)))[of_class]
    seen = expected > 0
    statistic = float(((observed - expected)[seen] ** 2 / expected[seen]).sum())
    dof = float(seen.sum()) - float((classes > 0).sum())
    return TestResult("full", statistic, dof, tail(dof, statistic))


# Assignments must be whole to be counted, and real numbers have no list of them.
tests.add(
    "full",
    Method(bits=full_test, tables=table_full_test, can=Can.CATEGORIES | Can.WEIGHTS | Can.OUT_OF_CORE),
)
