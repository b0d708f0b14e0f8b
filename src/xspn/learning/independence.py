"""The G-test of every two variables at once, and the groups that no dependence connects.

`independent_groups` and `groups_of_blocks` take a slice of bits or of columns of any types. Bits need nothing but the
counts of ones and of pairs of ones; other columns are compared by their bins.
"""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import chdtrc, xlogy

from xspn.core.arrays import BoolArray, FloatArray, IntArray
from xspn.data.domain import Domain
from xspn.learning.steps import step
from xspn.learning.summary import ALL, BinarySummary, Places
from xspn.learning.table_summary import Column, TableSummary

ROWS_AT_ONCE = 1 << 16  # whose counts are tabulated together
BINS = 4  # of the counts of a block
LEAST_EXCLUSION = 0.5  # of the variance of independent groups: what a row's number of ones lacks of it
TINY = 1e-300


def independent_groups(summary: BinarySummary | TableSummary, threshold: float) -> list[IntArray]:
    """Return the connected components of the dependence graph, in the order of their first variable.

    Args:
        summary: The rows.
        threshold: ρ: two bits depend on each other if their statistic is at least 2ρ, other columns at the level that
            this stands for.
    """
    if isinstance(summary, TableSummary):
        return components(dependent_columns(summary, threshold))
    if not summary.wide:
        return components(dependent_pairs(summary, threshold))

    def links(rows: IntArray, columns: IntArray) -> BoolArray:
        step()
        return dependent_pairs(summary, threshold, rows, columns)

    return components_of_many(summary.n, links, summary.rows_at_once)


def groups_of_blocks(summary: BinarySummary | TableSummary, blocks: Sequence[IntArray]) -> list[IntArray]:
    """Return the groups that no dependence connects, of single variables or of what exchangeable blocks add up to.

    A dependence has to pay for a parameter: half the logarithm of the number of rows.

    Args:
        summary: The rows, complete.
        blocks: The variables of each block.
    """
    label = np.empty(summary.n, dtype=np.int64)
    for number, block in enumerate(blocks):
        label[block] = number
    if isinstance(summary, TableSummary):
        return _groups_of_columns(summary, blocks, label)
    return _groups_of_bits(summary, label)


# -- bits --------------------------------------------------------------------------------------------------------------


def g_statistics(summary: BinarySummary, rows: Places = ALL, columns: Places = ALL) -> FloatArray:
    """Return G = 2 Σ O log(O / E) over the four cells of each pair: (n, n), or some rows and columns of it.

    E needs not be formed: Σ O log(O / E) is Σ O log O over the cells, less that over the margins, plus N log N.
    """
    if not summary.complete:
        return _g_of_seen_pairs(summary, rows, columns)
    own = xlogy(summary.ones, summary.ones) + xlogy(summary.total - summary.ones, summary.total - summary.ones)
    cells = sum(xlogy(np.maximum(cell, 0.0), np.maximum(cell, 0.0)) for cell in summary.pair_table(rows, columns))
    mutual = cells - own[rows][:, None] - own[columns][None, :] + xlogy(summary.total, summary.total)
    return np.asarray(2.0 * np.maximum(mutual, 0.0))


def _g_of_seen_pairs(summary: BinarySummary, rows: Places, columns: Places) -> FloatArray:
    """Return the statistics where cells are missing: each pair has margins and a number of rows of its own."""
    n11, n10, n01, n00 = (np.maximum(cell, 0.0) for cell in summary.pair_table(rows, columns))
    cells = sum(xlogy(cell, cell) for cell in (n11, n10, n01, n00))
    margins = sum(xlogy(margin, margin) for margin in (n11 + n10, n01 + n00, n11 + n01, n10 + n00))
    total = n11 + n10 + n01 + n00
    return np.asarray(2.0 * np.maximum(cells - margins + xlogy(total, total), 0.0))


def dependent_pairs(summary: BinarySummary, threshold: float, rows: Places = ALL, columns: Places = ALL) -> BoolArray:
    """Mark the pairs that are not independent: those with 2G ≥ 2 · dof · ρ + 0.001, where 2G is the statistic.

    A pair has one degree of freedom if both variables vary, none otherwise. Where cells are missing a pair is judged by
    its mutual information, which is what a product would lose: one that is seen in a part of the rows has that part of
    the limit, as it has that part of the statistic. Otherwise missing values would make variables look independent.
    With lists of rows and columns only the pairs that they make are marked.
    """
    varies = ~summary.constant()
    seen = 1.0 if summary.complete else np.asarray(summary.where_seen(rows, columns)[2]) / summary.total
    limits = np.where(np.outer(varies[rows], varies[columns]), 2.0 * threshold * seen, 0.0) + 0.001
    dependent = g_statistics(summary, rows, columns) >= limits
    if isinstance(rows, slice) and isinstance(columns, slice):
        np.fill_diagonal(dependent, False)
    else:
        dependent[np.arange(summary.n)[rows][:, None] == np.arange(summary.n)[columns]] = False
    return np.asarray(dependent)


def _groups_of_bits(summary: BinarySummary, label: IntArray) -> list[IntArray]:
    """Compare single bits, and the counts of blocks.

    Of a block the count is all there is to know, and two counts show a dependence that no pair of variables does. A
    dependence has to pay for the choice of a partner among all variables, too.
    """
    from xspn.learning.blocks.pairs import connect  # takes numba along

    threshold = 0.5 * float(np.log(max(summary.total, 1.0))) + float(np.log(summary.n))
    firsts = np.unique(label, return_index=True)[1]
    leader = firsts[label]
    for group in components(dependent_counts(summary, label, threshold)):
        leader[firsts[group]] = firsts[group].min()
    for some in summary.blocks():
        connect(leader, summary.pairs_of(some), summary.ones, some.start, summary.total, threshold)
    while (leader[leader] != leader).any():
        leader = leader[leader]
    return [np.flatnonzero(leader == first) for first in np.unique(leader)]


def dependent_counts(summary: BinarySummary, label: IntArray, threshold: float) -> BoolArray:
    """Mark the pairs of blocks whose counts are dependent, by the G-test of counts in at most four bins: (k, k).

    The threshold ρ stands for a level, the tail of χ² with one degree of freedom beyond 2ρ, as for single variables.
    """
    cells, weights = summary.rows()
    n_blocks = int(label.max()) + 1
    bins, owners = [], []
    for block in range(n_blocks):
        counts = cells[:, label == block].sum(axis=1).astype(np.int64)
        mass = np.bincount(counts, weights=weights)
        seen = mass > 0
        middle = (np.cumsum(mass) - mass / 2) / summary.total  # of each count's part of the rows
        few = int(seen.sum()) <= BINS
        bin_of = np.cumsum(seen) - 1 if few else np.minimum((BINS * middle).astype(np.int64), BINS - 1)
        own = bin_of[counts]
        for value in np.unique(own).tolist():
            bins.append(own == value)
            owners.append(block)
    marks, owner = np.stack(bins, axis=1), np.array(owners)
    # Of two single variables the test is that of pairs, which need not be made twice where there are many.
    asked = np.flatnonzero(np.bincount(label) > 1) if summary.wide else np.arange(n_blocks)
    rows = np.flatnonzero(np.isin(owner, asked))
    table, sizes = np.zeros((len(rows), len(owner))), np.zeros(len(owner))
    for start in range(0, len(marks), ROWS_AT_ONCE):
        some = marks[start : start + ROWS_AT_ONCE].astype(np.float64)
        weighted = some * weights[start : start + ROWS_AT_ONCE, None]
        table += weighted[:, rows].T @ some
        sizes += weighted.sum(axis=0)
    terms = xlogy(table, table * summary.total) - xlogy(table, np.outer(sizes[rows], sizes))
    statistics = np.zeros((n_blocks, n_blocks))
    if len(asked):
        of_blocks = np.add.reduceat(terms, np.searchsorted(owner, np.arange(n_blocks)), axis=1)
        statistics[asked] = 2.0 * np.add.reduceat(of_blocks, np.searchsorted(owner[rows], asked), axis=0)
    statistics = np.maximum(statistics, statistics.T)
    free = np.bincount(owner, minlength=n_blocks) - 1
    dof = np.outer(free, free)
    level = chdtrc(1.0, 2.0 * threshold)
    return np.asarray((dof > 0) & (chdtrc(np.maximum(dof, 1), np.maximum(statistics, 0.0)) < level))


def groups_exclude_each_other(summary: BinarySummary, groups: list[IntArray], threshold: float) -> bool:
    """Whether the number of ones varies far less from row to row than that of independent groups would.

    Variables of which each row has one, or a fixed number, seem independent two by two if they are many, and are
    anything but that together. The variance of a row's ones is the sum of the groups' variances if they are
    independent, with a relative error of √(2/N); the limit of its square is that of the G-test. Only half of that sum
    or less is taken to be exclusion. Where cells are missing, N is the mean number of rows that have a pair.
    """
    if len(groups) == 1:
        return False
    of_group = np.empty(summary.n, dtype=np.int64)
    for k, group in enumerate(groups):
        of_group[group] = k
    of_all, independent, seen = 0.0, 0.0, 0.0
    for block in summary.blocks():
        ones, others, both = summary.where_seen(block)
        rows = np.maximum(both, 1.0)
        covariance = summary.pairs_of(block) / rows - ones / rows * (others / rows)
        of_all += float(covariance.sum())
        independent += float(covariance[of_group[block][:, None] == of_group[None, :]].sum())
        seen += float(np.mean(both)) * len(covariance) / summary.n
    lacking = 1 - of_all / independent if independent > 0 else 0.0
    return lacking > LEAST_EXCLUSION and seen / 2 * lacking**2 >= 2 * threshold


# -- columns of any types ----------------------------------------------------------------------------------------------


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


def dependent_columns(summary: TableSummary, threshold: float) -> BoolArray:
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


def _groups_of_columns(summary: TableSummary, blocks: Sequence[IntArray], label: IntArray) -> list[IntArray]:
    """Compare single columns, and what blocks add up to.

    The mean of a block of numbers, and how often each value occurs in a block of categories, show a dependence that no
    two columns need show. Numbers are also compared by their correlation, a test of one degree of freedom that sees
    what few bins do not.
    """
    threshold = 0.5 * float(np.log(max(summary.total, 2.0)))
    several = [(number, block) for number, block in enumerate(blocks) if len(block) > 1]
    added = [(number, column) for number, block in several for column in _added_up(summary, block)]
    cells = np.column_stack([summary.cells, *(column for _, column in added)])
    owners = np.concatenate([label, np.array([number for number, _ in added], dtype=np.int64)])
    wider = TableSummary(cells, summary.weights, (*summary.columns, *[Column(Domain.real())] * len(added)))
    numbers = np.flatnonzero([column.is_real or column.domain.ordered for column in wider.columns])
    linked = dependent_columns(wider, threshold)
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
    """Mark the pairs of numbers whose correlation pays, at the level of `dependent_columns`."""
    total = float(weights.sum())
    away = cells - weights @ cells / total
    products = (away * weights[:, None]).T @ away
    scale = np.sqrt(np.maximum(np.diag(products), TINY))
    squared = np.minimum((products / scale[:, None] / scale[None, :]) ** 2, 1 - 1e-15)
    p = chdtrc(1.0, -total * np.log1p(-squared))
    linked = p * max(n * (n - 1) / 2, 1.0) < chdtrc(1.0, 2 * threshold)
    np.fill_diagonal(linked, False)
    return np.asarray(linked)


# -- graphs ------------------------------------------------------------------------------------------------------------


def components(adjacent: BoolArray) -> list[IntArray]:
    """Return the connected components of a graph given by its (dense) adjacency matrix.

    Breadth first, a whole frontier at a time: dependence graphs are small and dense, so this takes a few steps, where a
    sparse matrix would take longer to make.

    Examples:
        >>> links = np.array([[0, 0, 1, 0], [0, 0, 0, 0], [1, 0, 0, 1], [0, 0, 1, 0]], dtype=bool)
        >>> [group.tolist() for group in components(links)]
        [[0, 2, 3], [1]]
    """
    waiting = np.ones(len(adjacent), dtype=bool)
    linked: BoolArray = np.asarray(adjacent.any(axis=1))
    found = []
    for first in range(len(adjacent)):
        if not waiting[first]:
            continue
        member = np.zeros(len(adjacent), dtype=bool)
        member[first] = True
        frontier = member.copy() if linked[first] else None
        while frontier is not None and frontier.any():
            frontier = adjacent[frontier].any(axis=0) & ~member
            member |= frontier
        waiting &= ~member
        found.append(np.flatnonzero(member))
    return found


def components_of_many(n: int, links: Callable[[IntArray, IntArray], BoolArray], at_once: int) -> list[IntArray]:
    """Return the connected components of a graph whose adjacency matrix is too large to be made.

    Variables that are found are asked about no more, so a graph with a large component takes little of the matrix.

    Args:
        n: The number of variables.
        links: Returns some rows and columns of the matrix.
        at_once: For how many rows it may be asked at a time.

    Examples:
        >>> matrix = np.array([[0, 0, 1, 0], [0, 0, 0, 0], [1, 0, 0, 1], [0, 0, 1, 0]], dtype=bool)
        >>> [group.tolist() for group in components_of_many(4, lambda rows, columns: matrix[np.ix_(rows, columns)], 1)]
        [[0, 2, 3], [1]]
    """
    found = []
    waiting = np.arange(n)
    while len(waiting):
        first_rows = links(waiting[:at_once], waiting)
        linked: BoolArray = np.asarray(first_rows.any(axis=1))
        free = np.ones(len(waiting), dtype=bool)
        for first in range(len(first_rows)):
            if not free[first]:
                continue
            free[first] = False
            members, frontier = [first], [first] if linked[first] else []
            while frontier:
                rows, frontier = np.array(frontier[:at_once]), frontier[at_once:]
                known, others = rows[rows < len(first_rows)], rows[rows >= len(first_rows)]
                hit = first_rows[known].any(axis=0) & free
                columns = np.flatnonzero(free & ~hit)
                if len(others) and len(columns):
                    hit[columns] = links(waiting[others], waiting[columns]).any(axis=0)
                free &= ~hit
                reached = np.flatnonzero(hit).tolist()
                members += reached
                frontier += reached
            found.append(np.sort(waiting[members]))
        waiting = waiting[free]
    return found
