"""Which columns form exchangeable blocks: partitions of best evidence along an order and along a tree, or by tests."""

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import average
from scipy.spatial.distance import squareform
from scipy.special import gammaln

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.core.logspace import log_binomials
from xspn.learning.leaf_learners.blocks import blocks_of_similar_means

PRIOR_MASS = 1.0  # of the uniform Dirichlet prior on a block's counts: one row's worth of doubt
MOST_CUTS = 24  # between columns sorted by mean: the widest gaps


class Evidence:
    """Log-evidence of blocks for weighted rows over n binary columns.

    A block of n columns has n + 1 probabilities, one for each count of ones, with a Dirichlet prior spread evenly over
    them. Integrated out, they leave a score in closed form that needs no penalty of its own: any partition of n columns
    has n free parameters, and columns that do not belong together pay for it with their likelihood.

    Args:
        cells: The rows, zeros and ones: (rows, n).
        weights: The weight of each row.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> copies = np.repeat(rng.integers(0, 2, size=(100, 1)), 2, axis=1).astype(np.float32)
        >>> evidence = Evidence(copies, np.ones(100))
        >>> bool(evidence.of_block(np.array([0, 1])) > evidence.of_single.sum())
        True
    """

    def __init__(self, cells: NDArray[np.float32], weights: FloatArray) -> None:
        self.cells, self.weights = cells, weights
        self.total = float(weights.sum())
        self.ones = np.asarray(weights @ cells, dtype=np.float64)

    @property
    def n(self) -> int:
        """The number of columns."""
        return int(self.cells.shape[1])

    @cached_property
    def of_single(self) -> FloatArray:
        """The evidence of each column on its own."""
        return self._of_histograms(np.stack([np.maximum(self.total - self.ones, 0.0), self.ones], axis=-1))

    @cached_property
    def of_pairs(self) -> FloatArray:
        """The evidence of each two columns as a block: (n, n)."""
        both = np.asarray((self.cells * self.weights[:, None]).T @ self.cells, dtype=np.float64)
        one = self.ones[:, None] + self.ones[None, :] - 2 * both
        none = self.total - one - both
        return self._of_histograms(np.maximum(np.stack([none, one, both], axis=-1), 0.0))  # rounding may go below 0

    def of_block(self, columns: IntArray) -> float:
        """Return the evidence of some columns as one block."""
        return self.of_counts(self.cells[:, columns].sum(axis=1).astype(np.int64), len(columns))

    def of_counts(self, counts: AnyArray, n: int) -> float:
        """Return the evidence of a block of n columns, given the count of ones in each row."""
        histogram = np.asarray(np.bincount(counts, weights=self.weights, minlength=n + 1), dtype=np.float64)
        return float(self._of_histograms(histogram))

    def of_partition(self, blocks: "BlockPartition") -> float:
        """Return the evidence of a product of blocks."""
        singles = [int(block[0]) for block in blocks if len(block) == 1]
        return float(self.of_single[singles].sum() + sum(self.of_block(block) for block in blocks if len(block) > 1))

    def _of_histograms(self, counts: FloatArray) -> FloatArray:
        """Return log ∫ Π_t (p_t / |S_t|)^c_t dDirichlet(p), for histograms along the last axis."""
        n = counts.shape[-1] - 1
        each = PRIOR_MASS / (n + 1)
        total = counts.sum(axis=-1)
        fit = (gammaln(counts + each) - gammaln(each)).sum(axis=-1) - counts @ log_binomials(n)
        return np.asarray(fit + gammaln(PRIOR_MASS) - gammaln(total + PRIOR_MASS))


BlockPartition = tuple[IntArray, ...]


Structure = Literal["evidence", "welch"]


def find_blocks(
    evidence: Evidence, structure: Structure, level: float, known: BlockPartition | None = None
) -> BlockPartition:
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


def best_segments(evidence: Evidence) -> tuple[float, BlockPartition]:
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


def best_cut(evidence: Evidence) -> tuple[float, BlockPartition]:
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
