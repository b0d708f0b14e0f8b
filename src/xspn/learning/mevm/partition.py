"""Which columns form exchangeable blocks: partitions of best evidence along an order and along a tree, or by tests."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from scipy.cluster.hierarchy import average
from scipy.spatial.distance import squareform

from xspn.core.arrays import IntArray
from xspn.learning.fallback.blocks import blocks_of_similar_means
from xspn.learning.mevm.evidence import Evidence, Partition

Structure = Literal["evidence", "welch"]
MOST_CUTS = 24  # between columns sorted by mean: the widest gaps


def find_blocks(evidence: Evidence, structure: Structure, level: float, known: Partition | None = None) -> Partition:
    """Return the blocks of an exchangeable variable model for weighted rows.

    Args:
        evidence: The rows.
        structure: "welch" cuts the columns, sorted by mean, where Welch's test tells them apart (Niepert and Domingos);
            "evidence" takes the partition of highest evidence among cuts of that order, cuts of a tree of columns that
            go together, and the one that is known.
        level: The level of Welch's test.
        known: The partition so far.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> cells = (rng.random((500, 6)) < np.repeat(rng.random((500, 2)), 3, axis=1)).astype(np.float32)
        >>> [sorted(block.tolist()) for block in find_blocks(Evidence(cells, np.ones(500)), "evidence", 0.1)]
        [[0, 1, 2], [3, 4, 5]]
    """
    if structure == "welch":
        return tuple(blocks_of_similar_means(evidence.ones, max(evidence.total, np.finfo(float).tiny), level))
    found = [best_segments(evidence), best_cut(evidence)]
    if known is not None:
        found.append((evidence.of_partition(known), known))
    return max(found, key=lambda scored: scored[0])[1]


def best_segments(evidence: Evidence) -> tuple[float, Partition]:
    """Cut the columns, sorted by mean, into consecutive blocks or single columns, the best way of all."""
    order = np.argsort(evidence.ones, kind="stable")
    ends = _possible_cuts(evidence, order)
    sums = np.cumsum(evidence.cells[:, order], axis=1).astype(np.int64)
    counts = np.concatenate([np.zeros((len(sums), 1), np.int64), sums], axis=1)[:, ends]  # ones before each cut
    singles = np.concatenate([[0.0], np.cumsum(evidence.of_single[order])])[ends]
    best = np.zeros(len(ends))
    origin: list[tuple[int, bool]] = [(0, False)]
    for stop in range(1, len(ends)):
        options: list[tuple[float, int, bool]] = []
        for start in range(stop):
            options.append((best[start] + singles[stop] - singles[start], start, False))
            block = evidence.of_counts(counts[:, stop] - counts[:, start], int(ends[stop] - ends[start]))
            options.append((best[start] + block, start, True))
        best[stop], *where = max(options)
        origin.append((int(where[0]), bool(where[1])))
    blocks: list[IntArray] = []
    stop = len(ends) - 1
    while stop > 0:
        start, together = origin[stop]
        own = order[ends[start] : ends[stop]]
        blocks += [own] if together else list(own[:, None])
        stop = start
    return float(best[-1]), tuple(blocks[::-1])


def _possible_cuts(evidence: Evidence, order: IntArray) -> IntArray:
    """Return the places between columns that may be cut: the widest gaps between means, on a scale of even noise."""
    means = np.clip(evidence.ones[order] / max(evidence.total, np.finfo(float).tiny), 0.0, 1.0)
    gaps = np.diff(np.arcsin(np.sqrt(means)))
    widest = np.argsort(-gaps, kind="stable")[:MOST_CUTS]
    return np.concatenate([[0], np.sort(widest[gaps[widest] > 0]) + 1, [len(order)]])


def best_cut(evidence: Evidence) -> tuple[float, Partition]:
    """Cut a tree of columns, nearest first, where its parts have more evidence than the whole.

    Two columns are near each other if there is evidence that they are exchangeable rather than independent.
    """
    n = evidence.n
    scores = list(evidence.of_single)
    if n == 1:
        return float(scores[0]), (np.array([0]),)
    counts: dict[int, IntArray] = {i: evidence.cells[:, i].astype(np.int64) for i in range(n)}
    blocks: list[Sequence[IntArray]] = [[np.array([i])] for i in range(n)]
    members = [np.array([i]) for i in range(n)]
    gain = evidence.of_pairs - evidence.of_single[:, None] - evidence.of_single[None, :]
    np.fill_diagonal(gain, gain.max())
    for left, right, *_ in average(squareform(gain.max() - gain, checks=False)):
        a, b = int(left), int(right)
        node = len(scores)
        counts[node] = counts.pop(a) + counts.pop(b)
        members.append(np.concatenate([members[a], members[b]]))
        together = evidence.of_counts(counts[node], len(members[node]))
        apart = scores[a] + scores[b]
        scores.append(max(together, apart))
        blocks.append([members[node]] if together >= apart else [*blocks[a], *blocks[b]])
    return float(scores[-1]), tuple(blocks[-1])
