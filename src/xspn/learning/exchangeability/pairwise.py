"""The paper's approximation: test all pairs of variables."""

from typing import Literal

import numpy as np
from scipy.special import chdtrc

from xspn._core.options import one_of, whole_number
from xspn.learning.exchangeability.base import TestResult, tests
from xspn.learning.summary import Summary

Correction = Literal["none", "bonferroni"]


def pairwise_test(
    summary: Summary,
    *,
    pairs: Literal["all", "first"] = "all",
    dof: int = 1,
    correction: Correction = "none",
    empty_cells: Literal["ignore", "reject"] = "ignore",
) -> TestResult:
    """Return the result of the pair that speaks most against exchangeability.

    For two binary variables Pearson's χ² against the count is (n₁₀ − n₀₁)² / (n₁₀ + n₀₁), McNemar's statistic: it sees
    whether the two means are equal, and nothing else.

    Args:
        summary: The data.
        pairs: "all" as in the paper's text; "first" compares the first variable with the others, as its program does.
        dof: 1 is right (4 cells − 1 − 2 parameters); the paper's program uses 3.
        correction: "bonferroni" multiplies the p-value by the number of pairs, so that the level holds for all.
        empty_cells: "reject" rejects where a cell of some pair is expected to be empty, as the paper's program does
            (0/0 there): it never accepts variables that are identical or exclude each other.
    """
    one_of("pairwise test: pairs", pairs, ("all", "first"))
    one_of("pairwise test: correction", correction, ("none", "bonferroni"))
    one_of("pairwise test: empty_cells", empty_cells, ("ignore", "reject"))
    whole_number("pairwise test: dof", dof, 1)
    n11, n10, n01, n00 = summary.pair_table()
    i, j = np.triu_indices(summary.n, k=1)
    if pairs == "first":
        i, j = i[: summary.n - 1], j[: summary.n - 1]
    discordant = n10[i, j] + n01[i, j]
    difference = (n10 - n01)[i, j] ** 2
    statistics = np.divide(difference, discordant, out=np.zeros_like(difference), where=discordant > 0)
    worst = int(np.argmax(statistics)) if len(statistics) else 0
    statistic = float(statistics[worst]) if len(statistics) else 0.0
    p_value = float(chdtrc(dof, statistic))
    if correction == "bonferroni":
        p_value = min(1.0, p_value * max(len(statistics), 1))
    if empty_cells == "reject" and (np.minimum(n11, n00)[i, j] * discordant <= 0).any():
        p_value = 0.0
    where = (int(i[worst]), int(j[worst])) if len(statistics) else None
    return TestResult("pairwise", statistic, float(dof), p_value, {"pair": where})


tests.add("pairwise", pairwise_test)
