"""Pearson's χ² over all assignments of a few columns with a few values."""

import numpy as np

from xspn.core.errors import QueryError
from xspn.learning.deviations import tail
from xspn.learning.exchangeability.base import TestResult
from xspn.learning.table_summary import TableSummary
from xspn.learning.tables.exchangeability.base import table_tests
from xspn.statistics import ValueCounts

MOST_ASSIGNMENTS = 1 << 16


def full_test(summary: TableSummary) -> TestResult:
    """Compare each assignment's frequency with the one that its value counts imply.

    Degrees of freedom: cells − classes, counting only the classes that occur. Refuses real columns, missing cells, and
    more assignments than can be counted out.
    """
    column = summary.columns[0]
    if column.is_real:
        raise QueryError("full test: real columns have no list of assignments; use exchangeability='global'")
    if column.n_values**summary.n > MOST_ASSIGNMENTS:
        raise QueryError(
            f"full test: {summary.n} columns of {column.n_values} values have more than the {MOST_ASSIGNMENTS} "
            "assignments that can be counted out; use 'global' or 'pairwise'"
        )
    if not summary.complete:
        raise QueryError("full test: cells are missing, and assignments must be whole to be counted; use 'global'")
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


table_tests.add("full", full_test)
