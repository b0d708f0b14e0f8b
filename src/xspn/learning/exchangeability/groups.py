"""Which variables can be interchanged with which: a partition found from data, with evidence."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import ClusterNode, average, to_tree
from scipy.spatial.distance import squareform

from xspn.core.arrays import FloatArray, IntArray
from xspn.core.checks import number_between
from xspn.core.memory import need_memory
from xspn.data.domain import Domain
from xspn.learning.exchangeability.base import TestResult, features, tests
from xspn.learning.exchangeability.global_test import global_test
from xspn.learning.exchangeability.table_global_test import table_global_test
from xspn.learning.summary import BinarySummary
from xspn.learning.table_data import TableData
from xspn.learning.table_summary import Column, TableSummary

BYTES_OF_DISTANCE = 16  # it, and a copy for the tree
TestedBlock = tuple[IntArray, TestResult | None]  # some variables, and the test that did not reject them


@dataclass(frozen=True)
class Group:
    """Variables that can be interchanged.

    Attributes:
        variables: Their columns.
        names: Their names, if the table had any.
        test: The test that did not reject their exchangeability; None for a variable on its own.
    """

    variables: tuple[int, ...]
    names: tuple[str, ...] | None
    test: TestResult | None


def as_groups(found: Iterable[TestedBlock], names: Sequence[str] | None = None) -> list[Group]:
    """Return the parts of a partition with their names, largest first."""
    groups = []
    for members, test in found:
        own = tuple(int(v) for v in members)
        groups.append(Group(own, None if names is None else tuple(names[v] for v in own), test))
    return sorted(groups, key=lambda group: (-len(group.variables), group.variables))


def binary_partition(summary: BinarySummary, level: float) -> list[TestedBlock]:
    """Partition bits into groups that the global test does not reject."""
    cells, weights = summary.rows()

    def test(members: IntArray) -> TestResult:
        return global_test(BinarySummary.of(cells[:, members], weights), p_value="auto")

    if summary.n == 1:
        return [(np.array([0]), None)]
    return partition(_distances_of_many(summary) if summary.wide else _distances(summary), test, level)


def partition(distances: FloatArray, test: Callable[[IntArray], TestResult], level: float) -> list[TestedBlock]:
    """Walk the tree of nearest groups from the top: keep what the test does not reject, open what it does.

    Distances are a table (n, n), or what is above its diagonal, row after row.
    """
    found: list[TestedBlock] = []
    above = distances if distances.ndim == 1 else squareform(distances, checks=False)
    stack: list[ClusterNode] = [to_tree(average(above))]
    while stack:
        node = stack.pop()
        members = np.sort(np.array(node.pre_order(), dtype=np.int64))
        if node.is_leaf():
            found.append((members, None))
            continue
        result = test(members)
        if result.rejects(level):
            stack += [node.get_left(), node.get_right()]
        else:
            found.append((members, result))
    return found


def _distances(summary: BinarySummary) -> FloatArray:
    """Return how differently two variables behave, in units of what chance would make of interchangeable ones: (n, n).

    If i and j can be interchanged, then in each row where they differ it is a coin toss which of them is one, whatever
    the other variables are. So n₁₀ − n₀₁ has variance n₁₀ + n₀₁, and G_ik − G_jk that times (roughly) the mean of k.
    """
    _, n10, n01, _ = summary.pair_table()
    discordant = n10 + n01
    ones = summary.ones
    scale = np.where(ones > 0, summary.seen / np.where(ones > 0, ones, 1.0), 0.0)
    weighted = summary.as_if_complete() * np.sqrt(scale)[None, :]
    squares = (weighted**2).sum(axis=1)
    apart = squares[:, None] + squares[None, :] - 2 * weighted @ weighted.T
    apart -= n10**2 * scale[:, None] + n01**2 * scale[None, :]  # the terms k = i and k = j say nothing
    apart = np.maximum(apart, 0.0) + (n10 - n01) ** 2
    distances = np.divide(apart, discordant, out=np.zeros_like(apart), where=discordant > 0)
    np.fill_diagonal(distances, 0.0)
    return np.asarray((distances + distances.T) / 2)


def _distances_of_many(summary: BinarySummary) -> FloatArray:
    """Return the same for variables whose tables of pairs are too large: what is above the diagonal, row after row.

    Missing cells count as the mean of their variable.
    """
    cells, weights = summary.rows()
    known = cells if summary.complete else np.where(np.isnan(cells), summary.means.astype(np.float32), cells)
    ones = summary.ones
    scale = np.where(ones > 0, summary.seen / np.where(ones > 0, ones, 1.0), 0.0)
    squares = np.concatenate([(summary.as_if_complete(block) ** 2) @ scale for block in summary.blocks()])
    n_pairs = summary.n * (summary.n - 1) // 2
    need_memory(
        BYTES_OF_DISTANCE * n_pairs,
        f"X: finding groups among {summary.n:,} columns",
        lambda available: f"take at most {isqrt(2 * available // BYTES_OF_DISTANCE):,} columns",
    )
    above = np.empty(n_pairs)
    filled = 0
    for block in summary.blocks():
        _, n10, n01, _ = summary.pair_table(block)
        discordant = n10 + n01
        of_rows = (summary.as_if_complete(block) * scale).astype(np.float32) @ known.T
        apart = squares[block][:, None] + squares[None, :] - 2 * ((of_rows * weights.astype(np.float32)) @ known)
        apart -= n10**2 * scale[block][:, None] + n01**2 * scale[None, :]
        apart = np.maximum(apart, 0.0) + (n10 - n01) ** 2
        distances = np.divide(apart, discordant, out=np.zeros_like(apart), where=discordant > 0)
        for i, row in enumerate(distances, start=block.start):
            above[filled : filled + summary.n - i - 1] = row[i + 1 :]
            filled += summary.n - i - 1
    return above


# -- columns of any types ----------------------------------------------------------------------------------------------


def table_groups(
    cells: FloatArray, domains: Sequence[Domain], level: float = 0.01, alike: Sequence[Hashable] | None = None
) -> list[Group]:
    """Partition the columns of a table into groups whose members can be interchanged; largest first.

    Args:
        cells: Codes and numbers, NaN where a value is missing.
        domains: One for each column; only columns of one domain can be in a group.
        level: The level of the tests.
        alike: What else columns must have in common to be in a group: what their codes stand for, say.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> mood = rng.integers(0, 3, size=(500, 1))  # a mood each, which three answers follow and two do not
        >>> answers = np.where(rng.random((500, 3)) < 0.6, mood, rng.integers(0, 3, size=(500, 3)))
        >>> table = np.hstack([answers, rng.integers(0, 3, size=(500, 2))]).astype(float)
        >>> [group.variables for group in table_groups(table, [Domain.ordinal(3)] * 5)]
        [(0, 1, 2), (3, 4)]
    """
    number_between("level", level, 0.0, 1.0)
    data = TableData.of(cells, domains)
    types = [(domain, None if alike is None else alike[v]) for v, domain in enumerate(domains)]
    found: list[TestedBlock] = []
    for own_type in dict.fromkeys(types):
        own = np.array([v for v, other in enumerate(types) if other == own_type], dtype=np.int64)
        parts = [(np.array([0]), None)] if len(own) == 1 else _partition_of_columns(data, own, level)
        found += [(own[members], test) for members, test in parts]
    return as_groups(found)


def table_test(cells: FloatArray, domain: Domain, method: str = "global", **options: Any) -> TestResult:
    """Test whether all columns of a table, which have one domain, are exchangeable."""
    data = TableData.of(cells, [domain] * cells.shape[1])
    summary = _summary_of(data, np.arange(cells.shape[1]))
    return tests.for_tables(method, summary, "method")(summary, **options)


def _summary_of(data: TableData, own: IntArray) -> TableSummary:
    columns = [Column(data.domains[v], float(data.spreads[v]), float(data.floors[v]), int(data.groups[v])) for v in own]
    return TableSummary(data.cells[:, own], data.weights, tuple(columns))


def _partition_of_columns(data: TableData, own: IntArray, level: float) -> list[TestedBlock]:
    if data.domains[int(own[0])].cardinality == 2:
        return binary_partition(BinarySummary.of(data.cells[:, own].astype(np.float32), data.weights), level)
    summary = _summary_of(data, own)
    return partition(_distances_of_columns(summary), lambda members: table_global_test(summary.part(members)), level)


def _distances_of_columns(summary: TableSummary) -> FloatArray:
    """Return how differently two columns behave, in units of what chance would make of interchangeable ones: (n, n).

    If i and j can be interchanged, the sign of φ(x_i) − φ(x_j) is a coin toss in each row, whatever the other columns
    are: so Σ (φ(x_i) − φ(x_j)) has variance Σ (φ(x_i) − φ(x_j))², and with a factor φ(x_k) that times (roughly) the
    mean square of φ(x_k). Missing cells count as average ones.
    """
    if summary.missing.all():
        return np.zeros((summary.n, summary.n))
    phi = features(summary)  # (features, rows, n)
    phi = np.nan_to_num(phi - np.nanmean(phi, axis=(1, 2), keepdims=True))
    weighted = phi * summary.weights[None, :, None]
    sums = weighted.sum(axis=1)  # (features, n)
    squares = np.einsum("ari,ari->ai", weighted, phi)
    varied = squares > np.finfo(float).tiny * max(summary.total, 1.0)  # the products of others vanish
    scale = np.where(varied, summary.total / np.where(varied, squares, 1.0), 0.0)
    total = np.zeros((summary.n, summary.n))
    for a in range(len(phi)):
        products = np.einsum("ri,brk->bik", weighted[a], phi)  # Σ φ_a(x_i) φ_b(x_k)
        spread = squares[a][:, None] + squares[a][None, :] - 2 * products[a]
        apart = (sums[a][:, None] - sums[a][None, :]) ** 2
        for own, size in zip(products, scale, strict=True):
            rows = own * np.sqrt(size)[None, :]
            lengths = (rows**2).sum(axis=1)
            between = lengths[:, None] + lengths[None, :] - 2 * rows @ rows.T
            mine = (np.diag(own)[:, None] - own.T) ** 2 * size[:, None]  # the terms k = i and k = j say nothing
            apart += np.maximum(between - mine - mine.T, 0.0)
        total += np.divide(apart, spread, out=np.zeros_like(apart), where=spread > 0)
    np.fill_diagonal(total, 0.0)
    return np.asarray((total + total.T) / 2)
