"""Which variables can be interchanged with which: a partition found from data, with evidence."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import isqrt

import numpy as np
from scipy.cluster.hierarchy import ClusterNode, average, to_tree
from scipy.spatial.distance import squareform

from xspn.core.arrays import FloatArray, IntArray
from xspn.core.memory import need_memory
from xspn.learning.exchangeability.base import TestResult
from xspn.learning.exchangeability.global_test import global_test
from xspn.learning.summary import BinarySummary

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
