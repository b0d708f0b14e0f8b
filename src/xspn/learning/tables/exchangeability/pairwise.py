"""All pairs of columns: Bowker's test of symmetry, and its like for real numbers."""

from typing import Literal

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.core.checks import one_of
from xspn.learning.deviations import tail
from xspn.learning.exchangeability.base import TestResult
from xspn.learning.table_summary import TableSummary
from xspn.learning.tables.exchangeability.base import features, table_tests
from xspn.learning.tables.exchangeability.quadratic import quadratic


def pairwise_test(
    summary: TableSummary,
    *,
    pairs: Literal["all", "first"] = "all",
    correction: Literal["none", "bonferroni"] = "none",
) -> TestResult:
    """Return the result of the pair that speaks most against exchangeability.

    If two columns can be interchanged, (v, w) is as likely as (w, v). For categories Bowker's statistic compares both,
    Σ_{v<w} (n_vw − n_wv)² / (n_vw + n_wv), with a degree of freedom for each v < w that occurs; McNemar's is the case
    of two values. For real numbers and scales the differences of location and spread are compared with what tossing a
    coin in each row for the order of the two values would make of them.

    Args:
        summary: The data.
        pairs: "all", or "first": the first column with the others.
        correction: "bonferroni" multiplies the p-value by the number of pairs, so that the level holds for all.
    """
    one_of("pairwise test: pairs", pairs, ("all", "first"))
    one_of("pairwise test: correction", correction, ("none", "bonferroni"))
    column = summary.columns[0]
    i, j = np.triu_indices(summary.n, k=1)
    if pairs == "first":
        i, j = i[: summary.n - 1], j[: summary.n - 1]
    phi = features(summary) if column.is_real or column.domain.ordered else None
    found = []
    for one, other in zip(i.tolist(), j.tolist(), strict=True):
        statistic, dof = _bowker(summary, one, other) if phi is None else _coin_tosses(phi, summary.weights, one, other)
        found.append((tail(dof, statistic), -statistic, dof, (one, other)))
    if not found:
        return TestResult("pairwise", 0.0, 0.0, 1.0, {"pair": None})
    p_value, negative, dof, where = min(found)
    if correction == "bonferroni":
        p_value = min(1.0, p_value * len(found))
    return TestResult("pairwise", -negative, float(dof), p_value, {"pair": where})


def _bowker(summary: TableSummary, one: int, other: int) -> tuple[float, int]:
    k = summary.columns[one].n_values
    both = ~(summary.missing[:, one] | summary.missing[:, other])
    codes = summary.cells[both][:, [one, other]].astype(np.int64) @ [k, 1]
    table = np.bincount(codes, weights=summary.weights[both], minlength=k * k).reshape(k, k)
    upper = np.triu_indices(k, 1)
    total, difference = (table + table.T)[upper], (table - table.T)[upper]
    occurs = total > 0
    return float((difference[occurs] ** 2 / total[occurs]).sum()), int(occurs.sum())


def _coin_tosses(phi: FloatArray, weights: FloatArray, one: int, other: int) -> tuple[float, int]:
    apart = phi[:, :, one] - phi[:, :, other]
    both = ~np.isnan(apart[0])
    apart, own = apart[:, both], weights[both]
    return quadratic((apart @ own)[None, :], (apart * own) @ apart.T)


table_tests.add("pairwise", pairwise_test)
