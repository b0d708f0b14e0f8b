"""Which columns of any table can be interchanged with which."""

from collections.abc import Hashable, Sequence

import numpy as np

from xspn.core.arrays import FloatArray, IntArray
from xspn.core.checks import number_between
from xspn.data.domain import Domain
from xspn.learning.exchangeability.base import TestResult
from xspn.learning.exchangeability.groups import Group, TestedBlock, as_groups, binary_partition, partition
from xspn.learning.summary import BinarySummary
from xspn.learning.table_data import TableData
from xspn.learning.table_summary import Column, TableSummary
from xspn.learning.tables.exchangeability.base import features
from xspn.learning.tables.exchangeability.global_test import global_test


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
        parts = [(np.array([0]), None)] if len(own) == 1 else _partition(data, own, level)
        found += [(own[members], test) for members, test in parts]
    return as_groups(found)


def table_test(cells: FloatArray, domain: Domain) -> TestResult:
    """Test whether all columns of a table, which have one domain, are exchangeable."""
    data = TableData.of(cells, [domain] * cells.shape[1])
    return global_test(_summary(data, np.arange(cells.shape[1])))


def _summary(data: TableData, own: IntArray) -> TableSummary:
    columns = [Column(data.domains[v], float(data.spreads[v]), float(data.floors[v]), int(data.groups[v])) for v in own]
    return TableSummary(data.cells[:, own], data.weights, tuple(columns))


def _partition(data: TableData, own: IntArray, level: float) -> list[TestedBlock]:
    if data.domains[int(own[0])].cardinality == 2:
        return binary_partition(BinarySummary.of(data.cells[:, own].astype(np.float32), data.weights), level)
    summary = _summary(data, own)
    return partition(_distances(summary), lambda members: global_test(summary.part(members)), level)


def _distances(summary: TableSummary) -> FloatArray:
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
