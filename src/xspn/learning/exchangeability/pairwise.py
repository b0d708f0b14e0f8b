"""The paper's approximation: test all pairs of variables."""

from typing import Literal

import numpy as np
from scipy.special import chdtrc

from xspn.core.checks import one_of, whole_number
from xspn.learning.exchangeability.base import TestResult, tests
from xspn.learning.summary import BinarySummary

Correction = Literal["none", "bonferroni"]


def pairwise_test(
    summary: BinarySummary,
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
    n = summary.n
    statistic, where, some_empty = 0.0, None if n < 2 else (0, 1), False
    for block in [slice(0, 1)] if pairs == "first" else summary.blocks():
        n11, n10, n01, n00 = summary.pair_table(block)
        is_pair = np.arange(n)[block][:, None] < np.arange(n)[None, :]  # each pair once
        discordant = n10 + n01
        statistics = np.divide((n10 - n01) ** 2, discordant, out=np.zeros_like(discordant), where=discordant > 0)
        statistics[~is_pair] = 0.0
        worst = np.unravel_index(int(np.argmax(statistics)), statistics.shape)
        if statistics[worst] > statistic:
            statistic, where = float(statistics[worst]), (int(worst[0]) + block.start, int(worst[1]))
        some_empty = some_empty or bool((is_pair & (np.minimum(n11, n00) * discordant <= 0)).any())
    p_value = float(chdtrc(dof, statistic))
    if correction == "bonferroni":
        p_value = min(1.0, p_value * max(n - 1 if pairs == "first" else n * (n - 1) // 2, 1))
    if empty_cells == "reject" and some_empty:
        p_value = 0.0
    return TestResult("pairwise", statistic, float(dof), p_value, {"pair": where})


tests.add("pairwise", pairwise_test)
