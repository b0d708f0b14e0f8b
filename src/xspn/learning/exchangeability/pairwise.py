"""The paper's approximation: test all pairs of variables, by McNemar's test, Bowker's, and their like for numbers."""

from typing import Literal

import numpy as np
from scipy.special import chdtrc

from xspn.core.arrays import FloatArray
from xspn.core.checks import one_of, whole_number
from xspn.learning.deviations import quadratic, tail
from xspn.learning.exchangeability.base import TestResult, features, tests
from xspn.learning.methods import Can, Method
from xspn.learning.summary import BinarySummary
from xspn.learning.table_summary import TableSummary

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


def table_pairwise_test(
    summary: TableSummary,
    *,
    pairs: Literal["all", "first"] = "all",
    correction: Correction = "none",
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
    if len(phi) == 0:  # columns of one value: nothing can differ
        return 0.0, 0
    apart = phi[:, :, one] - phi[:, :, other]
    both = ~np.isnan(apart[0])
    apart, own = apart[:, both], weights[both]
    return quadratic((apart @ own)[None, :], (apart * own) @ apart.T)


tests.add(
    "pairwise",
    Method(bits=pairwise_test, tables=table_pairwise_test, can=Can.ANY_TYPE | Can.ANY_ROWS | Can.OUT_OF_CORE),
)
