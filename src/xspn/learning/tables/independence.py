"""The G-test of every two columns, whatever their types, and the groups that no dependence connects."""

from collections.abc import Sequence

import numpy as np
from scipy.special import chdtrc, xlogy

from xspn.core.arrays import BoolArray, FloatArray, IntArray
from xspn.data.domain import Domain
from xspn.learning.independence import components
from xspn.learning.tables.summary import Column, TableSummary

TINY = 1e-300


def g_tests(summary: TableSummary) -> tuple[FloatArray, FloatArray]:
    """Return the statistic G = 2 Σ O log(O / E) and its degrees of freedom, for every two columns: (n, n) each.

    Columns are compared by their bins (`bins.py`). Each pair is counted over the rows that have both, and has
    (bins − 1)(bins − 1) degrees of freedom, counting the bins that occur in these rows. G is divided by Williams's
    factor, which takes the first-order error of χ² out, so that the level holds for few rows too.
    """
    pairs = summary.binned
    counts, margins = pairs.counts, pairs.margins
    own = pairs.over_own_bins(xlogy(margins, margins))
    totals = pairs.over_own_bins(margins)
    mutual = pairs.within(xlogy(counts, counts)) - own - own.T + xlogy(totals, totals)
    # A bin of which the slice has less than one row (rows belong to clusters in part) counts as that part of a bin. By
    # the letter of Williams's formula a thousandth of a row would divide all evidence of the pair by a large number.
    part = np.minimum(margins, 1.0)
    bins = pairs.over_own_bins(part)
    dof = np.maximum(bins - 1, 0) * np.maximum(bins - 1, 0).T
    inverse = pairs.over_own_bins(part / np.maximum(margins, 1.0))
    excess = np.maximum(totals * inverse - 1, 0) * np.maximum(totals * inverse - 1, 0).T
    williams = 1 + np.divide(excess, 6 * totals * dof, out=np.zeros_like(excess), where=totals * dof > 0)
    return np.asarray(2.0 * np.maximum(mutual, 0.0) / williams), np.asarray(dof)


def independence_p_values(summary: TableSummary) -> FloatArray:
    """Return the p-value of the hypothesis of independence for every two columns: (n, n), 1 on the diagonal."""
    return _p_values(*g_tests(summary))


def _p_values(statistic: FloatArray, dof: FloatArray) -> FloatArray:
    p = np.where(dof > 0, chdtrc(np.maximum(dof, 1), statistic), 1.0)
    np.fill_diagonal(p, 1.0)
    return np.asarray(p)


def _p_values_of_names(summary: TableSummary) -> FloatArray:
    """Return the same for the name that speaks most against it: each against all other names of its column.

    A name of few rows is one of many degrees of freedom in the test of the whole table, and would be drowned there. The
    p-value is multiplied by the number of names and by two, for the two tests that a pair then has; 1 without names.
    """
    pairs, n = summary.binned, summary.n
    sizes = np.diff(np.append(pairs.starts, len(pairs.counts)))
    of_names = np.array([not column.is_real and not column.domain.ordered for column in summary.columns])
    rows = np.flatnonzero(np.repeat(of_names & (sizes > 2), sizes))
    found = np.ones((n, n))
    if len(rows) == 0:
        return found
    column = np.repeat(np.arange(n), sizes)
    counts, both = pairs.counts[rows], pairs.over_own_bins(pairs.margins)
    margins, total = pairs.margins[rows][:, column], both[column[rows]][:, column]  # of a name, where j is seen
    others = pairs.margins[:, column[rows]].T  # of each bin of j, where the column of the name is seen
    with np.errstate(divide="ignore", invalid="ignore"):
        here = xlogy(counts, counts * total / (margins * others))
        rest = np.maximum(others - counts, 0.0)
        there = xlogy(rest, rest * total / (np.maximum(total - margins, 0.0) * others))
    statistic = 2 * np.add.reduceat(np.nan_to_num(here) + np.nan_to_num(there), pairs.starts, axis=1)
    dof = np.maximum(np.add.reduceat(np.minimum(others, 1.0), pairs.starts, axis=1) - 1, 0)
    p = np.where(dof > 0, chdtrc(np.maximum(dof, 1), statistic), 1.0) * 2 * sizes[column[rows]][:, None]
    np.minimum.at(found, column[rows], p)
    found = np.minimum(found, found.T)
    np.fill_diagonal(found, 1.0)
    return found


def dependent_pairs(summary: TableSummary, threshold: float) -> BoolArray:
    """Mark the pairs that are not independent.

    The threshold ρ means what it means for two bits, which depend on each other if their statistic is at least 2ρ: it
    names a level, the chance of χ² with one degree of freedom beyond 2ρ. Pairs with more degrees of freedom are held to
    the same level. One false pair is enough to join two groups, so the level is one for all pairs together
    (Bonferroni): each has an equal part of it. Where cells are missing, a pair is judged by its mutual information, as
    for bits: as if it had been seen in all rows. A column of names also depends on another one if one of its names
    does.
    """
    statistic, dof = g_tests(summary)
    pairs = summary.binned
    seen = pairs.over_own_bins(pairs.margins) / summary.total
    as_if_complete = np.divide(statistic, seen, out=np.zeros_like(statistic), where=seen > 0)
    n_pairs = max(summary.n * (summary.n - 1) / 2, 1.0)
    p = np.minimum(_p_values(as_if_complete, dof), _p_values_of_names(summary))
    dependent = p * n_pairs < chdtrc(1.0, 2 * threshold)
    return np.asarray(dependent)


def groups_of_blocks(summary: TableSummary, blocks: Sequence[IntArray]) -> list[IntArray]:
    """Return the groups that no dependence connects, of single columns or of what exchangeable blocks add up to.

    The mean of a block of numbers, and how often each value occurs in a block of categories, show a dependence that no
    two columns need show. A dependence has to pay for a parameter: half the logarithm of the number of rows. Numbers
    are also compared by their correlation, a test of one degree of freedom that sees what few bins do not.

    Args:
        summary: The rows, complete.
        blocks: The columns of each block.
    """
    threshold = 0.5 * float(np.log(max(summary.total, 2.0)))
    owner = np.empty(summary.n, dtype=np.int64)
    for number, block in enumerate(blocks):
        owner[block] = number
    several = [(number, block) for number, block in enumerate(blocks) if len(block) > 1]
    added = [(number, column) for number, block in several for column in _added_up(summary, block)]
    cells = np.column_stack([summary.cells, *(column for _, column in added)])
    owners = np.concatenate([owner, np.array([number for number, _ in added], dtype=np.int64)])
    wider = TableSummary(cells, summary.weights, (*summary.columns, *[Column(Domain.real())] * len(added)))
    numbers = np.flatnonzero([column.is_real or column.domain.ordered for column in wider.columns])
    linked = dependent_pairs(wider, threshold)
    linked[np.ix_(numbers, numbers)] |= _correlated(cells[:, numbers], summary.weights, threshold, wider.n)
    of_blocks = np.zeros((len(blocks), len(blocks)), dtype=bool)
    one, other = np.nonzero(linked)
    of_blocks[owners[one], owners[other]] = True
    groups = components(of_blocks)
    found = [np.sort(np.concatenate([blocks[int(number)] for number in group])) for group in groups]
    return sorted(found, key=lambda group: int(group[0]))


def _added_up(summary: TableSummary, block: IntArray) -> list[FloatArray]:
    """Return the sum of each row over a block of numbers, or how often each value but one occurs in it."""
    cells, column = summary.cells[:, block], summary.columns[int(block[0])]
    if column.is_real:
        return [cells.sum(axis=1)]
    return [(cells == value).sum(axis=1).astype(np.float64) for value in range(1, column.n_values)]


def _correlated(cells: FloatArray, weights: FloatArray, threshold: float, n: int) -> BoolArray:
    """Mark the pairs of numbers whose correlation pays, at the level of `dependent_pairs`."""
    total = float(weights.sum())
    away = cells - weights @ cells / total
    products = (away * weights[:, None]).T @ away
    scale = np.sqrt(np.maximum(np.diag(products), TINY))
    squared = np.minimum((products / scale[:, None] / scale[None, :]) ** 2, 1 - 1e-15)
    p = chdtrc(1.0, -total * np.log1p(-squared))
    linked = p * max(n * (n - 1) / 2, 1.0) < chdtrc(1.0, 2 * threshold)
    np.fill_diagonal(linked, False)
    return np.asarray(linked)


def independent_groups(summary: TableSummary, threshold: float) -> list[IntArray]:
    """Return the connected components of the dependence graph, in the order of their first variable."""
    return components(dependent_pairs(summary, threshold))
